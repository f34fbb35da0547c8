"""The kinds that the engine asks the cluster for: where the API server lists them, and what of an object is kept."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from signalbox.policy.resources import GROUP, PLURALS, VERSION
from signalbox.review import JsonObject
from signalbox.workload.kinds.kind import mapping

KUEUE = "kueue.x-k8s.io"
SCHEDULING = "scheduling.k8s.io"
TRAINER = "trainer.kubeflow.org"
DEVICES = "resource.k8s.io"


_MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Room:
    """The most bytes that are kept of one object, and of all of its kind: whoever may make objects must not fill our memory.

    Each kind has room of its own, so that nobody takes that of a namespace's labels by making something else.
    """

    one: int
    all: int


# More than people write.
_ROOM = Room(_MIB // 8, 64 * _MIB)
# Who may work in a namespace may make these.
_ROOM_OF_TENANTS = Room(_MIB // 8, 8 * _MIB)
# All that etcd can hold.
_ROOM_OF_DOCUMENTS = Room(2 * _MIB, 64 * _MIB)


@dataclass(frozen=True, slots=True)
class WatchedKind:
    """One kind. ``versions``: those that are understood, the preferred one first.

    ``fields`` and ``spec`` name what is kept of an object beside its name, ``labels`` whether its labels are. ``document``:
    it is read as a document, so it keeps what says which, and all but its status. An object with an annotation of
    ``left_out`` is nobody's to name, and not kept.
    """

    group: str
    versions: tuple[str, ...]
    plural: str
    kind: str
    namespaced: bool = False
    fields: tuple[str, ...] = ()
    spec: tuple[str, ...] = ()
    labels: bool = False
    document: bool = False
    room: Room = _ROOM
    left_out: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """``localqueues.kueue.x-k8s.io``, as ``kubectl`` takes it."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def paths(self) -> tuple[str, ...]:
        """Where all objects are listed, a path for each version."""
        start = f"/apis/{self.group}" if self.group else "/api"
        return tuple(f"{start}/{version}/{self.plural}" for version in self.versions)

    def leaves_out(self, obj: Any) -> bool:
        """Whether an object is one that nobody names."""
        return bool(self.left_out) and not mapping(mapping(mapping(obj).get("metadata")).get("annotations")).keys().isdisjoint(
            self.left_out
        )

    def slim(self, obj: Any) -> JsonObject:
        """What is kept of an object: so much memory a kind, whatever status and annotations hold."""
        found, metadata = mapping(obj), mapping(mapping(obj).get("metadata"))
        kept = ("name", "namespace", "labels") if self.labels else ("name", "namespace")
        slim = {"metadata": _some(metadata, kept), **_some(found, self.fields)}
        if self.document:
            # In a list the API server leaves out what its members are. A key that nobody knows is one to complain of.
            rest = {key: value for key, value in found.items() if key not in ("metadata", "status")}
            return {**rest, "apiVersion": f"{self.group}/{self.versions[0]}", "kind": self.kind, "metadata": slim["metadata"]}
        spec = found.get("spec")
        if self.spec and spec is not None:
            # Of another shape it stays as it is, and makes the object one that cannot be read.
            slim["spec"] = _some(spec, self.spec) if isinstance(spec, dict) else spec
        return slim


def _some(found: JsonObject, names: tuple[str, ...]) -> JsonObject:
    return {name: found[name] for name in names if found.get(name) is not None}


_QUEUES = ("v1beta2", "v1beta1")
_CLAIMS = ("v1", "v1beta2", "v1beta1", "v1alpha3")
# What Kubernetes makes of templates and of extended resources, one a Pod (kubernetes ``api/resource/v1``).
_CLAIMS_OF_PODS = ("resource.kubernetes.io/pod-claim-name", "resource.kubernetes.io/extended-resource-claim")

WATCHED: tuple[WatchedKind, ...] = (
    WatchedKind("", ("v1",), "namespaces", "Namespace", labels=True),
    WatchedKind(SCHEDULING, ("v1",), "priorityclasses", "PriorityClass", fields=("value", "globalDefault", "preemptionPolicy")),
    WatchedKind(KUEUE, _QUEUES, "workloadpriorityclasses", "WorkloadPriorityClass", fields=("value",)),
    WatchedKind(KUEUE, _QUEUES, "localqueues", "LocalQueue", namespaced=True, spec=("clusterQueue", "stopPolicy")),
    WatchedKind(
        KUEUE,
        _QUEUES,
        "clusterqueues",
        "ClusterQueue",
        spec=("cohortName", "cohort", "resourceGroups", "stopPolicy", "namespaceSelector"),
    ),
    WatchedKind(KUEUE, (*_QUEUES, "v1alpha1"), "cohorts", "Cohort", spec=("parentName", "parent", "resourceGroups")),
    WatchedKind(KUEUE, _QUEUES, "resourceflavors", "ResourceFlavor", spec=("nodeLabels", "nodeTaints", "tolerations")),
    WatchedKind("", ("v1",), "resourcequotas", "ResourceQuota", namespaced=True, spec=("hard", "scopes", "scopeSelector")),
    WatchedKind(
        TRAINER,
        ("v1alpha1",),
        "trainingruntimes",
        "TrainingRuntime",
        namespaced=True,
        spec=("mlPolicy", "podGroupPolicy", "template"),
        labels=True,
        room=_ROOM_OF_TENANTS,
    ),
    WatchedKind(
        TRAINER,
        ("v1alpha1",),
        "clustertrainingruntimes",
        "ClusterTrainingRuntime",
        spec=("mlPolicy", "podGroupPolicy", "template"),
        labels=True,
    ),
    WatchedKind(
        DEVICES,
        _CLAIMS,
        "resourceclaimtemplates",
        "ResourceClaimTemplate",
        namespaced=True,
        spec=("spec",),
        room=_ROOM_OF_TENANTS,
    ),
    WatchedKind(
        DEVICES,
        _CLAIMS,
        "resourceclaims",
        "ResourceClaim",
        namespaced=True,
        spec=("devices",),
        room=_ROOM_OF_TENANTS,
        left_out=_CLAIMS_OF_PODS,
    ),
    WatchedKind(DEVICES, _CLAIMS, "deviceclasses", "DeviceClass", spec=("selectors", "extendedResourceName")),
)

WATCHED_BY_KIND: Mapping[tuple[str, str], WatchedKind] = {(one.group, one.kind): one for one in WATCHED}

READ_FROM_FILES = frozenset({*WATCHED_BY_KIND, ("", "PersistentVolumeClaim")})
"""The kinds that a folder may tell of: those that are watched, and claims of volumes (why those are not: decision 0007)."""

POLICY_OBJECTS: tuple[WatchedKind, ...] = tuple(
    WatchedKind(GROUP, (VERSION,), plural, kind, document=True, room=_ROOM_OF_DOCUMENTS) for kind, plural in PLURALS.items()
)
