"""What ``audit readiness`` says: the verdict, its numbers, and the list for each team."""

from datetime import timedelta

from signalbox.audit.readiness import FATE_WORDS, Blocked, Evidence, Fate, Side, by_team
from signalbox.audit.verdict import Verdict, notes_on, verdict_on
from signalbox.audit.words import plural
from signalbox.cli.json_line import json_line
from signalbox.cli.terminal import Terminal
from signalbox.plain_text import clean, wrap
from signalbox.policy.mode import Mode
from signalbox.policy.policy_set import Rule
from signalbox.review import JsonObject

_STYLES = {Verdict.READY: "green", Verdict.NOT_YET: "red", Verdict.TOO_LITTLE: "yellow"}
_SHOWN = 10
_SHOWN_USERS = 3
_SHOWN_REASONS = 5
_MOST_DAYS = 31
_KEYS = {
    Fate.REFUSED: "refused",
    Fate.MENDED: "mended",
    Fate.EXCEPTED: "excepted",
    Fate.TOLD: "told",
    Fate.PASSES: "foundNoLonger",
    Fate.UNKNOWN: "notJudged",
    Fate.FAULT: "faults",
}


def write_text(evidence: Evidence, rule: Rule, out: Terminal) -> None:
    """The report for people."""
    verdict, reasons = verdict_on(evidence)
    start = evidence.now - timedelta(days=evidence.days)
    mode = "enforced already" if rule.mode is Mode.ENFORCE else f"in mode {rule.mode.text}"
    _lines(f"{rule.id} ({rule.check or 'cel'}), {mode}, {start:%Y-%m-%d} to {evidence.now:%Y-%m-%d} UTC", "", out, "bold")
    out.line()
    style = _STYLES[verdict]
    first, *rest = wrap(f"{verdict.value}: ", "; ".join(reasons), "  ", "    ")
    out.line(first, style, "bold")
    for line in rest:
        out.line(line, style)
    for note in notes_on(evidence):
        _lines(f"note: {note}", "  ", out, "dim")
    out.line()
    _write_side("requests", "seen", evidence.requests, out)
    if evidence.standing is not None:
        _write_side("standing", "judged", evidence.standing, out)
    _write_trend(evidence, out)
    if evidence.unknown:
        out.line()
        out.line("not judged, because", "bold")
        for reason, count in evidence.unknown.most_common(_SHOWN_REASONS):
            _lines(f"{clean(reason, 200)} ({count:,})", "  ", out, "dim")
    for team, blocked in by_team(evidence.blocked.values()).items():
        out.line()
        _write_team(team, blocked, out)
    if evidence.more_blocked:
        out.line(f"and {evidence.more_blocked:,} more requests and workloads that are not listed", "dim")


def _write_side(title: str, verb: str, side: Side, out: Terminal) -> None:
    parts = [f"{round(side.seen):,} {verb}"]
    for fate, words in FATE_WORDS.items():
        if side.fates[fate]:
            extra = _asked(side) if fate is Fate.REFUSED else ""
            parts.append(f"{side.fates[fate]:,} {words}{extra}")
    if not side.fates[Fate.REFUSED]:
        parts.insert(1, "none would be refused")
    for line in wrap(f"{title:<10}", ", ".join(parts), "  ", " " * 12):
        out.line(line)


def _asked(side: Side) -> str:
    facts = []
    if side.users:
        facts.append(f"{len(side.users):,} user{'' if len(side.users) == 1 else 's'}")
    if side.accelerators:
        facts.append(f"{_accelerators(side.accelerators)} asked")
    return f" ({', '.join(facts)})" if facts else ""


def _write_trend(evidence: Evidence, out: Terminal) -> None:
    if evidence.trend == "none":
        return
    half = f"{evidence.days / 2:g} days"
    text = f"{evidence.trend}: {evidence.earlier:,} in the first {half}, {evidence.recent:,} in the last"
    for line in wrap(f"{'trend':<10}", text, "  ", " " * 12):
        out.line(line)
    days = _days(evidence)
    if 1 < len(days) <= _MOST_DAYS:
        for line in wrap("", "a day " + " ".join(str(count) for count in days.values()), " " * 12, " " * 12):
            out.line(line, "dim")


