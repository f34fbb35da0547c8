"""``signalbox serve``: the webhook itself."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from signalbox.cli.environment_option import option
from signalbox.cli.ledger_options import ledger_options
from signalbox.cli.page_options import page_options
from signalbox.controllers import JOB_SET_CONTROLLER, KUEUE_CONTROLLER
from signalbox.policy.mode import MODE_WORDS, Mode
from signalbox.process.logs import LEVELS
from signalbox.server.options import BODY_LIMIT

if TYPE_CHECKING:
    from collections.abc import Callable

    from signalbox.audit.ledger.options import LedgerOptions
    from signalbox.audit.page.start import PageOptions

_HELP = """Run the webhook: /mutate, /validate, /livez, /readyz over TLS, /metrics and pages for people on
listeners of their own.

Policies, signs, the cluster folder, certificate and key are watched and taken up when they change. Every option can be
given as an environment variable, SIGNALBOX_PORT for --port.

\b
Examples:
  signalbox certs issue && signalbox serve --cert certs/tls.crt --key certs/tls.key
  signalbox serve --cert /tls/tls.crt --key /tls/tls.key --policies /policies --max-mode audit
"""
_FILE = click.Path()
_PORT = click.IntRange(0, 65535)
_MODE = click.Choice(MODE_WORDS)


@click.command(help=_HELP, short_help="Run the webhook.")
@option("--cert", type=_FILE, default="certs/tls.crt", help="Server certificate, PEM, with its chain.")
@option("--key", type=_FILE, default="certs/tls.key", help="Its key, PEM.")
@option("--policies", type=_FILE, multiple=True, show_default="the shipped set", help="A file or folder; repeatable.")
@option("--signs", type=_FILE, multiple=True, show_default=False, help="WorkloadSigns beside the shipped ones.")
@option("--cluster", type=_FILE, show_default=False, help="What is known of the cluster: a folder of YAML.")
@option("--watch-cluster", is_flag=True, show_default=False, help="Watch the cluster instead, and its policy objects.")
@option("--kubeconfig", type=_FILE, show_default="the Pod's account, KUBECONFIG", help="Which cluster to watch.")
@option("--context", show_default="the current one", help="The kubeconfig's context.")
@option("--namespace", default="signalbox-system", help="Where the controller keeps the last good policies.")
@option("--cluster-wait", type=click.FloatRange(0, 600), default=10.0, help="Longest wait for the cluster at the start.")
@option("--max-mode", type=_MODE, default="enforce", help="No rule bites harder: audit for a first rollout.")
@option("--address", default="0.0.0.0", help="Where to listen.")  # noqa: S104 the API server has to reach it
@option("--port", type=_PORT, default=8443, help="0 takes a free one.")
@option("--metrics-address", default="127.0.0.1", help="Where /metrics listens.")
@option("--metrics-port", type=_PORT, default=9090, help="0 takes a free one.")
@option("--no-metrics", is_flag=True, show_default=False, help="No listener for /metrics.")
@option("--workers", type=click.IntRange(1, 64), default=1, help="Processes.")
@option("--threads", type=click.IntRange(1, 1024), default=32, help="Requests a process works on at a time.")
@option("--drain-seconds", type=click.FloatRange(0, 600), default=5.0, help="From not ready to not listening, on SIGTERM.")
@option("--stop-seconds", type=click.IntRange(1, 600), default=15, help="The time for accepted requests after that.")
@option("--poll-seconds", type=click.FloatRange(0.05, 3600), default=1.0, help="How often files are looked at for changes.")
@option("--body-seconds", type=click.FloatRange(0.1, 600), default=5.0, help="What a client gets to send its body.")
@option("--body-limit", type=click.IntRange(1024), default=BODY_LIMIT, help="The largest body, in bytes.")
@option("--verify-patches", is_flag=True, show_default=False, help="Apply each patch before it is sent, and drop a wrong one.")
@option("--help-page", default="", show_default=False, help="Named below refusals, unless the policy names a page.")
@option("--kueue-account", default=KUEUE_CONTROLLER, help="The user name of Kueue's controller.")
@option("--jobset-account", default=JOB_SET_CONTROLLER, help="The user name of JobSet's controller.")
@ledger_options
@page_options
@option("--log-level", type=click.Choice(list(LEVELS)), default="info", help="The lowest one.")
def command(
    cert: str,
    key: str,
    policies: tuple[str, ...],
    signs: tuple[str, ...],
    cluster: str | None,
    watch_cluster: bool,
    kubeconfig: str | None,
    context: str | None,
    namespace: str,
    cluster_wait: float,
    max_mode: str,
    address: str,
    port: int,
    metrics_address: str,
    metrics_port: int,
    no_metrics: bool,
    workers: int,
    threads: int,
    drain_seconds: float,
    stop_seconds: int,
    poll_seconds: float,
    body_seconds: float,
    body_limit: int,
    verify_patches: bool,
    help_page: str,
    kueue_account: str,
    jobset_account: str,
    ledger: "LedgerOptions | None",
    page: "Callable[..., PageOptions | None]",
    log_level: str,
) -> int:
    """Serves until SIGTERM."""
    from signalbox.configuration import shipped_policies
    from signalbox.controllers import default_controllers
    from signalbox.server.loading import SetupLoader
    from signalbox.server.options import ClusterOptions, ServerOptions
    from signalbox.server.serve import run_server

    if watch_cluster and cluster:
        raise click.UsageError("--watch-cluster watches a cluster, --cluster reads a folder: only one can be had")
    if (kubeconfig or context) and not watch_cluster:
        raise click.UsageError("--kubeconfig and --context say which cluster to watch: add --watch-cluster")
    loader = SetupLoader(
        policies=[Path(path) for path in policies] or [shipped_policies()],
        signs=[Path(path) for path in signs],
        cluster=Path(cluster) if cluster else None,
        max_mode=Mode.parse(max_mode),
        verify_patches=verify_patches,
        help_page=help_page,
        controllers=default_controllers(kueue_account, jobset_account),
    )
    options = ServerOptions(
        certificate=Path(cert),
        key=Path(key),
        watch=loader.paths,
        address=address,
        port=port,
        metrics_address=metrics_address,
        metrics_port=None if no_metrics else metrics_port,
        workers=workers,
        threads=threads,
        drain_seconds=drain_seconds,
        stop_seconds=stop_seconds,
        poll_seconds=poll_seconds,
        body_seconds=body_seconds,
        body_limit=body_limit,
        log_level=log_level,
        cluster=ClusterOptions(kubeconfig, context, namespace, cluster_wait) if watch_cluster else None,
        ledger=ledger,
        page=page(
            ledger="" if ledger is None else ledger.address.url.render_as_string(hide_password=False),
            asks_cluster=watch_cluster,
            kubeconfig=kubeconfig,
            context=context,
            namespace=namespace,
            policies=policies,
            signs=signs,
            cluster=cluster or "",
            max_mode=max_mode,
            log_level=log_level,
        ),
    )

    return run_server(options, loader)
