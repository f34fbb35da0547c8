"""TFJob ``kubeflow.org/v1``: roles in ``spec.tfReplicaSpecs`` (``Chief``, ``PS``, ``Worker``, ``Evaluator``)."""

from signalbox.workload.kinds.listedreplicas import with_list
from signalbox.workload.kinds.replicaspecs import replica_specs_kind

TF_JOB = with_list(replica_specs_kind("TFJob", "tfReplicaSpecs", "tensorflow"))
