"""Where a value stands in an object: paths as tuples, and the text people read and write.

A path is a tuple of mapping keys and list indexes, ``("spec", "containers", 0, "args")``. Its text names list members
by their ``name`` where they have one, because an index means nothing to a reader whose sidecar injector reorders
containers: ``spec.containers[trainer].args``. Keys that hold a dot or a slash stand in brackets:
``metadata.labels[kueue.x-k8s.io/queue-name]``; one that could not be read back out of them, with a bracket in it, is
quoted there too: ``spec["a[0]"]``.
"""

import json
import re
from functools import lru_cache
from typing import Any

Path = tuple[str | int, ...]

_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*\Z")
# A name that could not be read back out of brackets is no help: the index stands in for it.
_NAME = re.compile(r"(?!\")[^\[\]\x00-\x1f\x7f]+\Z")
_QUOTED_KEY = re.compile(r"\A\"|[\[\]]|\A\Z")
_TOKEN = re.compile(r"\.?([A-Za-z_$][A-Za-z0-9_$-]*)|\[(\"(?:[^\"\\]|\\.)*\")\]|\[([^\[\]]+)\]")


class FieldPathError(ValueError):
    """A field path that cannot be read, or that leads nowhere in the object it is used on."""


def format_path(path: Path, root: Any = None) -> str:
    """``path`` as text; ``root``, the object it belongs to, lends list members their names."""
    parts: list[str] = []
    here = root
    for step in path:
        if type(step) is int:
            member = here[step] if isinstance(here, list) and -len(here) <= step < len(here) else None
            name = member.get("name") if isinstance(member, dict) else None
            parts.append(f"[{name}]" if isinstance(name, str) and _NAME.match(name) else f"[{step}]")
            here = member
        else:
            parts.append(_key_text(str(step)))
            here = here.get(step) if isinstance(here, dict) else None
    return "".join(parts).removeprefix(".")


def join_key(text: str, key: str) -> str:
    """The text of the path one mapping key below the path ``text``."""
    return (text + _key_text(key)).removeprefix(".")


@lru_cache(maxsize=4096)
def _key_text(key: str) -> str:
    if _PLAIN_KEY.match(key):
        return f".{key}"
    return f"[{json.dumps(key, ensure_ascii=False)}]" if _QUOTED_KEY.search(key) else f"[{key}]"


def parse_path(text: str) -> tuple[str, ...]:
    """The steps of a path as written by people. Raises FieldPathError on anything that is not one."""
    return _remembered(text) if len(text) <= _MOST_REMEMBERED else _parse(text)


def _parse(text: str) -> tuple[str, ...]:
    steps: list[str] = []
    at = 0
    while at < len(text):
        token = _TOKEN.match(text, at)
        if token is None or (token.group(1) and text[at] != "." and at > 0):
            raise FieldPathError(f"{text!r} is not a field path: cannot read it from character {at + 1} on")
        plain, quoted, bracketed = token.groups()
        steps.append(_unquoted(quoted, text) if quoted else plain or bracketed)
        at = token.end()
    if not steps:
        raise FieldPathError("an empty field path")
    return tuple(steps)


def _unquoted(quoted: str, text: str) -> str:
    try:
        return str(json.loads(quoted))
    except ValueError as error:
        raise FieldPathError(f"{text!r} is not a field path: cannot read {quoted}") from error


# Records of many objects name the same fields; a path longer than any of ours would only fill the memory.
_MOST_REMEMBERED = 256
_remembered = lru_cache(maxsize=4096)(_parse)

Members = dict[int, tuple[list[Any], dict[str, int]]]
"""Lists that were searched, by their ``id``, each with the index of its named members: for many paths in one object.

It holds the lists themselves, so that no other gets the ``id`` of one that is no more.
"""


def resolve_path(steps: tuple[str, ...], root: Any, members: Members | None = None) -> Path:
    """Steps as written turned into the path in ``root``: a list member is found by its ``name`` or its index.

    Mappings need not hold the keys yet (an edit may add them). Raises FieldPathError where a list has no such member.
    ``members`` remembers what was found from one call to the next, as long as nobody puts named members into those lists.
    """
    path: list[str | int] = []
    here = root
    for step in steps:
        if isinstance(here, list):
            index = _member(here, step, {} if members is None else members)
            if index is None:
                raise FieldPathError(f"no member named {step!r} at {format_path(tuple(path), root) or 'the top'}")
            path.append(index)
            here = here[index]
        else:
            path.append(step)
            here = here.get(step) if isinstance(here, dict) else None
    return tuple(path)


def _member(listed: list[Any], step: str, members: Members) -> int | None:
    searched = members.get(id(listed))
    if searched is None:
        names: dict[str, int] = {}
        for index, member in enumerate(listed):
            name = member.get("name") if isinstance(member, dict) else None
            if isinstance(name, str):
                names.setdefault(name, index)
        members[id(listed)] = (listed, names)
    else:
        names = searched[1]
    if step in names:
        return names[step]
    return int(step) if step.isdecimal() and len(step) < 9 and int(step) < len(listed) else None


def value_at(root: Any, path: Path) -> Any:
    """The value at ``path``, or None where any step is missing or of another shape."""
    here = root
    for step in path:
        # Decoded JSON and YAML hold plain dicts and lists: asking for the exact type is cheaper, and this is asked often.
        if type(here) is dict:
            here = here.get(step)
        elif type(here) is list and type(step) is int and 0 <= step < len(here):
            here = here[step]
        else:
            return None
    return here
