"""The jobs of KubeDL (``training.kubedl.io``): those of Kubeflow under its own group, and some more.

One file for all: they differ in nothing but the field of their roles (kubedl ``apis/training/v1alpha1``). The run policy's
fields stand in ``spec`` itself, and its queue is one of KubeDL's own.
"""

from dataclasses import replace

from signalbox.fieldpath import Path
from signalbox.workload.kinds.kind import WorkloadKind
from signalbox.workload.kinds.mpireplicas import mpi_metadata, mpi_templates
from signalbox.workload.kinds.replicaspecs import replica_specs_kind

_GROUP = "training.kubedl.io"
_SCHEDULING: tuple[Path, ...] = (("spec", "schedulingPolicy"), ("spec", "runPolicy", "schedulingPolicy"))


def _kind(
    kind: str, field: str, framework: str | None, made_for: str | None = "training", namesake: bool = True
) -> WorkloadKind:
    return replace(
        replica_specs_kind(kind, field, framework, made_for),
        group=_GROUP,
        namesake=namesake,
        queue=None,
        queue_fields=tuple([(*path, "queue") for path in _SCHEDULING]),
        suspend=None,
        priority=tuple([(*path, "priorityClassName") for path in _SCHEDULING]),
        restarts=("spec", "backoffLimit"),
    )


KUBEDL_KINDS = (
    _kind("TFJob", "tfReplicaSpecs", "tensorflow"),
    _kind("PyTorchJob", "pytorchReplicaSpecs", "pytorch"),
    _kind("XGBoostJob", "xgbReplicaSpecs", "xgboost"),
    replace(_kind("MPIJob", "mpiReplicaSpecs", "mpi", None), templates=mpi_templates, labelled=mpi_metadata),
    _kind("XDLJob", "xdlReplicaSpecs", "xdl", namesake=False),
    _kind("ElasticDLJob", "elasticdlReplicaSpecs", "elasticdl", namesake=False),
    # Mars computes with tables and tensors too large for one machine.
    _kind("MarsJob", "marsReplicaSpecs", "mars", "data-processing", namesake=False),
)
