"""What is kept of the cluster's objects: plain values, read once, so that a request only looks them up."""

from collections.abc import Mapping
from dataclasses import dataclass

from signalbox.quantity import Quantity
from signalbox.review import JsonObject


@dataclass(frozen=True, slots=True)
class PriorityClass:
    """A scheduling.k8s.io PriorityClass or a kueue.x-k8s.io WorkloadPriorityClass."""

    name: str
    value: int
    preemption_policy: str = "PreemptLowerPriority"


@dataclass(frozen=True, slots=True)
class LocalQueue:
    """Kueue's queue of one namespace. ``cluster_queue`` is empty where it names none; ``stopped``: it admits nothing now."""

    name: str
    cluster_queue: str = ""
    stopped: bool = False


@dataclass(frozen=True, slots=True)
class FlavorQuota:
    """What there is of one resource in one flavor. A limit that is None does not bind."""

    nominal: Quantity = 0
    borrowing_limit: Quantity | None = None
    lending_limit: Quantity | None = None


@dataclass(frozen=True, slots=True)
class ResourceGroup:
    """Resources that come together from one of some flavors, in the order in which Kueue tries those."""

    resources: tuple[str, ...]
    flavors: tuple[tuple[str, Mapping[str, FlavorQuota]], ...]


@dataclass(frozen=True, slots=True)
class ClusterQueue:
    """Kueue's ClusterQueue. ``cohort`` is empty where it shares with nobody.

    ``namespace_selector`` None: no namespace may use it (Kueue's default).
    """

    name: str
    cohort: str = ""
    groups: tuple[ResourceGroup, ...] = ()
    stopped: bool = False
    namespace_selector: JsonObject | None = None


@dataclass(frozen=True, slots=True)
class Cohort:
    """Kueue's Cohort object. Most cohorts have none: their queues only name them."""

    name: str
    parent: str = ""
    groups: tuple[ResourceGroup, ...] = ()


@dataclass(frozen=True, slots=True)
class ResourceFlavor:
    """The nodes behind a flavor. ``taints`` and ``tolerations`` as they are written, mappings only."""

    name: str
    node_labels: Mapping[str, str]
    taints: tuple[JsonObject, ...] = ()
    tolerations: tuple[JsonObject, ...] = ()


@dataclass(frozen=True, slots=True)
class NamespaceQuota:
    """A core ResourceQuota. ``scopes`` holds those of ``scopes`` and of ``scopeSelector``: name, operator, values."""

    name: str
    hard: Mapping[str, Quantity]
    scopes: tuple[tuple[str, str, tuple[str, ...]], ...] = ()


@dataclass(frozen=True, slots=True)
class TrainingRuntime:
    """A TrainingRuntime or ClusterTrainingRuntime of trainer.kubeflow.org: what a TrainJob leaves out."""

    name: str
    spec: JsonObject
    labels: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Devices:
    """What a request of a claim would take: devices of one class. ``count`` None: all that a node has, or a placeholder."""

    device_class: str
    count: int | None = 1


@dataclass(frozen=True, slots=True)
class DeviceRequest:
    """One request of a claim. Of several ``alternatives`` the scheduler takes one, the first that it can have."""

    name: str
    alternatives: tuple[Devices, ...]


@dataclass(frozen=True, slots=True)
class ResourceClaim:
    """A ResourceClaim of resource.k8s.io, or what a ResourceClaimTemplate makes one of for each Pod."""

    name: str
    requests: tuple[DeviceRequest, ...] = ()


@dataclass(frozen=True, slots=True)
class DeviceClass:
    """A DeviceClass: ``resource`` is its ``extendedResourceName``, ``drivers`` are those that its selectors name."""

    name: str
    resource: str = ""
    drivers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class VolumeClaim:
    """A PersistentVolumeClaim. ``access_modes`` as they are asked for."""

    name: str
    access_modes: tuple[str, ...] = ()
