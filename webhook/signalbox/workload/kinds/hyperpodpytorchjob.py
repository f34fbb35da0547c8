"""HyperPodPyTorchJob ``sagemaker.amazonaws.com/v1``: a list of replica specs, each with its pod template.

HyperPod's task governance reads Kueue's label and suspends by itself.
"""

from collections.abc import Iterator

from signalbox.fieldpath import Path
from signalbox.review import JsonObject
from signalbox.workload.kinds.kind import Metadata, PodTemplate, WorkloadKind, count, mapping, members, template_at


def _replica_specs(job: JsonObject) -> Iterator[tuple[Path, JsonObject]]:
    for index, replicas in enumerate(members(mapping(job.get("spec")).get("replicaSpecs"))):
        if isinstance(replicas, dict):
            yield ("spec", "replicaSpecs", index), replicas


def _templates(job: JsonObject) -> tuple[PodTemplate, ...]:
    found = []
    for path, replicas in _replica_specs(job):
        name = replicas.get("name")
        pods = count(replicas.get("replicas"))
        found.append(template_at(job, (*path, "template"), pods, name if isinstance(name, str) else ""))
    return tuple(found)


def _labelled(job: JsonObject) -> Metadata:
    return tuple([(*path, "template", "metadata") for path, _ in _replica_specs(job)])


HYPERPOD_PYTORCH_JOB = WorkloadKind(
    group="sagemaker.amazonaws.com",
    kind="HyperPodPyTorchJob",
    templates=_templates,
    runs="once",
    labelled=_labelled,
    defaulted=False,
    restarts=("spec", "runPolicy", "jobMaxRetryCount"),
    restarts_default=None,
    type="training",
    framework="pytorch",
)
