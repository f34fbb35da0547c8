"""What `signalbox controller` may be told."""

from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from signalbox.audit.ledger.options import Retention
from signalbox.audit.page.start import PageOptions

NAMESPACE = "signalbox-system"
LEASE = "signalbox-controller"
SETTLE_SECONDS = 30.0


def service_names(namespace: str) -> tuple[str, ...]:
    """The names by which the Service is called in a namespace; the API server uses the first."""
    return tuple(f"signalbox.{namespace}{ending}" for ending in (".svc", ".svc.cluster.local", ""))


@dataclass(frozen=True, slots=True)
class ControllerOptions:
    """How to run. ``metrics_port`` None switches the listener off; port 0 takes a free one (the start line says which).

    ``names`` are for the serving certificate beside those of the Service. ``expected`` is a file of webhook configurations
    where they are not the release's own, ``audit_only`` says that they may fail open and inject nothing. ``policies`` and
    ``signs`` are those that `signalbox serve` is given; none means the shipped set. ``scan_minutes`` lie between two scans of
    the cluster, 0: there is none. ``ledger`` is a PostgreSQL ledger to keep in bounds.
    """

    namespace: str = NAMESPACE
    kubeconfig: str | None = None
    context: str | None = None
    lease: str = LEASE
    lease_seconds: float = 15.0
    certificates: bool = True
    names: tuple[str, ...] = ()
    certificate_seconds: float = 3.0
    settle_seconds: float = SETTLE_SECONDS
    expected: Path | None = None
    audit_only: bool = False
    configuration_seconds: float = 10.0
    metrics_address: str = "127.0.0.1"
    metrics_port: int | None = 9090
    stop_seconds: float = 15.0
    log_level: str = "info"
    policies: tuple[Path, ...] = ()
    signs: tuple[Path, ...] = ()
    max_mode: str = "enforce"
    scan_minutes: float = 10.0
    scan_longest_minutes: float = 30.0
    scan_memory: int = 512
    scan_reports: bool = True
    ledger: str = ""
    ledger_retention: Retention = field(default_factory=Retention)
    page: PageOptions | None = None

    @property
    def serving_names(self) -> tuple[str, ...]:
        """Every name the serving certificate is for."""
        return tuple(dict.fromkeys((*service_names(self.namespace), *self.names)))

    @property
    def settle(self) -> timedelta:
        """How long API servers may take to see a changed configuration."""
        return timedelta(seconds=self.settle_seconds)
