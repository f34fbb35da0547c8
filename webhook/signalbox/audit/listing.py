"""What there is to judge in a live cluster: every kind that is known and installed, page by page."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from signalbox.apiserver.connection import ApiServer
from signalbox.apiserver.error import ApiError
from signalbox.audit.family import Key
from signalbox.audit.result import ScanError
from signalbox.review import JsonObject
from signalbox.workload.kinds.kind import WorkloadKind, mapping, members

_BEGINNINGS = 4
"""How often one list is begun: each time the server has forgotten the moment that its pages are of."""

Progress = Callable[[str, int, int], None]
"""Told after each page: the kind, how many objects of it have come, and how many the server says are left."""


@dataclass(frozen=True, slots=True)
class Resource:
    """Where a kind is served."""

    kind: WorkloadKind
    version: str
    plural: str
    namespaced: bool

    @property
    def key(self) -> Key:
        """Group and kind."""
        return self.kind.group, self.kind.kind

    @property
    def api_version(self) -> str:
        """``batch/v1``."""
        return f"{self.kind.group}/{self.version}" if self.kind.group else self.version

    def path(self, namespace: str = "") -> str:
        """Where to list it, in one namespace or everywhere."""
        root = f"/apis/{self.api_version}" if self.kind.group else f"/api/{self.version}"
        return f"{root}/namespaces/{namespace}/{self.plural}" if namespace and self.namespaced else f"{root}/{self.plural}"


@dataclass(frozen=True, slots=True)
class Found:
    """An object to look at. ``stored``: the API server has had it in its hands; ``place`` is where it stands otherwise."""

    obj: JsonObject
    kind: WorkloadKind
    namespace: str
    stored: bool = True
    place: str = ""


@dataclass(frozen=True, slots=True)
class Listed:
    """A kind has been read, to its end if ``whole``."""

    kind: WorkloadKind
    whole: bool = True


Item = Found | Listed | ScanError
"""What a source of a scan yields: objects, the end of each kind's list, and what could not be read."""


def discover(api: ApiServer, kinds: Mapping[Key, WorkloadKind]) -> Iterator[Resource | ScanError]:
    """Which of the kinds the API server serves, each in the version it prefers; what cannot be asked for is an error.

    Raises ApiError where nothing can be said at all.
    """
    groups: dict[str, list[str]] = {"": ["v1"]}
    for group in members(api.get("/apis").get("groups")):
        name, versions = mapping(group).get("name"), members(mapping(group).get("versions"))
        preferred = mapping(mapping(group).get("preferredVersion")).get("version")
        found = [mapping(version).get("version") for version in versions]
        if isinstance(name, str):
            # A stable sort: the preferred version first, the others in the server's order.
            groups[name] = sorted((text for text in found if isinstance(text, str)), key=lambda text: text != preferred)
    for group_name in dict.fromkeys(group for group, _ in kinds):
        wanted = {kind: value for (group, kind), value in kinds.items() if group == group_name}
        for version in groups.get(group_name, ()):
            try:
                answer = api.get(f"/apis/{group_name}/{version}" if group_name else f"/api/{version}")
            except ApiError as error:
                if not error.not_found:
                    yield from (ScanError(kind.text, str(error), kind.text) for kind in wanted.values())
                    wanted = {}
                continue
            for resource in members(answer.get("resources")):
                served = _served(mapping(resource), version, wanted)
                if served is not None:
                    del wanted[served.kind.kind]
                    yield served


def _served(resource: JsonObject, version: str, wanted: Mapping[str, WorkloadKind]) -> Resource | None:
    name, kind = resource.get("name"), resource.get("kind")
    # With a slash it is a subresource, and `pods/eviction` has a kind of its own.
    if not isinstance(name, str) or "/" in name or not isinstance(kind, str) or kind not in wanted:
        return None
    if "list" not in members(resource.get("verbs")):
        return None
    return Resource(wanted[kind], version, name, resource.get("namespaced") is True)


def list_all(
    api: ApiServer, resources: Sequence[Resource], namespaces: Sequence[str] = (), progress: Progress | None = None
) -> Iterator[Item]:
    """Every object of these resources, in their order; without ``namespaces`` those of all namespaces."""
    for resource in resources:
        whole = True
        for namespace in namespaces or ("",):
            for item in _list(api, resource, namespace, progress):
                whole = whole and not isinstance(item, ScanError)
                yield item
            if not resource.namespaced:
                break
        yield Listed(resource.kind, whole)


def _list(api: ApiServer, resource: Resource, namespace: str, progress: Progress | None) -> Iterator[Item]:
    """One list. Where it has to begin anew, what came before is not handed on again."""
    seen: set[str] = set()
    where = f"{resource.kind.text} in {namespace}" if namespace else resource.kind.text
    for beginning in range(_BEGINNINGS):
        try:
            for items, _, left in api.pages(resource.path(namespace)):
                for obj in items:
                    metadata = mapping(obj.get("metadata"))
                    uid = metadata.get("uid")
                    if isinstance(uid, str):
                        if uid in seen:
                            continue
                        seen.add(uid)
                    own = metadata.get("namespace")
                    # Items of a list carry neither.
                    obj["apiVersion"], obj["kind"] = resource.api_version, resource.kind.kind
                    yield Found(obj, resource.kind, own if isinstance(own, str) else "")
                if progress is not None:
                    progress(where, len(seen), left)
            return
        except ApiError as error:
            if error.not_found:
                # Its CustomResourceDefinition has gone since we asked what there is.
                return
            if not error.expired or beginning == _BEGINNINGS - 1:
                broke_off = f"{len(seen)} came, then: " if seen else ""
                yield ScanError(where, f"{broke_off}{error}", resource.kind.text)
                return
