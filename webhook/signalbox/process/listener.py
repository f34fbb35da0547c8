"""The second listener of a process: metrics and health, few pages, few connections, each with a deadline."""

import socket
import socketserver
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder

_MOST_CONNECTIONS = 8
_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Page:
    """What is answered to one GET."""

    body: bytes
    content_type: str = "text/plain; charset=utf-8"
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Asked:
    """What a page may want to know of the request."""

    query: str
    accept: str
    path: str = ""
    host: str = ""


Answer = Callable[[Asked], Page]
Pages = Mapping[str, Answer]
"""From a path to what makes its page."""


def metrics_page(registry: CollectorRegistry, asked: Asked) -> Page:
    """Everything a registry holds, in the format the scraper asks for."""
    encode, content_type = choose_encoder(asked.accept)
    return Page(encode(registry), content_type)


def _not_found(_asked: Asked) -> Page:
    return Page(b"there is no such page\n", status=404)


class SideListener(socketserver.ThreadingMixIn, socketserver.TCPServer):
    """A bounded HTTP/1.0 server for a few pages; ``otherwise`` answers where none of them is asked for."""

    daemon_threads = True

    def __init__(self, listening: socket.socket, pages: Pages, otherwise: Answer | None = None) -> None:
        super().__init__(listening.getsockname()[:2], _Handler, bind_and_activate=False)
        self.socket.close()
        self.socket = listening
        self.pages = pages
        self.otherwise = otherwise or _not_found
        self._free = threading.Semaphore(_MOST_CONNECTIONS)

    def start(self) -> None:
        """Serve from a thread of its own until the process ends."""
        threading.Thread(target=self.serve_forever, name="side-listener", daemon=True).start()

    def verify_request(self, request: object, client_address: object) -> bool:
        """Turn a connection away while too many are open."""
        return self._free.acquire(blocking=False)

    def process_request_thread(self, request: socket.socket, client_address: tuple[str, int]) -> None:  # type: ignore[override]
        """Answer one connection, then free its place."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that went away is nobody's fault."""


class _Handler(BaseHTTPRequestHandler):
    server: SideListener
    timeout = _SECONDS
    server_version, sys_version = "signalbox", ""

    def do_GET(self) -> None:
        """GET of one of the pages."""
        path, _, query = self.path.partition("?")
        make = self.server.pages.get(path, self.server.otherwise)
        self._write(make(Asked(query, self.headers.get("Accept", ""), path, self.headers.get("Host", ""))))

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """What is no GET that can be read: a line of text, not the library's page of HTML."""
        self._write(Page(f"{message or 'this is not understood here'}\n".encode(errors="replace"), status=code))

    def _write(self, page: Page) -> None:
        self.send_response(page.status)
        self.send_header("Content-Type", page.content_type)
        self.send_header("Content-Length", str(len(page.body)))
        self.send_header("X-Content-Type-Options", "nosniff")
        for name, value in page.headers:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(page.body)

    def log_message(self, format: str, *args: object) -> None:
        """No access log."""