def _days(evidence: Evidence) -> dict[str, int]:
    last = evidence.now.date()
    count = max(1, round(evidence.days))
    days = [last - timedelta(days=back) for back in range(count - 1, -1, -1)]
    return {day.isoformat(): evidence.by_day[day] for day in days}


def _write_team(team: str, blocked: list[Blocked], out: Terminal) -> None:
    asked = sum(one.accelerators for one in blocked)
    amount = f", {_accelerators(asked)}" if asked else ""
    out.line(f"for team {clean(team) or '(none)'}: {plural(len(blocked), 'workload')} to mend{amount}", "bold")
    for one in blocked[:_SHOWN]:
        _lines(f"{_name(one)}: {_facts(one)}", "  ", out)
        _lines(clean(one.message, 300), "    ", out, "dim")
    if len(blocked) > _SHOWN:
        out.line(f"  and {len(blocked) - _SHOWN:,} more: -o json lists them all", "dim")


def _name(one: Blocked) -> str:
    name = clean(one.name, 253) or "without a name"
    return f"{clean(one.kind)} {clean(one.namespace)}/{name}" if one.namespace else f"{clean(one.kind)} {name}"


def _facts(one: Blocked) -> str:
    facts = []
    if one.standing:
        facts.append("in the cluster")
    if one.requests:
        users = [clean(user) or "nobody" for user, _ in one.users.most_common()]
        more = f" and {len(users) - _SHOWN_USERS} more" if len(users) > _SHOWN_USERS else ""
        last = "" if one.last is None else f", last on {one.last:%Y-%m-%d}"
        facts.append(f"{plural(one.requests, 'request')} by {', '.join(users[:_SHOWN_USERS])}{more}{last}")
    if one.accelerators:
        facts.append(_accelerators(one.accelerators))
    if one.fixed_by:
        facts.append(f"the injector {one.fixed_by} could mend it")
    return ", ".join(facts)


def write_json(evidence: Evidence, rule: Rule, out: Terminal) -> None:
    """The report for machines: one object."""
    verdict, reasons = verdict_on(evidence)
    out.line(
        json_line(
            {
                "rule": rule.id,
                "check": rule.check or "cel",
                "mode": rule.mode.text,
                "from": (evidence.now - timedelta(days=evidence.days)).isoformat(),
                "to": evidence.now.isoformat(),
                "verdict": verdict.value,
                "reasons": list(reasons),
                "notes": list(notes_on(evidence)),
                "requests": _side_json(evidence.requests),
                "standing": None if evidence.standing is None else _side_json(evidence.standing),
                "unread": evidence.unread,
                "coveredDays": round(evidence.seen.covered_days, 3),
                "allowedRecorded": evidence.seen.allowed_recorded,
                "trend": {
                    "is": evidence.trend,
                    "earlier": evidence.earlier,
                    "recent": evidence.recent,
                    "days": _days(evidence),
                },
                "notKnown": dict(evidence.unknown),
                "teams": {
                    team: [_blocked_json(one) for one in blocked]
                    for team, blocked in by_team(evidence.blocked.values()).items()
                },
                "notListed": evidence.more_blocked,
            }
        )
    )


def _side_json(side: Side) -> JsonObject:
    return {
        "seen": side.seen,
        **{key: side.fates[fate] for fate, key in _KEYS.items()},
        "accelerators": side.accelerators,
        "users": sorted(side.users),
    }


def _blocked_json(one: Blocked) -> JsonObject:
    return {
        "kind": one.kind,
        "namespace": one.namespace,
        "name": one.name,
        "standing": one.standing,
        "requests": one.requests,
        "users": dict(one.users),
        "last": None if one.last is None else one.last.isoformat(),
        "accelerators": one.accelerators,
        "message": one.message,
        "fixedBy": one.fixed_by or None,
    }


def _lines(text: str, indent: str, out: Terminal, *styles: str) -> None:
    for line in wrap("", text, indent, f"{indent}  "):
        out.line(line, *styles)


def _accelerators(amount: float) -> str:
    return f"{amount:,.10g} accelerator{'' if amount == 1 else 's'}"
