"""The recorder: writes to an object and notes each write as an RFC 6902 operation.

A patch that does not apply is an outage even under ``failurePolicy: Ignore`` (the API server refuses the request and
names no webhook), so operations are made together with the write they describe: parents are created where they are absent
or null, list members are appended with ``/-``, ``~`` is escaped before ``/``. Only the containers on the way to a change
are copied; the object handed in is never changed.
"""

from functools import lru_cache
from typing import Any

from signalbox.fieldpath import Path, value_at
from signalbox.review import JsonObject


class PatchRecorder:
    """One object being patched. ``object`` is the result so far, ``operations`` the patch that leads to it."""

    __slots__ = ("_owned", "object", "operations")

    def __init__(self, obj: JsonObject) -> None:
        self.object = obj
        self.operations: list[JsonObject] = []
        self._owned: dict[int, Any] = {}

    def set(self, path: Path, value: Any) -> bool:
        """Sets the value at ``path``. False, and no change, where a step on the way is of another shape."""
        here: Any = self._owned_root()
        last = len(path) - 1
        for index, step in enumerate(path):
            if type(here) is dict and type(step) is str:
                child = here.get(step)
            elif type(here) is list and type(step) is int and 0 <= step < len(here):
                child = here[step]
            else:
                return False
            if index == last:
                exists = type(here) is list or step in here
                self.operations.append({"op": "replace" if exists else "add", "path": pointer(path), "value": value})
                here[step] = _copy_mappings(value, 0)
                return True
            if child is None:
                return self._create(here, path, index, value)
            if id(child) not in self._owned:
                if type(child) is not dict and type(child) is not list:
                    return False
                child = here[step] = self._copied(child)
            here = child
        return False

    def merge(self, path: Path, values: dict[str, Any]) -> bool:
        """Sets several keys of the mapping at ``path``, which is created where absent or null. False for another shape."""
        present = value_at(self.object, path)
        if present is None:
            return self.set(path, dict(values))
        if not isinstance(present, dict):
            return False
        owned = self._own(path)
        for key, value in values.items():
            self.operations.append({"op": "replace" if key in owned else "add", "path": pointer((*path, key)), "value": value})
            owned[key] = value
        return True

    def append(self, path: Path, item: Any) -> bool:
        """Appends to the list at ``path``, which is created where absent or null. False where it is no list."""
        current = value_at(self.object, path)
        if current is None:
            return self.set(path, [item])
        if not isinstance(current, list):
            return False
        members = self._own(path)
        members.append(item)
        self.operations.append({"op": "add", "path": pointer((*path, "-")), "value": item})
        return True

    def remove(self, path: Path) -> bool:
        """Removes the value at ``path``. False where nothing stands there."""
        parent_value = value_at(self.object, path[:-1])
        key = path[-1]
        if isinstance(parent_value, dict):
            if key not in parent_value:
                return False
        elif not (isinstance(parent_value, list) and isinstance(key, int) and 0 <= key < len(parent_value)):
            return False
        del self._own(path[:-1])[key]
        self.operations.append({"op": "remove", "path": pointer(path)})
        return True

    def _create(self, parent: Any, path: Path, missing: int, value: Any) -> bool:
        """Sets a value below a step that is absent or null, with the mappings between in the same operation."""
        below = path[missing + 1 :]
        # Below a missing step only mappings can be created: a list member has no name to be created under.
        if not all(isinstance(step, str) for step in below):
            return False
        nested = value
        for step in reversed(below):
            nested = {step: nested}
        # A null list member is replaced: to add at its index would insert one before it.
        op = "replace" if type(parent) is list else "add"
        self.operations.append({"op": op, "path": pointer(path[: missing + 1]), "value": nested})
        # Later writes below may change these mappings in place, but not the operation's.
        parent[path[missing]] = _copy_mappings(nested, len(below))
        return True

    def _own(self, path: Path) -> Any:
        """The container at ``path``, copied (with those above it) unless this recorder made it."""
        here: Any = self._owned_root()
        for step in path:
            child = here[step]
            if id(child) not in self._owned:
                child = here[step] = self._copied(child)
            here = child
        return here

    def _owned_root(self) -> Any:
        if id(self.object) not in self._owned:
            self.object = self._copied(self.object)
        return self.object

    def _copied(self, container: Any) -> Any:
        copied = container.copy()
        # Kept referenced here, so that its id stays its own as long as this recorder lives.
        self._owned[id(copied)] = copied
        return copied


@lru_cache(maxsize=4096)
def pointer(path: Path) -> str:
    """A path as an RFC 6901 pointer."""
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in path)


def path_in(root: Any, text: str) -> Path:
    """A pointer as a path in ``root``: a step into a list is an index there, one into a mapping is a key."""
    path: list[str | int] = []
    here = root
    for part in text.split("/")[1:]:
        step: str | int = part.replace("~1", "/").replace("~0", "~")
        if isinstance(here, list) and part.isdecimal():
            step = int(part)
        path.append(step)
        here = value_at(here, (step,))
    return tuple(path)


def _copy_mappings(value: Any, depth: int) -> Any:
    if depth == 0:
        # A list handed in may be appended to later: the operation must keep the value it was made with.
        return value.copy() if isinstance(value, (list, dict)) else value
    return {key: _copy_mappings(item, depth - 1) for key, item in value.items()}
