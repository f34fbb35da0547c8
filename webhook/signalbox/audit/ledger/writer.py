"""The thread that writes the ledger: takes what waits, builds entries, writes them in batches, outlasts the database.

It shares the interpreter with admission, so it lets go of it after every entry. A batch that could not be written is kept
and tried again; what finds no room in the queue meanwhile is lost, and counted under what the trouble is.
"""

import os
import threading
import time
from datetime import UTC, datetime
from typing import Protocol

from sqlalchemy import Engine
from sqlalchemy.exc import DataError, DBAPIError, IntegrityError, SQLAlchemyError

from signalbox.audit.ledger.building import Built, build
from signalbox.audit.ledger.database import LedgerError, Trouble, open_for_writing, trouble_of, words_of
from signalbox.audit.ledger.options import LedgerOptions
from signalbox.audit.ledger.retention import prune
from signalbox.audit.ledger.rows import insert_all
from signalbox.audit.ledger.schema import prepare
from signalbox.audit.ledger.waiting import WaitingQueue
from signalbox.process.logs import Log, crash_fields

_BATCH = 50
_BATCH_BYTES = 4 * 1024 * 1024
_PAUSE = 0.001
_FIRST_BACK_OFF = 0.5
_LONGEST_BACK_OFF = 30.0
_RETENTION_SECONDS = 60.0
_LOG_SECONDS = 60.0

LOSSES = (
    "queue-full",
    "unreachable",
    "locked",
    "full",
    "read-only",
    "forbidden",
    "damaged",
    "schema",
    "other",
    "refused-by-database",
    "fault",
    "stopped",
)
"""Why an entry may be lost: the queue was full of its own accord, or what kept the database from taking more; it refused
this one, a fault of ours, no time left at the end."""


class LedgerWatch(Protocol):
    """Who is told how the ledger fares: the metrics of the server."""

    def queued(self, length: int) -> None:
        """So many entries wait."""

    def written(self, count: int, at: datetime) -> None:
        """So many were written just now."""

    def lost(self, reason: str, count: int) -> None:
        """So many were lost."""


class Losses:
    """Counts what is lost, and says so once a minute."""

    def __init__(self, watch: LedgerWatch, log: Log) -> None:
        self._watch = watch
        self._log = log
        self._lock = threading.Lock()
        self._untold: dict[str, int] = {}
        self._told_at = -_LOG_SECONDS

    def add(self, reason: str, count: int = 1) -> None:
        """Count some."""
        if count == 0:
            return
        self._watch.lost(reason, count)
        with self._lock:
            self._untold[reason] = self._untold.get(reason, 0) + count

    def tell(self, at_once: bool = False) -> None:
        """Log what was lost since the last time, if that is a minute ago."""
        now = time.monotonic()
        with self._lock:
            if not self._untold or (now - self._told_at < _LOG_SECONDS and not at_once):
                return
            lost, self._untold, self._told_at = self._untold, {}, now
        self._log.error("ledger entries lost, admission goes on", lost=sum(lost.values()), **lost)


