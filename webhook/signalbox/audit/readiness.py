"""Can a rule be enforced? What the ledger and the cluster say of it. Pure.

What the ledger found is asked again by today's policies: an injector or an exception that came since has mended it.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from enum import Enum
from typing import Literal

from signalbox.audit.ledger.entry import LedgerEntry, LedgerFinding, Recorded
from signalbox.audit.replay import judge_again
from signalbox.audit.result import ScanFinding, Subject
from signalbox.audit.rule_choice import with_rules
from signalbox.audit.tally import RuleTally
from signalbox.engine import Setup
from signalbox.finding import Result
from signalbox.policy.policy_set import PolicyException, expired

_MOST_BLOCKED = 5000
# Less of a difference than this between two halves is chance.
_CLEARLY = 0.25


class Fate(Enum):
    """What would become of a request or a workload if the rule were enforced today."""

    REFUSED = "refused"
    MENDED = "mended"
    EXCEPTED = "excepted"
    TOLD = "told"
    PASSES = "passes"
    UNKNOWN = "not judged"
    FAULT = "fault"


FATE_WORDS = {
    Fate.REFUSED: "would be refused",
    Fate.MENDED: "mended by an injector",
    Fate.EXCEPTED: "covered by an exception",
    Fate.TOLD: "told of, never refused",
    Fate.UNKNOWN: "not judged",
    Fate.FAULT: "a fault of the rule",
    Fate.PASSES: "found then, not by today's policies",
}
"""What people are told of each, in the order in which they are told it."""

Trend = Literal["falling", "level", "rising", "none", "not known"]


@dataclass(slots=True)
class Blocked:
    """Something that would be refused: for its team to mend. ``standing``: it is in the cluster now."""

    team: str
    kind: str
    namespace: str
    name: str
    message: str
    accelerators: float = 0.0
    requests: int = 0
    users: Counter[str] = field(default_factory=Counter)
    last: datetime | None = None
    standing: bool = False
    fixed_by: str = ""


@dataclass(slots=True)
class Side:
    """Requests, or standing workloads: how many were looked at, what becomes of them, and the accelerators of the refused."""

    seen: float = 0.0
    fates: Counter[Fate] = field(default_factory=Counter)
    accelerators: float = 0.0
    users: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class Seen:
    """What the ledger holds of the time asked for: requests it stands for, and how many days of it are covered.

    ``allowed_recorded``: requests that found nothing are among them.
    """

    requests: float
    covered_days: float
    allowed_recorded: bool


class Evidence:
    """Gathers what is known of one rule, as of ``now``, over ``days``. ``unread``: what of the cluster could not be read."""

    def __init__(self, setup: Setup, rule: str, now: datetime, days: float, seen: Seen) -> None:
        self._setup = with_rules(setup, lambda one: one == rule)
        self.rule = rule
        self.now = now
        self.days = days
        self.seen = seen
        self.requests = Side(seen=seen.requests)
        self.standing: Side | None = None
        self.by_day: Counter[date] = Counter()
        self.blocked: dict[tuple[str, str, str], Blocked] = {}
        self.more_blocked = 0
        self.unread = 0
        self.digests: set[str] = set()
        self.unknown: Counter[str] = Counter()
        self.last_refused: datetime | None = None

    def add_request(self, recorded: Recorded) -> None:
        """A recorded request in which the rule found something."""
        entry = recorded.entry
        findings = [finding for finding in entry.findings if finding.rule == self.rule]
        self.digests.add(entry.digest)
        fate, finding = _recorded_fate(findings)
        if fate is Fate.UNKNOWN and finding is not None:
            self.unknown[finding.message] += 1
        if fate is Fate.REFUSED:
            fate = self._today(recorded)
        self.requests.fates[fate] += 1
        if fate is not Fate.REFUSED or finding is None:
            return
        self.requests.accelerators += entry.accelerators
        self.requests.users.add(entry.user)
        self.by_day[entry.at.date()] += 1
        self.last_refused = entry.at if self.last_refused is None else max(self.last_refused, entry.at)
        self._block_request(entry, finding)

    def add_standing(self, subjects: Iterable[Subject]) -> None:
        """The workloads of a scan that judged by this rule."""
        side = self.standing = self.standing or Side()
        for subject in subjects:
            side.seen += 1
            fate, finding = _standing_fate(subject, self.rule)
            if fate is Fate.UNKNOWN:
                self.unknown.update(one.reason for one in subject.not_judged if one.rule == self.rule)
            if fate is not Fate.PASSES:
                side.fates[fate] += 1
            if fate is Fate.REFUSED and finding is not None:
                side.accelerators += subject.accelerators.total
                self._block_standing(subject, finding)

    def add_scan(self, rules: Iterable[RuleTally], seen: int, subjects: Iterable[Subject]) -> None:
        """What a scan of everything came to: its sums, and those of its workloads that are known one by one."""
        side = self.standing = self.standing or Side()
        side.seen += seen
        for tally in rules:
            if tally.rule == self.rule:
                side.fates.update({fate: count for fate, count in _fates(tally).items() if count})
                side.accelerators += tally.accelerators
        for subject in subjects:
            fate, finding = _standing_fate(subject, self.rule)
            if fate is Fate.REFUSED and finding is not None:
                self._block_standing(subject, finding)

    @property
    def exceptions(self) -> tuple[PolicyException, ...]:
        """The exceptions that name the rule and are not over."""
        every = self._setup.policies.exceptions
        return tuple(one for one in every if one.covers(self.rule) and not expired(one.until, self.now))

    @property
    def half(self) -> timedelta:
        """Half of the time asked for: what happened within it is recent."""
        return timedelta(days=self.days / 2)

    @property
    def recent(self) -> int:
        """Refused in the younger half."""
        return sum(count for day, count in self.by_day.items() if day > (self.now - self.half).date())

    @property
    def earlier(self) -> int:
        """Refused in the older half."""
        return sum(self.by_day.values()) - self.recent

    @property
    def trend(self) -> Trend:
        """Whether there are fewer refusals in the younger half than in the older one."""
        if not self.by_day:
            return "none"
        if self.seen.covered_days < self.days * 0.75:
            return "not known"
        if abs(self.recent - self.earlier) <= _CLEARLY * max(self.recent, self.earlier):
            return "level"
        return "falling" if self.recent < self.earlier else "rising"

    def _today(self, recorded: Recorded) -> Fate:
        """What today's policies make of a request that the rule would have refused."""
        answered = judge_again(self._setup, recorded, self.now)
        if isinstance(answered, str) or answered[0].errors:
            return Fate.REFUSED
        found = [finding for finding in answered[0].findings if finding.rule == self.rule]
        if any(finding.would_refuse or finding.result is Result.NOT_JUDGED for finding in found):
            # What was certain then does not become doubtful because less is known here.
            return Fate.REFUSED
        if any(finding.result is Result.SKIP for finding in found):
            return Fate.EXCEPTED
        if any(finding.result is Result.FAIL for finding in found):
            return Fate.TOLD
        return Fate.MENDED if any(one.fixed_by for one in recorded.entry.findings if one.rule == self.rule) else Fate.PASSES

    def _block_request(self, entry: LedgerEntry, finding: LedgerFinding) -> None:
        blocked = self._blocked(entry.kind, entry.namespace, entry.shown_name, entry.team, finding.message)
        if blocked is None:
            return
        blocked.requests += 1
        blocked.users[entry.user] += 1
        blocked.accelerators = max(blocked.accelerators, entry.accelerators)
        blocked.fixed_by = blocked.fixed_by or finding.fixed_by
        blocked.last = entry.at if blocked.last is None else max(blocked.last, entry.at)

    def _block_standing(self, subject: Subject, finding: ScanFinding) -> None:
        kind = subject.kind.partition(".")[0]
        blocked = self._blocked(kind, subject.namespace, subject.name, subject.team, finding.message)
        if blocked is not None:
            blocked.standing = True
            blocked.accelerators = max(blocked.accelerators, subject.accelerators.total)

    def _blocked(self, kind: str, namespace: str, name: str, team: str, message: str) -> Blocked | None:
        key = (kind, namespace, name)
        found = self.blocked.get(key)
        if found is None:
            if len(self.blocked) >= _MOST_BLOCKED:
                self.more_blocked += 1
                return None
            found = self.blocked[key] = Blocked(team, kind, namespace, name, message)
        return found


