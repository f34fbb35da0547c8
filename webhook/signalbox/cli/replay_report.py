"""What ``replay`` says: in groups by rule and namespace for people, a line a request for machines."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from signalbox.audit.compare import Change, Effect, Kind
from signalbox.audit.replay import Replayed, ReplaySummary
from signalbox.audit.words import plural
from signalbox.cli.changes import shown
from signalbox.cli.diff_report import STYLES, change_json
from signalbox.cli.json_line import json_line
from signalbox.cli.terminal import Terminal
from signalbox.plain_text import clean, wrap
from signalbox.quantity import format_quantity, parse_quantity
from signalbox.review import JsonObject

_NO_ALLOWED = (
    "Requests that found nothing are not in this ledger (serve --ledger-allowed): whom of those a rule would hit is not known."
)
_MOST_GROUPS = 2000
_MOST_SUBJECTS = 200
_SHOWN_SUBJECTS = 5
_SHOWN_USERS = 3
_SHOWN_REASONS = 8
_SHOWN_FIELDS = 4
# What a rule must do, before or after, to be the one that a change is told under.
_TELLING = {
    Kind.NEWLY_REFUSED: (None, Effect.REFUSES),
    Kind.NEWLY_ALLOWED: (Effect.REFUSES, None),
    Kind.NEWLY_WARNED: (None, Effect.WARNS),
    Kind.NO_LONGER_WARNED: (Effect.WARNS, None),
}


@dataclass(slots=True)
class _Place:
    """One namespace under one rule."""

    requests: int = 0
    doubtful: int = 0
    accelerators: float = 0.0
    users: Counter[str] = field(default_factory=Counter)
    subjects: Counter[str] = field(default_factory=Counter)

    def add(self, one: Replayed) -> None:
        entry = one.entry
        self.requests += 1
        self.doubtful += bool(one.doubts)
        self.accelerators += entry.accelerators
        for known, key in ((self.users, entry.user), (self.subjects, entry.subject)):
            if key in known or len(known) < _MOST_SUBJECTS:
                known[key] += 1


@dataclass(slots=True)
class _Group:
    """What is told together: one rule, or the same fields; ``example`` is what the rule says of the first."""

    title: str
    example: str
    places: dict[str, _Place] = field(default_factory=dict)


class TextReport:
    """Gathers, and writes at the end; its size depends on how many rules and namespaces there are."""

    def __init__(self, out: Terminal) -> None:
        self.summary = ReplaySummary()
        self._out = out
        self._groups: dict[tuple[Kind, str], _Group] = {}

    def add(self, one: Replayed) -> None:
        """Take one in."""
        self.summary.add(one)
        if one.change is None:
            return
        for title, example in _titles(one.change, self._out.marks.arrow):
            key = (one.change.kind, title)
            if key in self._groups or len(self._groups) < _MOST_GROUPS:
                group = self._groups.setdefault(key, _Group(title, example))
                group.places.setdefault(one.entry.namespace, _Place()).add(one)

    def finish(self, as_of: str, digest: str) -> None:
        """Write everything."""
        summary, out = self.summary, self._out
        for kind in Kind:
            groups = [group for (of, _), group in self._groups.items() if of is kind]
            if groups:
                _, style = STYLES[kind]
                out.line(f"{kind.value} ({summary.kinds[kind]:,})", style, "bold")
                for group in groups:
                    self._write_group(kind, group)
                out.line()
        self._write_uncertain()
        for line in wrap("", _headline(summary, as_of), "", "  "):
            out.line(line, "bold")
        if summary.judged and not summary.allowed:
            self._lines(_NO_ALLOWED, "", "yellow")

    def _write_group(self, kind: Kind, group: _Group) -> None:
        mark, style = STYLES[kind]
        out = self._out
        first, *rest = wrap("", group.title, "  ", "    ")
        out.line(f"{out.styled(mark, style, 'bold')} {first[2:]}")
        for line in rest:
            out.line(line)
        if group.example:
            self._lines(f"such as: {clean(group.example, 400)}", "    ", "dim")
        for namespace, place in sorted(group.places.items(), key=lambda item: -item[1].requests):
            self._lines(f"{clean(namespace) or '(no namespace)'}: {_place_text(place)}", "    ")
            for subject, count in place.subjects.most_common(_SHOWN_SUBJECTS):
                self._lines(f"{clean(subject, 200)}{f' ({count:,} times)' if count > 1 else ''}", "      ", "dim")
            if len(place.subjects) > _SHOWN_SUBJECTS:
                out.line(f"      and {len(place.subjects) - _SHOWN_SUBJECTS:,} more: -o json lists them all", "dim")

    def _write_uncertain(self) -> None:
        summary, out = self.summary, self._out
        doubtful, unusable = sum(summary.doubtful.values()), sum(summary.unusable.values())
        for title, reasons in (
            (f"uncertain ({doubtful:,} of the above)", summary.doubts),
            ("not compared, because it is not known here (--cluster tells)", summary.unknown),
            (f"could not be judged ({unusable:,})", summary.unusable),
        ):
            if not reasons:
                continue
            out.line(title, "bold")
            for reason, count in reasons.most_common(_SHOWN_REASONS):
                self._lines(f"{clean(reason, 200)} ({plural(count, 'request')})", "  ", "dim")
            if len(reasons) > _SHOWN_REASONS:
                out.line(f"  and {len(reasons) - _SHOWN_REASONS:,} more reasons", "dim")
        if summary.doubts or summary.unknown or summary.unusable:
            out.line()

    def _lines(self, text: str, indent: str, *styles: str) -> None:
        for line in wrap("", text, indent, f"{indent}  "):
            self._out.line(line, *styles)


class JsonReport:
    """Writes a line a changed request as they come, and the sums last."""

    def __init__(self, out: Terminal) -> None:
        self.summary = ReplaySummary()
        self._out = out

    def add(self, one: Replayed) -> None:
        """Write one, if there is anything to say of it."""
        self.summary.add(one)
        if one.change is not None or one.unusable:
            self._out.line(json_line(_replayed_json(one)))

    def finish(self, as_of: str, digest: str) -> None:
        """Write the sums."""
        summary = self.summary
        sums: JsonObject = {
            "judged": summary.judged,
            "asBefore": summary.as_before,
            "allowedRecorded": summary.allowed,
            "changes": {kind.value: summary.kinds[kind] for kind in Kind},
            "estimated": {kind.value: summary.estimated[kind] for kind in Kind},
            "uncertain": {kind.value: summary.doubtful[kind] for kind in Kind},
            "notKnown": dict(summary.unknown),
            "notJudged": dict(summary.unusable),
            "first": None if summary.first is None else summary.first.isoformat(),
            "last": None if summary.last is None else summary.last.isoformat(),
            "asOf": as_of,
            "digest": digest,
        }
        self._out.line(json_line({"summary": sums}))


def _titles(change: Change, arrow: str) -> Iterator[tuple[str, str]]:
    """What a change is told under, with an example: its rules, or the fields that differ."""
    if change.kind is Kind.OTHER_PATCH or not change.rules:
        fields = [f"{clean(one.path, 160)}: {_value(one.before)} {arrow} {_value(one.after)}" for one in change.fields]
        more = f", and {len(fields) - _SHOWN_FIELDS} more fields" if len(fields) > _SHOWN_FIELDS else ""
        yield ", ".join(fields[:_SHOWN_FIELDS]) + more, ""
        return
    before, after = _TELLING.get(change.kind, (None, None))
    telling = [
        rule for rule in change.rules if (before is None or rule.before is before) and (after is None or rule.after is after)
    ]
    for rule in telling or change.rules:
        yield f"[{clean(rule.rule, 200)}] {rule.before.value} {arrow} {rule.after.value}", rule.message


def _value(value: object) -> str:
    return "nothing" if value is None else clean(shown(value), 80)


def _place_text(place: _Place) -> str:
    users = [clean(user) or "nobody" for user, _ in place.users.most_common()]
    more = f" and {len(users) - _SHOWN_USERS} more" if len(users) > _SHOWN_USERS else ""
    parts = [plural(place.requests, "request"), f"by {', '.join(users[:_SHOWN_USERS])}{more}"]
    if place.accelerators:
        parts.append(f"{_amount(place.accelerators)} accelerators asked")
    if place.doubtful:
        parts.append(f"{place.doubtful:,} uncertain")
    return ", ".join(parts)


def _headline(summary: ReplaySummary, as_of: str) -> str:
    told = []
    for kind in Kind:
        if summary.kinds[kind]:
            stands_for = summary.estimated[kind]
            about = f" (standing for about {stands_for:,})" if stands_for > summary.kinds[kind] else ""
            told.append(f"{summary.kinds[kind]:,} {kind.value}{about}")
    time = ""
    if summary.first is not None and summary.last is not None:
        time = f" of {summary.first:%Y-%m-%d %H:%M} to {summary.last:%Y-%m-%d %H:%M} UTC"
    when = "now" if as_of == "now" else "then"
    return f"{plural(summary.judged, 'request')}{time}, judged as of {when}: {', '.join(told) or 'no difference'}"


def _replayed_json(one: Replayed) -> JsonObject:
    entry = one.entry
    return {
        "entry": entry.id,
        "at": entry.at.isoformat(),
        "uid": entry.uid,
        "user": entry.user,
        "operation": entry.operation,
        "kind": entry.kind,
        "namespace": entry.namespace,
        "name": entry.name or entry.generate_name,
        "accelerators": entry.accelerators,
        "decision": entry.decision,
        "standsFor": entry.weight,
        **({} if one.change is None else change_json(one.change)),
        "uncertain": list(one.doubts),
        "notKnown": list(one.unknown),
        "notJudged": one.unusable or None,
    }


def _amount(number: float) -> str:
    quantity = parse_quantity(f"{number:.3f}")
    return format_quantity(quantity) if quantity is not None else f"{number:g}"
