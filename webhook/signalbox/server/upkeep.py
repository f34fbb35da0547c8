"""The thread that keeps house in each process: changed files in the main one, notices and slow clients in a worker."""

import os
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from signalbox.process.logs import Log, crash_fields
from signalbox.server.body import SlowBodies
from signalbox.server.certificate import REJECTED_ADVICE, CertificateError, CertificateFiles, Pair, PairFiles
from signalbox.server.live import LiveCluster, Watched
from signalbox.server.metrics import MainState, Meters
from signalbox.server.notice import Notice, NoticeBoard, Rejected
from signalbox.server.process import WebhookProcesses
from signalbox.server.source import LoadResult, ReloadingSource


def notice_of(source: ReloadingSource, certificates: CertificateFiles) -> Notice:
    """What workers are to know of the present state."""
    latest = source.latest
    rejected = Rejected() if latest is source.in_force else Rejected(latest.problems, latest.left_out)
    return Notice(source.number, source.files, certificates.not_after, rejected, certificates.rejected)


def log_policies(log: Log, in_force: LoadResult) -> None:
    """Say which set is in force, and what is wrong with it."""
    fields = {"policies": len(in_force.policies), "digest": in_force.digest}
    if in_force.restored:
        log.error("last good policies in force, the present ones cannot be used", **fields)
    elif in_force.problems:
        log.error(
            "policies in force without the documents that have problems",
            **fields,
            leftOut=in_force.left_out,
            problems=in_force.problems,
        )
    else:
        log.info("policies in force", **fields)
    if in_force.warnings:
        log.warning("policy warnings", warnings=in_force.warnings)


@dataclass(frozen=True, slots=True)
class MainUpkeep:
    """In the main process: load changed policies and tell the workers, bring a changed certificate into service.

    ``quiet`` is held while it works and while a worker is forked.
    """

    source: ReloadingSource
    board: NoticeBoard
    certificates: CertificateFiles
    processes: WebhookProcesses
    state: MainState
    log: Log
    quiet: threading.Lock
    private_directory: Path
    watched: Watched | None = None

    def tick(self) -> None:
        """One look at all files, and at what the cluster told."""
        with self.quiet:
            if self.watched is not None:
                self.watched.process.tend()
                self.watched.cluster.poll()
            result = self.source.poll()
            was_rejected = self.certificates.rejected
            renewed = self._renewed()
            told = self.board.fault
            if result is not None or renewed is not None or self.certificates.rejected != was_rejected:
                self.board.publish(notice_of(self.source, self.certificates))
            else:
                self.board.deliver()
            if self.board.fault and not told:
                self.log.error("workers cannot be told, they judge by the policies they have", text=self.board.fault)
            if result is not None:
                self._loaded(result)
        if renewed is None:
            return
        self.state.certificate_reloads["ok"] += 1
        self.state.certificate_not_after = renewed.not_after.timestamp()
        self.log.info("certificate changed, workers are replaced", notAfter=renewed.not_after.isoformat())
        self.processes.use_certificate(PairFiles.of(renewed, self.private_directory))
        self.processes.replace_workers()

    def _renewed(self) -> Pair | None:
        try:
            return self.certificates.poll()
        except CertificateError as error:
            self.state.certificate_reloads["bad"] += 1
            self.log.error("certificate kept, the new one cannot be used", text=str(error), advice=REJECTED_ADVICE)
            return None

    def _loaded(self, result: LoadResult) -> None:
        self.state.loaded(self.source)
        self.state.policy_reloads["ok" if result.good else "bad"] += 1
        in_force = self.source.in_force
        if result is in_force:
            log_policies(self.log, in_force)
            return
        self.log.error(
            "policies kept, the new set cannot be used",
            policies=len(in_force.policies),
            digest=in_force.digest,
            rejected=result.left_out,
            problems=result.problems,
        )


@dataclass(frozen=True, slots=True)
class WorkerUpkeep:
    """In a worker: new policies, slow clients, and an end when the main process is gone."""

    source: ReloadingSource
    board: NoticeBoard
    slow: SlowBodies
    meters: Meters
    log: Log
    main_process: int
    cluster: LiveCluster | None = None

    def tick(self) -> None:
        """One look at everything."""
        if os.getppid() != self.main_process:
            self.log.error("main process is gone, the worker stops")
            os.kill(os.getpid(), signal.SIGTERM)
        for peer in self.slow.sweep():
            self.meters.error("slow-body")
            self.log.warning("slow body, connections closed", peer=peer)
        if self.cluster is not None:
            self.cluster.poll()
        self.board.refresh()
        if self.source.take_over(self.board.current.number, self.board.current.files):
            in_force = self.source.in_force
            self.log.debug("worker judges by new policies", policies=len(in_force.policies), digest=in_force.digest)


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
