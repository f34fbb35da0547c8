"""`signalbox serve`: everything put together, from the options to the exit code."""

import gc
import multiprocessing
import os
import shutil
import signal
import socket
from pathlib import Path
from typing import TYPE_CHECKING

from signalbox.audit.page.start import listen_for_pages, pages_on_demand
from signalbox.process.logs import Log, complain
from signalbox.process.on_demand import OnDemand
from signalbox.process.port import ListenError, listen
from signalbox.server.certificate import CertificateError, CertificateFiles, Pair, PairFiles
from signalbox.server.live import LiveCluster, PolicyObjectsWatcher, Watched, start_watching
from signalbox.server.options import ServerOptions
from signalbox.server.private_directory import make_private_directory
from signalbox.server.source import FileWatcher, PolicyFiles, ReloadingSource

if TYPE_CHECKING:
    from signalbox.audit.ledger.options import LedgerOptions
    from signalbox.audit.ledger.recorder import Recorder
    from signalbox.server.app import Judge
    from signalbox.server.process import WsgiApp


# A worker looks for a notice and for slow clients this often at least, however seldom files are looked at.
_WORKER_SECONDS = 0.25


class _StartError(Exception):
    """Why the server cannot start, in one line."""


def run_server(
    options: ServerOptions, policies: PolicyFiles, mutate: "Judge | None" = None, validate: "Judge | None" = None
) -> int:
    """Serve until SIGTERM or SIGINT; the exit code. What keeps it from starting is one line on stderr and code 1.

    ``policies`` are read at the start, and again when what the options watch has changed. The judges are the engine's
    unless others are given. Owns the process: signals, the fork method, the garbage collector.
    """
    directory: Path | None = None
    watched: Watched | None = None
    pages: list[OnDemand] = []
    # Collecting while everything is imported finds nothing and takes a tenth of the start.
    gc.disable()
    try:
        # Until Granian takes over. The first process of a container is not ended by a signal that it does not handle.
        signal.signal(signal.SIGTERM, _end_the_start)
        directory = make_private_directory()
        # Before prometheus_client is imported: it decides then where its values live.
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(directory)
        # What is most often wrong comes first, before the libraries that take long to import.
        certificates = CertificateFiles(options.certificate, options.key)
        pair, warnings = _load_pair(certificates, options)
        listening = _listen(options.address, options.port)
        metrics = None if options.metrics_port is None else _listen(options.metrics_address, options.metrics_port)
        log = Log(options.log_level)
        for warning in warnings:
            log.warning("certificate", text=warning)
        if options.cluster is not None:
            watched = start_watching(directory, options.cluster, options.log_level, log)
            policies = policies.beside(watched.cluster)
            _wait_for_cluster(watched.cluster, options.cluster.wait_seconds, log)
        source = _load_policies(options, policies, watched)
        return _serve(
            options, source, certificates, pair, listening, metrics, log, directory, watched, (mutate, validate), pages
        )
    except _StartError as error:
        complain(str(error))
        return 1
    except OSError as error:
        complain(f"{error.filename or 'start'}: {error.strerror or error}")
        return 1
    finally:
        for page in pages:
            page.stop()
        if watched is not None:
            watched.process.stop()
        if directory is not None:
            shutil.rmtree(directory, ignore_errors=True)


def _end_the_start(*_: object) -> None:
    raise SystemExit(0)


def _wait_for_cluster(cluster: LiveCluster, seconds: float, log: Log) -> None:
    # What the start needs anyway takes as long as the API server's first answers.
    import flask  # noqa: F401
    import granian.server.mp  # noqa: F401

    missing = cluster.wait(seconds)
    if missing:
        log.error("cluster not known in time, rules that need it are not judged until it is", missing=missing)


def _load_pair(certificates: CertificateFiles, options: ServerOptions) -> tuple[Pair, list[str]]:
    try:
        return certificates.load()
    except CertificateError as error:
        advice = "signalbox certs issue makes a pair for development"
        raise _StartError(f"cannot serve with {options.certificate} and {options.key}: {error} ({advice})") from error


def _listen(address: str, port: int) -> socket.socket:
    try:
        listening = listen(address, port)
    except ListenError as error:
        raise _StartError(str(error)) from error
    listening.setblocking(False)
    # Accepted connections inherit it. Without it a first answer waits 40 ms for the client to acknowledge TLS tickets.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening


