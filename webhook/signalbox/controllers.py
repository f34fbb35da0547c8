"""Who writes objects on behalf of a parent that was judged already.

An ownerReference proves nothing, anyone can write one. A write is a controller's own only if it comes from exactly that
controller's service account and the owner is of a kind which that controller owns. Seen on a real API server with
``--use-service-account-credentials``; the namespaces of everything that is installed are the cluster's choice.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from signalbox.review import Request
from signalbox.workload.kinds.kind import WorkloadKind
from signalbox.workload.kinds.kubedl import KUBEDL_KINDS
from signalbox.workload.view import Owner

Kinds = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Controller:
    """``username`` makes objects of the kinds ``makes`` for owners of the kinds ``owners``, each ``(group, kind)``."""

    username: str
    owners: frozenset[tuple[str, str]]
    makes: frozenset[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Controllers:
    """The table. ``never_judged`` are accounts whose writes we keep out of: Kueue admits and evicts by them."""

    known: tuple[Controller, ...]
    never_judged: frozenset[str] = frozenset()

    def made_from(
        self, request: Request, owner: Owner | None, kinds: Mapping[tuple[str, str], WorkloadKind]
    ) -> Controller | None:
        """The controller whose own write this is, from a parent that we judge; None for everyone else's."""
        if owner is None or request.user is None or (owner.group, owner.kind) not in kinds:
            return None
        for controller in self.known:
            if (
                controller.username == request.user.username
                and (owner.group, owner.kind) in controller.owners
                and (request.group, request.kind) in controller.makes
            ):
                return controller
        return None


def _system(name: str) -> str:
    return f"system:serviceaccount:kube-system:{name}"


def _controller(username: str, owners: Kinds, made: Kinds) -> Controller:
    return Controller(username, frozenset(owners), frozenset(made))


CRON_JOB_CONTROLLER = _system("cronjob-controller")
KUEUE_CONTROLLER = "system:serviceaccount:kueue-system:kueue-controller-manager"
JOB_SET_CONTROLLER = "system:serviceaccount:jobset-system:jobset-controller-manager"

ACCOUNTS: dict[str, str] = {
    "appwrapper": "system:serviceaccount:appwrapper-system:appwrapper-controller-manager",
    "kserve": "system:serviceaccount:kserve:kserve-controller-manager",
    "kserve-llm": "system:serviceaccount:kserve:llmisvc-controller-manager",
    "kubedl": "system:serviceaccount:kubedl-system:default",
    "kuberay": "system:serviceaccount:ray-system:kuberay-operator",
    "lws": "system:serviceaccount:lws-system:lws-controller-manager",
    "mpi-operator": "system:serviceaccount:mpi-operator:mpi-operator",
    "notebooks": "system:serviceaccount:kubeflow:notebook-controller-service-account",
    "paddle-operator": "system:serviceaccount:paddle-system:paddle-manager-sa",
    "spark-operator": "system:serviceaccount:spark-operator:spark-operator-controller",
    "trainer": "system:serviceaccount:kubeflow-system:kubeflow-trainer-controller-manager",
    "training-operator": "system:serviceaccount:kubeflow:training-operator",
    "volcano": "system:serviceaccount:volcano-system:volcano-controllers",
}
"""The accounts of the operators of other kinds, as their own manifests name them; a cluster may have put them elsewhere."""

