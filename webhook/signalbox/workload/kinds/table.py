"""Every kind Signalbox judges, keyed by group and kind. Adding one is a file beside this and a line here."""

from signalbox.workload.kinds.appwrapper import app_wrapper
from signalbox.workload.kinds.ascendjob import ASCEND_JOB
from signalbox.workload.kinds.cronjob import CRON_JOB
from signalbox.workload.kinds.cronworkflow import CRON_WORKFLOW
from signalbox.workload.kinds.daemonset import DAEMON_SET
from signalbox.workload.kinds.deployment import DEPLOYMENT
from signalbox.workload.kinds.disaggregatedset import DISAGGREGATED_SET
from signalbox.workload.kinds.dynamographdeployment import DYNAMO_GRAPH_DEPLOYMENT
from signalbox.workload.kinds.elasticjob import ELASTIC_JOB
from signalbox.workload.kinds.experiment import experiment
from signalbox.workload.kinds.hyperpodpytorchjob import HYPERPOD_PYTORCH_JOB
from signalbox.workload.kinds.inferenceservice import INFERENCE_SERVICE
from signalbox.workload.kinds.jaxjob import JAX_JOB
from signalbox.workload.kinds.job import JOB
from signalbox.workload.kinds.jobset import JOB_SET
from signalbox.workload.kinds.kaito import KAITO_INFERENCE_SET, KAITO_WORKSPACE
from signalbox.workload.kinds.kaiwojob import KAIWO_JOB
from signalbox.workload.kinds.kaiwoservice import KAIWO_SERVICE
from signalbox.workload.kinds.kfservinginferenceservice import KFSERVING_INFERENCE_SERVICE
from signalbox.workload.kinds.kind import WorkloadKind
from signalbox.workload.kinds.kubedl import KUBEDL_KINDS
from signalbox.workload.kinds.leaderworkerset import LEADER_WORKER_SET
from signalbox.workload.kinds.llminferenceservice import LLM_INFERENCE_SERVICE
from signalbox.workload.kinds.mlkubetfjob import MLKUBE_TF_JOB
from signalbox.workload.kinds.mpijob import MPI_JOB
from signalbox.workload.kinds.mxjob import MX_JOB
from signalbox.workload.kinds.nimservice import NIM_SERVICE
from signalbox.workload.kinds.notebook import NOTEBOOK
from signalbox.workload.kinds.paddlejob import PADDLE_JOB
from signalbox.workload.kinds.paddleoperatorjob import PADDLE_OPERATOR_JOB
from signalbox.workload.kinds.pathwaysjob import PATHWAYS_JOB
from signalbox.workload.kinds.pod import POD
from signalbox.workload.kinds.podtemplate import POD_TEMPLATE
from signalbox.workload.kinds.pytorchjob import PYTORCH_JOB
from signalbox.workload.kinds.raycluster import RAY_CLUSTER
from signalbox.workload.kinds.rayjob import RAY_JOB
from signalbox.workload.kinds.rayservice import RAY_SERVICE
from signalbox.workload.kinds.replicaset import REPLICA_SET
from signalbox.workload.kinds.replicationcontroller import REPLICATION_CONTROLLER
from signalbox.workload.kinds.runaijob import RUNAI_JOB
from signalbox.workload.kinds.seldondeployment import SELDON_DEPLOYMENT
from signalbox.workload.kinds.sparkapplication import SPARK_APPLICATION
from signalbox.workload.kinds.statefulset import STATEFUL_SET
from signalbox.workload.kinds.tensorfloworgtfjob import TENSORFLOW_ORG_TF_JOB
from signalbox.workload.kinds.tfjob import TF_JOB
from signalbox.workload.kinds.torchelasticjob import TORCH_ELASTIC_JOB
from signalbox.workload.kinds.trainjob import TRAIN_JOB
from signalbox.workload.kinds.volcanocronjob import VOLCANO_CRON_JOB
from signalbox.workload.kinds.volcanojob import VOLCANO_JOB
from signalbox.workload.kinds.workflow import WORKFLOW
from signalbox.workload.kinds.workflowtemplate import WORKFLOW_TEMPLATE
from signalbox.workload.kinds.xgboostjob import XGBOOST_JOB, XGBOOST_OPERATOR_JOB


def _by_key(kinds: tuple[WorkloadKind, ...]) -> dict[tuple[str, str], WorkloadKind]:
    return {(kind.group, kind.kind): kind for kind in kinds}


_PLAIN = _by_key(
    (
        POD,
        JOB,
        CRON_JOB,
        DEPLOYMENT,
        STATEFUL_SET,
        REPLICA_SET,
        DAEMON_SET,
        REPLICATION_CONTROLLER,
        POD_TEMPLATE,
        JOB_SET,
        TRAIN_JOB,
        PYTORCH_JOB,
        TF_JOB,
        JAX_JOB,
        XGBOOST_JOB,
        XGBOOST_OPERATOR_JOB,
        PADDLE_JOB,
        MPI_JOB,
        MX_JOB,
        PADDLE_OPERATOR_JOB,
        *KUBEDL_KINDS,
        MLKUBE_TF_JOB,
        TENSORFLOW_ORG_TF_JOB,
        ELASTIC_JOB,
        TORCH_ELASTIC_JOB,
        ASCEND_JOB,
        HYPERPOD_PYTORCH_JOB,
        RAY_JOB,
        RAY_CLUSTER,
        RAY_SERVICE,
        LEADER_WORKER_SET,
        DISAGGREGATED_SET,
        VOLCANO_JOB,
        VOLCANO_CRON_JOB,
        SPARK_APPLICATION,
        NOTEBOOK,
        INFERENCE_SERVICE,
        LLM_INFERENCE_SERVICE,
        KFSERVING_INFERENCE_SERVICE,
        SELDON_DEPLOYMENT,
        NIM_SERVICE,
        DYNAMO_GRAPH_DEPLOYMENT,
        KAITO_WORKSPACE,
        KAITO_INFERENCE_SET,
        KAIWO_JOB,
        KAIWO_SERVICE,
        RUNAI_JOB,
        PATHWAYS_JOB,
        WORKFLOW,
        CRON_WORKFLOW,
        WORKFLOW_TEMPLATE,
    )
)

# These hold whole objects of the kinds above.
KINDS: dict[tuple[str, str], WorkloadKind] = {**_PLAIN, **_by_key((app_wrapper(_PLAIN), experiment(_PLAIN)))}
