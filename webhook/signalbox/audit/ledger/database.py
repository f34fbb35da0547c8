"""The database behind a ledger's address: how it is opened, and what a failure of it means in a word."""

import os
import re
import sqlite3
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from sqlalchemy import Engine, create_engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError
from sqlalchemy.pool import QueuePool

from signalbox.audit.ledger.options import BUSY_SECONDS

_CONNECT_SECONDS = 5
_STATEMENT_MILLISECONDS = 20_000
# Between two tries of what the database itself does not wait for.
_NEXT_TRY = 0.01
_STEPS = 10_000

# `host=db password=…` would else be taken for a file, and its name shown.
_WORDS_OF_LIBPQ = re.compile(r"\A(?:postgres(?:ql)?:)|\b(?:password|host|dbname)=")

Trouble = Literal["unreachable", "locked", "full", "read-only", "forbidden", "damaged", "schema", "other"]
_SQLITE: dict[str, Trouble] = {
    "SQLITE_BUSY": "locked",
    "SQLITE_LOCKED": "locked",
    # A statement that took longer than its reader waits.
    "SQLITE_INTERRUPT": "locked",
    "SQLITE_FULL": "full",
    "SQLITE_READONLY": "read-only",
    "SQLITE_CANTOPEN": "unreachable",
    "SQLITE_IOERR": "unreachable",
    "SQLITE_CORRUPT": "damaged",
    "SQLITE_NOTADB": "damaged",
    "SQLITE_PERM": "forbidden",
    "SQLITE_AUTH": "forbidden",
}
_POSTGRES: dict[str, Trouble] = {
    "53100": "full",
    "25006": "read-only",
    "55P03": "locked",
    "57014": "locked",
    "40P01": "locked",
    "42501": "forbidden",
}
# Connection faults, no such database, wrong password, too many connections, being shut down.
_POSTGRES_CLASSES: dict[str, Trouble] = {"08": "unreachable", "28": "forbidden", "3D": "unreachable", "53": "unreachable"}


class LedgerError(Exception):
    """The ledger cannot be used; one line that says why, without the password of its address."""

    def __init__(self, trouble: Trouble, text: str) -> None:
        super().__init__(text)
        self.trouble = trouble


@dataclass(frozen=True, slots=True)
class Address:
    """Where a ledger is: a file of SQLite, or a PostgreSQL database."""

    url: URL

    @classmethod
    def parse(cls, text: str) -> "Address":
        """From ``sqlite:///FILE``, ``postgresql://…`` or a plain path. Raises LedgerError for anything else."""
        if "://" not in text:
            if _WORDS_OF_LIBPQ.search(text):
                raise LedgerError("unreachable", "the ledger's address is none: write postgresql://USER:PASSWORD@HOST/DATABASE")
            return cls(URL.create("sqlite", database=text))
        try:
            url = make_url(text)
        except (ArgumentError, ValueError) as error:
            raise LedgerError("unreachable", f"the ledger's address is none: {_first_line(error)}") from None
        if "@" in (url.host or ""):
            # What stands before it is part of the password, and would be shown with the host.
            raise LedgerError("unreachable", "the ledger's address has two @: one that is part of a password is written %40")
        if url.get_backend_name() in ("postgresql", "postgres"):
            return cls(url.set(drivername="postgresql+psycopg"))
        if url.get_backend_name() != "sqlite":
            raise LedgerError("unreachable", f"a ledger is kept in sqlite or postgresql, not in {url.get_backend_name()}")
        if not url.database or url.database == ":memory:":
            raise LedgerError("unreachable", "the ledger's address names no file: sqlite:////var/lib/signalbox/ledger.db")
        return cls(url.set(drivername="sqlite"))

    @property
    def is_sqlite(self) -> bool:
        """Whether it is a file of this machine."""
        return self.url.get_backend_name() == "sqlite"

    @property
    def file(self) -> Path | None:
        """The file of SQLite."""
        database = self.url.database
        if not self.is_sqlite or not database:
            return None
        return Path(database.removeprefix("file:").partition("?")[0])

    def __str__(self) -> str:
        """The address without its password."""
        hidden = {name: "***" for name in self.url.query if "pass" in name.lower()}
        return self.url.update_query_dict(hidden).render_as_string(hide_password=True)

    def __repr__(self) -> str:
        return f"Address({self})"


def open_for_writing(address: Address, busy_seconds: float = BUSY_SECONDS) -> Engine:
    """An engine with one connection, for the one thread that writes; it connects when it is first used."""
    if not address.is_sqlite:
        settings = _postgres_arguments(busy_seconds)
        return create_engine(address.url, pool_size=1, max_overflow=0, pool_pre_ping=True, connect_args=settings)
    _create_private(address)
    return _sqlite(address, busy_seconds, writes=True)


