"""The second listener: /metrics, owned by the main process, so that it outlives every worker."""

import socket
import socketserver
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

_MOST_CONNECTIONS = 8
_SECONDS = 5.0

Render = Callable[[str], tuple[bytes, str]]
"""Turns an Accept header into the text of all metrics and its content type."""


def serve_metrics(listening: socket.socket, state: Collector, quiet: threading.Lock) -> None:
    """Show what the workers counted and what the main process knows. ``quiet`` is held while the text is made."""
    registry = CollectorRegistry()
    MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    registry.register(state)

    def render(accept: str) -> tuple[bytes, str]:
        encode, content_type = choose_encoder(accept)
        with quiet:
            return encode(registry), content_type

    MetricsServer(listening, render).start()


class MetricsServer(socketserver.ThreadingMixIn, socketserver.TCPServer):
    """A bounded HTTP/1.0 server for GET /metrics: few connections at a time, each with a deadline."""

    daemon_threads = True

    def __init__(self, listening: socket.socket, render: Render) -> None:
        super().__init__(listening.getsockname()[:2], _Handler, bind_and_activate=False)
        self.socket.close()
        self.socket = listening
        self.render = render
        self._free = threading.Semaphore(_MOST_CONNECTIONS)

    def start(self) -> None:
        """Serve from a thread of its own until the process ends."""
        threading.Thread(target=self.serve_forever, name="metrics", daemon=True).start()

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
    server: MetricsServer
    timeout = _SECONDS

    def do_GET(self) -> None:
        """GET /metrics."""
        if self.path.partition("?")[0] != "/metrics":
            self.send_error(404)
            return
        body, content_type = self.server.render(self.headers.get("Accept", ""))
        self.send_response(200)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """No access log."""
