"""A scan summed up, by rule, team and kind: how many workloads, and how many accelerators they ask for."""

from collections import Counter
from dataclasses import dataclass, field

from signalbox.audit.result import ScanFinding, Subject
from signalbox.finding import Result
from signalbox.policy.mode import Mode


@dataclass(slots=True)
class RuleTally:
    """One rule in one mode. Each workload counts once, however many findings it has.

    ``refused``: refused today, or once the rule is enforced; ``told``: the rule says no but never refuses for it (a
    checkpoint that cannot be seen); ``mended``: an injector would put it right. ``accelerators`` are those of ``refused``.
    """

    rule: str
    check: str
    mode: Mode
    refused: int = 0
    told: int = 0
    mended: int = 0
    excepted: int = 0
    not_judged: int = 0
    faults: int = 0
    accelerators: float = 0

    def add(self, finding: ScanFinding, accelerators: float) -> None:
        """Count a workload by the worst that the rule finds in it."""
        if finding.refuses_if_enforced:
            self.refused += 1
            self.accelerators += accelerators
        elif finding.stands:
            self.told += 1
        elif finding.result is Result.ERROR:
            self.faults += 1
        elif finding.result is Result.FAIL:
            self.mended += 1
        else:
            self.excepted += 1


@dataclass(slots=True)
class GroupTally:
    """The workloads of one team or kind. ``refused`` and its accelerators: today; ``if_enforced``: those and what would be."""

    name: str
    workloads: int = 0
    accelerators: float = 0
    refused: int = 0
    refused_accelerators: float = 0
    if_enforced: int = 0
    if_enforced_accelerators: float = 0

    def add(self, subject: Subject) -> None:
        """Count a workload."""
        asked = subject.accelerators.total
        self.workloads += 1
        self.accelerators += asked
        if subject.refused:
            self.refused += 1
            self.refused_accelerators += asked
        if subject.refused_if_enforced:
            self.if_enforced += 1
            self.if_enforced_accelerators += asked


@dataclass(slots=True)
class Tally:
    """All sums of one scan; its size depends on how many rules, teams and kinds there are, not on how many workloads."""

    total: GroupTally = field(default_factory=lambda: GroupTally(""))
    rules: dict[tuple[str, Mode], RuleTally] = field(default_factory=dict)
    teams: dict[str, GroupTally] = field(default_factory=dict)
    kinds: dict[str, GroupTally] = field(default_factory=dict)
    by_type: dict[tuple[str, str], float] = field(default_factory=dict)
    resources: dict[str, float] = field(default_factory=dict)
    reasons: Counter[tuple[str, str]] = field(default_factory=Counter)
    unknown_amounts: int = 0

    def add(self, subject: Subject) -> None:
        """Count a workload everywhere it belongs. ``by_type`` sums accelerators by team and type."""
        self.total.add(subject)
        for groups, name in ((self.teams, subject.team), (self.kinds, subject.kind)):
            if name not in groups:
                groups[name] = GroupTally(name)
            groups[name].add(subject)
        asked = subject.accelerators
        self.unknown_amounts += asked.unknown
        if asked.total:
            cell = (subject.team, subject.type)
            self.by_type[cell] = self.by_type.get(cell, 0) + asked.total
            for resource, amount in asked.by_resource.items():
                self.resources[resource] = self.resources.get(resource, 0) + amount
        self._add_rules(subject)

    def _add_rules(self, subject: Subject) -> None:
        worst: dict[tuple[str, Mode], tuple[int, ScanFinding]] = {}
        for finding in subject.findings:
            rank, key = _rank(finding), (finding.rule, finding.mode)
            if key not in worst or rank < worst[key][0]:
                worst[key] = (rank, finding)
        for (rule, mode), (_, finding) in worst.items():
            self._rule(rule, finding.check, mode).add(finding, subject.accelerators.total)
        for unknown in subject.not_judged:
            self._rule(unknown.rule, "", unknown.mode).not_judged += 1
            self.reasons[unknown.rule, unknown.reason] += 1

    def _rule(self, rule: str, check: str, mode: Mode) -> RuleTally:
        tally = self.rules.get((rule, mode))
        if tally is None:
            tally = self.rules[rule, mode] = RuleTally(rule, check, mode)
        tally.check = tally.check or check
        return tally


def _rank(finding: ScanFinding) -> int:
    # In the order in which RuleTally.add asks.
    if finding.refuses_if_enforced:
        return 0
    if finding.stands:
        return 1
    if finding.result is Result.ERROR:
        return 2
    return 3 if finding.result is Result.FAIL else 4
