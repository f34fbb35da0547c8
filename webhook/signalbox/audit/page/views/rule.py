"""One rule: can it be enforced, and if not, whose work is in the way."""

from dataclasses import dataclass

from signalbox.audit.page.look import Look, NotFoundError
from signalbox.audit.page.render import render
from signalbox.audit.page.views.exceptions import endings
from signalbox.audit.page.views.facts import days_of, mode_of, rule_of
from signalbox.audit.page.weighing import Weighed, rule_ids, weigh
from signalbox.audit.readiness import FATE_WORDS, Blocked, Fate, by_team
from signalbox.audit.verdict import Verdict
from signalbox.policy.mode import Mode
from signalbox.policy.nearest import nearest

_MOST_TEAMS = 40
_FIRST = 5
_MOST_OF_A_TEAM = 100
_MOST_REASONS = 5
_REFUSED = (("refused", "refused", "blocked"),)
_WOULD = (("warned", "would be refused if enforced", "blocked"),)
_STYLES = {Verdict.READY: "good", Verdict.NOT_YET: "bad", Verdict.TOO_LITTLE: "doubt"}


@dataclass(frozen=True, slots=True)
class FateRow:
    """What becomes of how many requests and standing workloads; None: not looked at."""

    says: str
    requests: int
    standing: int | None


@dataclass(frozen=True, slots=True)
class TeamList:
    """What to hand to a team: the first few of its workloads, and the rest. ``message``: where it is the same for all."""

    team: str
    accelerators: float
    count: int
    message: str
    first: tuple[Blocked, ...]
    rest: tuple[Blocked, ...]
    left_out: int


def rule_view(look: Look) -> bytes:
    """The page of the rule that the filters name. Raises NotFoundError."""
    name, setup, scan = look.filters.rule, look.setup, look.scan
    recorded = look.ask_ledger(lambda ledger: [count.key for count in ledger.counts("rule", look.wanted)]) or []
    known = rule_ids(setup, scan, recorded)
    if name not in known:
        raise NotFoundError(f"The overview lists all rules; none is called {name!r}{nearest(name, known)}")
    weighed = _weighed(look)
    found = rule_of(setup, name)
    by_day = look.ask_ledger(lambda ledger: ledger.counts("day", look.wanted))
    teams = by_team(weighed.evidence.blocked.values()) if weighed is not None else {}
    shown = _lists(teams, look)
    mode = mode_of(setup, scan, name)
    enforced = mode is Mode.ENFORCE
    return render(
        "rule.html",
        look.filters,
        look=look,
        here="/rule",
        rule=name,
        policy=None if found is None else found[0],
        check="" if found is None else found[1].check or "cel",
        mode=mode,
        enforce=Mode.ENFORCE,
        tone="bad" if enforced else "warn",
        weighed=weighed,
        style="" if weighed is None else _STYLES[weighed.verdict],
        fates=[] if weighed is None else _fates(weighed),
        unknown=[] if weighed is None else weighed.evidence.unknown.most_common(_MOST_REASONS),
        days=None
        if by_day is None
        else days_of(
            {one.key: {"blocked": one.blocked} for one in by_day},
            look.now - look.filters.span,
            look.now,
            _REFUSED if enforced else _WOULD,
        ),
        teams=shown[:_MOST_TEAMS],
        more_teams=max(0, len(shown) - _MOST_TEAMS),
        endings=endings(look, look.ask_ledger(lambda ledger: ledger.counts("exception", look.wanted))),
        refused=Fate.REFUSED,
    )


def _weighed(look: Look) -> Weighed | None:
    """The verdict, on everybody's work whatever else the filters say; None where nothing can be said."""
    setup, rule = look.setup, look.filters.rule
    if setup is None or rule_of(setup, rule) is None or (look.ledger is None and look.scan is None):
        return None
    if look.ledger is None:
        return weigh(setup, rule, None, look.scan, look.now, look.filters.days)
    return look.ask_ledger(lambda ledger: weigh(setup, rule, ledger, look.scan, look.now, look.filters.days))


def _fates(weighed: Weighed) -> list[FateRow]:
    requests, standing = weighed.evidence.requests, weighed.evidence.standing
    rows = [
        FateRow(says, requests.fates[fate], None if standing is None else standing.fates[fate])
        for fate, says in FATE_WORDS.items()
    ]
    return [row for index, row in enumerate(rows) if index == 0 or row.requests or row.standing]


def _lists(teams: dict[str, list[Blocked]], look: Look) -> list[TeamList]:
    filters = look.filters
    lists = []
    for team, blocked in teams.items():
        if filters.team and filters.team != team:
            continue
        kept = [
            one
            for one in blocked
            if (not filters.namespace or one.namespace == filters.namespace)
            and (not filters.kind or one.kind == filters.kind.partition(".")[0])
        ]
        if not kept:
            continue
        messages = {one.message for one in kept}
        lists.append(
            TeamList(
                team,
                sum(one.accelerators for one in kept),
                len(kept),
                messages.pop() if len(messages) == 1 else "",
                tuple(kept[:_FIRST]),
                tuple(kept[_FIRST:_MOST_OF_A_TEAM]),
                max(0, len(kept) - _MOST_OF_A_TEAM),
            )
        )
    return lists
