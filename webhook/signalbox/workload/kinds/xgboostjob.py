"""XGBoostJob ``kubeflow.org/v1``: roles in ``spec.xgbReplicaSpecs``. It runs LightGBM too, and may predict."""

from signalbox.workload.kinds.replicaspecs import replica_specs_kind

XGBOOST_JOB = replica_specs_kind("XGBoostJob", "xgbReplicaSpecs", "xgboost")
