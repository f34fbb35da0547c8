"""A thread for each duty: it runs while this replica leads, and no failure ends it."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from time import perf_counter

from prometheus_client import CollectorRegistry, Counter, Gauge

from signalbox.apiserver.error import ApiError
from signalbox.controller.duty import Duty, DutyError
from signalbox.process.logs import Log, crash_fields

_FIRST_RETRY = 1.0
_LONGEST_RETRY = 30.0
# How soon a replica that has just come to lead begins.
_LOOK_SECONDS = 0.5


class DutyMeters:
    """What is counted of every duty."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.runs = Counter("signalbox_duty_runs", "Runs of the controller's duties.", ("duty", "result"), registry=registry)
        self.seconds = Gauge("signalbox_duty_last_run_seconds", "How long the last run took.", ("duty",), registry=registry)
        self.success = Gauge(
            "signalbox_duty_last_success_timestamp_seconds",
            "When a duty last ended well on this replica.",
            ("duty",),
            registry=registry,
        )


@dataclass(slots=True)
class DutyRunner:
    """One duty. ``failures`` counts those in a row; ``error`` is the last one's text, empty when the last run went well."""

    duty: Duty
    leading: Callable[[], bool]
    stopping: threading.Event
    meters: DutyMeters
    log: Log
    failures: int = field(default=0, init=False)
    error: str = field(default="", init=False)
    succeeded: datetime | None = field(default=None, init=False)
    _thread: threading.Thread | None = field(default=None, init=False)

    def start(self) -> None:
        """Run in a thread of its own until the process stops."""
        # A daemon: a run that never ends must not keep the process from ending.
        self._thread = threading.Thread(target=self._loop, name=self.duty.name, daemon=True)
        self._thread.start()

    def join(self, seconds: float) -> bool:
        """Wait for the present run to end; whether it has."""
        if self._thread is not None:
            self._thread.join(seconds)
        return self._thread is None or not self._thread.is_alive()

    def run_once(self) -> float:
        """One run; how long to wait before the next."""
        began = perf_counter()
        try:
            self.duty.run(datetime.now(UTC))
        except Exception as error:  # noqa: BLE001 - any fault: counted, logged, tried again; other duties go on
            return self._failed(error)
        self.failures, self.error, self.succeeded = 0, "", datetime.now(UTC)
        self.meters.runs.labels(self.duty.name, "ok").inc()
        self.meters.seconds.labels(self.duty.name).set(perf_counter() - began)
        self.meters.success.labels(self.duty.name).set(self.succeeded.timestamp())
        return self.duty.seconds

    def _failed(self, error: Exception) -> float:
        self.failures += 1
        self.meters.runs.labels(self.duty.name, "failed").inc()
        wait = min(_FIRST_RETRY * 2.0 ** min(self.failures - 1, 16), max(_LONGEST_RETRY, self.duty.seconds))
        # What is meant for people is told in its words; of a fault of our own, where it arose.
        told = isinstance(error, (ApiError, DutyError))
        self.error = str(error) if told else type(error).__name__
        fields = {"text": str(error)} if told else crash_fields(error)
        self.log.error("duty failed", duty=self.duty.name, failures=self.failures, retrySeconds=wait, **fields)
        return wait

    def _loop(self) -> None:
        wait = 0.0
        while not self.stopping.wait(wait):
            wait = self.run_once() if self.leading() else _LOOK_SECONDS
