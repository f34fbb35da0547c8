"""Who writes objects on behalf of a parent that was judged already.

An ownerReference proves nothing, anyone can write one. A write is a controller's own only if it comes from exactly that
controller's service account and the owner is of a kind which that controller owns. Seen on a real API server with
``--use-service-account-credentials``; the namespaces of Kueue and JobSet are the cluster's choice.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from signalbox.review import Request
from signalbox.workload.kinds.kind import WorkloadKind
from signalbox.workload.view import Owner


@dataclass(frozen=True, slots=True)
class Controller:
    """``username`` makes objects of the kinds ``makes`` for owners of the kinds ``owners``, each ``(group, kind)``."""

    username: str
    owners: frozenset[tuple[str, str]]
    makes: frozenset[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Controllers:
    """The table. ``never_judged`` are accounts whose updates we keep out of: Kueue admits and evicts by them."""

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


def _controller(username: str, owner: tuple[str, str], made: tuple[str, str]) -> Controller:
    return Controller(username, frozenset({owner}), frozenset({made}))


CRON_JOB_CONTROLLER = _system("cronjob-controller")


def default_controllers(
    kueue: str = "system:serviceaccount:kueue-system:kueue-controller-manager",
    job_set: str = "system:serviceaccount:jobset-system:jobset-controller-manager",
) -> Controllers:
    """The controllers of Kubernetes itself, JobSet's under the account ``job_set``, and Kueue's account ``kueue``."""
    pod = ("", "Pod")
    return Controllers(
        known=(
            _controller(_system("job-controller"), ("batch", "Job"), pod),
            _controller(CRON_JOB_CONTROLLER, ("batch", "CronJob"), ("batch", "Job")),
            _controller(_system("deployment-controller"), ("apps", "Deployment"), ("apps", "ReplicaSet")),
            _controller(_system("replicaset-controller"), ("apps", "ReplicaSet"), pod),
            _controller(_system("statefulset-controller"), ("apps", "StatefulSet"), pod),
            _controller(_system("daemon-set-controller"), ("apps", "DaemonSet"), pod),
            _controller(job_set, ("jobset.x-k8s.io", "JobSet"), ("batch", "Job")),
        ),
        never_judged=frozenset({kueue}),
    )
