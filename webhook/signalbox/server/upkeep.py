"""The thread that keeps house in each process: changed files in both, slow clients in a worker."""

import os
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from signalbox.server.body import SlowBodies
from signalbox.server.certificate import CertificateError, CertificateFiles, PairFiles
from signalbox.server.logs import Log, crash_fields
from signalbox.server.metrics import MainState, Meters
from signalbox.server.process import WebhookProcesses
from signalbox.server.source import LoadResult, ReloadingSource


@dataclass(frozen=True, slots=True)
class MainUpkeep:
    """In the main process: load changed policies (so that every later worker starts with the last good set, and so that
    they are counted once), and bring a changed certificate into service.

    ``quiet`` is held while it works and while a worker is forked.
    """

    source: ReloadingSource
    certificates: CertificateFiles
    processes: WebhookProcesses
    state: MainState
    log: Log
    quiet: threading.Lock
    private_directory: Path

    def tick(self) -> None:
        """One look at all files."""
        with self.quiet:
            result = self.source.poll()
            if result is not None:
                self._loaded(result)
            try:
                renewed = self.certificates.poll()
            except CertificateError as error:
                self.state.certificate_reloads["bad"] += 1
                self.log.error("certificate kept, the new one cannot be used", text=str(error))
                return
        if renewed is None:
            return
        self.state.certificate_reloads["ok"] += 1
        self.state.certificate_not_after = renewed.not_after.timestamp()
        self.log.info("certificate changed, workers are replaced", notAfter=renewed.not_after.isoformat())
        self.processes.use_certificate(PairFiles.of(renewed, self.private_directory))
        self.processes.replace_workers()

    def _loaded(self, result: LoadResult) -> None:
        self.state.loaded(self.source)
        self.state.policy_reloads["ok" if result.good else "bad"] += 1
        self.log.info("policies loaded", good=result.good, policies=len(result.policies))
        for problem in result.problems:
            self.log.error("policy problem", text=problem)


@dataclass(frozen=True, slots=True)
class WorkerUpkeep:
    """In a worker: new policies, slow clients, and an end when the main process is gone."""

    source: ReloadingSource
    slow: SlowBodies
    meters: Meters
    log: Log
    main_process: int

    def tick(self) -> None:
        """One look at everything."""
        if os.getppid() != self.main_process:
            self.log.error("main process is gone, the worker stops")
            os.kill(os.getpid(), signal.SIGTERM)
        for peer in self.slow.sweep():
            self.meters.error("slow-body")
            self.log.warning("slow body, connections closed", peer=peer)
        result = self.source.poll()
        if result is not None:
            self.log.debug("worker loaded policies", good=result.good, policies=len(result.policies))


def repeat(tick: Callable[[], None], seconds: float, meters: Meters, log: Log) -> None:
    """Call ``tick`` from a thread of its own for as long as the process lives."""

    def loop() -> None:
        while True:
            time.sleep(seconds)
            try:
                tick()
            except Exception as error:  # noqa: BLE001 - a thread that dies unseen would end every later reload
                meters.error("upkeep")
                log.error("upkeep failed", **crash_fields(error))

    threading.Thread(target=loop, name="upkeep", daemon=True).start()
