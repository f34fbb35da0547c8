"""What an API server does with an object and a structural schema: which values it refuses, and which keys it drops."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

PRESERVE = "x-kubernetes-preserve-unknown-fields"
KNOWN = {
    *("type", "description", "enum", "format", "minimum", "maximum", "minLength", "minItems"),
    *("required", "properties", "items", "additionalProperties", "nullable", PRESERVE),
}
FORMATS = {"date": re.compile(r"\d{4}-\d{2}-\d{2}\Z"), "int64": re.compile(r"-?\d+\Z")}

Schema = dict[str, Any]


def broken_rules(schema: Schema, path: str = "") -> Iterator[str]:
    """Where a schema is not structural: every node has one type or takes anything, and nothing refers to anything."""
    unknown = schema.keys() - KNOWN
    if unknown:
        yield f"{path}: {sorted(unknown)}"
    if "type" not in schema and not schema.get(PRESERVE):
        yield f"{path}: no type"
    if "properties" in schema and "additionalProperties" in schema:
        yield f"{path}: properties and additionalProperties exclude each other"
    if schema.get("type") == "array" and "items" not in schema:
        yield f"{path}: no items"
    for name, below in schema.get("properties", {}).items():
        yield from broken_rules(below, f"{path}.{name}")
    for key in ("items", "additionalProperties"):
        if key in schema:
            yield from broken_rules(schema[key], f"{path}.{key}")


def refusals(schema: Schema, value: Any, path: str = "") -> Iterator[str]:
    """What the API server would refuse."""
    kind = schema.get("type")
    if value is None and schema.get("nullable"):
        return
    if kind is not None and not _is(kind, value):
        yield f"{path}: {kind} is expected"
        return
    if "enum" in schema and value not in schema["enum"]:
        yield f"{path}: {value!r} is none of {schema['enum']}"
    if isinstance(value, str) and len(value) < schema.get("minLength", 0):
        yield f"{path}: too short"
    if "format" in schema and not FORMATS[schema["format"]].match(str(value)):
        yield f"{path}: no {schema['format']}"
    if isinstance(value, (int, float)) and not schema.get("minimum", value) <= value <= schema.get("maximum", value):
        yield f"{path}: out of bounds"
    if isinstance(value, list):
        if len(value) < schema.get("minItems", 0):
            yield f"{path}: too few"
        for index, item in enumerate(value):
            yield from refusals(schema.get("items", {PRESERVE: True}), item, f"{path}[{index}]")
    if isinstance(value, dict):
        yield from (f"{path}.{name}: is required" for name in schema.get("required", ()) if name not in value)
        for name, item in value.items():
            yield from refusals(_below(schema, name) or {}, item, f"{path}.{name}")


def kept(schema: Schema, obj: Schema) -> Schema:
    """What the API server would keep of an object: its metadata is no matter of the schema."""
    found: Schema = pruned(schema, obj)
    return {**found, "metadata": obj["metadata"]} if "metadata" in obj else found


def pruned(schema: Schema, value: Any) -> Any:
    """What the API server would keep of a value; one of another type it refuses, so nothing of that is lost."""
    if "type" in schema and not _is(schema["type"], value):
        return value
    if isinstance(value, list):
        return [pruned(schema.get("items", {}), item) for item in value]
    if not isinstance(value, dict):
        return value
    below = {name: _below(schema, name) for name in value}
    return {
        name: item if below[name] is None else pruned(below[name] or {}, item)
        for name, item in value.items()
        if (below[name] is not None or schema.get(PRESERVE)) and not _dropped_null(below[name], item)
    }


def _dropped_null(schema: Schema | None, value: Any) -> bool:
    """Without a word the API server takes a null away where a schema does not say that there may be one."""
    return value is None and schema is not None and "type" in schema and not schema.get("nullable")


def _below(schema: Schema, name: str) -> Schema | None:
    found: Schema | None = schema.get("properties", {}).get(name) or schema.get("additionalProperties")
    return found


def _is(kind: str, value: Any) -> bool:
    if kind in ("integer", "number"):
        return not isinstance(value, bool) and isinstance(value, int if kind == "integer" else (int, float))
    return isinstance(value, {"string": str, "boolean": bool, "array": list, "object": dict}[kind])
