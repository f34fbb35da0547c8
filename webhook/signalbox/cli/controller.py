"""``signalbox controller``: the part that writes."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from signalbox.cli.environment_option import option
from signalbox.cli.ledger_options import retention_options
from signalbox.cli.page_options import page_options
from signalbox.policy.mode import MODE_WORDS
from signalbox.process.logs import LEVELS

if TYPE_CHECKING:
    from collections.abc import Callable

    from signalbox.audit.ledger.options import Retention
    from signalbox.audit.page.start import PageOptions

_HELP = """Run the controller: the only part of Signalbox that writes into the cluster.

It makes and renews the CA and the serving certificate (Secrets signalbox-ca and signalbox-tls), keeps the caBundle of the
webhook configurations right, and says in log and metrics when somebody deleted or loosened one; it does not put that back.
It keeps the last policies without a fault for servers that start (ConfigMap signalbox-last-good-policies), and writes into
the status of each policy object whether workloads are judged by it.
Several replicas may run: the one that holds the Lease works. Every option can be given as an environment variable,
SIGNALBOX_NAMESPACE for --namespace.

\b
Examples:
  signalbox controller                             in a Pod, with its service account
  signalbox controller --kubeconfig ~/.kube/config --log-level debug
  signalbox controller --no-certificates           cert-manager, or somebody else, takes care of them
"""
_PORT = click.IntRange(0, 65535)
_FILE = click.Path(path_type=Path)


@click.command(help=_HELP, short_help="Run the controller: certificates, caBundle, and what else writes.")
@option("--namespace", default="signalbox-system", help="Where Signalbox is installed.")
@option("--kubeconfig", show_default="the Pod's account, KUBECONFIG", help="Which cluster to work on.")
@option("--context", show_default="the current one", help="The kubeconfig's context.")
@option("--lease", default="signalbox-controller", help="The name of the Lease that elects the leader.")
@option("--lease-seconds", type=click.FloatRange(1, 3600), default=15.0, help="How long a silent leader leads on.")
@option("--certificates/--no-certificates", default=True, help="Whether to make certificates and write caBundles.")
@option("--name", "names", multiple=True, show_default=False, help="A name for the certificate; repeatable.")
@option("--certificate-seconds", type=click.FloatRange(0.1, 3600), default=3.0, help="How often they are looked at.")
@option(
    "--settle-seconds",
    type=click.FloatRange(0, 3600),
    default=30.0,
    help="How long API servers may take to see a new caBundle before a new CA signs.",
)
@option(
    "--expected",
    type=click.Path(path_type=Path),
    show_default="this release's",
    help="The webhook configurations as they should be, a file.",
)
@option("--audit-only", is_flag=True, help="The overlay audit-only is installed: nothing injects, all fails open.")
@option(
    "--configuration-seconds", type=click.FloatRange(0.1, 3600), default=10.0, help="How often the configurations are compared."
)
@option("--policies", type=_FILE, multiple=True, show_default="the shipped set", help="As in signalbox serve; repeatable.")
@option("--signs", type=_FILE, multiple=True, show_default=False, help="As in signalbox serve; repeatable.")
@option("--max-mode", type=click.Choice(MODE_WORDS), default="enforce", help="As in signalbox serve.")
@option("--scan-minutes", type=click.FloatRange(0, 10080), default=10.0, help="Between two scans of the cluster; 0: no scan.")
@option("--scan-longest-minutes", type=click.FloatRange(0.1, 10080), default=30.0, help="After that a scan is ended.")
@option("--scan-memory", type=click.IntRange(128, 65536), default=512, help="What a scan may use, in MiB.")
@option("--scan-reports/--no-scan-reports", default=True, help="Whether a scan writes report objects.")
@retention_options
@page_options
@option("--metrics-address", default="127.0.0.1", help="Where /metrics, /livez and /readyz listen.")
@option("--metrics-port", type=_PORT, default=9090, help="0 takes a free one.")
@option("--no-metrics", is_flag=True, show_default=False, help="No listener.")
@option("--stop-seconds", type=click.FloatRange(0, 600), default=15.0, help="What running duties get on SIGTERM.")
@option("--log-level", type=click.Choice(list(LEVELS)), default="info", help="The lowest one.")
def command(
    namespace: str,
    kubeconfig: str | None,
    context: str | None,
    lease: str,
    lease_seconds: float,
    certificates: bool,
    names: tuple[str, ...],
    certificate_seconds: float,
    settle_seconds: float,
    expected: Path | None,
    audit_only: bool,
    configuration_seconds: float,
    policies: tuple[Path, ...],
    signs: tuple[Path, ...],
    max_mode: str,
    scan_minutes: float,
    scan_longest_minutes: float,
    scan_memory: int,
    scan_reports: bool,
    ledger: str,
    ledger_retention: "Retention",
    page: "Callable[..., PageOptions | None]",
    metrics_address: str,
    metrics_port: int,
    no_metrics: bool,
    stop_seconds: float,
    log_level: str,
) -> int:
    """Runs until SIGTERM."""
    from signalbox.controller.options import ControllerOptions
    from signalbox.controller.run import run_controller

    options = ControllerOptions(
        namespace=namespace,
        kubeconfig=kubeconfig,
        context=context,
        lease=lease,
        lease_seconds=lease_seconds,
        certificates=certificates,
        names=names,
        certificate_seconds=certificate_seconds,
        settle_seconds=settle_seconds,
        expected=expected,
        audit_only=audit_only,
        configuration_seconds=configuration_seconds,
        policies=policies,
        signs=signs,
        max_mode=max_mode,
        scan_minutes=scan_minutes,
        scan_longest_minutes=scan_longest_minutes,
        scan_memory=scan_memory,
        scan_reports=scan_reports,
        ledger=ledger,
        ledger_retention=ledger_retention,
        page=page(
            ledger=ledger,
            asks_cluster=True,
            kubeconfig=kubeconfig,
            context=context,
            namespace=namespace,
            policies=tuple(map(str, policies)),
            signs=tuple(map(str, signs)),
            max_mode=max_mode,
            log_level=log_level,
        ),
        metrics_address=metrics_address,
        metrics_port=None if no_metrics else metrics_port,
        stop_seconds=stop_seconds,
        log_level=log_level,
    )
    return run_controller(options)
