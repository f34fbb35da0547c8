"""TfJob ``mlkube.io``: Kubeflow's TFJob before it had a home there, its roles in the list ``spec.replica_specs``."""

from signalbox.workload.kinds.listedreplicas import listed_kind

MLKUBE_TF_JOB = listed_kind("mlkube.io", "TfJob", "replica_specs", "tensorflow", namesake=True)
