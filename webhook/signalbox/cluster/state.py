"""The cluster as it is known, in memory: fed object by object by a watch or from a folder, asked by every request.

One thread writes, many read, without a lock: an entry is replaced as a whole, and what is listed (the queues of a
namespace) is a copy of one moment. A name that is not there is UNKNOWN until its kind has
been told whole (``synced``) or is known not to be installed (``absent``); from then on it is known to be missing.
"""

from collections.abc import Mapping
from typing import Any

from signalbox.cluster.capacity import Capacities, GroupCapacity
from signalbox.cluster.objects import (
    ClusterQueue,
    Cohort,
    DeviceClass,
    LocalQueue,
    NamespaceQuota,
    PriorityClass,
    ResourceClaim,
    ResourceFlavor,
    TrainingRuntime,
    VolumeClaim,
)
from signalbox.cluster.reading import (
    Fault,
    name_of,
    read_cluster_queue,
    read_cohort,
    read_device_class,
    read_local_queue,
    read_namespace,
    read_priority_class,
    read_resource_claim,
    read_resource_claim_template,
    read_resource_flavor,
    read_resource_quota,
    read_training_runtime,
    read_volume_claim,
)
from signalbox.cluster.resources import DEVICES, KUEUE, SCHEDULING, TRAINER
from signalbox.cluster.table import Table
from signalbox.cluster.view import UNKNOWN, UnknownType

# Made by the API server itself (pkg/apis/scheduling/v1/helpers.go): there in every cluster.
_SYSTEM_CLASSES = {
    "system-cluster-critical": PriorityClass("system-cluster-critical", 2_000_000_000),
    "system-node-critical": PriorityClass("system-node-critical", 2_000_001_000),
}


