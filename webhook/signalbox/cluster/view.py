"""What the engine asks of the cluster. Each answer may be UNKNOWN: then what needs it is *not judged*.

The core knows only this protocol. What answers stands outside: ``cluster/state.py``, filled by a watch or from a folder.
"""

from collections.abc import Mapping
from enum import Enum
from typing import Final, Literal, Protocol

from signalbox.cluster.capacity import GroupCapacity
from signalbox.cluster.objects import (
    ClusterQueue,
    DeviceClass,
    LocalQueue,
    NamespaceQuota,
    PriorityClass,
    ResourceClaim,
    ResourceFlavor,
    TrainingRuntime,
    VolumeClaim,
)


class Unknown(Enum):
    """The view has not been told."""

    UNKNOWN = "unknown"


UNKNOWN: Final = Unknown.UNKNOWN
UnknownType = Literal[Unknown.UNKNOWN]


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

    def priority_class_names(self) -> tuple[str, ...]:
        """The names of all PriorityClasses that are known, sorted."""
        ...

    def workload_priority_class(self, name: str) -> PriorityClass | None | UnknownType:
        """Kueue's WorkloadPriorityClass of that name. None as well where Kueue is known to be missing."""
        ...

    def workload_priority_class_names(self) -> tuple[str, ...]:
        """The names of all WorkloadPriorityClasses that are known, sorted."""
        ...

    def has_kueue(self) -> bool | UnknownType:
        """Whether Kueue's queues are known to this cluster at all."""
        ...

    def has_local_queue(self, namespace: str, name: str) -> bool | UnknownType:
        """Whether Kueue's LocalQueue exists there. False as well where Kueue is known to be missing."""
        ...

    def local_queue(self, namespace: str, name: str) -> LocalQueue | None | UnknownType:
        """Kueue's LocalQueue of that name in that namespace."""
        ...

    def local_queue_names(self, namespace: str) -> tuple[str, ...]:
        """The names of all LocalQueues that are known there, sorted."""
        ...

    def cluster_queue(self, name: str) -> ClusterQueue | None | UnknownType:
        """Kueue's ClusterQueue of that name."""
        ...

    def capacity(self, cluster_queue: str) -> tuple[GroupCapacity, ...] | UnknownType:
        """What a ClusterQueue can ever give, a resource group each; UNKNOWN as well where there is no such queue."""
        ...

    def resource_flavor(self, name: str) -> ResourceFlavor | None | UnknownType:
        """Kueue's ResourceFlavor of that name."""
        ...

    def resource_quotas(self, namespace: str) -> tuple[NamespaceQuota, ...] | UnknownType:
        """Every ResourceQuota of a namespace."""
        ...

    def training_runtime(self, kind: str, namespace: str, name: str) -> TrainingRuntime | None | UnknownType:
        """A TrainingRuntime of a namespace, or (``kind`` says which) a ClusterTrainingRuntime."""
        ...

    def resource_claim(self, kind: str, namespace: str, name: str) -> ResourceClaim | None | UnknownType:
        """A ResourceClaim of a namespace, or (``kind`` says which) what a ResourceClaimTemplate makes."""
        ...

    def device_class(self, name: str) -> DeviceClass | None | UnknownType:
        """The DeviceClass of that name."""
        ...

    def volume_claim(self, namespace: str, name: str) -> VolumeClaim | None | UnknownType:
        """The PersistentVolumeClaim of that name in that namespace; known from files alone."""
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

    def priority_class_names(self) -> tuple[str, ...]:
        """None that is known."""
        return ()

    def workload_priority_class(self, name: str) -> PriorityClass | None | UnknownType:
        """Unknown."""
        return UNKNOWN

    def workload_priority_class_names(self) -> tuple[str, ...]:
        """None that is known."""
        return ()

    def has_kueue(self) -> bool | UnknownType:
        """Unknown."""
        return UNKNOWN

    def has_local_queue(self, namespace: str, name: str) -> bool | UnknownType:
        """Unknown."""
        return UNKNOWN

    def local_queue(self, namespace: str, name: str) -> LocalQueue | None | UnknownType:
        """Unknown."""
        return UNKNOWN

    def local_queue_names(self, namespace: str) -> tuple[str, ...]:
        """None that is known."""
        return ()

    def cluster_queue(self, name: str) -> ClusterQueue | None | UnknownType:
        """Unknown."""
        return UNKNOWN

    def capacity(self, cluster_queue: str) -> tuple[GroupCapacity, ...] | UnknownType:
        """Unknown."""
        return UNKNOWN

    def resource_flavor(self, name: str) -> ResourceFlavor | None | UnknownType:
        """Unknown."""
        return UNKNOWN

    def resource_quotas(self, namespace: str) -> tuple[NamespaceQuota, ...] | UnknownType:
        """Unknown."""
        return UNKNOWN

    def training_runtime(self, kind: str, namespace: str, name: str) -> TrainingRuntime | None | UnknownType:
        """Unknown."""
        return UNKNOWN

    def resource_claim(self, kind: str, namespace: str, name: str) -> ResourceClaim | None | UnknownType:
        """Unknown."""
        return UNKNOWN

    def device_class(self, name: str) -> DeviceClass | None | UnknownType:
        """Unknown."""
        return UNKNOWN

    def volume_claim(self, namespace: str, name: str) -> VolumeClaim | None | UnknownType:
        """Unknown."""
        return UNKNOWN
