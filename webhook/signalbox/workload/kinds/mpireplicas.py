"""The launcher and the workers of an MPIJob, in the fields of each of its versions.

Up to ``v1alpha1`` there is one pod template. The launcher runs it without its resources; the workers have them, or as many
units of ``gpus`` or ``processingUnits``, which are those of all workers together (mpi-operator ``pkg/controllers/v1alpha1``).
From ``v1alpha2`` on each role has a template of its own.
"""

from dataclasses import replace
from typing import Any

from signalbox.fieldpath import Path
from signalbox.quantity import parse_quantity
from signalbox.review import JsonObject
from signalbox.workload.kinds.kind import Asked, Metadata, PodTemplate, count, mapping, members, template_at
from signalbox.workload.kinds.replicaspecs import replica_metadata, replica_templates

_FIELD = "mpiReplicaSpecs"
_TEMPLATE: Path = ("spec", "template")
_UNITS = (("gpus", "gpusPerNode"), ("processingUnits", "processingUnitsPerNode"))
_GPU = "nvidia.com/gpu"
# What the operator's manifests set for all jobs that do not say it (deploy/3-mpi-operator.yaml).
_PER_NODE = 8


def mpi_templates(job: JsonObject) -> tuple[PodTemplate, ...]:
    """The templates of the launcher and the workers."""
    spec = mapping(job.get("spec"))
    return _of_one(job, spec) if _has_one(spec) else replica_templates(job, _FIELD)


def mpi_metadata(job: JsonObject) -> Metadata:
    """Where the labels of their Pods stand."""
    return ((*_TEMPLATE, "metadata"),) if _has_one(mapping(job.get("spec"))) else replica_metadata(job, _FIELD)


def _has_one(spec: JsonObject) -> bool:
    return isinstance(spec.get("template"), dict) and not spec.get(_FIELD)


def _of_one(job: JsonObject, spec: JsonObject) -> tuple[PodTemplate, ...]:
    workers = template_at(job, _TEMPLATE, count(spec.get("replicas"), default=0), "Worker")
    units = next((fields for fields in _UNITS if spec.get(fields[0]) is not None), None)
    if units is not None:
        workers = _with_units(workers, spec, *units)
    launcher = PodTemplate(("spec",), {}, name="Launcher", virtual=True, writable=False, apart=True)
    # Without workers the launcher is all there is, and the template is its own.
    return (workers, launcher) if workers.pods != 0 else (replace(workers, pods=1, name="Launcher"),)


def _with_units(workers: PodTemplate, spec: JsonObject, field: str, per_node: str) -> PodTemplate:
    """As many workers as the units need, each with its share of them."""
    resource = "cpu" if spec.get("processingResourceType") == "cpu" else _GPU
    total = count(spec[field], default=0)
    own = _own(workers, resource)
    each = count(spec.get(per_node) if own is None else own, default=_PER_NODE) or _PER_NODE
    if total is None:
        pods, asked = None, Asked(("spec", field), resource, spec[field])
    elif total > each and total % each == 0:
        said = per_node if spec.get(per_node) is not None else field
        pods, asked = total // each, Asked(("spec", said), resource, each)
    else:
        pods, asked = 1, Asked(("spec", field), resource, total)
    return replace(workers, pods=pods, asked=() if own is not None else (asked,))


def _own(workers: PodTemplate, resource: str) -> Any:
    """What the first container asks for by itself: the units are then not added."""
    container = next(iter(members(workers.spec.get("containers"))), None)
    quantity = mapping(mapping(mapping(container).get("resources")).get("limits")).get(resource)
    return quantity if parse_quantity(quantity) else None
