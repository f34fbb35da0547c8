"""What /mutate put into an object, as lines people read."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from signalbox.admission import Admission
from signalbox.cli.json_line import json_line
from signalbox.cli.terminal import Terminal
from signalbox.fieldpath import format_path, value_at
from signalbox.patch import path_in
from signalbox.plain_text import WIDTH, clean, wrap
from signalbox.record import JUDGEMENT, field_path
from signalbox.review import JsonObject
from signalbox.workload.labels import INJECTED, INJECTED_LABELS

_LABEL = "metadata.labels["
_NOTES = (INJECTED, INJECTED_LABELS)


@dataclass(frozen=True, slots=True)
class Change:
    """One field: what was set (for a list: the members appended), what stood there, and which policy asked for it."""

    field: str
    value: Any
    was: Any
    by: str

    def as_json(self) -> JsonObject:
        """The change for ``-o json``."""
        return {"path": self.field, "value": self.value, "was": self.was, "by": self.by}


def changes_of(admission: Admission) -> tuple[Change, ...]:
    """The fields that this very call injected; Signalbox's own notes on the object are no news to anyone."""
    mutated = admission.mutation.mutated
    return () if mutated is None else tuple(_changes(admission, mutated))


def _changes(admission: Admission, mutated: JsonObject) -> Iterator[Change]:
    for field, entry in admission.mutation.record.items():
        path = field_path(field, mutated)
        if path is None or path[-1] in _NOTES:
            continue
        before, after = value_at(admission.before, path), value_at(mutated, path)
        if before == after:
            continue
        if isinstance(entry.set, list):
            added = [member for member in entry.set if not (isinstance(before, list) and member in before)]
            yield Change(field, added, None, entry.by)
        else:
            yield Change(field, after, before, entry.by)
    for operation in admission.mutation.response.patch:
        if operation["op"] == "remove":
            path = path_in(admission.before, operation["path"])
            if path[-1] in _NOTES:
                continue
            yield Change(format_path(path, mutated), None, value_at(admission.before, path), "")


def write_changes(changes: tuple[Change, ...], out: Terminal) -> None:
    """The changes as a short diff. A label that goes to the object and to its templates is told once."""
    labels = {(change.field, shown(change.value)) for change in changes if change.field.startswith(_LABEL)}
    copied = False
    for change in changes:
        if _is_copy(change, labels):
            copied = True
            continue
        for value in change.value if isinstance(change.value, list) else [change.value]:
            _write_line(change, value, out)
    if copied:
        out.line("      (labels on the pod templates too)", "dim")


def _write_line(change: Change, value: Any, out: Terminal) -> None:
    field = clean(change.field, 200)
    if value is None:
        out.line(f"    - {field}: {shown(change.was)}", "red")
        return
    replaced = change.was is not None and not isinstance(change.value, list)
    sign, style = ("~", "yellow") if replaced else ("+", "green")
    text = f"{shown(change.was)} {out.marks.arrow} {shown(value)}" if replaced else shown(value)
    source = _source(change)
    line = f"    {sign} {field}: {text}   ({source})"
    if len(line) < WIDTH:
        out.line(line, style)
        return
    for part in wrap("", f"{sign} {field}: {text}", "    ", "          "):
        out.line(part, style)
    out.line(f"          ({source})", style)


def _is_copy(change: Change, labels: set[tuple[str, str]]) -> bool:
    start = change.field.find(_LABEL)
    return start > 0 and (change.field[start:], shown(change.value)) in labels


def _source(change: Change) -> str:
    return "inferred" if change.by == JUDGEMENT else f"policy {clean(change.by)}" if change.by else ""


def shown(value: Any) -> str:
    """A value on one line, as YAML would have it: ``{key: nvidia.com/gpu, operator: Exists}``."""
    if isinstance(value, dict):
        if "effect" in value and set(value) <= {"key", "operator", "value", "effect"}:
            return _toleration(value)
        return "{" + ", ".join(f"{clean(key)}: {shown(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(shown(item) for item in value) + "]"
    return clean(value if isinstance(value, str) else json_line(value), 200)


def _toleration(value: JsonObject) -> str:
    """As ``kubectl describe`` writes it."""
    key, text, effect = (clean(value.get(name) or "") for name in ("key", "value", "effect"))
    equals = f"={text}" if text else ""
    operator = " op=Exists" if value.get("operator") == "Exists" else ""
    return f"{key}{equals}:{effect}{operator}"