class ClusterState:
    """What is known of one cluster; a ``ClusterView``."""

    def __init__(self) -> None:
        self._namespaces = Table("Namespace", read_namespace, False)
        self._classes = Table("PriorityClass", read_priority_class, False)
        self._workload_classes = Table("WorkloadPriorityClass", read_priority_class, False)
        self._local_queues = Table("LocalQueue", read_local_queue, True)
        self._cluster_queues = Table("ClusterQueue", read_cluster_queue, False)
        self._cohorts = Table("Cohort", read_cohort, False)
        self._flavors = Table("ResourceFlavor", read_resource_flavor, False)
        self._quotas = Table("ResourceQuota", read_resource_quota, True)
        self._runtimes = Table("TrainingRuntime", read_training_runtime, True)
        self._cluster_runtimes = Table("ClusterTrainingRuntime", read_training_runtime, False)
        self._claim_templates = Table("ResourceClaimTemplate", read_resource_claim_template, True)
        self._claims = Table("ResourceClaim", read_resource_claim, True)
        self._device_classes = Table("DeviceClass", read_device_class, False)
        self._volume_claims = Table("PersistentVolumeClaim", read_volume_claim, True)
        self._tables: dict[tuple[str, str], Table[Any]] = {
            ("", "Namespace"): self._namespaces,
            (SCHEDULING, "PriorityClass"): self._classes,
            (KUEUE, "WorkloadPriorityClass"): self._workload_classes,
            (KUEUE, "LocalQueue"): self._local_queues,
            (KUEUE, "ClusterQueue"): self._cluster_queues,
            (KUEUE, "Cohort"): self._cohorts,
            (KUEUE, "ResourceFlavor"): self._flavors,
            ("", "ResourceQuota"): self._quotas,
            (TRAINER, "TrainingRuntime"): self._runtimes,
            (TRAINER, "ClusterTrainingRuntime"): self._cluster_runtimes,
            (DEVICES, "ResourceClaimTemplate"): self._claim_templates,
            (DEVICES, "ResourceClaim"): self._claims,
            (DEVICES, "DeviceClass"): self._device_classes,
            ("", "PersistentVolumeClaim"): self._volume_claims,
        }
        self._defaults: dict[str, PriorityClass] = {}
        self._default: PriorityClass | None = None
        # Worked out when it is first asked for after a change, and kept with the change it belongs to.
        self._changes = 0
        self._capacities: tuple[int, Capacities] = (-1, Capacities((), ()))

    def put(self, group: str, kind: str, obj: Any) -> Fault | None:
        """There is this object, or it is now like this; the answer says what of it cannot be used. Never raises."""
        table = self._tables.get((group, kind))
        if table is None:
            return None
        changed, fault = table.put(obj)
        if table is self._classes:
            self._take_default(obj)
        elif changed:
            self._changed(table)
        return fault

    def drop(self, group: str, kind: str, namespace: str, name: str) -> None:
        """That object is gone."""
        table = self._tables.get((group, kind))
        if table is None:
            return
        table.drop(namespace, name)
        if table is self._classes:
            self._keep_default(name, None)
        self._changed(table)

    def synced(self, group: str, kind: str) -> None:
        """All objects of the kind have been told: a name that was not is known to be missing."""
        self._mark(group, kind, True, True)

    def absent(self, group: str, kind: str) -> None:
        """The cluster does not know the kind: there is no object of it."""
        self._mark(group, kind, True, False)

    def forget(self, group: str, kind: str) -> None:
        """Nothing is known of the kind any more."""
        self._mark(group, kind, False, UNKNOWN)

    @property
    def knows_nothing(self) -> bool:
        """Whether no object and no kind has been told of."""
        return all(table.installed is UNKNOWN for table in self._tables.values())

    def namespace_labels(self, namespace: str) -> Mapping[str, str] | UnknownType:
        """The labels of a namespace; one that is not there may be made this very moment, so it is unknown."""
        found = self._namespaces.get(namespace)
        return UNKNOWN if found is None else found

    def priority_class(self, name: str) -> PriorityClass | None | UnknownType:
        """The PriorityClass of that name. Kubernetes' own two are always there."""
        return _SYSTEM_CLASSES.get(name) or self._classes.get(name)

    def default_priority_class(self) -> PriorityClass | None | UnknownType:
        """The PriorityClass with ``globalDefault: true``."""
        return self._default if self._classes.whole else UNKNOWN

    def priority_class_names(self) -> tuple[str, ...]:
        """The names of all PriorityClasses that are known, sorted."""
        return tuple(sorted(self._classes.all()))

    def workload_priority_class(self, name: str) -> PriorityClass | None | UnknownType:
        """Kueue's WorkloadPriorityClass of that name."""
        return self._workload_classes.get(name)

    def workload_priority_class_names(self) -> tuple[str, ...]:
        """The names of all WorkloadPriorityClasses that are known, sorted."""
        return tuple(sorted(self._workload_classes.all()))

    def has_kueue(self) -> bool | UnknownType:
        """Whether LocalQueues are a kind of this cluster."""
        return self._local_queues.installed

    def has_local_queue(self, namespace: str, name: str) -> bool | UnknownType:
        """Whether the LocalQueue exists."""
        found = self._local_queues.get(name, namespace)
        return UNKNOWN if found is UNKNOWN else found is not None

    def local_queue(self, namespace: str, name: str) -> LocalQueue | None | UnknownType:
        """The LocalQueue of that name in that namespace."""
        return self._local_queues.get(name, namespace)

    def local_queue_names(self, namespace: str) -> tuple[str, ...]:
        """The names of all LocalQueues that are known there, sorted."""
        return tuple(sorted(self._local_queues.all(namespace)))

    def cluster_queue(self, name: str) -> ClusterQueue | None | UnknownType:
        """The ClusterQueue of that name."""
        return self._cluster_queues.get(name)

    def capacity(self, cluster_queue: str) -> tuple[GroupCapacity, ...] | UnknownType:
        """What a ClusterQueue can ever give. With a cohort, all of its members have to be known for that."""
        changes, known = self._capacities
        if changes != self._changes:
            # Read before what is copied: a change meanwhile only makes the next one ask again.
            changes = self._changes
            known = self._work_out()
            self._capacities = (changes, known)
        found = known.of(cluster_queue)
        return UNKNOWN if found is None else found

    def resource_flavor(self, name: str) -> ResourceFlavor | None | UnknownType:
        """The ResourceFlavor of that name."""
        return self._flavors.get(name)

    def resource_quotas(self, namespace: str) -> tuple[NamespaceQuota, ...] | UnknownType:
        """Every ResourceQuota of a namespace; UNKNOWN where one of them cannot be read."""
        if not self._quotas.whole:
            return UNKNOWN
        found = self._quotas.all(namespace).values()
        quotas = tuple(quota for quota in found if quota is not UNKNOWN)
        return quotas if len(quotas) == len(found) else UNKNOWN

    def training_runtime(self, kind: str, namespace: str, name: str) -> TrainingRuntime | None | UnknownType:
        """A TrainingRuntime of a namespace, or a ClusterTrainingRuntime."""
        if kind == "TrainingRuntime":
            # A manifest that names no namespace goes to this one.
            return self._runtimes.get(name, namespace or "default")
        return self._cluster_runtimes.get(name)

    def resource_claim(self, kind: str, namespace: str, name: str) -> ResourceClaim | None | UnknownType:
        """A ResourceClaim of a namespace, or what a ResourceClaimTemplate makes."""
        table = self._claims if kind == "ResourceClaim" else self._claim_templates
        return table.get(name, namespace or "default")

    def device_class(self, name: str) -> DeviceClass | None | UnknownType:
        """The DeviceClass of that name."""
        return self._device_classes.get(name)

    def volume_claim(self, namespace: str, name: str) -> VolumeClaim | None | UnknownType:
        """The PersistentVolumeClaim of that name in that namespace."""
        return self._volume_claims.get(name, namespace or "default")

    def _mark(self, group: str, kind: str, whole: bool, installed: bool | UnknownType) -> None:
        table = self._tables.get((group, kind))
        if table is None:
            return
        table.mark(whole, installed)
        if table is self._classes and installed is not True:
            self._defaults, self._default = {}, None
        self._changed(table)

    def _changed(self, table: Table[Any]) -> None:
        if table is self._cluster_queues or table is self._cohorts:
            self._changes += 1

    def _take_default(self, obj: Any) -> None:
        name = name_of(obj)
        found = self._classes.get(name)
        is_default = isinstance(found, PriorityClass) and obj.get("globalDefault") is True
        self._keep_default(name, found if isinstance(found, PriorityClass) and is_default else None)

    def _keep_default(self, name: str, found: PriorityClass | None) -> None:
        self._defaults.pop(name, None)
        if found is not None:
            self._defaults[name] = found
        # With several, the scheduler's admission plugin takes the lowest.
        self._default = min(self._defaults.values(), key=lambda one: one.value, default=None)

    def _work_out(self) -> Capacities:
        whole = self._cluster_queues.whole and self._cohorts.whole
        queues, cohorts = self._cluster_queues.all(), self._cohorts.all()
        known = [queue for queue in queues.values() if queue is not UNKNOWN]
        shared: list[Cohort] = [cohort for cohort in cohorts.values() if cohort is not UNKNOWN]
        if whole and len(known) == len(queues) and len(shared) == len(cohorts):
            return Capacities(known, shared)
        return Capacities((queue for queue in known if not queue.cohort), ())
