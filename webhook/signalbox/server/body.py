"""Reading a request body: bounded in size and in time.

Granian hands a WSGI app its body as it arrives, so a client that sends half a body keeps a thread. Nothing can interrupt
that read from inside; ``SlowBodies`` ends it from outside, by closing the connections of that peer.
"""

import contextlib
import os
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

_PIECE = 64 * 1024


class BodyError(Exception):
    """A body that cannot be taken, and the HTTP status that says so."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status
        self.text = text


class SlowBodies:
    """Which threads read a body, since when and from whom."""

    def __init__(self, port: int, longest_seconds: float) -> None:
        self._port = port
        self._longest = longest_seconds
        self._reading: dict[int, tuple[float, str]] = {}

    @contextmanager
    def reading(self, peer: str) -> Iterator[None]:
        """Around each read of a body."""
        thread = threading.get_ident()
        self._reading[thread] = (time.monotonic(), peer)
        try:
            yield
        finally:
            self._reading.pop(thread, None)

    def sweep(self) -> list[str]:
        """Close the connections of every peer whose body takes too long; the peers.

        All of a peer's connections go, as WSGI does not say which one is slow: the API server sends a body at once, and
        opens a new connection where one was closed.
        """
        eldest = time.monotonic() - self._longest
        late = sorted({peer for since, peer in list(self._reading.values()) if since < eldest})
        if late and os.path.isdir("/proc/self/fd"):
            _close_connections(self._port, frozenset(late))
        return late


def _close_connections(port: int, peers: frozenset[str]) -> None:
    for entry in os.scandir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            if not os.readlink(entry.path).startswith("socket:"):
                continue
            # A duplicate: Granian owns the descriptor itself and may close it at any time.
            with socket.socket(fileno=os.dup(int(entry.name))) as connection:
                if connection.getsockname()[1:2] == (port,) and connection.getpeername()[0] in peers:
                    connection.shutdown(socket.SHUT_RDWR)


def read_body(environ: Mapping[str, Any], limit: int, slow: SlowBodies) -> bytes:
    """The whole body. Raises BodyError where it is too large, missing or cut short."""
    declared = environ.get("CONTENT_LENGTH")
    length = int(declared) if declared and declared.isdecimal() else None
    if length is not None and length > limit:
        raise BodyError(413, f"the body has {length} bytes, at most {limit} are taken")
    stream = environ["wsgi.input"]
    with slow.reading(environ.get("REMOTE_ADDR", "")):
        body: bytes = bytes(stream.read(limit + 1 if length is None else length)) if length != 0 else b""
    if len(body) > limit:
        raise BodyError(413, f"the body has more than {limit} bytes")
    if length is not None and len(body) < length:
        raise BodyError(400, f"the body ended after {len(body)} of {length} bytes")
    if not body:
        raise BodyError(400, "the body is empty, an AdmissionReview is expected")
    return body


def discard_body(environ: Mapping[str, Any], limit: int, slow: SlowBodies) -> None:
    """Read on and forget, up to a limit: a client that is still sending may never see an answer that comes before.

    A body that is only somewhat too long is read to its end; one that says it is far too long is not worth it.
    """
    stream = environ["wsgi.input"]
    announced = environ.get("CONTENT_LENGTH", "")
    if announced.isdecimal() and len(announced) < 12 and int(announced) <= 2 * limit:
        limit = int(announced)
    with slow.reading(environ.get("REMOTE_ADDR", "")):
        while limit > 0 and (piece := stream.read(min(limit, _PIECE))):
            limit -= len(piece)
