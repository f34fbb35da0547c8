"""JSON that YAML cannot read, as kubectl reads it: ``\\ud83d\\ude00``, and one object after another."""

import json
from typing import Any

from signalbox.yaml_scalar import ScalarError, resolve
from signalbox.yaml_tree import MAX_DEPTH


def read_json(text: str) -> list[tuple[Any, int]]:
    """The values in the text, each with where it starts; none where it is not JSON. Raises ScalarError, see below."""
    decoder = json.JSONDecoder(
        object_pairs_hook=_object,
        parse_constant=_constant,
        parse_int=lambda digits: resolve(digits, ""),
        parse_float=lambda digits: resolve(digits, ""),
    )
    found: list[tuple[Any, int]] = []
    at = _skip(text, 0)
    while at < len(text):
        try:
            value, end = decoder.raw_decode(text, at)
        except (json.JSONDecodeError, RecursionError):
            return []
        if _deeper(value, MAX_DEPTH):
            raise ScalarError(f"nested deeper than {MAX_DEPTH} levels")
        found.append((_without_surrogates(value), at))
        at = _skip(text, end)
    return found


def _skip(text: str, at: int) -> int:
    rest = text[at:]
    return at + len(rest) - len(rest.lstrip())


def _deeper(value: Any, limit: int) -> bool:
    level = [value]
    for _ in range(limit + 1):
        containers = [item for item in level if isinstance(item, (dict, list))]
        level = [item for one in containers for item in (one.values() if isinstance(one, dict) else one)]
        if not containers:
            return False
    return True


def _without_surrogates(value: Any) -> Any:
    """Half of a ``\\ud83d\\ude00`` is no character and could not be written anywhere: Go puts U+FFFD in its place."""
    text = json.dumps(value, ensure_ascii=False)
    return json.loads(text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace"))


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        keys = [key for key, _ in pairs]
        raise ScalarError(f"key {next(key for key in keys if keys.count(key) > 1)[:80]!r} stands twice in one object")
    return value


def _constant(text: str) -> Any:
    raise ScalarError(f"{text} has no value in JSON")
