"""Where a value stands in an object: paths as tuples, and the text people read and write.

A path is a tuple of mapping keys and list indexes, ``("spec", "containers", 0, "args")``. Its text names list members
by their ``name`` where they have one, because an index means nothing to a reader whose sidecar injector reorders
containers: ``spec.containers[trainer].args``. Keys that hold a dot, a slash or a bracket stand in brackets:
``metadata.labels[kueue.x-k8s.io/queue-name]``.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

Path = tuple[str | int, ...]

_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*\Z")
# A name that could not be read back out of brackets is no help: the index stands in for it.
_NAME = re.compile(r"[^\[\]\x00-\x1f\x7f]+\Z")
_TOKEN = re.compile(r"\.?([A-Za-z_$][A-Za-z0-9_$-]*)|\[([^\[\]]+)\]")


class FieldPathError(ValueError):
    """A field path that cannot be read, or that leads nowhere in the object it is used on."""


def format_path(path: Path, root: Any = None) -> str:
    """``path`` as text; ``root``, the object it belongs to, lends list members their names."""
    if all(isinstance(step, str) for step in path):
        return _format_keys(path)
    text = ""
    here = root
    for step in path:
        if isinstance(step, int):
            member = here[step] if isinstance(here, list) and -len(here) <= step < len(here) else None
            name = member.get("name") if isinstance(member, dict) else None
            text += f"[{name}]" if isinstance(name, str) and _NAME.match(name) else f"[{step}]"
            here = member
        else:
            text = join_key(text, step)
            here = here.get(step) if isinstance(here, dict) else None
    return text


@lru_cache(maxsize=4096)
def _format_keys(path: Path) -> str:
    """The text of a path that meets no list: it depends on no object."""
    text = ""
    for step in path:
        text = join_key(text, str(step))
    return text


def join_key(text: str, key: str) -> str:
    """The text of the path one mapping key below the path ``text``."""
    if not _PLAIN_KEY.match(key):
        return f"{text}[{key}]"
    return f"{text}.{key}" if text else key


def parse_path(text: str) -> tuple[str, ...]:
    """The steps of a path as written by people. Raises FieldPathError on anything that is not one."""
    steps: list[str] = []
    at = 0
    while at < len(text):
        token = _TOKEN.match(text, at)
        if token is None or (token.group(1) and text[at] != "." and at > 0):
            raise FieldPathError(f"{text!r} is not a field path: cannot read it from character {at + 1} on")
        steps.append(token.group(1) or token.group(2))
        at = token.end()
    if not steps:
        raise FieldPathError("an empty field path")
    return tuple(steps)


def resolve_path(steps: tuple[str, ...], root: Any) -> Path:
    """Steps as written turned into the path in ``root``: a list member is found by its ``name`` or its index.

    Mappings need not hold the keys yet (an edit may add them). Raises FieldPathError where a list has no such member.
    """
    path: list[str | int] = []
    here = root
    for step in steps:
        if isinstance(here, list):
            index = _member(here, step)
            if index is None:
                raise FieldPathError(f"no member named {step!r} at {format_path(tuple(path), root) or 'the top'}")
            path.append(index)
            here = here[index]
        else:
            path.append(step)
            here = here.get(step) if isinstance(here, dict) else None
    return tuple(path)


def _member(members: list[Any], step: str) -> int | None:
    for index, member in enumerate(members):
        if isinstance(member, dict) and member.get("name") == step:
            return index
    if step.isdecimal() and int(step) < len(members):
        return int(step)
    return None


def value_at(root: Any, path: Path) -> Any:
    """The value at ``path``, or None where any step is missing or of another shape."""
    here = root
    for step in path:
        if isinstance(step, str):
            here = here.get(step) if isinstance(here, dict) else None
        elif isinstance(here, list) and 0 <= step < len(here):
            here = here[step]
        else:
            return None
    return here


def walk_strings(value: Any, path: Path = ()) -> Iterator[tuple[Path, str]]:
    """Every string in ``value`` with its path, in document order."""
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict):
        for key, item in value.items():
            if isinstance(key, str):
                yield from walk_strings(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from walk_strings(item, (*path, index))
