"""Policies as objects of the cluster, beside those in files: what they are called there, and one order of both.

Files come first, then objects by kind and name. Each object is a document of its own, named after its kind and name
(``WorkloadPolicy research``), so that a fault in it reads as one in a file does.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from signalbox.configuration import SetupFiles
from signalbox.manifests import FileBytes, PathBytes
from signalbox.plain_text import clean
from signalbox.policy.documents import API_VERSION
from signalbox.review import JsonObject
from signalbox.workload.kinds.kind import mapping
from signalbox.yaml_text import yaml_documents

_KEYS_FIRST = ("apiVersion", "kind", "metadata", "spec")
# Reading YAML stops at 200 levels, and writing it takes some frames of the stack for each.
_DEEPEST = 190
_LONGEST_TITLE = 300


def with_objects(files: SetupFiles, objects: Iterable[JsonObject]) -> SetupFiles:
    """These files with these objects behind them, instead of those that were there.

    An object must hold its ``kind`` (items of a list do not). One that names what a file has already is left out when they
    are loaded, with a problem that says so.
    """
    return replace(files, objects=in_order(map(object_bytes, objects)))


def in_order(objects: Iterable[PathBytes]) -> tuple[PathBytes, ...]:
    """Objects as they are read: by kind and name."""
    return tuple(sorted(objects, key=lambda one: one.path.split(" ", 1)))


def object_name(obj: JsonObject) -> str:
    """The object's name; where the API server has not made it yet, one like it."""
    metadata = mapping(obj.get("metadata"))
    start = _text(metadata.get("generateName"))
    return _text(metadata.get("name")) or (f"{start}new" if start else "")


def object_title(obj: JsonObject) -> str:
    """``WorkloadPolicy research``: what stands where a file's name would."""
    return clean(f"{_text(obj.get('kind'))} {object_name(obj)}", _LONGEST_TITLE)


def object_bytes(obj: JsonObject) -> PathBytes:
    """The object as a file of its own: as it would be printed, without what is not of the policy."""
    title = object_title(obj)
    # The rest of metadata has no say in what a policy means, and status is ours.
    kept = {"apiVersion": API_VERSION, **obj, "metadata": {"name": object_name(obj)}}
    ordered = {key: kept[key] for key in _KEYS_FIRST if key in kept}
    ordered |= {key: value for key, value in sorted(kept.items()) if key not in ordered and key != "status"}
    if _deeper_than(ordered, _DEEPEST):
        return PathBytes(title, (FileBytes(title, fault=f"nested deeper than {_DEEPEST} levels"),))
    return PathBytes(title, (FileBytes(title, yaml_documents([_sorted(ordered)]).encode()),))


def _sorted(obj: JsonObject) -> JsonObject:
    """Keys in the order in which kubectl prints them: the very same bytes for the same object."""
    return {key: _by_key(value) for key, value in obj.items()}


def _by_key(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _by_key(value[key]) for key in sorted(value)}
    return [_by_key(item) for item in value] if isinstance(value, list) else value


def _deeper_than(value: Any, levels: int) -> bool:
    layer = [value]
    for _ in range(levels):
        layer = [item for one in layer for item in _items(one)]
        if not layer:
            return False
    return True


def _items(value: Any) -> Iterator[Any]:
    if isinstance(value, (dict, list)):
        yield from (item for item in (value.values() if isinstance(value, dict) else value) if isinstance(item, (dict, list)))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
