"""What the engine asks of the cluster. Each answer may be UNKNOWN: then what needs it is *not judged*.

The core knows only this protocol. Implementations live outside: today a folder of YAML (``cluster/folder.py``).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final, Literal, Protocol


class Unknown(Enum):
    """The view has not been told."""

    UNKNOWN = "unknown"


UNKNOWN: Final = Unknown.UNKNOWN
UnknownType = Literal[Unknown.UNKNOWN]


@dataclass(frozen=True, slots=True)
class PriorityClass:
    """A scheduling.k8s.io PriorityClass or a kueue.x-k8s.io WorkloadPriorityClass."""

    name: str
    value: int
    preemption_policy: str = "PreemptLowerPriority"


class ClusterView(Protocol):
    """What is known of the cluster. None means: known to be absent."""

    def namespace_labels(self, namespace: str) -> Mapping[str, str] | UnknownType:
        """The labels of a namespace."""
        ...

    def priority_class(self, name: str) -> PriorityClass | None | UnknownType:
        """The PriorityClass of that name."""
        ...

    def default_priority_class(self) -> PriorityClass | None | UnknownType:
        """The PriorityClass with ``globalDefault: true``."""
        ...

    def workload_priority_class(self, name: str) -> PriorityClass | None | UnknownType:
        """Kueue's WorkloadPriorityClass of that name."""
        ...

    def has_local_queue(self, namespace: str, name: str) -> bool | UnknownType:
        """Whether Kueue's LocalQueue exists there. False as well where Kueue is known to be missing."""
        ...


class EmptyClusterView:
    """A view that knows nothing."""

    def namespace_labels(self, namespace: str) -> Mapping[str, str] | UnknownType:
        """Unknown."""
        return UNKNOWN

    def priority_class(self, name: str) -> PriorityClass | None | UnknownType:
        """Unknown."""
        return UNKNOWN

    def default_priority_class(self) -> PriorityClass | None | UnknownType:
        """Unknown."""
        return UNKNOWN

    def workload_priority_class(self, name: str) -> PriorityClass | None | UnknownType:
        """Unknown."""
        return UNKNOWN

    def has_local_queue(self, namespace: str, name: str) -> bool | UnknownType:
        """Unknown."""
        return UNKNOWN
