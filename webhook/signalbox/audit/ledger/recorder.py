"""What the webhook hands its decisions to. Handing over costs microseconds and never waits, never raises, never blocks.

A request comes to the ledger by its /validate call, or by /mutate where that refuses it; the two calls have no uid in
common. Dry runs leave nothing, nor does what a known controller makes of a parent that was judged.
"""

import threading
import time
from collections.abc import Callable
from datetime import datetime
from random import random
from typing import TYPE_CHECKING

from signalbox.audit.ledger.building import found_something
from signalbox.audit.ledger.options import LedgerOptions
from signalbox.audit.ledger.waiting import Waiting, WaitingQueue
from signalbox.audit.ledger.writer import LedgerWatch, LedgerWriter, Losses
from signalbox.process.logs import Log, crash_fields
from signalbox.review import Request

if TYPE_CHECKING:
    from signalbox.engine import Outcome, Setup

# Policies have an endpoint of their own, and are no workloads.
_ENDPOINTS = ("mutate", "validate")


class Recorder:
    """One a process that answers reviews: made before the fork, started after it. ``chance`` gives numbers below 1."""

    def __init__(self, options: LedgerOptions, watch: LedgerWatch, log: Log, chance: Callable[[], float] = random) -> None:
        self._options = options
        self._log = log
        self._chance = chance
        self._rate = options.kept_rate
        self._queue = WaitingQueue(options.queue, options.queue_bytes)
        self._losses = Losses(watch, log)
        self._writer = LedgerWriter(options, self._queue, watch, self._losses, log)
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Start writing, in this process."""
        self._thread = threading.Thread(target=self._writer.run, name="ledger", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Write what waits, for as long as the options allow."""
        if self._thread is None:
            return
        self._writer.stop(time.monotonic() + self._options.stop_seconds)
        # One write that hangs in the database may last longer than that; the process does not wait for it.
        self._thread.join(self._options.stop_seconds + 1.0)
        self._thread = None

    def offer(self, endpoint: str, body: bytes, request: Request, setup: "Setup", outcome: "Outcome", now: datetime) -> None:
        """Hand over one decision, made by ``setup`` on the request in ``body``."""
        try:
            if request.dry_run or endpoint not in _ENDPOINTS:
                return
            allowed, findings, faulty = outcome.response.allowed, outcome.findings, bool(outcome.errors)
            weight = 1.0
            if allowed:
                # What /mutate lets pass comes to /validate, and is recorded there.
                if endpoint != "validate":
                    return
                if not faulty and not found_something(findings):
                    if outcome.view is None or self._rate <= 0.0 or (self._rate < 1.0 and self._chance() >= self._rate):
                        return
                    weight = 1.0 / self._rate
                if self._is_child(request, setup, outcome):
                    return
            if not self._queue.put(Waiting(body, endpoint, now, setup, findings, allowed, faulty, weight)):
                self._losses.add(self._writer.trouble or "queue-full")
        except Exception as error:  # noqa: BLE001 the ledger never fails a request; what it lost is counted and told
            self._losses.add("fault")
            self._log.error("ledger entry could not be taken", **crash_fields(error))

    def _is_child(self, request: Request, setup: "Setup", outcome: "Outcome") -> bool:
        """Whether a controller we know made it of a parent that was judged: a JobSet of a thousand Pods is one request."""
        view = outcome.view
        return view is not None and setup.controllers.made_from(request, view.owner, setup.kinds) is not None
