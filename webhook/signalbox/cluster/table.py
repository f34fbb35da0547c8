"""The objects of one kind that are known, and whether those are all."""

from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar

from signalbox.cluster.reading import Fault, name_of, namespace_of, read
from signalbox.cluster.view import UNKNOWN, UnknownType
from signalbox.review import JsonObject

_CLUSTER_WIDE = ""
T = TypeVar("T")


class Table(Generic[T]):
    """The objects of one kind, by namespace and name. ``whole``: what is not there is known to be missing."""

    def __init__(self, kind: str, reader: Callable[[JsonObject], T], namespaced: bool) -> None:
        self._kind = kind
        self._reader = reader
        self._namespaced = namespaced
        self._entries: dict[str, dict[str, T | UnknownType]] = {}
        self.whole = False
        self.installed: bool | UnknownType = UNKNOWN

    def get(self, name: str, namespace: str = _CLUSTER_WIDE) -> T | None | UnknownType:
        """The object of that name; UNKNOWN as well where it cannot be read."""
        # Asked first: a kind that is being forgotten must not look whole and empty.
        whole = self.whole
        found = self._entries.get(namespace, {}).get(name)
        if found is not None:
            return found
        return None if whole else UNKNOWN

    def all(self, namespace: str = _CLUSTER_WIDE) -> Mapping[str, T | UnknownType]:
        """Every object of a namespace, or every one of a kind that has no namespaces."""
        # One step for the interpreter, so the copy is of one moment though another thread writes.
        return self._entries.get(namespace, {}).copy()

    def put(self, obj: Any) -> tuple[bool, Fault | None]:
        """Takes an object over: whether anything is different now, and what of it cannot be used."""
        if self.installed is False:
            # Installed a moment ago: until all of it is told, a name that was not is not missing.
            self.whole = False
        self.installed = True
        found = read(self._kind, self._reader, obj)
        fault = found if isinstance(found, Fault) else None
        kept: T | UnknownType = UNKNOWN if isinstance(found, Fault) else found
        name, namespace = name_of(obj), namespace_of(obj) if self._namespaced else _CLUSTER_WIDE
        if not name:
            return False, fault
        of_namespace = self._entries.setdefault(namespace, {})
        if of_namespace.get(name) == kept:
            return False, fault
        of_namespace[name] = kept
        return True, fault

    def drop(self, namespace: str, name: str) -> None:
        """An object is gone."""
        place = namespace if self._namespaced else _CLUSTER_WIDE
        of_namespace = self._entries.get(place, {})
        of_namespace.pop(name, None)
        if not of_namespace:
            self._entries.pop(place, None)

    def mark(self, whole: bool, installed: bool | UnknownType) -> None:
        """What is known of the kind itself. Of one that is not installed, and of one forgotten, there is no object."""
        if not whole:
            self.whole = False
        self.installed = installed
        if installed is not True:
            self._entries = {}
        self.whole = whole