def by_team(blocked: Iterable[Blocked]) -> dict[str, list[Blocked]]:
    """What to hand to whom, the most accelerators first."""
    teams: dict[str, list[Blocked]] = {}
    for one in sorted(blocked, key=lambda one: (-one.accelerators, -one.requests, one.namespace, one.name)):
        teams.setdefault(one.team, []).append(one)
    return dict(sorted(teams.items(), key=lambda item: (-sum(one.accelerators for one in item[1]), item[0])))


def _fates(tally: RuleTally) -> dict[Fate, int]:
    return {
        Fate.REFUSED: tally.refused,
        Fate.TOLD: tally.told,
        Fate.MENDED: tally.mended,
        Fate.EXCEPTED: tally.excepted,
        Fate.UNKNOWN: tally.not_judged,
        Fate.FAULT: tally.faults,
    }


def _recorded_fate(findings: list[LedgerFinding]) -> tuple[Fate, LedgerFinding | None]:
    for finding in findings:
        if finding.would_refuse:
            return Fate.REFUSED, finding
    for result, fate in (
        (Result.FAIL, Fate.TOLD),
        (Result.ERROR, Fate.FAULT),
        (Result.NOT_JUDGED, Fate.UNKNOWN),
        (Result.SKIP, Fate.EXCEPTED),
    ):
        for finding in findings:
            if finding.result == result.value:
                return fate, finding
    return Fate.PASSES, None


def _standing_fate(subject: Subject, rule: str) -> tuple[Fate, ScanFinding | None]:
    found = [finding for finding in subject.findings if finding.rule == rule]
    for finding in found:
        if finding.refuses_if_enforced:
            return Fate.REFUSED, finding
    for finding in found:
        if finding.stands:
            return Fate.TOLD, finding
        if finding.result is Result.ERROR:
            return Fate.FAULT, finding
        if finding.result is Result.FAIL:
            return Fate.MENDED, finding
        if finding.result is Result.SKIP:
            return Fate.EXCEPTED, finding
    return (Fate.UNKNOWN if any(one.rule == rule for one in subject.not_judged) else Fate.PASSES), None
