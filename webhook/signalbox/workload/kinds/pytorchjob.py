"""PyTorchJob ``kubeflow.org/v1``: roles in ``spec.pytorchReplicaSpecs``."""

from signalbox.workload.kinds.replicaspecs import replica_specs_kind

PYTORCH_JOB = replica_specs_kind("PyTorchJob", "pytorchReplicaSpecs", "pytorch")
