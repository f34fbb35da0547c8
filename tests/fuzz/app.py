"""The webhook's Flask app called as a WSGI server calls it, with everything watched that it writes and counts."""

from __future__ import annotations

import io
import os
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
from prometheus_client import CollectorRegistry

from signalbox.engine import Setup
from signalbox.process import logs
from signalbox.process.logs import Log
from signalbox.process.repeats import Repeats
from signalbox.server.app import Context, create_app
from signalbox.server.body import SlowBodies
from signalbox.server.lifecycle import Lifecycle
from signalbox.server.metrics import Meters
from signalbox.server.notice import Notice, NoticeBoard
from signalbox.server.source import LoadResult


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back, how much CPU time it took, what was written to the log and which faults were counted meanwhile."""

    status: int
    body: bytes
    seconds: float
    log: bytes
    faults: tuple[str, ...]
    sent: int

    @property
    def message_bytes(self) -> int:
        """How long the text of a refusal is."""
        status = orjson.loads(self.body)["response"].get("status", {})
        return len(status.get("message", "").encode())


class App:
    """One app a world. ``post`` is one review."""

    def __init__(self, worlds: list[Setup]) -> None:
        self._faults: list[str] = []
        self._folder = tempfile.TemporaryDirectory()
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - open as long as the app
        # The log is written to the file descriptor: what is written is part of what is tested.
        logs._STDERR = self._log.fileno()
        self._apps = [self._app(setup) for setup in worlds]
        self._status = 0

    def close(self) -> None:
        """Give the log its stream back."""
        logs._STDERR = 2
        self._log.close()
        self._folder.cleanup()

    def post(self, world: int, path: str, body: bytes, content_type: str = "application/json") -> Answer:
        """POST a body; the answer."""
        environ = {
            "REQUEST_METHOD": "POST",
            "SCRIPT_NAME": "",
            "PATH_INFO": path,
            "QUERY_STRING": "timeout=5s",
            "SERVER_NAME": "localhost",
            "SERVER_PORT": "443",
            "SERVER_PROTOCOL": "HTTP/1.1",
            "REMOTE_ADDR": "127.0.0.1",
            "HTTP_HOST": "localhost",
            "CONTENT_TYPE": content_type,
            "CONTENT_LENGTH": str(len(body)),
            "wsgi.version": (1, 0),
            "wsgi.url_scheme": "https",
            "wsgi.input": io.BytesIO(body),
            "wsgi.errors": io.StringIO(),
            "wsgi.multithread": True,
            "wsgi.multiprocess": True,
            "wsgi.run_once": False,
        }
        self._faults.clear()
        began = time.thread_time()
        pieces = self._apps[world](environ, self._start_response)
        seconds = time.thread_time() - began
        answer = b"".join(pieces)
        close = getattr(pieces, "close", None)
        if close is not None:
            close()
        return Answer(self._status, answer, seconds, self._logged(), tuple(self._faults), len(body))

    def _start_response(self, status: str, headers: Any, exc_info: Any = None) -> None:
        self._status = int(status[:3])

    def _logged(self) -> bytes:
        fd = self._log.fileno()
        size = os.lseek(fd, 0, os.SEEK_CUR)
        if size == 0:
            return b""
        written = os.pread(fd, size, 0)
        os.ftruncate(fd, 0)
        os.lseek(fd, 0, os.SEEK_SET)
        return written

    def _app(self, setup: Setup) -> Any:
        lifecycle = Lifecycle()
        board = NoticeBoard(Path(self._folder.name), lifecycle, Notice(0, None, None))
        # Every line is looked at: none is left out as a repetition.
        every = Repeats(lines=sys.maxsize)
        slow = SlowBodies(0, 60.0)
        context = Context(_Fixed(setup), _Watched(self._faults), Log(), lifecycle, slow, board, repeats=every)
        return create_app(context).wsgi_app


class _Watched(Meters):
    """The real meters; what they are told of faults is told here too."""

    def __init__(self, faults: list[str]) -> None:
        super().__init__(CollectorRegistry())
        self._seen = faults

    def error(self, where: str) -> None:
        self._seen.append(where)
        super().error(where)


class _Fixed:
    """A source whose setup never changes."""

    def __init__(self, setup: Setup) -> None:
        self.in_force, self.files = LoadResult(setup), None
        self._setup = setup

    def current(self) -> Setup:
        return self._setup
