"""Which entries of a ledger somebody wants, as conditions of a statement."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, select

from signalbox.audit.ledger.rows import milliseconds
from signalbox.audit.ledger.tables import entries, findings


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which entries. Empty: any. ``rule`` are those with a finding of it; ``until`` is no part of the time.

    ``group`` is the API group of the kind: empty is the core's, None any.
    """

    since: datetime | None = None
    until: datetime | None = None
    rule: str = ""
    team: str = ""
    namespace: str = ""
    user: str = ""
    kind: str = ""
    group: str | None = None
    name: str = ""
    generate_name: str = ""
    type: str = ""
    decision: str = ""


ANY = Wanted()


def conditions_of(wanted: Wanted) -> list[ColumnElement[bool]]:
    """What has to hold of an entry."""
    conditions: list[ColumnElement[bool]] = []
    if wanted.since is not None:
        conditions.append(entries.c.at >= milliseconds(wanted.since))
    if wanted.until is not None:
        conditions.append(entries.c.at < milliseconds(wanted.until))
    for value, column in (
        (wanted.team, entries.c.team),
        (wanted.namespace, entries.c.namespace),
        (wanted.user, entries.c.username),
        (wanted.kind, entries.c.kind),
        (wanted.name, entries.c.name),
        (wanted.generate_name, entries.c.generate_name),
        (wanted.type, entries.c.type),
        (wanted.decision, entries.c.decision),
    ):
        if value:
            conditions.append(column == value)
    if wanted.group is not None:
        conditions.append(entries.c.api_group == wanted.group)
    if wanted.rule:
        of_rule = select(findings.c.entry_id).where(findings.c.rule == wanted.rule, findings.c.result != "unchanged")
        conditions.append(entries.c.id.in_(of_rule))
    return conditions
