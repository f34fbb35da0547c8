"""Differences between two policy sets, as text for people and as lines of JSON."""

from collections.abc import Iterable
from typing import Any

from signalbox.audit.compare import Change, Difference, Effect, FieldChange, Kind, RuleChange
from signalbox.audit.words import plural
from signalbox.cli.changes import shown
from signalbox.cli.json_line import json_line
from signalbox.cli.terminal import Terminal
from signalbox.plain_text import clean, wrap
from signalbox.review import JsonObject

_MOST_SHOWN = 100
STYLES = {
    Kind.NEWLY_REFUSED: ("-", "red"),
    Kind.NEWLY_ALLOWED: ("+", "green"),
    Kind.NEWLY_WARNED: ("!", "yellow"),
    Kind.NO_LONGER_WARNED: ("+", "green"),
    Kind.OTHER_PATCH: ("~", "yellow"),
    Kind.OTHER_REASONS: ("~", "dim"),
}
"""The mark and the colour of each kind of change."""


def write_json(differences: Iterable[Difference], out: Terminal) -> None:
    """One object a line, as they come."""
    for difference in differences:
        out.line(json_line(difference_json(difference)))


def write_text(differences: Iterable[Difference], out: Terminal) -> None:
    """In groups, those first that hurt."""
    kept: dict[Kind, list[Difference]] = {kind: [] for kind in Kind}
    counts = dict.fromkeys(Kind, 0)
    for difference in differences:
        kind = difference.change.kind
        counts[kind] += 1
        if len(kept[kind]) < _MOST_SHOWN:
            kept[kind].append(difference)
    for kind, group in kept.items():
        if not group:
            continue
        mark, style = STYLES[kind]
        out.line(f"{kind.value} ({counts[kind]:,})", style, "bold")
        for difference in group:
            place = f"  {difference.place}" if difference.place else ""
            first, *rest = wrap("", f"{difference.title}{place}", "  ", "    ")
            out.line(f"{out.styled(mark, style, 'bold')} {first[2:]}")
            for line in rest:
                out.line(line)
            for rule in difference.change.rules:
                for line in wrap("", _rule_text(rule, out), "    ", "      "):
                    out.line(line)
            for field in difference.change.fields:
                for line in wrap("", _field_text(field, out), "    ", "      "):
                    out.line(line, "dim")
        if counts[kind] > len(group):
            out.line(f"  and {counts[kind] - len(group):,} more: -o json lists them all", "dim")
        out.line()


def _rule_text(rule: RuleChange, out: Terminal) -> str:
    message = f": {clean(rule.message, 600)}" if rule.message else ""
    return f"[{rule.rule}] {rule.before.value} {out.marks.arrow} {rule.after.value}{message}"


def _field_text(field: FieldChange, out: Terminal) -> str:
    path = clean(field.path, 200)
    if field.before is None:
        return f"+ {path}: {shown(field.after)}"
    if field.after is None:
        return f"- {path}: {shown(field.before)}"
    return f"~ {path}: {shown(field.before)} {out.marks.arrow} {shown(field.after)}"


def difference_json(difference: Difference) -> JsonObject:
    """One difference as data."""
    return {"workload": difference.title, "place": difference.place, **change_json(difference.change)}


def change_json(change: Change) -> dict[str, Any]:
    """How two answers differ, as data."""
    return {
        "change": change.kind.value,
        "before": _word(change.before),
        "after": _word(change.after),
        "rules": [
            {"rule": rule.rule, "before": _word(rule.before), "after": _word(rule.after), "message": rule.message}
            for rule in change.rules
        ],
        "fields": [{"path": field.path, "before": field.before, "after": field.after} for field in change.fields],
    }


def _word(effect: Effect) -> str:
    return effect.value


def counts_text(compared: int, thing: str, counts: dict[Kind, int]) -> str:
    """``12 workloads compared: 2 newly refused, 1 injected otherwise``."""
    told = ", ".join(f"{counts[kind]:,} {kind.value}" for kind in Kind if counts.get(kind))
    return f"{plural(compared, thing)} compared: {told or 'no difference'}"