class LedgerWriter:
    """The body of the writing thread. ``trouble`` is what keeps it from writing now, None while all is well."""

    def __init__(self, options: LedgerOptions, queue: WaitingQueue, watch: LedgerWatch, losses: Losses, log: Log) -> None:
        self._options = options
        self._queue = queue
        self._watch = watch
        self._losses = losses
        self._log = log
        self._stopping = threading.Event()
        self._deadline = float("inf")
        self._engine: Engine | None = None
        self._file: tuple[int, int] | None = None
        self._built: list[Built] = []
        self._back_off = _FIRST_BACK_OFF
        self._prune_at = 0.0
        self.trouble: Trouble | None = None

    def run(self) -> None:
        """Write until told to stop, and then what still waits, as long as there is time."""
        while not self._stopping.wait(self._options.flush_seconds if self.trouble is None else self._back_off):
            self._guarded_round()
        while (self._queue or self._built) and time.monotonic() < self._deadline and self._guarded_round():
            pass
        self._losses.add("stopped", len(self._built) + len(self._queue))
        self._losses.tell(at_once=True)
        self._watch.queued(0)
        self._close()

    def stop(self, deadline: float) -> None:
        """Write what waits until this monotonic time, then end. Safe from any thread."""
        self._deadline = deadline
        self._stopping.set()

    def _guarded_round(self) -> bool:
        try:
            return self._round()
        except Exception as error:  # noqa: BLE001 a thread that dies unseen would lose everything from then on
            self._losses.add("fault", len(self._built))
            self._built = []
            self._log.error("ledger writer failed", **crash_fields(error))
            self._failed("other", type(error).__name__)
            return False

    def _round(self) -> bool:
        """Everything that waits now; False where it could not be written."""
        while True:
            self._gather()
            # With nothing to write too: what is wrong is told at the start, and who reads finds a ledger.
            if (not self._built and self._engine is not None) or not self._write() or not self._queue:
                break
            if self._stopping.is_set() and time.monotonic() >= self._deadline:
                break
        if self.trouble is None:
            self._keep_house()
        self._watch.queued(len(self._queue) + len(self._built))
        self._losses.tell()
        return self.trouble is None

    def _gather(self) -> None:
        size = sum(one.size for one in self._built)
        while len(self._built) < _BATCH and size < _BATCH_BYTES:
            item = self._queue.take()
            if item is None:
                return
            try:
                built = build(item, self._options.redaction, self._options.largest_object)
            except Exception as error:  # noqa: BLE001 one object that cannot be told must not end the ledger
                self._losses.add("fault")
                self._log.error("ledger entry could not be built", **crash_fields(error))
                continue
            size += built.size
            self._built.append(built)
            # Lets requests have the interpreter: they would else wait for the switch interval, which is longer than a review.
            # While there is time it takes a third of a core at most; a queue that fills up is emptied as fast as can be.
            time.sleep(0 if self._hurries() else _PAUSE)

    def _hurries(self) -> bool:
        return self._stopping.is_set() or len(self._queue) > self._options.queue // 4

    def _write(self) -> bool:
        try:
            engine = self._open()
            try:
                if self._built:
                    with engine.begin() as connection:
                        insert_all(connection, self._built)
                written = len(self._built)
            except (DataError, IntegrityError):
                written = self._write_singly(engine)
        except (SQLAlchemyError, OSError) as error:
            self._failed(trouble_of(error), words_of(error))
            return False
        except LedgerError as error:
            self._failed(error.trouble, str(error))
            return False
        self._built = []
        if written:
            self._watch.written(written, datetime.now(UTC))
        self._recovered()
        return True

    def _write_singly(self, engine: Engine) -> int:
        """After a batch that the database will not have: finds the entry it is about, and goes on without it."""
        written = 0
        while self._built:
            try:
                with engine.begin() as connection:
                    insert_all(connection, self._built[:1])
                written += 1
            except (DataError, IntegrityError) as error:
                self._losses.add("refused-by-database")
                self._log.error("ledger entry refused by the database", text=words_of(error))
            self._built = self._built[1:]
        return written

    def _open(self) -> Engine:
        if self._engine is not None and self._file is not None and self._file != self._identity():
            # Deleted or replaced under us: what is written to the old file would be seen by nobody.
            self._log.warning("the ledger's file was replaced", ledger=str(self._options.address))
            self._close()
        if self._engine is None:
            engine = open_for_writing(self._options.address, self._options.busy_seconds)
            try:
                prepare(engine)
            except BaseException:
                engine.dispose()
                raise
            self._engine, self._file = engine, self._identity()
        return self._engine

    def _identity(self) -> tuple[int, int] | None:
        file = self._options.address.file
        if file is None:
            return None
        try:
            state = os.stat(file)
        except OSError:
            return (-1, -1)
        return state.st_dev, state.st_ino

    def _close(self) -> None:
        if self._engine is not None:
            self._engine.dispose()
        self._engine = self._file = None

    def _failed(self, trouble: Trouble, text: str) -> None:
        news, self.trouble = self.trouble != trouble, trouble
        if news:
            self._log.error(
                "ledger cannot be written, admission goes on",
                ledger=str(self._options.address),
                trouble=trouble,
                text=text,
                waiting=len(self._queue) + len(self._built),
            )
            self._back_off = _FIRST_BACK_OFF
        else:
            self._back_off = min(self._back_off * 2, _LONGEST_BACK_OFF)
        self._close()

    def _recovered(self) -> None:
        after, self.trouble = self.trouble, None
        self._back_off = _FIRST_BACK_OFF
        if after is not None:
            self._log.info("ledger is written again", ledger=str(self._options.address), after=after)
            self._losses.tell(at_once=True)

    def _keep_house(self) -> None:
        """Retention of a file that is ours; with several workers each does it, and finds less to do."""
        if not self._options.address.is_sqlite or self._engine is None or self._stopping.is_set():
            return
        if time.monotonic() < self._prune_at:
            return
        self._prune_at = time.monotonic() + _RETENTION_SECONDS
        try:
            deleted = prune(self._engine, self._options.retention, datetime.now(UTC))
        except DBAPIError as error:
            # The next write tells what the matter is.
            self._log.warning("ledger retention failed", trouble=trouble_of(error), text=words_of(error))
            return
        if deleted:
            self._log.info("ledger entries deleted", count=deleted)