_POD = ("", "Pod")
_JOB = ("batch", "Job")
_DEPLOYMENT = ("apps", "Deployment")
_STATEFUL_SET = ("apps", "StatefulSet")
_JOB_SET = ("jobset.x-k8s.io", "JobSet")
_DISAGGREGATED_SET = ("disaggregatedset.x-k8s.io", "DisaggregatedSet")
_LEADER_WORKER_SET = ("leaderworkerset.x-k8s.io", "LeaderWorkerSet")
_MPI_JOB = ("kubeflow.org", "MPIJob")
_RAY_CLUSTER = ("ray.io", "RayCluster")
_RAY_JOB = ("ray.io", "RayJob")
_RAY_SERVICE = ("ray.io", "RayService")
_VOLCANO_JOB = ("batch.volcano.sh", "Job")
_TRAINING = tuple(("kubeflow.org", kind) for kind in ("PyTorchJob", "TFJob", "JAXJob", "XGBoostJob", "PaddleJob", "MXJob"))
_TRAIN_JOB = ("trainer.kubeflow.org", "TrainJob")
_KUBEDL = tuple((kind.group, kind.kind) for kind in KUBEDL_KINDS)
# What an AppWrapper holds is made as it stands in it.
_WRAPPED = (_POD, _JOB, _DEPLOYMENT, _STATEFUL_SET, _JOB_SET, *_TRAINING, _MPI_JOB, _RAY_CLUSTER, _RAY_JOB, _RAY_SERVICE)
_WRAPPED = (*_WRAPPED, _VOLCANO_JOB, _LEADER_WORKER_SET, _TRAIN_JOB)
# Whose children an operator of ACCOUNTS makes, and what those are. The leader of a LeaderWorkerSet owns its workers.
_OPERATORS: tuple[tuple[str, Kinds, Kinds], ...] = (
    ("appwrapper", (("workload.codeflare.dev", "AppWrapper"),), _WRAPPED),
    ("kserve", (("serving.kserve.io", "InferenceService"),), (_DEPLOYMENT,)),
    ("kserve-llm", (("serving.kserve.io", "LLMInferenceService"),), (_DEPLOYMENT, _LEADER_WORKER_SET)),
    ("kubedl", _KUBEDL, (_POD,)),
    ("kuberay", (_RAY_JOB, _RAY_SERVICE, _RAY_CLUSTER), (_RAY_CLUSTER, _JOB, _POD)),
    ("lws", (_DISAGGREGATED_SET, _LEADER_WORKER_SET, _POD), (_LEADER_WORKER_SET, _STATEFUL_SET)),
    ("mpi-operator", (_MPI_JOB,), (_JOB, _POD, _STATEFUL_SET)),
    ("notebooks", (("kubeflow.org", "Notebook"),), (_STATEFUL_SET,)),
    ("paddle-operator", (("batch.paddlepaddle.org", "PaddleJob"),), (_POD,)),
    ("spark-operator", (("sparkoperator.k8s.io", "SparkApplication"),), (_POD,)),
    ("trainer", (_TRAIN_JOB,), (_JOB_SET,)),
    ("training-operator", (*_TRAINING, _MPI_JOB), (_POD,)),
    ("volcano", (_VOLCANO_JOB, ("batch.volcano.sh", "CronJob")), (_POD, _VOLCANO_JOB)),
)


def default_controllers(
    kueue: str = KUEUE_CONTROLLER,
    job_set: str = JOB_SET_CONTROLLER,
    accounts: Mapping[str, str] = ACCOUNTS,
) -> Controllers:
    """The controllers of Kubernetes itself, JobSet's under the account ``job_set``, Kueue's account ``kueue``, and the
    operators of other kinds under ``accounts``, by the names of ACCOUNTS; one that is not named has none.
    """
    return Controllers(
        known=(
            _controller(_system("job-controller"), (_JOB,), (_POD,)),
            _controller(CRON_JOB_CONTROLLER, (("batch", "CronJob"),), (_JOB,)),
            _controller(_system("deployment-controller"), (_DEPLOYMENT,), (("apps", "ReplicaSet"),)),
            _controller(_system("replicaset-controller"), (("apps", "ReplicaSet"),), (_POD,)),
            _controller(_system("replication-controller"), (("", "ReplicationController"),), (_POD,)),
            _controller(_system("statefulset-controller"), (_STATEFUL_SET,), (_POD,)),
            _controller(_system("daemon-set-controller"), (("apps", "DaemonSet"),), (_POD,)),
            _controller(job_set, (_JOB_SET,), (_JOB,)),
            *[_controller(accounts[name], owners, made) for name, owners, made in _OPERATORS if name in accounts],
        ),
        never_judged=frozenset({kueue}),
    )


OWNERS = frozenset(owner for controller in default_controllers().known for owner in controller.owners)
"""The kinds of which it is known who makes their children."""
