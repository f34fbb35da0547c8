"""PyTorchJob ``kubeflow.org/v1``: roles in ``spec.pytorchReplicaSpecs``."""

from signalbox.workload.kinds.listedreplicas import with_list
from signalbox.workload.kinds.replicaspecs import replica_specs_kind

PYTORCH_JOB = with_list(replica_specs_kind("PyTorchJob", "pytorchReplicaSpecs", "pytorch"))
