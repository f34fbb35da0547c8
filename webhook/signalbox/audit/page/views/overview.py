"""The first page: who is refused, who would be, and by which rule."""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import timedelta

from signalbox.audit.from_json import KnownScan, chosen
from signalbox.audit.ledger.reading import Count, DayCount
from signalbox.audit.page.look import Look
from signalbox.audit.page.render import render
from signalbox.audit.page.views.exceptions import Ending, endings
from signalbox.audit.page.views.facts import Days, days_of, mode_of
from signalbox.audit.page.weighing import rule_ids
from signalbox.audit.tally import GroupTally, RuleTally, Tally
from signalbox.policy.mode import Mode

_SOON = timedelta(days=30)
_MOST_TEAMS = 50


@dataclass(frozen=True, slots=True)
class RuleRow:
    """One rule: the requests that it refused or would have, and the workloads. None: not known.

    ``teams`` are whose they are, the hardest hit first. ``spared`` tells of what it found and refuses nobody for.
    """

    rule: str
    mode: Mode | None
    requests: int | None
    standing: int | None
    accelerators: float
    teams: tuple[str, ...]
    spared: str
    verdict: str

    @property
    def quiet(self) -> bool:
        """Whether it found nothing anywhere."""
        return not (self.requests or self.standing or self.spared)


@dataclass(frozen=True, slots=True)
class TeamRow:
    """One team. ``workloads`` None: only those with findings are known."""

    team: str
    workloads: int | None
    accelerators: float
    refused: int
    more: int
    requests: int | None


def overview_view(look: Look) -> bytes:
    """The whole of it; see the templates."""
    filters, scan, wanted = look.filters, look.scan, look.wanted
    by_day = look.ask_ledger(lambda ledger: ledger.days(wanted))
    by_rule = look.ask_ledger(lambda ledger: ledger.counts("rule team", wanted))
    tally = standing(look)
    rows = _rules(look, tally, by_rule)
    loud = [row for row in rows if not row.quiet]
    return render(
        "overview.html",
        filters,
        look=look,
        here="/",
        decisions=None if by_day is None else _sums(by_day, lambda count: count.decision),
        tally=tally,
        scan=scan,
        ahead=sorted((row for row in loud if row.mode is not Mode.ENFORCE), key=_weight),
        enforced=sorted((row for row in loud if row.mode is Mode.ENFORCE), key=_weight),
        quiet=[row for row in rows if row.quiet],
        days=None if by_day is None else _days(look, by_day),
        teams=_teams(look, tally, by_day)[:_MOST_TEAMS],
        extent=look.ask_ledger(lambda ledger: ledger.extent()),
        endings=_soon(look),
    )


def standing(look: Look) -> Tally | None:
    """The sums of what stands: the scan's own, or where some of it is chosen those of the workloads that are known."""
    if look.scan is None:
        return None
    if not look.filters.chosen:
        return look.scan.tally
    return chosen(look.filters.subjects(look.scan))


def _rules(look: Look, tally: Tally | None, counts: list[Count] | None) -> list[RuleRow]:
    found = _by_rule(counts or ())
    names = rule_ids(look.setup, look.scan, found)
    if look.filters.rule:
        names = [name for name in names if name == look.filters.rule]
    verdicts = _verdicts(look)
    hit = _hit_teams(look)
    rows = []
    for name in names:
        of_scan = [one for (rule, _), one in tally.rules.items() if rule == name] if tally is not None else []
        requests = found.get(name, Counter())
        rows.append(
            RuleRow(
                name,
                mode_of(look.setup, look.scan, name),
                None if counts is None else requests.total(),
                None if tally is None else sum(one.refused for one in of_scan),
                sum(one.accelerators for one in of_scan),
                _order(hit.get(name, Counter()), requests),
                _spared(of_scan),
                verdicts.get(name, ""),
            )
        )
    return rows


def _by_rule(counts: Iterable[Count]) -> dict[str, Counter[str]]:
    """The requests that each rule refused or would have, by team."""
    found: dict[str, Counter[str]] = {}
    for count in counts:
        rule, _, team = count.key.partition(" ")
        found.setdefault(rule, Counter())[team] += count.blocked
    return found


def _hit_teams(look: Look) -> dict[str, Counter[str]]:
    """The workloads that each rule refuses or would, by team."""
    hit: dict[str, Counter[str]] = {}
    for subject in look.filters.subjects(look.scan) if look.scan is not None else ():
        for rule in {finding.rule for finding in subject.findings if finding.refuses_if_enforced}:
            hit.setdefault(rule, Counter())[subject.team] += 1
    return hit


def _order(standing: Counter[str], requests: Counter[str]) -> tuple[str, ...]:
    teams = {team for counter in (standing, requests) for team, count in counter.items() if count}
    return tuple(sorted(teams, key=lambda team: (-standing[team], -requests[team], team)))


def _spared(tallies: Iterable[RuleTally]) -> str:
    sums = Counter[str]()
    for one in tallies:
        sums.update({"told only": one.told, "mended by injection": one.mended, "excepted": one.excepted, "failed": one.faults})
    return ", ".join(f"{count:,} {words}" for words, count in sums.items() if count)


def _weight(row: RuleRow) -> tuple[float, float, str]:
    return -(row.standing or 0), -(row.requests or 0), row.rule


def _verdicts(look: Look) -> dict[str, str]:
    return {rule: verdict.value for rule, verdict in look.weighings.verdicts(look.filters.span).items()}


def _sums(counts: Iterable[DayCount], key: Callable[[DayCount], str]) -> Counter[str]:
    sums = Counter[str]()
    for count in counts:
        sums[key(count)] += round(count.requests)
    return sums


def _days(look: Look, counts: list[DayCount]) -> Days:
    columns = (("refused", "refused", "refused"), ("warned", "warned", "warned"), ("audited", "recorded only", "audited"))
    values: dict[str, Counter[str]] = {}
    for count in counts:
        values.setdefault(count.day, Counter())[count.decision] += round(count.requests)
    return days_of(values, look.now - look.filters.span, look.now, columns)


def _teams(look: Look, tally: Tally | None, counts: list[DayCount] | None) -> list[TeamRow]:
    requests = _sums((one for one in counts or () if one.decision == "refused"), lambda count: count.team)
    groups = dict(tally.teams) if tally is not None else {}
    # Of a whole team the scan has told everything; of a part of one only what was found is known.
    whole = _whole_teams(look.scan, look) if look.scan is not None else {}
    # Of the others there is nothing to tell.
    names = dict.fromkeys((*groups, *requests))
    rows = [_team(name, groups.get(name), whole.get(name), None if counts is None else requests[name]) for name in names]
    return sorted(rows, key=lambda row: (-row.refused - row.more, -(row.requests or 0), -row.accelerators, row.team))


def _team(name: str, found: GroupTally | None, whole: GroupTally | None, refused: int | None) -> TeamRow:
    shown = whole or found or GroupTally(name)
    known = found or GroupTally(name)
    return TeamRow(
        name,
        None if whole is None else whole.workloads,
        shown.accelerators,
        known.refused,
        known.if_enforced - known.refused,
        refused,
    )


def _whole_teams(scan: KnownScan, look: Look) -> dict[str, GroupTally]:
    return {} if look.filters.divides_teams else dict(scan.tally.teams)


def _soon(look: Look) -> list[Ending]:
    last = (look.now + _SOON).date()
    counts = look.ask_ledger(lambda ledger: ledger.counts("exception", look.wanted))
    return [one for one in endings(look, counts) if not one.over and one.until <= last]
