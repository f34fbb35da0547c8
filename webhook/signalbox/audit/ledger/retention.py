"""Old entries are deleted in small steps, so that nobody who writes waits long for it.

Whoever owns the file of SQLite does it; a PostgreSQL ledger, which several replicas write, is kept by the controller.
"""

import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from datetime import UTC, datetime, timedelta
from typing import cast

from sqlalchemy import Connection, Engine, delete, func, select

from signalbox.audit.ledger.database import Address, open_for_writing
from signalbox.audit.ledger.options import Retention
from signalbox.audit.ledger.rows import milliseconds
from signalbox.audit.ledger.schema import prepare
from signalbox.audit.ledger.tables import documents, entries, findings

STEP = 500
_PAGES_GIVEN_BACK = 2000
# What an entry takes beside its documents: its row, its findings, their indexes.
_ROW_BYTES = 1024


def prune(engine: Engine, retention: Retention, now: datetime, most_steps: int = 20) -> int:
    """Deletes what is too old or too much, in at most ``most_steps`` transactions; how many entries went."""
    deleted = 0
    for _ in range(most_steps):
        with engine.begin() as connection:
            gone = _step(connection, retention, now)
        deleted += gone
        if gone and engine.dialect.name == "sqlite":
            _give_back(engine)
        if gone < STEP:
            break
    return deleted


def keep_house(
    address: Address, retention: Retention, stopping: Callable[[], bool] = lambda: False, now: datetime | None = None
) -> int:
    """One round of retention on a ledger that others write, to its end; for the controller. How many entries went."""
    engine = open_for_writing(address)
    deleted = 0
    try:
        prepare(engine)
        while not stopping():
            gone = prune(engine, retention, now or datetime.now(UTC), 1)
            deleted += gone
            if gone < STEP:
                break
    finally:
        engine.dispose()
    return deleted


def _step(connection: Connection, retention: Retention, now: datetime) -> int:
    ids: list[int] = []
    if retention.days > 0:
        before = milliseconds(now - timedelta(days=retention.days))
        too_old = select(entries.c.id).where(entries.c.at < before).order_by(entries.c.at).limit(STEP)
        ids = list(connection.execute(too_old).scalars())
    if not ids and retention.most_bytes > 0:
        oldest = select(entries.c.id).order_by(entries.c.id).limit(_too_many(connection, retention.most_bytes))
        ids = list(connection.execute(oldest).scalars())
    for table, column in ((documents, documents.c.entry_id), (findings, findings.c.entry_id), (entries, entries.c.id)):
        if ids:
            connection.execute(delete(table).where(column.in_(ids)))
    return len(ids)


def _give_back(engine: Engine) -> None:
    """Returns the freed pages to the disk. SQLite does so page by page, and only a script is run to its end."""
    connection = engine.raw_connection()
    # Somebody else may be writing: there is another round.
    with closing(connection), suppress(sqlite3.OperationalError):
        cast(sqlite3.Connection, connection.driver_connection).executescript(f"PRAGMA incremental_vacuum({_PAGES_GIVEN_BACK});")


def _too_many(connection: Connection, most_bytes: int) -> int:
    """How many entries have to go, if they are all of one size; at most STEP."""
    count, size = connection.execute(select(func.count(), func.coalesce(func.sum(entries.c.size), 0))).one()
    total = int(size) + int(count) * _ROW_BYTES
    surplus = total - most_bytes
    return min(STEP, -(-surplus * int(count) // total)) if surplus > 0 else 0
