"""Roles in a list: what the jobs of TensorFlow, PyTorch and MXNet had before the mapping of roles by name.

Each entry says its role itself, in a field of the framework's (tf-operator ``pkg/apis/tensorflow/v1alpha1``; likewise in
pytorch-operator and mxnet-operator). That of a parameter server may have no template: the operator runs one of its own. Kueue
and ``suspend`` came after it.
"""

from collections.abc import Iterator
from dataclasses import replace

from signalbox.fieldpath import Path
from signalbox.review import JsonObject
from signalbox.workload.kinds.kind import Metadata, PodTemplate, WorkloadKind, count, mapping, members, template_at

_FIELD = "replicaSpecs"
_ROLE = ("tfReplicaType", "tf_replica_type", "replicaType", "mxReplicaType", "MxReplicaType")


def listed_templates(job: JsonObject, field: str = _FIELD) -> tuple[PodTemplate, ...]:
    """The template of each entry of ``spec.<field>``."""
    found = _entries(job, field)
    return tuple([template_at(job, (*path, "template"), count(entry.get("replicas")), _role(entry)) for path, entry in found])


def listed_metadata(job: JsonObject, field: str = _FIELD) -> Metadata:
    """Where the labels of their Pods stand."""
    return tuple([(*path, "template", "metadata") for path, _ in _entries(job, field)])


def with_list(kind: WorkloadKind) -> WorkloadKind:
    """A kind of jobs that had its roles in a list first."""
    return replace(
        kind,
        templates=lambda job: (*kind.templates(job), *listed_templates(job)),
        labelled=lambda job: (*kind.labelled(job), *listed_metadata(job)),
        queued=lambda job: not isinstance(mapping(job.get("spec")).get(_FIELD), list),
    )


def listed_kind(group: str, kind: str, field: str, framework: str, namesake: bool = False) -> WorkloadKind:
    """A kind of jobs that has its roles in the list ``spec.<field>`` alone."""
    return WorkloadKind(
        group=group,
        kind=kind,
        templates=lambda job: listed_templates(job, field),
        runs="once",
        labelled=lambda job: listed_metadata(job, field),
        queue=None,
        defaulted=False,
        type="training",
        framework=framework,
        namesake=namesake,
    )


def _entries(job: JsonObject, field: str) -> Iterator[tuple[Path, JsonObject]]:
    for index, entry in enumerate(members(mapping(job.get("spec")).get(field))):
        if isinstance(entry, dict) and isinstance(entry.get("template"), dict):
            yield ("spec", field, index), entry


def _role(entry: JsonObject) -> str:
    return next((role for field in _ROLE if isinstance(role := entry.get(field), str)), "")
