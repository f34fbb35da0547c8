"""A cluster view from files: what ``kubectl get namespaces,priorityclasses,localqueues -A -o yaml`` prints, in a folder.

A kind of which the folder holds no object was not asked for, so all of it is unknown. Where it holds one, the list is taken
as whole, and a name that is not in it is known to be absent. Namespaces are the exception: one that is missing may be
made together with the workload, so its labels stay unknown.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from signalbox.cluster.view import UNKNOWN, PriorityClass, UnknownType
from signalbox.manifests import Manifest, Manifests, read_manifests
from signalbox.source import SourceProblem
from signalbox.workload.kinds.kind import mapping

_KUEUE = "kueue.x-k8s.io"
_NAMESPACE_NAME = "kubernetes.io/metadata.name"
_NEVER = "Never"
# Made by the API server itself (pkg/apis/scheduling/v1/helpers.go): there in every cluster.
_SYSTEM_CLASSES = {
    "system-cluster-critical": PriorityClass("system-cluster-critical", 2_000_000_000),
    "system-node-critical": PriorityClass("system-node-critical", 2_000_001_000),
}


@dataclass(frozen=True, slots=True)
class FolderCluster:
    """A cluster view that answers from what was read. None: objects of that kind were not in the folder at all."""

    namespaces: Mapping[str, Mapping[str, str]]
    priority_classes: Mapping[str, PriorityClass] | None = None
    default_class: PriorityClass | None = None
    workload_priority_classes: Mapping[str, PriorityClass] | None = None
    local_queues: frozenset[tuple[str, str]] | None = None

    def namespace_labels(self, namespace: str) -> Mapping[str, str] | UnknownType:
        """The labels of a namespace, unknown where it is not in the folder."""
        return self.namespaces.get(namespace, UNKNOWN)

    def priority_class(self, name: str) -> PriorityClass | None | UnknownType:
        """The PriorityClass of that name. Kubernetes' own two are always there."""
        if name in _SYSTEM_CLASSES:
            return _SYSTEM_CLASSES[name]
        return UNKNOWN if self.priority_classes is None else self.priority_classes.get(name)

    def default_priority_class(self) -> PriorityClass | None | UnknownType:
        """The PriorityClass with ``globalDefault: true``."""
        return UNKNOWN if self.priority_classes is None else self.default_class

    def workload_priority_class(self, name: str) -> PriorityClass | None | UnknownType:
        """Kueue's WorkloadPriorityClass of that name."""
        return UNKNOWN if self.workload_priority_classes is None else self.workload_priority_classes.get(name)

    def has_local_queue(self, namespace: str, name: str) -> bool | UnknownType:
        """Whether the LocalQueue exists; known as soon as any LocalQueue or ClusterQueue is in the folder."""
        return UNKNOWN if self.local_queues is None else (namespace, name) in self.local_queues

    @property
    def knows_nothing(self) -> bool:
        """Whether nothing that was read tells of a cluster."""
        known = (self.priority_classes, self.workload_priority_classes, self.local_queues)
        return not self.namespaces and all(one is None for one in known)


def read_cluster(folder: str) -> tuple[FolderCluster, tuple[SourceProblem, ...]]:
    """The view of a folder (or of one file), and what in it could not be read."""
    return cluster_of(read_manifests([folder]))


def cluster_of(found: Manifests) -> tuple[FolderCluster, tuple[SourceProblem, ...]]:
    """The view of manifests that were read already."""
    problems = list(found.problems)
    cluster = _cluster(found.objects, problems)
    return cluster, tuple(problems)


def _cluster(objects: Iterable[Manifest], problems: list[SourceProblem]) -> FolderCluster:
    namespaces: dict[str, Mapping[str, str]] = {}
    classes: dict[str, PriorityClass] = {}
    workload_classes: dict[str, PriorityClass] = {}
    defaults: list[PriorityClass] = []
    queues: set[tuple[str, str]] = set()
    kueue = False
    for manifest in objects:
        metadata = mapping(manifest.value.get("metadata"))
        name = metadata.get("name")
        if not isinstance(name, str):
            name = ""
        match manifest.group, manifest.kind:
            case "", "Namespace":
                labels = mapping(metadata.get("labels"))
                strings = {key: value for key, value in labels.items() if isinstance(value, str)}
                # The API server puts it there; a manifest of a namespace seldom has it.
                namespaces[name] = {**strings, _NAMESPACE_NAME: name}
            case "scheduling.k8s.io", "PriorityClass":
                found = _priority_class(manifest, name, problems)
                if found is not None:
                    classes[name] = found
                    if manifest.value.get("globalDefault") is True:
                        defaults.append(found)
            case group, "WorkloadPriorityClass" if group == _KUEUE:
                found = _priority_class(manifest, name, problems)
                if found is not None:
                    workload_classes[name] = found
            case group, "LocalQueue" if group == _KUEUE:
                kueue = True
                queues.add((str(metadata.get("namespace") or "default"), name))
            case group, "ClusterQueue" if group == _KUEUE:
                kueue = True
            case _:
                continue
    return FolderCluster(
        namespaces,
        classes or None,
        # With several, the scheduler's admission plugin takes the lowest.
        min(defaults, key=lambda one: one.value, default=None),
        workload_classes or None,
        frozenset(queues) if kueue else None,
    )


def _priority_class(manifest: Manifest, name: str, problems: list[SourceProblem]) -> PriorityClass | None:
    value: Any = manifest.value.get("value")
    if isinstance(value, bool) or not isinstance(value, int):
        shown = "missing" if value is None else repr(value)[:40]
        at = manifest.document.position(("value",))
        text = f"{manifest.kind} {name}: its value is {shown}, a number is expected"
        problems.append(SourceProblem(manifest.file, at.line, at.column, text))
        return None
    never = manifest.value.get("preemptionPolicy") == _NEVER
    return PriorityClass(name, value, _NEVER) if never else PriorityClass(name, value)
