"""JAXJob ``kubeflow.org/v1``: roles in ``spec.jaxReplicaSpecs``."""

from signalbox.workload.kinds.replicaspecs import replica_specs_kind

JAX_JOB = replica_specs_kind("JAXJob", "jaxReplicaSpecs", "jax")
