"""What several pages tell: rules and their modes, days, decisions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from signalbox.audit.from_json import KnownScan
from signalbox.audit.ledger.entry import Decision
from signalbox.audit.page.chart import Chart, stacked
from signalbox.engine import Setup
from signalbox.policy.mode import Mode
from signalbox.policy.policy_set import Policy, Rule

DECISION_WORDS: dict[Decision, str] = {
    "refused": "refused",
    "error": "met a fault",
    "warned": "let in with a warning",
    "audited": "let in, recorded only",
    "allowed": "let in, nothing found",
}


@dataclass(frozen=True, slots=True)
class Day:
    """One day of what was asked, in counts by colour."""

    day: str
    values: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Days:
    """A chart of days with its numbers; ``kinds`` name the colours, ``words`` the columns."""

    kinds: tuple[str, ...]
    words: tuple[str, ...]
    days: tuple[Day, ...]
    chart: Chart

    @property
    def total(self) -> float:
        """All of it together."""
        return sum(sum(day.values) for day in self.days)


def days_of(
    values: Mapping[str, Mapping[str, float]], start: datetime, now: datetime, columns: Sequence[tuple[str, str, str]]
) -> Days:
    """Every day from ``start`` on. ``columns``: a colour, its words, and which of a day's values it shows."""
    first, last = start.astimezone(UTC).date(), now.astimezone(UTC).date()
    if values:
        # After a clock went back, entries of days to come are there: they are shown, not lost.
        last = max(last, min(date.fromisoformat(max(values)), last + timedelta(days=7)))
    span = [(first + timedelta(days=number)).isoformat() for number in range((last - first).days + 1)]
    days = tuple(Day(day, tuple(values.get(day, {}).get(name, 0) for _, _, name in columns)) for day in span)
    kinds, words = tuple(column[0] for column in columns), tuple(column[1] for column in columns)
    return Days(kinds, words, days, stacked(span, [day.values for day in days], kinds, words))


def rule_of(setup: Setup | None, name: str) -> tuple[Policy, Rule] | None:
    """A rule of the policies in force, and its policy."""
    if setup is None:
        return None
    for policy in setup.policies.policies:
        for rule in policy.rules:
            if rule.id == name:
                return policy, rule
    return None


def mode_of(setup: Setup | None, scan: KnownScan | None, name: str) -> Mode | None:
    """How hard a rule bites by itself, whatever overrides say; None where nobody knows."""
    found = rule_of(setup, name)
    if found is not None and setup is not None:
        return min(found[1].mode, setup.max_mode)
    modes = [mode for rule, mode in scan.tally.rules if rule == name] if scan is not None else []
    return max(modes, default=None)
