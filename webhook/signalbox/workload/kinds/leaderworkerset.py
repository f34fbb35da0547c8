"""LeaderWorkerSet ``leaderworkerset.x-k8s.io``: groups of Pods that are one replica together, each with a leader.

Without a template of its own the leader is made from the workers'. Kueue gates the Pods of this kind.
"""

from signalbox.fieldpath import Path, value_at
from signalbox.review import JsonObject
from signalbox.workload.kinds.kind import Metadata, PodTemplate, WorkloadKind, count, mapping, product, template_at


def group_templates(root: JsonObject, spec: Path, role: str = "") -> tuple[PodTemplate, ...]:
    """The templates of the LeaderWorkerSetSpec at ``spec``; ``role`` is that of the whole set, where it is one of several."""
    leader, worker = _leader(spec), _worker(spec)
    replicas = count(mapping(value_at(root, spec)).get("replicas"))
    size = count(mapping(value_at(root, (*spec, "leaderWorkerTemplate"))).get("size"))
    if not isinstance(value_at(root, leader), dict):
        return (template_at(root, worker, product(replicas, size), role),)
    workers = None if size is None else max(size - 1, 0)
    before = f"{role}-" if role else ""
    return (
        template_at(root, leader, replicas, f"{before}leader"),
        template_at(root, worker, product(replicas, workers), f"{before}worker"),
    )


def group_metadata(root: JsonObject, spec: Path) -> Metadata:
    """Where the labels of its Pods stand."""
    leader, worker = _leader(spec), (*_worker(spec), "metadata")
    return ((*leader, "metadata"), worker) if isinstance(value_at(root, leader), dict) else (worker,)


def _leader(spec: Path) -> Path:
    return (*spec, "leaderWorkerTemplate", "leaderTemplate")


def _worker(spec: Path) -> Path:
    return (*spec, "leaderWorkerTemplate", "workerTemplate")


_SPEC: Path = ("spec",)

LEADER_WORKER_SET = WorkloadKind(
    group="leaderworkerset.x-k8s.io",
    kind="LeaderWorkerSet",
    templates=lambda obj: group_templates(obj, _SPEC),
    runs="forever",
    labelled=lambda obj: group_metadata(obj, _SPEC),
    defaulted=False,
)
