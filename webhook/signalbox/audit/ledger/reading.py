"""Reading a ledger: entries in chunks, counts for reports and the page, and what can be judged again."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Engine, Select, case, func, select
from sqlalchemy.exc import SQLAlchemyError

from signalbox.audit.ledger.counting import By, Count, DayCount, count_of, counts_statement, day_count_of, days_statement
from signalbox.audit.ledger.database import Address, LedgerError, open_for_reading, trouble_of, words_of
from signalbox.audit.ledger.entry import Documents, LedgerEntry, LedgerFinding, Recorded
from signalbox.audit.ledger.rows import moment, read_documents, read_entry, read_finding
from signalbox.audit.ledger.schema import check_readable
from signalbox.audit.ledger.tables import documents, entries, findings
from signalbox.audit.ledger.wanted import ANY, Wanted, conditions_of

__all__ = ["CHUNK", "By", "Count", "DayCount", "Extent", "Ledger", "Wanted"]

CHUNK = 500


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
        self, wanted: Wanted = ANY, limit: int | None = None, newest_first: bool = False, after: int | None = None
    ) -> Iterator[LedgerEntry]:
        """Entries in the order in which they were written, read in chunks as they are asked for.

        ``after``: only those behind the entry with this id, in that order; for the next page.
        """
        for rows, by_entry, _ in self._chunks(wanted, limit, newest_first, after, False):
            for row in rows:
                yield read_entry(row, by_entry.get(row.id, ()))

    def replayable(self, wanted: Wanted = ANY, limit: int | None = None, newest_first: bool = False) -> Iterator[Recorded]:
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

    def counts(self, by: By, wanted: Wanted = ANY, limit: int | None = None) -> list[Count]:
        """How many entries there are of each rule (and team), exception, team, namespace, user, kind, type, decision or day.

        The most frequent first, days in their order. An entry with findings of two rules counts under both.
        """
        statement = counts_statement(by, wanted)
        with self._reading() as connection:
            rows = connection.execute(statement.limit(limit) if limit is not None else statement).all()
        return [count_of(by, row) for row in rows]

    def days(self, wanted: Wanted = ANY) -> list[DayCount]:
        """How many requests there were of each day, team and decision, in the order of days."""
        with self._reading() as connection:
            return [day_count_of(row) for row in connection.execute(days_statement(wanted)).all()]

    def extent(self, wanted: Wanted = ANY) -> Extent:
        """What there is of it."""
        statement = select(
            func.min(entries.c.at),
            func.max(entries.c.at),
            func.count(),
            func.coalesce(func.sum(case((entries.c.decision == "allowed", 1), else_=0)), 0),
        ).where(*conditions_of(wanted))
        with self._reading() as connection:
            first, last, count, allowed = connection.execute(statement).one()
        return Extent(
            None if first is None else moment(first), None if last is None else moment(last), int(count), int(allowed)
        )

    def _chunks(
        self, wanted: Wanted, limit: int | None, newest_first: bool, after: int | None, with_documents: bool
    ) -> Iterator[tuple[Sequence[Any], dict[int, list[LedgerFinding]], dict[int, Documents]]]:
        conditions = conditions_of(wanted)
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

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        """A connection whose failures are told as LedgerError."""
        try:
            with self._engine.connect() as connection:
                yield connection
        except SQLAlchemyError as error:
            raise LedgerError(trouble_of(error), f"the ledger cannot be read: {words_of(error)}") from error


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
    return {row.entry_id: read_documents(row) for row in rows}
