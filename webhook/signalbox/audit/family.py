"""Which objects a controller made from a workload that is judged anyway: they are counted under it, not judged again.

An object belongs to a parent whose uid this very scan has met. Kinds that own others are read first; the one exception (a
Pod that leads a LeaderWorkerSet owns the StatefulSet of its workers) waits until its owner's list has been read.
"""

from collections import Counter
from collections.abc import Container, Iterable
from datetime import datetime
from enum import Enum
from graphlib import TopologicalSorter

from signalbox.controllers import Controllers
from signalbox.review import JsonObject
from signalbox.workload.kinds.kind import mapping, members

Key = tuple[str, str]
"""An API group and a kind."""

_POD: Key = ("", "Pod")


class Relation(Enum):
    """What an object is to a scan."""

    SUBJECT = "subject"
    CHILD = "child"
    WAITS = "waits"


class Family:
    """The parents met so far. ``kinds`` are those that are judged, ``excluded`` those of them that nobody wants listed."""

    def __init__(self, kinds: Container[Key], excluded: Container[Key], started: datetime) -> None:
        self._kinds = kinds
        self._excluded = excluded
        # Timestamps of the API server are whole seconds in UTC: such texts sort as their times do.
        self._started = started.strftime("%Y-%m-%dT%H:%M:%SZ")
        self._roots: dict[str, str] = {}
        self._awaited: set[str] = set()
        self._read: set[Key] = set()
        self._children: Counter[str] = Counter()

    def meet(self, key: Key, obj: JsonObject) -> Relation:
        """What this object is; from now on others may be its children."""
        metadata = mapping(obj.get("metadata"))
        owner = _controlling(metadata)
        relation, root = self._relation(owner, metadata)
        uid = metadata.get("uid")
        # Pods are many and own nothing, but for the one exception.
        if isinstance(uid, str) and uid and (key != _POD or uid in self._awaited):
            self._roots[uid] = root or uid
        return relation

    def settle(self, obj: JsonObject) -> Relation:
        """What an object is that waited for its owner, now that everything has been read."""
        relation, _ = self._relation(_controlling(mapping(obj.get("metadata"))), {})
        return Relation.SUBJECT if relation is Relation.WAITS else relation

    def finish(self, key: Key) -> None:
        """A kind's list has been read: who is not among the parents now never comes."""
        self._read.add(key)

    def children_of(self, uid: str) -> int:
        """How many objects were counted under this one."""
        return self._children[uid]

    def _relation(self, owner: JsonObject | None, metadata: JsonObject) -> tuple[Relation, str]:
        key = _key(owner) if owner is not None else None
        if owner is None or key not in self._kinds:
            return Relation.SUBJECT, ""
        uid = owner.get("uid")
        root = self._roots.get(uid, "") if isinstance(uid, str) else ""
        if root:
            self._children[root] += 1
            return Relation.CHILD, root
        if key in self._excluded:
            return Relation.CHILD, ""
        if key not in self._read and isinstance(uid, str):
            self._awaited.add(uid)
            return Relation.WAITS, ""
        created = metadata.get("creationTimestamp")
        if isinstance(created, str) and created >= self._started:
            # Its owner was made after the owner's kind had been listed: both belong to the next scan.
            return Relation.CHILD, ""
        return Relation.SUBJECT, ""


def parents_first(kinds: Iterable[Key], controllers: Controllers) -> list[Key]:
    """The kinds in the order to read them: who makes others comes before what it makes."""
    wanted = tuple(kinds)
    sorter = TopologicalSorter[Key](dict.fromkeys(wanted, ()))
    for controller in controllers.known:
        for owner in sorted(controller.owners - {_POD}):
            for made in sorted(controller.makes - {owner}):
                sorter.add(made, owner)
    place = {key: number for number, key in enumerate(sorter.static_order())}
    return sorted(wanted, key=lambda key: place[key])


def owner_text(obj: JsonObject) -> str:
    """``Deployment web``: who the object says controls it, empty where nobody does."""
    owner = _controlling(mapping(obj.get("metadata")))
    return "" if owner is None else f"{owner.get('kind')} {owner.get('name')}"


def _key(obj: JsonObject) -> Key:
    version, kind = obj.get("apiVersion"), obj.get("kind")
    group = version.rpartition("/")[0] if isinstance(version, str) else ""
    return group, kind if isinstance(kind, str) else ""


def _controlling(metadata: JsonObject) -> JsonObject | None:
    for reference in members(metadata.get("ownerReferences")):
        if isinstance(reference, dict) and reference.get("controller") is True:
            return reference
    return None
