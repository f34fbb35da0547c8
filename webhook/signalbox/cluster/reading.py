"""From an object of the cluster, as JSON, to what is kept of it.

Where something that matters has another shape than its kind allows, all of the object is UNKNOWN: half of a quota would
refuse work that the whole of it has room for.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from signalbox.cluster.objects import (
    ClusterQueue,
    Cohort,
    DeviceClass,
    DeviceRequest,
    Devices,
    FlavorQuota,
    LocalQueue,
    NamespaceQuota,
    PriorityClass,
    ResourceClaim,
    ResourceFlavor,
    ResourceGroup,
    TrainingRuntime,
    VolumeClaim,
)
from signalbox.fieldpath import Path
from signalbox.quantity import Quantity, is_placeholder, parse_quantity
from signalbox.review import JsonObject
from signalbox.workload.kinds.kind import mapping, members

UNREAD = "unread"
"""A key of an object of which only the name was kept: it was too large."""
NAMESPACE_NAME = "kubernetes.io/metadata.name"
_NEVER = "Never"
_ALL = "All"
# The most that the API server takes (kubernetes ``api/resource/v1``).
_MOST_REQUESTS = 32
_MOST_ALTERNATIVES = 8
_LONGEST_SELECTOR = 10 * 1024
_DRIVER = re.compile(r"""device\.driver\s?==\s?["']([\w.-]{1,253})["']""")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Fault:
    """What of an object cannot be used: where it stands, and what is wrong with it."""

    path: Path
    text: str

    def __str__(self) -> str:
        return self.text


class UnreadableError(Exception):
    """Raised for a value that cannot be used; the fault says where and why."""

    def __init__(self, path: Path, expected: str, value: Any) -> None:
        shown = "missing" if value is None else repr(value)[:40]
        super().__init__(f"its {path[-1]} is {shown}, {expected} is expected")
        self.path = path


def name_of(obj: Any) -> str:
    """metadata.name, empty where there is none."""
    name = mapping(mapping(obj).get("metadata")).get("name")
    return name if isinstance(name, str) else ""


def namespace_of(obj: Any) -> str:
    """metadata.namespace, ``default`` where there is none."""
    namespace = mapping(mapping(obj).get("metadata")).get("namespace")
    return namespace if isinstance(namespace, str) and namespace else "default"


def read_namespace(obj: JsonObject) -> dict[str, str]:
    """A namespace's labels, with the one that the API server adds, which a manifest seldom has."""
    return {**_texts(mapping(obj.get("metadata")).get("labels")), NAMESPACE_NAME: name_of(obj)}


def read_priority_class(obj: JsonObject) -> PriorityClass:
    """A PriorityClass or WorkloadPriorityClass."""
    value = obj.get("value")
    if isinstance(value, bool) or not isinstance(value, int):
        raise UnreadableError(("value",), "a number", value)
    never = obj.get("preemptionPolicy") == _NEVER
    return PriorityClass(name_of(obj), value, _NEVER) if never else PriorityClass(name_of(obj), value)


def read_local_queue(obj: JsonObject) -> LocalQueue:
    """A LocalQueue."""
    spec = _mapping(obj, "spec", ())
    return LocalQueue(name_of(obj), _text(spec, "clusterQueue"), _stopped(spec))


def read_cluster_queue(obj: JsonObject) -> ClusterQueue:
    """A ClusterQueue, in the fields of v1beta1 and v1beta2."""
    spec = _mapping(obj, "spec", ())
    selector = spec.get("namespaceSelector")
    if selector is not None and not isinstance(selector, dict):
        raise UnreadableError(("spec", "namespaceSelector"), "a selector", selector)
    return ClusterQueue(
        name_of(obj), _text(spec, "cohortName") or _text(spec, "cohort"), _groups(spec), _stopped(spec), selector
    )


def read_cohort(obj: JsonObject) -> Cohort:
    """A Cohort, in the fields of v1alpha1 and later."""
    spec = _mapping(obj, "spec", ())
    return Cohort(name_of(obj), _text(spec, "parentName") or _text(spec, "parent"), _groups(spec))


def read_resource_flavor(obj: JsonObject) -> ResourceFlavor:
    """A ResourceFlavor."""
    spec = _mapping(obj, "spec", ())
    labels = _mapping(spec, "nodeLabels", ("spec",))
    if not all(isinstance(value, str) for value in labels.values()):
        raise UnreadableError(("spec", "nodeLabels"), "texts", labels)
    return ResourceFlavor(name_of(obj), labels, _mappings(spec, "nodeTaints"), _mappings(spec, "tolerations"))


def read_resource_quota(obj: JsonObject) -> NamespaceQuota:
    """A ResourceQuota."""
    spec = _mapping(obj, "spec", ())
    hard = {
        resource: _quantity(amount, ("spec", "hard", resource))
        for resource, amount in _mapping(spec, "hard", ("spec",)).items()
        if isinstance(resource, str)
    }
    scopes: list[tuple[str, str, tuple[str, ...]]] = [(str(scope), "Exists", ()) for scope in _list(spec, "scopes", ("spec",))]
    for one in _mappings(_mapping(spec, "scopeSelector", ("spec",)), "matchExpressions", ("spec", "scopeSelector")):
        values = tuple(value for value in members(one.get("values")) if isinstance(value, str))
        scopes.append((_text(one, "scopeName"), _text(one, "operator"), values))
    return NamespaceQuota(name_of(obj), hard, tuple(scopes))


def read_training_runtime(obj: JsonObject) -> TrainingRuntime:
    """A TrainingRuntime or ClusterTrainingRuntime; its spec is read where a TrainJob asks for it."""
    return TrainingRuntime(name_of(obj), mapping(obj.get("spec")), _texts(mapping(obj.get("metadata")).get("labels")))


def read_resource_claim(obj: JsonObject) -> ResourceClaim:
    """A ResourceClaim."""
    return _claim(obj, _mapping(obj, "spec", ()), ("spec",))


def read_resource_claim_template(obj: JsonObject) -> ResourceClaim:
    """What a ResourceClaimTemplate makes."""
    return _claim(obj, _mapping(_mapping(obj, "spec", ()), "spec", ("spec",)), ("spec", "spec"))


def read_device_class(obj: JsonObject) -> DeviceClass:
    """A DeviceClass."""
    spec = _mapping(obj, "spec", ())
    written = (mapping(one.get("cel")).get("expression") for one in _mappings(spec, "selectors"))
    selectors = [text[:_LONGEST_SELECTOR] for text in written if isinstance(text, str)]
    drivers = dict.fromkeys(driver for text in selectors for driver in _DRIVER.findall(text))
    return DeviceClass(name_of(obj), _text(spec, "extendedResourceName"), tuple(drivers))


def read_volume_claim(obj: JsonObject) -> VolumeClaim:
    """A PersistentVolumeClaim."""
    modes = _list(_mapping(obj, "spec", ()), "accessModes", ("spec",))
    if not all(isinstance(mode, str) for mode in modes):
        raise UnreadableError(("spec", "accessModes"), "a list of texts", modes)
    return VolumeClaim(name_of(obj), tuple(modes))


def read(kind: str, reader: Callable[[JsonObject], T], obj: Any) -> T | Fault:
    """What ``reader`` makes of an object, or what keeps it from being used."""
    if mapping(obj).get(UNREAD) is True:
        return Fault((), f"{kind} {name_of(obj)}: it is too large to be kept")
    try:
        found = reader(mapping(obj))
    except UnreadableError as error:
        return Fault(error.path, f"{kind} {name_of(obj)}: {error}")
    return found if name_of(obj) else Fault(("metadata", "name"), f"{kind} without a name")


def _groups(spec: JsonObject) -> tuple[ResourceGroup, ...]:
    found = []
    for number, group in enumerate(_mappings(spec, "resourceGroups")):
        path: Path = ("spec", "resourceGroups", number)
        covered = [resource for resource in _list(group, "coveredResources", path) if isinstance(resource, str)]
        flavors = []
        for place, flavor in enumerate(_mappings(group, "flavors", path)):
            where: Path = (*path, "flavors", place)
            flavors.append((_name(flavor, where), _quotas(flavor, where)))
        found.append(ResourceGroup(tuple(covered), tuple(flavors)))
    return tuple(found)


def _quotas(flavor: JsonObject, path: Path) -> dict[str, FlavorQuota]:
    quotas = {}
    for number, entry in enumerate(_mappings(flavor, "resources", path)):
        where: Path = (*path, "resources", number)
        quotas[_name(entry, where)] = FlavorQuota(
            _quantity(entry.get("nominalQuota", 0), (*where, "nominalQuota")),
            _limit(entry, "borrowingLimit", where),
            _limit(entry, "lendingLimit", where),
        )
    return quotas


def _claim(obj: JsonObject, spec: JsonObject, path: Path) -> ResourceClaim:
    """In the fields of v1, and of v1beta1, where a request has no ``exactly`` around what it asks for."""
    devices = _mapping(spec, "devices", path)
    where: Path = (*path, "devices")
    requests = []
    for number, request in enumerate(_mappings(devices, "requests", where)[:_MOST_REQUESTS]):
        at: Path = (*where, "requests", number)
        first = _mappings(request, "firstAvailable", at)[:_MOST_ALTERNATIVES]
        exactly = _mapping(request, "exactly", at)
        written: list[tuple[JsonObject, Path]] = [(one, (*at, "firstAvailable", index)) for index, one in enumerate(first)]
        written = written or [(exactly, (*at, "exactly")) if exactly else (request, at)]
        # For looking after devices that others use.
        alternatives = [_devices(one, place) for one, place in written if one.get("adminAccess") is not True]
        name = request.get("name")
        requests.append(DeviceRequest(name if isinstance(name, str) else "", tuple(alternatives)))
    return ResourceClaim(name_of(obj), tuple(requests))


def _devices(written: JsonObject, path: Path) -> Devices:
    device_class = written.get("deviceClassName")
    if not isinstance(device_class, str):
        raise UnreadableError((*path, "deviceClassName"), "a text", device_class)
    return Devices(device_class, None if written.get("allocationMode") == _ALL else _count(written.get("count"), path))


def _count(value: Any, path: Path) -> int | None:
    """A number of devices, 1 where nothing is said; None for a placeholder."""
    if value is None or is_placeholder(value):
        return 1 if value is None else None
    number = parse_quantity(value)
    if number is None or number < 1 or number.denominator != 1:
        raise UnreadableError((*path, "count"), "a whole number", value)
    return int(number)


def _name(entry: JsonObject, path: Path) -> str:
    name = entry.get("name")
    if not isinstance(name, str):
        raise UnreadableError((*path, "name"), "a text", name)
    return name


def _limit(entry: JsonObject, field: str, path: Path) -> Quantity | None:
    value = entry.get(field)
    return None if value is None else _quantity(value, (*path, field))


def _quantity(value: Any, path: Path) -> Quantity:
    amount = parse_quantity(value)
    if amount is None:
        raise UnreadableError(path, "a quantity", value)
    return amount


def _stopped(spec: JsonObject) -> bool:
    return spec.get("stopPolicy") in ("Hold", "HoldAndDrain")


def _text(found: JsonObject, field: str) -> str:
    value = found.get(field)
    if value is not None and not isinstance(value, str):
        raise UnreadableError(("spec", field), "a text", value)
    return value or ""


def _texts(value: Any) -> dict[str, str]:
    return {key: text for key, text in mapping(value).items() if isinstance(key, str) and isinstance(text, str)}


def _mapping(found: JsonObject, field: str, path: Path) -> JsonObject:
    value = found.get(field)
    if value is not None and not isinstance(value, dict):
        raise UnreadableError((*path, field), "a mapping", value)
    return value or {}


def _list(found: JsonObject, field: str, path: Path) -> list[Any]:
    value = found.get(field)
    if value is not None and not isinstance(value, list):
        raise UnreadableError((*path, field), "a list", value)
    return value or []


def _mappings(found: JsonObject, field: str, path: Path = ("spec",)) -> tuple[JsonObject, ...]:
    listed = _list(found, field, path)
    for number, one in enumerate(listed):
        if not isinstance(one, dict):
            raise UnreadableError((*path, field, number), "a mapping", one)
    return tuple(listed)
