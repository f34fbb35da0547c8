"""TfJob ``tensorflow.org``: between ``mlkube.io`` and Kubeflow's TFJob, its roles in the list ``spec.replicaSpecs``."""

from signalbox.workload.kinds.listedreplicas import listed_kind

TENSORFLOW_ORG_TF_JOB = listed_kind("tensorflow.org", "TfJob", "replicaSpecs", "tensorflow")
