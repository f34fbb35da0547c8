"""/metrics of the webhook, owned by the main process, so that it outlives every worker."""

import socket
import threading
from collections.abc import Iterable

from prometheus_client import CollectorRegistry
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from signalbox.process.listener import Asked, Page, SideListener, metrics_page


def serve_metrics(listening: socket.socket, known: Iterable[Collector], quiet: threading.Lock) -> None:
    """Show what the workers counted and what the main process knows. ``quiet`` is held while the text is made."""
    registry = CollectorRegistry()
    MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    for collector in known:
        registry.register(collector)

    def metrics(asked: Asked) -> Page:
        with quiet:
            return metrics_page(registry, asked)

    SideListener(listening, {"/metrics": metrics}).start()
