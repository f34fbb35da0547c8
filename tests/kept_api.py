"""An ApiServer without a server: objects in a dict, resourceVersions that are checked. For tests of thousands of steps."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import jsonpatch

from signalbox.apiserver.connection import ApiServer
from signalbox.apiserver.error import ApiError

JsonObject = dict[str, Any]


class KeptApi(ApiServer):
    """Paths are keys. ``before_write`` is called ahead of each write, to write something else first."""

    def __init__(self) -> None:
        self.objects: dict[str, JsonObject] = {}
        self.version = 0
        self.writes: list[tuple[str, str]] = []
        self.clock_ahead = None

    def put(self, path: str, obj: JsonObject) -> None:
        """Store, whatever was there."""
        self.version += 1
        self.objects[path] = copy.deepcopy(obj)
        self.objects[path].setdefault("metadata", {})["resourceVersion"] = str(self.version)

    def get(self, path: str, query: Mapping[str, str] | None = None) -> JsonObject:
        """One object."""
        if path not in self.objects:
            raise ApiError(404, "NotFound", f"{path} not found")
        return copy.deepcopy(self.objects[path])

    def create(self, path: str, body: JsonObject, query: Mapping[str, str] | None = None) -> JsonObject:
        """POST."""
        name = f"{path}/{body['metadata']['name']}"
        if name in self.objects:
            raise ApiError(409, "AlreadyExists", f"{name} already exists")
        return self._written("create", name, body)

    def replace(self, path: str, body: JsonObject) -> JsonObject:
        """PUT."""
        self._compare(path, body)
        return self._written("replace", path, body)

    def patch(self, path: str, body: Any, content_type: str = "", query: Mapping[str, str] | None = None) -> JsonObject:
        """A JSON patch."""
        patched = jsonpatch.apply_patch(self.get(path), body)
        self._compare(path, patched)
        return self._written("patch", path, patched)

    def _compare(self, path: str, body: JsonObject) -> None:
        if self.get(path)["metadata"]["resourceVersion"] != body["metadata"]["resourceVersion"]:
            raise ApiError(409, "Conflict", f"{path} has been modified")

    def _written(self, verb: str, path: str, body: JsonObject) -> JsonObject:
        self.writes.append((verb, path))
        self.put(path, body)
        return self.get(path)
