"""Accelerators: who asks for how many, for what, and how many of them belong to work that a rule refuses or would."""

from dataclasses import dataclass

from signalbox.audit.from_json import chosen
from signalbox.audit.page.look import Look
from signalbox.audit.page.render import render
from signalbox.audit.tally import Tally

_MOST_TEAMS = 100


@dataclass(frozen=True, slots=True)
class TeamRow:
    """One team: its accelerators by type, and those of work that is refused today or would be if all were enforced."""

    team: str
    total: float
    refused: float
    more: float
    by_type: tuple[float, ...]

    @property
    def fine(self) -> float:
        """Those that no rule is about to refuse."""
        return max(0.0, self.total - self.refused - self.more)


def accelerators_view(look: Look) -> bytes:
    """The page."""
    tally = _tally(look)
    types = _types(tally)
    rows = _rows(tally, types)
    return render(
        "accelerators.html",
        look.filters,
        look=look,
        here="/accelerators",
        tally=tally,
        partial=look.filters.divides_teams,
        types=types,
        rows=rows[:_MOST_TEAMS],
        more=max(0, len(rows) - _MOST_TEAMS),
        largest=max((row.total for row in rows), default=0),
        sums=tuple(sum(row.by_type[index] for row in rows) for index in range(len(types))),
    )


def _tally(look: Look) -> Tally | None:
    if look.scan is None:
        return None
    filters = look.filters
    if filters.divides_teams:
        # The sums of a scan are by team and type: of anything else only the workloads with findings are known.
        return chosen(filters.subjects(look.scan))
    whole = look.scan.tally
    if not filters.team:
        return whole
    return Tally(
        teams={name: group for name, group in whole.teams.items() if name == filters.team},
        by_type={key: amount for key, amount in whole.by_type.items() if key[0] == filters.team},
    )


def _types(tally: Tally | None) -> list[str]:
    sums: dict[str, float] = {}
    for (_, kind), amount in (tally.by_type if tally is not None else {}).items():
        sums[kind] = sums.get(kind, 0) + amount
    return sorted(sums, key=lambda kind: (-sums[kind], kind))


def _rows(tally: Tally | None, types: list[str]) -> list[TeamRow]:
    if tally is None:
        return []
    rows = [
        TeamRow(
            name,
            group.accelerators,
            group.refused_accelerators,
            group.if_enforced_accelerators - group.refused_accelerators,
            tuple(tally.by_type.get((name, kind), 0) for kind in types),
        )
        for name, group in tally.teams.items()
        if group.accelerators
    ]
    return sorted(rows, key=lambda row: (-row.total, row.team))
