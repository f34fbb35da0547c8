"""The ledger in the server: a recorder in each worker, started after the fork, and its numbers beside the others."""

import os
import re
from datetime import datetime
from multiprocessing.util import Finalize
from pathlib import Path

from prometheus_client import CollectorRegistry, Counter, Gauge
from prometheus_client.multiprocess import mark_process_dead

from signalbox.audit.ledger.options import LedgerOptions
from signalbox.audit.ledger.recorder import Recorder
from signalbox.audit.ledger.writer import LOSSES
from signalbox.process.logs import Log

_LIVE_FILE = re.compile(r"gauge_live\w*_(\d+)\.db")


class LedgerMeters:
    """What one worker's ledger tells; made before the fork."""

    def __init__(self) -> None:
        # Never shown: what stands in it, in every worker, is read from their files.
        registry = CollectorRegistry()
        self._queue = Gauge(
            "signalbox_ledger_queue_length",
            "Ledger entries that wait to be written.",
            registry=registry,
            multiprocess_mode="livesum",
        )
        self._written = Counter("signalbox_ledger_entries_written", "Ledger entries written.", registry=registry)
        self._lost = Counter("signalbox_ledger_entries_lost", "Ledger entries lost, by reason.", ("reason",), registry=registry)
        self._last_write = Gauge(
            "signalbox_ledger_last_write_timestamp_seconds",
            "When the ledger was last written; 0: not yet.",
            registry=registry,
            multiprocess_mode="max",
        )
        for reason in LOSSES:
            # From the start at 0, so that the first loss is an increase.
            self._lost.labels(reason)

    def queued(self, length: int) -> None:
        """So many entries wait."""
        self._queue.set(length)

    def written(self, count: int, at: datetime) -> None:
        """So many were written just now."""
        self._written.inc(count)
        self._last_write.set(at.timestamp())

    def lost(self, reason: str, count: int) -> None:
        """So many were lost."""
        self._lost.labels(reason).inc(count)


def make_recorder(options: LedgerOptions, log: Log) -> Recorder:
    """In the main process, before the fork: the recorder that every worker starts for itself."""
    return Recorder(options, LedgerMeters(), log)


def start_recorder(recorder: Recorder, directory: Path) -> None:
    """In a worker: start writing, and write what waits when the worker ends. ``directory`` holds the metrics' files."""
    _forget_dead_workers(directory)
    recorder.start()
    # A worker is a process of multiprocessing: it ends without what `atexit` holds.
    Finalize(recorder, recorder.stop, exitpriority=100)


def _forget_dead_workers(directory: Path) -> None:
    """A worker that crashed would else seem to have a queue for ever; whoever takes its place sees to it."""
    for file in directory.glob("gauge_live*.db"):
        found = _LIVE_FILE.fullmatch(file.name)
        if found is None or int(found[1]) == os.getpid():
            continue
        try:
            os.kill(int(found[1]), 0)
        except ProcessLookupError:
            mark_process_dead(int(found[1]), str(directory))  # type: ignore[no-untyped-call]
