"""What to write instead, as text: the words of a fix, and its edits as YAML or as field paths."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import orjson

from signalbox.fieldpath import format_path
from signalbox.finding import Edit, Fix
from signalbox.plain_text import clean, wrap
from signalbox.review import JsonObject
from signalbox.workload.kinds.kind import mapping

# A fix of more lines than this is shown as field paths: as YAML it would be a ladder.
_YAML_LINES_OF_ONE, _YAML_LINES_EACH = 6, 5
_FEW_EDITS = 2
EDIT_LIMIT = 4
# By which field a list member is known, the usual one first.
_IDENTITIES = ("name", "mountPath", "key")
# What is copied from a manifest into a fix may be nested as deep as somebody likes.
_DEEPEST_EDIT = 12
_BARE = re.compile(r"[A-Za-z_/][\w./:@-]*\Z")
_NOT_STRINGS = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})


def fix_lines(fix: Fix, root: JsonObject) -> list[str]:
    """What to write instead: the words, then the fields."""
    shown = shown_edits(fix)
    lines = labelled("fix", clean(fix.text, 400)) if fix.text else []
    introduces = fix.text.endswith(":")
    if fix.text and not introduces and len(shown) > _FEW_EDITS:
        # Words that stand on their own say it all when the edits are many.
        return lines
    edits = shown[:EDIT_LIMIT]
    more = [f"          and {len(shown) - len(edits)} more"] if len(shown) > len(edits) else []
    if introduces and not any(edit.removes for edit in edits):
        written = edit_yaml(edits, root)
        if len(written) <= max(_YAML_LINES_OF_ONE, _YAML_LINES_EACH * len(edits)):
            return [*lines, *("            " + line for line in written), *more]
    for index, edit in enumerate(edits):
        lines += labelled("" if fix.text or index else "fix", edit_line(edit, root))
    return lines + more


def shown_edits(fix: Fix) -> list[Edit]:
    """The edits that are shown as fields, what is taken out last; those of whole structures value by value."""
    setting = [edit for edit in fix.edits if not edit.removes]
    if fix.text and not fix.text.endswith(":"):
        # Words that stand on their own speak of structures, and of the lines above them, which were shown as seen.
        return [edit for edit in setting if not isinstance(edit.value, (dict, list))]
    return [*(leaf for edit in setting for leaf in _leaves(edit)), *(edit for edit in fix.edits if edit.removes)]


def _leaves(edit: Edit, depth: int = 0) -> Iterator[Edit]:
    steps: Iterable[tuple[str | int, Any]]
    if depth > _DEEPEST_EDIT:
        yield replace(edit, value="…")
        return
    if isinstance(edit.value, dict) and edit.value:
        steps = edit.value.items()
    elif isinstance(edit.value, list) and edit.value:
        steps = enumerate(edit.value)
    else:
        yield edit
        return
    for step, value in steps:
        yield from _leaves(replace(edit, path=(*edit.path, step), value=value), depth + 1)


def edit_yaml(edits: Sequence[Edit], root: JsonObject) -> list[str]:
    """Edits as the lines of YAML one would write; a list member is shown by what it is known by."""
    lines: list[str] = []
    above: tuple[Any, ...] = ()
    for edit in edits:
        steps = edit.path
        shared = 0
        while shared < min(len(above), len(steps) - 1) and above[shared] == steps[shared]:
            shared += 1
        here: Any = root
        dash = ""
        for depth, step in enumerate(steps):
            here = _step_into(here, step)
            if depth < shared:
                continue
            pad = "  " * (depth - len(dash) // 2) + dash
            dash = ""
            last = depth == len(steps) - 1
            if not isinstance(step, int):
                lines.append(f"{pad}{clean(step)}: {yaml_scalar(edit.value)}" if last else f"{pad}{clean(step)}:")
            elif last:
                lines.append(f"{pad}- {yaml_scalar(edit.value)}")
            elif known := next((name for name in _IDENTITIES if isinstance(mapping(here).get(name), str)), ""):
                lines.append(f"{pad}- {known}: {yaml_scalar(here[known])}")
            else:
                # Its first line comes with the next step.
                dash = "- "
        above = steps[:-1]
    return lines


def labelled(label: str, text: str) -> list[str]:
    """``text`` behind ``seen`` or ``fix``, below the message of a finding."""
    return wrap(f"{label:<6}", text, "    ", "          ")


def edit_line(edit: Edit, root: JsonObject) -> str:
    """One edit as a field path and its value."""
    path = clean(format_path(edit.path, root), 200)
    return f"take out {path}" if edit.removes else f"{path}: {yaml_scalar(edit.value)}"


def _step_into(here: Any, step: str | int) -> Any:
    if isinstance(here, dict):
        return here.get(step)
    if isinstance(here, list) and isinstance(step, int) and 0 <= step < len(here):
        return here[step]
    return None


def yaml_scalar(value: Any) -> str:
    """A value as YAML, on one line."""
    if isinstance(value, str):
        shown = clean(value, 200)
        if _BARE.match(shown) and shown.lower() not in _NOT_STRINGS:
            return shown
        return orjson.dumps(shown).decode()
    # JSON's integers have 64 bits, a quantity has as many as somebody wrote.
    return clean(str(value) if type(value) is int else orjson.dumps(value).decode(), 200)
