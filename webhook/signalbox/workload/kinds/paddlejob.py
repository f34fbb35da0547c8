"""PaddleJob ``kubeflow.org/v1``: roles in ``spec.paddleReplicaSpecs``."""

from signalbox.workload.kinds.replicaspecs import replica_specs_kind

PADDLE_JOB = replica_specs_kind("PaddleJob", "paddleReplicaSpecs", "paddle")
