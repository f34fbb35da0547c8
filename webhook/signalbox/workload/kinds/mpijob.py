"""MPIJob ``kubeflow.org``: a launcher and its workers. ``v1`` is the training-operator's, ``v2beta1`` the mpi-operator's;
Kueue knows the latter alone. What MPI starts is as often a measurement as a training, so the kind says nothing of it.
"""

from dataclasses import replace

from signalbox.review import JsonObject
from signalbox.workload.kinds.mpireplicas import mpi_metadata, mpi_templates
from signalbox.workload.kinds.replicaspecs import replica_specs_kind


def _queued(job: JsonObject) -> bool:
    return job.get("apiVersion") == "kubeflow.org/v2beta1"


MPI_JOB = replace(
    replica_specs_kind("MPIJob", "mpiReplicaSpecs", "mpi", made_for=None),
    templates=mpi_templates,
    labelled=mpi_metadata,
    queued=_queued,
)
