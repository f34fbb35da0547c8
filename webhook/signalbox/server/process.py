"""Granian's process server, with what it lacks: one shared listening socket, certificates from memory, a polite end.

Granian gives each worker a listener of its own (SO_REUSEPORT); when a worker is replaced, connections that wait in the
old one's queue are reset. Here the main process owns the listening socket, and old and new workers take from one queue.
"""

import os
import socket
from collections.abc import Callable
from typing import Any

from granian._granian import SocketHolder
from granian.constants import HTTPModes, Interfaces, RuntimeModes, SSLProtocols
from granian.http import HTTP1Settings
from granian.log import LogLevels
from granian.server.mp import MPServer

from signalbox.process.logs import Log
from signalbox.process.wakeup import Wakeup
from signalbox.server.certificate import PairFiles
from signalbox.server.lifecycle import Lifecycle
from signalbox.server.options import ServerOptions

BACKLOG = 1024
_MOST_CONNECTIONS = 1024
# The API server drops an idle connection after 90 s. Ours must last longer: then it is never we who close one just as a
# request arrives on it. The same clock bounds a header that comes in drops.
_IDLE_MILLISECONDS = 100_000
# How long an old worker asks its clients to close before it ends.
_RESPAWN_SECONDS = 1.0
_LOGGING = {
    "formatters": {},
    "handlers": {"json": {"class": "signalbox.process.logs.JsonHandler"}},
    "loggers": {"_granian": {"handlers": ["json"], "propagate": False}},
}

WsgiApp = Callable[[dict[str, Any], Any], Any]


class WebhookProcesses(MPServer):
    """The main process's side: starts, replaces and ends the workers."""

    def __init__(
        self, options: ServerOptions, listening: socket.socket, files: PairFiles, lifecycle: Lifecycle, log: Log
    ) -> None:
        super().__init__(
            "signalbox",
            address=options.address,
            port=listening.getsockname()[1],
            interface=Interfaces.WSGI,
            workers=options.workers,
            blocking_threads=options.threads,
            runtime_mode=RuntimeModes.mt,
            http=HTTPModes.http1,
            http1_settings=HTTP1Settings(header_read_timeout=_IDLE_MILLISECONDS),
            websockets=False,
            backlog=BACKLOG,
            backpressure=_MOST_CONNECTIONS,
            log_level=LogLevels.error,
            log_dictconfig=_LOGGING,
            respawn_failed_workers=True,
            respawn_interval=_RESPAWN_SECONDS,
            workers_kill_timeout=options.stop_seconds,
        )
        self._listening = listening
        self._lifecycle = lifecycle
        self._log = log
        self._drain_seconds = options.drain_seconds
        # Both are set by signal handlers.
        self._hurry = Wakeup()
        self.main_loop_interrupt = Wakeup()  # type: ignore[assignment]
        self.on_reload(lifecycle.retire_workers)
        self.use_certificate(files)

    def use_certificate(self, files: PairFiles) -> None:
        """The pair the next workers start with."""
        self.ssl_ctx: Any = (True, files.certificate, files.key, None, str(SSLProtocols.tls12), None, [], False)

    def run(self, app: Callable[[], WsgiApp]) -> None:
        """Serve until told to stop. ``app`` is called in each worker, after the fork."""
        self.serve(target_loader=lambda *_: app(), wrap_loader=False)

    def replace_workers(self) -> None:
        """Start new workers, then end the old ones once they have answered. Safe from any thread."""
        self.signal_handler_reload()  # type: ignore[no-untyped-call]

    def signal_handler_interrupt(self, *args: Any, **kwargs: Any) -> None:
        """SIGTERM or SIGINT; the second one cuts the draining short."""
        if os.getpid() != self.pid:
            # A worker that was forked a moment ago and has this handler still: it serves nothing yet.
            os._exit(0)
        if self.interrupt_signal:
            self._hurry.set()
        super().signal_handler_interrupt(*args, **kwargs)  # type: ignore[no-untyped-call]

    def shutdown(self, exit_code: int = 0) -> None:
        """Fail readiness, keep answering while Services learn of it, then end the workers."""
        self._lifecycle.drain()
        if self.interrupt_signal:
            self._log.info("draining", seconds=self._drain_seconds)
            self._hurry.wait(self._drain_seconds)
        super().shutdown(exit_code)  # type: ignore[no-untyped-call]

    def _respawn_workers(self, workers: list[int], spawn_target: Any, target_loader: Any, delay: float = 0) -> None:
        ended = [self.wrks[index].inner.exitcode for index in workers]
        super()._respawn_workers(workers, spawn_target, target_loader, delay)
        numbers = [index + 1 for index in workers]
        if delay:
            self._log.info("workers replaced", workers=numbers)
        else:
            # Granian's own line says that a worker ended, and no more.
            self._log.warning("worker replaced after an unexpected exit", workers=numbers, exitCodes=ended)

    def _init_shared_socket(self) -> None:
        # The stub leaves out what the constructor takes: descriptor, whether it is a Unix socket, backlog.
        self._shd: Any = SocketHolder(self._listening.fileno(), False, BACKLOG)  # type: ignore[call-arg]
        self._ssp = None
        self._sso = None