def open_for_reading(address: Address, seconds: float | None = None) -> Engine:
    """An engine for any number of threads that read, each transaction for at most so many seconds."""
    if not address.is_sqlite:
        settings = _postgres_arguments(BUSY_SECONDS, seconds)
        return create_engine(address.url, pool_size=4, max_overflow=4, pool_pre_ping=True, connect_args=settings)
    file = address.file
    if file is None or not file.is_file():
        raise LedgerError("unreachable", f"{file}: there is no such ledger")
    return _sqlite(address, BUSY_SECONDS, writes=False, seconds=seconds)


def trouble_of(error: SQLAlchemyError | OSError) -> Trouble:
    """What kind of trouble a failure is."""
    if isinstance(error, OSError):
        return "unreachable"
    origin = error.orig if isinstance(error, DBAPIError) else None
    if isinstance(origin, sqlite3.Error):
        name = getattr(origin, "sqlite_errorname", "") or ""
        # SQLITE_READONLY_DBMOVED and its like: a main code and a remark.
        return _SQLITE.get("_".join(name.split("_")[:2]), "other")
    state = getattr(origin, "sqlstate", None)
    if isinstance(state, str):
        return _POSTGRES.get(state) or _POSTGRES_CLASSES.get(state[:2]) or ("unreachable" if state[:3] == "57P" else "other")
    if isinstance(error, DBAPIError) and (error.connection_invalidated or type(origin).__name__ == "OperationalError"):
        return "unreachable"
    return "other"


def words_of(error: Exception) -> str:
    """What went wrong on one line: the database's own words, never the statement, whose values come from manifests."""
    origin = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
    return _first_line(origin)


def _first_line(error: BaseException) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)[:200]


def _postgres_arguments(busy_seconds: float, seconds: float | None = None) -> dict[str, Any]:
    lock = max(1, round(busy_seconds * 1000))
    longest = _STATEMENT_MILLISECONDS if seconds is None else max(1, round(seconds * 1000))
    return {
        "connect_timeout": _CONNECT_SECONDS,
        "application_name": "signalbox",
        "options": f"-c statement_timeout={longest} -c lock_timeout={lock}",
        # A server that vanished is noticed within seconds, not after the two hours of the kernel's default.
        "keepalives_idle": 10,
        "keepalives_interval": 5,
        "keepalives_count": 3,
        "tcp_user_timeout": 20_000,
    }


def _create_private(address: Address) -> None:
    """The file holds who did what: nobody else's to read. SQLite's own side files take over its mode."""
    file = address.file
    if file is not None:
        # What is wrong with the place is told when the database is opened.
        with suppress(OSError):
            os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


def _sqlite(address: Address, busy_seconds: float, writes: bool, seconds: float | None = None) -> Engine:
    arguments = {"timeout": busy_seconds, "check_same_thread": False}
    size = 1 if writes else 4
    engine = create_engine(address.url, connect_args=arguments, poolclass=QueuePool, pool_size=size, max_overflow=size - 1)

    @event.listens_for(engine, "connect")
    def prepare(connection: sqlite3.Connection, _: object) -> None:
        # Transactions begin where we say so, and tables are made within them.
        connection.isolation_level = None
        if writes:
            # Only before the first table: pages that retention frees go back to the disk.
            connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
            # Readers never wait for the writer; what was committed survives a crash of the process.
            _write_ahead(connection, busy_seconds)
            connection.execute("PRAGMA synchronous = NORMAL")
        else:
            connection.execute("PRAGMA query_only = ON")

    @event.listens_for(engine, "begin")
    def begin(connection: Any) -> None:
        # A transaction that reads first and writes then could find the file locked half-way.
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
        if seconds is not None:
            # The database asks every so many steps whether to go on.
            end = time.monotonic() + seconds
            connection.connection.dbapi_connection.set_progress_handler(lambda: time.monotonic() > end, _STEPS)

    return engine


def _write_ahead(connection: sqlite3.Connection, busy_seconds: float) -> None:
    """Switches the file to a write-ahead log.

    Where several find it new together, SQLite may tell all but one at once that it is locked: its own waiting is not for this
    switch (https://sqlite.org/c3ref/busy_handler.html).
    """
    end = time.monotonic() + busy_seconds
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if not error.sqlite_errorname.startswith("SQLITE_BUSY") or time.monotonic() > end:
                raise
            time.sleep(_NEXT_TRY)
        else:
            return
