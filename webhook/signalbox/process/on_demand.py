"""A process that is started by the first connection to its socket, and ends when nobody has asked it for a while.

What is seldom looked at costs nothing meanwhile, and what goes wrong in it goes wrong in a process of its own. Who started it
keeps the socket: a connection that comes as it ends waits until there is another.
"""

import contextlib
import select
import socket
import subprocess
import threading
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager

from signalbox.process.ending import end_process
from signalbox.process.logs import Log

_LOOK_SECONDS = 0.5
_PAUSE_SECONDS = 5.0


class OnDemand:
    """Waits for a connection, then lets ``command`` answer it. The descriptor of the socket is its last argument.

    ``told`` comes on its standard input, where a password is seen by nobody. ``quiet`` is held while it is started.
    """

    def __init__(
        self,
        name: str,
        listening: socket.socket,
        command: Sequence[str],
        told: bytes,
        log: Log,
        quiet: AbstractContextManager[object] | None = None,
    ) -> None:
        self._name = name
        self._listening = listening
        self._command = (*command, str(listening.fileno()))
        self._told = told
        self._log = log
        self._quiet = contextlib.nullcontext() if quiet is None else quiet
        self._stopping = threading.Event()
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Wait in a thread of its own until the process ends."""
        threading.Thread(target=self._serve, name=f"{self._name}-on-demand", daemon=True).start()

    def stop(self) -> None:
        """Start none any more, and end the one there is."""
        self._stopping.set()
        end_process(self._process)

    def _serve(self) -> None:
        while not self._stopping.is_set():
            if not select.select([self._listening], [], [], _LOOK_SECONDS)[0]:
                continue
            try:
                code = self._run()
            except OSError as error:
                # No memory or no process left to start it with: said, and tried again while somebody waits.
                self._log.error("process not started", process=self._name, text=str(error))
                self._stopping.wait(_PAUSE_SECONDS)
                continue
            if code and not self._stopping.is_set():
                self._log.error("process ended, started again when it is asked for", process=self._name, exitCode=code)
                self._stopping.wait(_PAUSE_SECONDS)

    def _run(self) -> int:
        with self._quiet:
            if self._stopping.is_set():
                return 0
            # Nothing in it comes from a request.
            process = subprocess.Popen(  # noqa: S603
                self._command, stdin=subprocess.PIPE, pass_fds=(self._listening.fileno(),)
            )
            self._process = process
            if process.stdin is not None:
                # One that has ended already says why in its exit code.
                with contextlib.suppress(BrokenPipeError), process.stdin:
                    process.stdin.write(self._told)
        while process.poll() is None:
            time.sleep(_LOOK_SECONDS)
        return process.returncode
