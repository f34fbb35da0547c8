"""Counting the entries of a ledger, for reports and the page."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any, Literal

from sqlalchemy import ColumnElement, Select, Subquery, case, exists, func, select

from signalbox.audit.ledger.tables import entries, findings
from signalbox.audit.ledger.wanted import Wanted, conditions_of

_DAY = 86_400_000
_EPOCH = date(1970, 1, 1)

By = Literal["rule", "rule team", "exception", "team", "namespace", "user", "kind", "type", "decision", "day"]


@dataclass(frozen=True, slots=True)
class Count:
    """The entries of one key. ``requests`` is how many they stand for, ``accelerators`` what those asked for together.

    By rule, ``failed`` are those that the rule refused, warned of or recorded, ``excepted`` those that an exception covered.
    ``blocked`` would be refused if the rule were enforced, or are today, and ask for ``blocked_accelerators``.
    """

    key: str
    requests: float
    refused: int
    warned: int
    audited: int
    errors: int
    failed: int
    excepted: int
    accelerators: float
    blocked: int
    blocked_accelerators: float


@dataclass(frozen=True, slots=True)
class DayCount:
    """How many requests the entries of one day, team and decision stand for."""

    day: str
    team: str
    decision: str
    requests: float


def counts_statement(by: By, wanted: Wanted) -> Select[Any]:
    """A row a key; ``count_of`` reads it."""
    seen = _seen(by, wanted)
    return (
        select(
            seen.c.key,
            func.sum(seen.c.weight),
            *[_sum_where(seen.c.decision == decision) for decision in ("refused", "warned", "audited", "error")],
            func.sum(seen.c.fails),
            func.sum(seen.c.skips),
            func.sum(seen.c.accelerators * seen.c.weight),
            func.sum(seen.c.blocks),
            func.sum(seen.c.accelerators * seen.c.blocks),
        )
        .group_by(seen.c.key)
        .order_by(seen.c.key if by == "day" else func.sum(seen.c.weight).desc(), seen.c.key)
    )


def count_of(by: By, row: Sequence[Any]) -> Count:
    """The count that a row holds."""
    key, requests, *numbers, asked, blocked, stopped = row
    return Count(
        _day(key) if by == "day" else key, float(requests), *_whole(numbers), float(asked), int(blocked), float(stopped)
    )


def days_statement(wanted: Wanted) -> Select[Any]:
    """A row a day, team and decision: no finding is looked at, so a month of them is counted quickly."""
    day = _KEYS["day"]
    columns = (day.label("day"), entries.c.team, entries.c.decision)
    return select(*columns, func.sum(entries.c.weight)).where(*conditions_of(wanted)).group_by(*columns).order_by(day)


def day_count_of(row: Sequence[Any]) -> DayCount:
    """The count that a row holds."""
    day, team, decision, requests = row
    return DayCount(_day(day), team, decision, float(requests))


_KEYS: dict[str, ColumnElement[Any]] = {
    "rule": findings.c.rule,
    # The name of no rule has a space in it.
    "rule team": findings.c.rule + " " + entries.c.team,
    "exception": findings.c.excepted_by,
    "team": entries.c.team,
    "namespace": entries.c.namespace,
    "user": entries.c.username,
    "kind": entries.c.kind,
    "type": entries.c.type,
    "decision": entries.c.decision,
    # Whole days in both databases: true division would give fractions.
    "day": entries.c.at - entries.c.at % _DAY,
}


def _seen(by: By, wanted: Wanted) -> Subquery:
    """The entries that are counted, each once under each key, and whether a rule failed there or an exception covered it."""
    columns = (
        _KEYS[by].label("key"),
        entries.c.weight.label("weight"),
        entries.c.decision.label("decision"),
        entries.c.accelerators.label("accelerators"),
    )
    conditions = conditions_of(wanted)
    if by not in ("rule", "rule team", "exception"):
        fails, skips, blocks = (
            _one_if(_has(condition, wanted.rule)) for condition in (_FAILS, _SKIPS, findings.c.would_refuse)
        )
        marks = (fails.label("fails"), skips.label("skips"), blocks.label("blocks"))
        return select(*columns, *marks).where(*conditions).subquery()
    if wanted.rule:
        conditions.append(findings.c.rule == wanted.rule)
    if by == "exception":
        conditions.append(findings.c.excepted_by != "")
    fails, skips, blocks = (func.max(_one_if(condition)) for condition in (_FAILS, _SKIPS, findings.c.would_refuse))
    return (
        select(*columns, fails.label("fails"), skips.label("skips"), blocks.label("blocks"))
        .select_from(entries.join(findings, findings.c.entry_id == entries.c.id))
        .where(*conditions, findings.c.result != "unchanged")
        .group_by(entries.c.id, _KEYS[by])
        .subquery()
    )


_FAILS: ColumnElement[bool] = findings.c.result == "fail"
_SKIPS: ColumnElement[bool] = findings.c.result == "skip"


def _has(condition: ColumnElement[bool], rule: str) -> ColumnElement[bool]:
    found = exists().where(findings.c.entry_id == entries.c.id, condition)
    return found.where(findings.c.rule == rule) if rule else found


def _one_if(condition: ColumnElement[bool]) -> ColumnElement[int]:
    return case((condition, 1), else_=0)


def _sum_where(condition: ColumnElement[bool]) -> ColumnElement[int]:
    return func.sum(_one_if(condition))


def _whole(numbers: Sequence[Any]) -> tuple[int, int, int, int, int, int]:
    refused, warned, audited, errors, failed, excepted = map(int, numbers)
    return refused, warned, audited, errors, failed, excepted


def _day(start: int) -> str:
    return (_EPOCH + timedelta(milliseconds=int(start))).isoformat()
