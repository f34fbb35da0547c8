"""Reading a ledger: entries in chunks, counts for reports and the page, and what can be judged again."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any, Literal

import orjson
from sqlalchemy import ColumnElement, Connection, Engine, Select, Subquery, case, exists, func, select
from sqlalchemy.exc import SQLAlchemyError

from signalbox.audit.ledger.database import Address, LedgerError, open_for_reading, trouble_of, words_of
from signalbox.audit.ledger.entry import Documents, LedgerEntry, LedgerFinding, Recorded
from signalbox.audit.ledger.rows import milliseconds, moment, read_entry, read_finding
from signalbox.audit.ledger.schema import check_readable
from signalbox.audit.ledger.tables import documents, entries, findings

CHUNK = 500
_DAY = 86_400_000
_EPOCH = date(1970, 1, 1)

By = Literal["rule", "rule team", "exception", "team", "namespace", "user", "kind", "type", "decision", "day"]


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
class Extent:
    """What a ledger holds: its first and last time, None where it is empty, and how many entries.

    ``allowed``: how many of them found nothing; 0 where such requests are not recorded.
    """

    first: datetime | None
    last: datetime | None
    entries: int
    allowed: int


class Ledger:
    """A ledger to read from. Safe for several threads; every method raises LedgerError where it cannot be read."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    @classmethod
    def open(cls, address: str, seconds: float | None = None) -> "Ledger":
        """The ledger at an address as ``--ledger`` takes it. Raises LedgerError with what to do.

        ``seconds``: longer than that no question to it may take.
        """
        engine = open_for_reading(Address.parse(address), seconds)
        try:
            check_readable(engine)
        except LedgerError:
            engine.dispose()
            raise
        return cls(engine)

    def close(self) -> None:
        """Give its connections back."""
        self._engine.dispose()

    def entries(
        self, wanted: Wanted = Wanted(), limit: int | None = None, newest_first: bool = False, after: int | None = None
    ) -> Iterator[LedgerEntry]:
        """Entries in the order in which they were written, read in chunks as they are asked for.

        ``after``: only those behind the entry with this id, in that order; for the next page.
        """
        for rows, by_entry, _ in self._chunks(wanted, limit, newest_first, after, False):
            for row in rows:
                yield read_entry(row, by_entry.get(row.id, ()))

    def replayable(self, wanted: Wanted = Wanted(), limit: int | None = None, newest_first: bool = False) -> Iterator[Recorded]:
        """Entries with their objects; those whose object was not kept come without one."""
        for rows, by_entry, objects in self._chunks(wanted, limit, newest_first, None, True):
            for row in rows:
                yield Recorded(read_entry(row, by_entry.get(row.id, ())), objects.get(row.id, Documents()))

    def entry(self, entry_id: int) -> Recorded | None:
        """One entry with its objects."""
        with self._reading() as connection:
            row = connection.execute(select(entries).where(entries.c.id == entry_id)).one_or_none()
            if row is None:
                return None
            return Recorded(
                read_entry(row, _findings_of(connection, [entry_id]).get(entry_id, ())),
                _documents_of(connection, [entry_id]).get(entry_id, Documents()),
            )

    def counts(self, by: By, wanted: Wanted = Wanted(), limit: int | None = None) -> list[Count]:
        """How many entries there are of each rule (and team), exception, team, namespace, user, kind, type, decision or day.

        The most frequent first, days in their order. An entry with findings of two rules counts under both.
        """
        seen = _seen(by, wanted)
        statement = (
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
        with self._reading() as connection:
            rows = connection.execute(statement.limit(limit) if limit is not None else statement).all()
        return [
            Count(
                _day(key) if by == "day" else key, float(requests), *_whole(numbers), float(asked), int(blocked), float(stopped)
            )
            for key, requests, *numbers, asked, blocked, stopped in rows
        ]

    def extent(self, wanted: Wanted = Wanted()) -> Extent:
        """What there is of it."""
        statement = select(
            func.min(entries.c.at),
            func.max(entries.c.at),
            func.count(),
            func.coalesce(func.sum(case((entries.c.decision == "allowed", 1), else_=0)), 0),
        ).where(*_conditions(wanted))
        with self._reading() as connection:
            first, last, count, allowed = connection.execute(statement).one()
        return Extent(
            None if first is None else moment(first), None if last is None else moment(last), int(count), int(allowed)
        )

    def _chunks(
        self, wanted: Wanted, limit: int | None, newest_first: bool, after: int | None, with_documents: bool
    ) -> Iterator[tuple[Sequence[Any], dict[int, list[LedgerFinding]], dict[int, Documents]]]:
        conditions = _conditions(wanted)
        last, left = after, limit
        while left is None or left > 0:
            size = CHUNK if left is None else min(CHUNK, left)
            statement = select(entries).where(*conditions).limit(size)
            statement = _from(statement, last, newest_first)
            # A transaction a chunk: whoever prints slowly keeps no snapshot from being cleaned up.
            with self._reading() as connection:
                rows = connection.execute(statement).all()
                ids = [row.id for row in rows]
                found = _findings_of(connection, ids)
                objects = _documents_of(connection, ids) if with_documents else {}
            yield rows, found, objects
            if len(rows) < size:
                return
            last = rows[-1].id
            left = None if left is None else left - len(rows)

    def _reading(self) -> "_Reading":
        return _Reading(self._engine)


class _Reading:
    """A connection whose failures are told as LedgerError."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._connection: Connection | None = None

    def __enter__(self) -> Connection:
        try:
            self._connection = self._engine.connect()
        except SQLAlchemyError as error:
            raise LedgerError(trouble_of(error), f"the ledger cannot be read: {words_of(error)}") from error
        return self._connection

    def __exit__(self, _kind: object, error: BaseException | None, _traceback: object) -> None:
        if self._connection is not None:
            self._connection.close()
        if isinstance(error, SQLAlchemyError):
            raise LedgerError(trouble_of(error), f"the ledger cannot be read: {words_of(error)}") from error


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
    conditions = _conditions(wanted)
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


def _conditions(wanted: Wanted) -> list[ColumnElement[bool]]:
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


def _from(statement: Select[Any], last: int | None, newest_first: bool) -> Select[Any]:
    if last is not None:
        statement = statement.where(entries.c.id < last if newest_first else entries.c.id > last)
    return statement.order_by(entries.c.id.desc() if newest_first else entries.c.id)


def _findings_of(connection: Connection, ids: Sequence[int]) -> dict[int, list[LedgerFinding]]:
    found: dict[int, list[LedgerFinding]] = {}
    if ids:
        statement = select(findings).where(findings.c.entry_id.in_(ids)).order_by(findings.c.entry_id, findings.c.number)
        for row in connection.execute(statement):
            found.setdefault(row.entry_id, []).append(read_finding(row))
    return found


def _documents_of(connection: Connection, ids: Sequence[int]) -> dict[int, Documents]:
    if not ids:
        return {}
    rows = connection.execute(select(documents).where(documents.c.entry_id.in_(ids)))
    return {row.entry_id: Documents(_loaded(row.object), _loaded(row.old_object)) for row in rows}


def _loaded(text: str | None) -> Any:
    return None if text is None else orjson.loads(text)


def _whole(numbers: Sequence[Any]) -> tuple[int, int, int, int, int, int]:
    refused, warned, audited, errors, failed, excepted = map(int, numbers)
    return refused, warned, audited, errors, failed, excepted


def _day(start: int) -> str:
    return (_EPOCH + timedelta(milliseconds=int(start))).isoformat()
