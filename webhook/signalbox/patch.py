"""The recorder: writes to an object and notes each write as an RFC 6902 operation.

A patch that does not apply is an outage even under ``failurePolicy: Ignore`` (the API server refuses the request and
names no webhook), so operations are made together with the write they describe: parents are created where they are absent
or null, list members are appended with ``/-``, ``~`` is escaped before ``/``. Only the containers on the way to a change
are copied; the object handed in is never changed.
"""

from typing import Any

from signalbox.fieldpath import Path, value_at
from signalbox.review import JsonObject


class Recorder:
    """One object being patched. ``object`` is the result so far, ``operations`` the patch that leads to it."""

    __slots__ = ("_owned", "object", "operations")

    def __init__(self, obj: JsonObject) -> None:
        self.object = obj
        self.operations: list[JsonObject] = []
        self._owned: dict[int, Any] = {}

    def set(self, path: Path, value: Any) -> bool:
        """Sets the value at ``path``. False, and no change, where a step on the way is of another shape."""
        missing = self._first_missing(path)
        if missing is None:
            return False
        parent = self._own(path[:missing])
        key = path[missing]
        if missing == len(path) - 1:
            exists = key in parent if isinstance(parent, dict) else True
            self._operation("replace" if exists else "add", path, value)
            parent[key] = _copy_mappings(value, 0)
        else:
            nested = value
            for step in reversed(path[missing + 1 :]):
                nested = {step: nested}
            self._operation("add", path[: missing + 1], nested)
            # The nested mappings are fresh: later writes below may change them in place, but not the operation's copy.
            parent[key] = _copy_mappings(nested, len(path) - missing - 1)
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
        self._operation("add", (*path, "-"), item)
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

    def _first_missing(self, path: Path) -> int | None:
        """The index of the first step that is absent or null (at most the last), None where a shape is wrong."""
        here: Any = self.object
        for index, step in enumerate(path):
            if isinstance(here, dict):
                if not isinstance(step, str):
                    return None
                following = here.get(step)
            elif isinstance(here, list):
                if not isinstance(step, int) or not 0 <= step < len(here):
                    return None
                following = here[step]
            else:
                return None
            if index == len(path) - 1:
                return index
            if following is None:
                # Below a missing step only mappings can be created: a list member has no name to be created under.
                return index if all(isinstance(rest, str) for rest in path[index + 1 :]) else None
            here = following
        return None

    def _own(self, path: Path) -> Any:
        """The container at ``path``, copied (with those above it) unless this recorder made it."""
        root = self._owned_copy(self.object)
        self.object = root
        here: Any = root
        for step in path:
            child = self._owned_copy(here[step])
            here[step] = child
            here = child
        return here

    def _owned_copy(self, container: Any) -> Any:
        if id(container) in self._owned:
            return container
        copied = container.copy()
        # Kept referenced here, so that its id stays its own as long as this recorder lives.
        self._owned[id(copied)] = copied
        return copied

    def _operation(self, op: str, path: Path, value: Any) -> None:
        self.operations.append({"op": op, "path": pointer(path), "value": value})


def pointer(path: Path) -> str:
    """A path as an RFC 6901 pointer."""
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in path)


def _copy_mappings(value: Any, depth: int) -> Any:
    if depth == 0:
        # A list handed in may be appended to later: the operation must keep the value it was made with.
        return value.copy() if isinstance(value, (list, dict)) else value
    return {key: _copy_mappings(item, depth - 1) for key, item in value.items()}
