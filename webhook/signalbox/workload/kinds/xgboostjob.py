"""XGBoostJob ``kubeflow.org/v1``: roles in ``spec.xgbReplicaSpecs``. It runs LightGBM too, and may predict.

Before there was one operator for all, it had a group of its own (kubeflow xgboost-operator ``v1alpha1``, ``v1``).
"""

from dataclasses import replace

from signalbox.workload.kinds.replicaspecs import replica_specs_kind

XGBOOST_JOB = replica_specs_kind("XGBoostJob", "xgbReplicaSpecs", "xgboost")
XGBOOST_OPERATOR_JOB = replace(
    XGBOOST_JOB,
    group="xgboostjob.kubeflow.org",
    namesake=True,
    queue=None,
    queue_fields=(),
    suspend=None,
    priority=(),
    restarts=("spec", "backoffLimit"),
)
