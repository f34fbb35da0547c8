"""``signalbox audit page``: the pages of the audit on one's own machine."""

import signal
from typing import TYPE_CHECKING

import click

from signalbox.cli.errors import CommandError
from signalbox.cli.ledger_reading import ledger_option
from signalbox.cli.setup_options import CLUSTER, SIGNS, policies_option
from signalbox.cli.terminal import stderr

if TYPE_CHECKING:
    from signalbox.audit.page.settings import PageSettings

_HELP = """Show who is refused and who would be, in a browser: findings by rule, team and day, each workload, readiness,
exceptions, accelerators. The pages change nothing and are for this machine alone.

In a cluster they are there already, for those who may reach into its Pods:

\b
  kubectl port-forward -n signalbox-system deployment/signalbox-controller 9091
  kubectl port-forward -n signalbox-system deployment/signalbox 9091

\b
Examples:
  signalbox audit page --ledger ledger.db                   a ledger, and the cluster of the kubeconfig
  signalbox audit -o json manifests/ > scan.json
  signalbox audit page --scan scan.json --no-cluster        what was found in files
  signalbox audit page --ledger postgresql://… --port 8000

Exit codes: 0 ended with Ctrl-C, 2 it could not start.
"""


@click.command(help=_HELP, short_help="Show it all in a browser.")
@ledger_option
@click.option(
    "--scan", type=click.Path(), metavar="FILE", help="What `signalbox audit -o json` wrote, instead of the last scan."
)
@click.option("--no-cluster", is_flag=True, help="Ask no cluster: neither for its last scan nor for its policies.")
@click.option("--kubeconfig", type=click.Path(), help="Which cluster.  [default: KUBECONFIG, else ~/.kube/config]")
@click.option("--context", help="The kubeconfig's context.  [default: its current one]")
@click.option("--namespace", default="signalbox-system", help="Where Signalbox is installed.  [default: signalbox-system]")
@policies_option("Policies to judge by; repeatable.", "those in force in the cluster, else the shipped set")
@SIGNS
@CLUSTER
@click.option("--port", type=click.IntRange(0, 65535), default=9091, help="0 takes a free one.  [default: 9091]")
def command(
    ledger: str | None,
    scan: str | None,
    no_cluster: bool,
    kubeconfig: str | None,
    context: str | None,
    namespace: str,
    policies: tuple[str, ...],
    signs: tuple[str, ...],
    cluster: str | None,
    port: int,
) -> int:
    """Serves until Ctrl-C."""
    from signalbox.audit.page.settings import PageSettings

    if no_cluster and (kubeconfig or context):
        raise click.UsageError("--no-cluster asks no cluster: --kubeconfig and --context say nothing there")
    if cluster and not no_cluster:
        raise click.UsageError("--cluster stands for a cluster that is not asked: add --no-cluster")
    settings = PageSettings(
        ledger=ledger or "",
        asks_cluster=not no_cluster,
        kubeconfig=kubeconfig,
        context=context,
        namespace=namespace,
        policies=policies,
        signs=signs,
        cluster=cluster or "",
        scan=scan or "",
        idle_seconds=0,
        log_level="error",
    )
    _check(settings)
    return _serve(settings, port)


def _check(settings: "PageSettings") -> None:
    """What cannot become right by itself is told at once, and not on a page."""
    from pathlib import Path

    from signalbox.apiserver.connection import connect
    from signalbox.apiserver.error import ApiConfigurationError
    from signalbox.audit.from_json import ScanJsonError, read_scan_json
    from signalbox.audit.page.sources import scan_of_file
    from signalbox.cli.ledger_reading import open_ledger
    from signalbox.cli.setup_options import SetupOptions, load

    if settings.ledger:
        open_ledger(settings.ledger).close()
    if settings.scan:
        try:
            read_scan_json(scan_of_file(Path(settings.scan)))
        except (OSError, ScanJsonError) as error:
            raise CommandError(f"--scan: {error}") from None
    if settings.asks_cluster:
        try:
            connect(settings.kubeconfig, settings.context, tries=1)
        except ApiConfigurationError as error:
            raise CommandError(f"{error} (--no-cluster shows a ledger and a --scan alone)") from None
    elif not settings.ledger and not settings.scan:
        raise click.UsageError("there is nothing to show: name a --ledger, a --scan, or a cluster")
    if not settings.asks_cluster:
        load(SetupOptions(settings.policies, settings.signs, settings.cluster or None))


def _serve(settings: "PageSettings", port: int) -> int:
    from signalbox.audit.page.process import serve_pages
    from signalbox.process.port import ListenError, listen

    try:
        listening = listen("127.0.0.1", port)
    except ListenError as error:
        raise CommandError(f"{error} (--port takes another)") from None
    out = stderr()
    out.line(f"The pages are at http://localhost:{listening.getsockname()[1]}/ until Ctrl-C.")
    serve_pages(listening, settings, ended_by=(signal.SIGTERM, signal.SIGINT))
    return 0