def _load_policies(options: ServerOptions, policies: PolicyFiles, watched: Watched | None) -> ReloadingSource:
    for path in options.watch:
        if not path.exists():
            raise _StartError(f"{path}: there is no such file or folder")
    objects = [] if watched is None else [PolicyObjectsWatcher(watched.cluster.policies)]
    source = ReloadingSource(policies, FileWatcher(options.watch), *objects)
    if source.in_force.setup is None:
        raise _StartError(f"no policies could be loaded: {next(iter(source.latest.problems), 'none found')}")
    return source


def _recorder(options: "LedgerOptions", log: Log) -> "Recorder":
    # Imported only where there is a ledger: it takes as long as the rest of the start.
    from signalbox.server.ledger import make_recorder

    return make_recorder(options, log)


def _serve(
    options: ServerOptions,
    source: ReloadingSource,
    certificates: CertificateFiles,
    pair: Pair,
    listening: socket.socket,
    metrics: socket.socket | None,
    log: Log,
    directory: Path,
    watched: Watched | None,
    judges: "tuple[Judge | None, Judge | None]",
    pages: list[OnDemand],
) -> int:
    from prometheus_client import CollectorRegistry

    from signalbox.server.app import Context, create_app
    from signalbox.server.body import SlowBodies
    from signalbox.server.cluster_metrics import ClusterMeters
    from signalbox.server.ending import hear_in_a_thread
    from signalbox.server.fork import guard_forks
    from signalbox.server.lifecycle import Lifecycle
    from signalbox.server.listener import serve_metrics
    from signalbox.server.metrics import MainState, Meters
    from signalbox.server.notice import NoticeBoard
    from signalbox.server.process import WebhookProcesses
    from signalbox.server.upkeep import MainUpkeep, WorkerUpkeep, log_policies, notice_of, repeat

    lifecycle, state = Lifecycle(), MainState(certificate_not_after=pair.not_after.timestamp())
    state.loaded(source)
    # This registry is never shown: what the counters wrote, in every worker, is read from their files.
    meters = Meters(CollectorRegistry())
    ledger = None if options.ledger is None else _recorder(options.ledger, log)
    slow = SlowBodies(listening.getsockname()[1], options.body_seconds)
    board = NoticeBoard(directory, lifecycle, notice_of(source, certificates))
    cluster = None if watched is None else watched.cluster
    page_socket = listen_for_pages(options.page, log)
    app = create_app(
        Context(source, meters, log, lifecycle, slow, board, options.body_limit, live=cluster, ledger=ledger), *judges
    )
    processes = WebhookProcesses(options, listening, PairFiles.of(pair, directory), lifecycle, log)
    quiet = guard_forks()
    upkeep = MainUpkeep(source, board, certificates, processes, state, log, quiet, directory, watched)
    worker_upkeep = WorkerUpkeep(source, board, slow, meters, log, main_process=os.getpid(), cluster=cluster)

    def in_worker() -> "WsgiApp":
        # A group of its own: Ctrl-C in a terminal goes to the main process, which ends the workers in order.
        os.setpgid(0, 0)
        hear_in_a_thread()
        lifecycle.join()
        for other in (metrics, page_socket):
            if other is not None:
                other.close()
        repeat(worker_upkeep.tick, min(options.poll_seconds, _WORKER_SECONDS), meters, log)
        if ledger is not None:
            from signalbox.server.ledger import start_recorder

            start_recorder(ledger, directory)
        return app.wsgi_app

    @processes.on_startup
    def in_main() -> None:
        if metrics is not None:
            known = [state] if watched is None else [state, ClusterMeters(directory, watched.process)]
            serve_metrics(metrics, known, quiet)
        if page_socket is not None and options.page is not None:
            pages.append(pages_on_demand(page_socket, options.page, log, quiet))
            pages[0].start()
        repeat(upkeep.tick, options.poll_seconds, meters, log)
        log_policies(log, source.in_force)
        log.info(
            "serving",
            address=options.address,
            port=listening.getsockname()[1],
            metricsPort=metrics.getsockname()[1] if metrics else None,
            pagePort=page_socket.getsockname()[1] if page_socket else None,
            policies=state.policies,
            problems=state.problems,
            workers=options.workers,
        )

    # Granian takes its start method from here; a forked worker has everything imported and loaded already.
    multiprocessing.set_start_method("fork", force=True)
    gc.collect()
    # What lives now lives for good: workers need not look at it again, so its pages stay shared with the main process.
    gc.freeze()
    gc.enable()
    try:
        processes.run(in_worker)
    except SystemExit as error:
        log.error("stopped", code=error.code)
        return error.code if isinstance(error.code, int) else 1
    log.info("stopped", code=0)
    return 0
