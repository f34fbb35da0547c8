"""What `signalbox serve` may be told."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from signalbox.audit.ledger.options import LedgerOptions
    from signalbox.audit.page.start import PageOptions

BODY_LIMIT = 8 * 1024 * 1024
"""A review holds object and oldObject; etcd takes at most 1.5 MiB of each, JSON spelling may double that."""


@dataclass(frozen=True, slots=True)
class ClusterOptions:
    """Which cluster to watch: by default the Pod's own, else the kubeconfig's. ``namespace`` is the controller's.

    ``wait_seconds``: how long the start waits for what the cluster tells.
    """

    kubeconfig: str | None = None
    context: str | None = None
    namespace: str = "signalbox-system"
    wait_seconds: float = 10.0


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """How to serve. ``watch`` are the files and folders whose change makes the policies load again.

    ``metrics_port`` None switches the second listener off; port 0 anywhere takes a free one (the start line says which).
    """

    certificate: Path
    key: Path
    watch: tuple[Path, ...] = ()
    address: str = "0.0.0.0"  # noqa: S104 - a webhook is there to be reached by the API server
    port: int = 8443
    metrics_address: str = "127.0.0.1"
    metrics_port: int | None = 9090
    workers: int = 1
    threads: int = 32
    drain_seconds: float = 5.0
    stop_seconds: int = 15
    poll_seconds: float = 1.0
    body_seconds: float = 5.0
    body_limit: int = BODY_LIMIT
    log_level: str = "info"
    cluster: ClusterOptions | None = None
    ledger: "LedgerOptions | None" = None
    page: "PageOptions | None" = None
