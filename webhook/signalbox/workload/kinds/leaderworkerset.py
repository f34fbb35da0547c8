"""LeaderWorkerSet ``leaderworkerset.x-k8s.io``: groups of Pods that are one replica together, each with a leader.

Without a template of its own the leader is made from the workers'. Kueue gates the Pods of this kind.
"""

from signalbox.fieldpath import Path, value_at
from signalbox.review import JsonObject
from signalbox.workload.kinds.kind import Metadata, PodTemplate, WorkloadKind, count, mapping, product, template_at

_GROUP: Path = ("spec", "leaderWorkerTemplate")
_LEADER: Path = (*_GROUP, "leaderTemplate")
_WORKER: Path = (*_GROUP, "workerTemplate")


def _has_leader(leader_worker_set: JsonObject) -> bool:
    return isinstance(value_at(leader_worker_set, _LEADER), dict)


def _templates(leader_worker_set: JsonObject) -> tuple[PodTemplate, ...]:
    replicas = count(mapping(leader_worker_set.get("spec")).get("replicas"))
    size = count(mapping(value_at(leader_worker_set, _GROUP)).get("size"))
    if not _has_leader(leader_worker_set):
        return (template_at(leader_worker_set, _WORKER, product(replicas, size)),)
    workers = None if size is None else max(size - 1, 0)
    return (
        template_at(leader_worker_set, _LEADER, replicas, "leader"),
        template_at(leader_worker_set, _WORKER, product(replicas, workers), "worker"),
    )


def _labelled(leader_worker_set: JsonObject) -> Metadata:
    worker: Path = (*_WORKER, "metadata")
    return ((*_LEADER, "metadata"), worker) if _has_leader(leader_worker_set) else (worker,)


LEADER_WORKER_SET = WorkloadKind(
    group="leaderworkerset.x-k8s.io",
    kind="LeaderWorkerSet",
    templates=_templates,
    runs="forever",
    labelled=_labelled,
    defaulted=False,
    claims=(*_GROUP, "volumeClaimTemplates"),
)
