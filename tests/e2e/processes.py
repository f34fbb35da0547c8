"""Processes that never outlive the run: ended in reverse order at its end, on Ctrl-C, on SIGTERM, and if the run is killed."""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import os
import random
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

TAIL = 30
_LOWEST_PORT = 10_000
_MOST_PORTS_TRIED = 200
_PR_SET_PDEATHSIG = 1


def free_ports(count: int) -> list[int]:
    """Loopback ports that are free now, all different.

    Below those that the kernel gives to outgoing connections: one of these could take the port of a webhook that is
    stopped for a while.
    """
    sockets: list[socket.socket] = []
    try:
        for port in random.sample(range(_LOWEST_PORT, _first_outgoing_port()), _MOST_PORTS_TRIED):
            if len(sockets) == count:
                break
            one = socket.socket()
            try:
                one.bind(("127.0.0.1", port))
            except OSError:
                one.close()
            else:
                sockets.append(one)
        assert len(sockets) == count, "no free ports on loopback"
        return [int(one.getsockname()[1]) for one in sockets]
    finally:
        for one in sockets:
            one.close()


def _first_outgoing_port() -> int:
    with contextlib.suppress(OSError):
        lowest = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
        if lowest >= _LOWEST_PORT + _MOST_PORTS_TRIED:
            return lowest
    return 32_768


def _die_with_parent(number: int) -> Callable[[], None] | None:
    """Asks the kernel to signal the child should the run be killed outright; only Linux can."""
    if not sys.platform.startswith("linux"):
        return None
    prctl = ctypes.CDLL(None).prctl
    return lambda: prctl(_PR_SET_PDEATHSIG, number)


class Process:
    """One running program with its log file."""

    def __init__(self, name: str, command: Sequence[str], folder: Path, environment: Mapping[str, str], orphaned: int) -> None:
        self.name = name
        self.log = folder / f"{name}.log"
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                command,
                cwd=folder,
                env={**os.environ, **environment},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                # A group of its own: Ctrl-C goes to the run alone, which ends its processes in order.
                start_new_session=True,
                preexec_fn=_die_with_parent(orphaned),
            )

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    @property
    def running(self) -> bool:
        """Whether it still runs."""
        return self._process.poll() is None

    def check(self) -> None:
        """Raise with the end of its log if it ended."""
        if not self.running:
            raise AssertionError(f"{self.name} ended with code {self._process.returncode}:\n{self.tail()}")

    def tail(self) -> str:
        """The last lines of its log."""
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-TAIL:])

    def stop(self, seconds: float = 15.0) -> None:
        """SIGTERM, and SIGKILL to its whole group after that time."""
        if self.running:
            self._process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(seconds)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        self._process.wait()


class Processes:
    """All processes of a run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._started: list[Process] = []
        atexit.register(self.stop)

    def start(
        self,
        name: str,
        command: Sequence[str | Path],
        environment: Mapping[str, str] | None = None,
        orphaned: int = signal.SIGKILL,
    ) -> Process:
        """Start a program; its log is `<name>.log` in the folder. `orphaned` is sent to it should the run be killed."""
        process = Process(name, [str(part) for part in command], self.folder, environment or {}, orphaned)
        self._started.append(process)
        return process

    def named(self, name: str) -> Process:
        """The one started last under that name."""
        return next(process for process in reversed(self._started) if process.name == name)

    def stop(self) -> None:
        """End them all, the last started first."""
        while self._started:
            self._started.pop().stop()


def end_cleanly_on_sigterm() -> None:
    """SIGTERM ends a run as Ctrl-C does, so that fixtures and atexit still do their work."""

    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, interrupt)
