"""``signalbox serve``: the webhook itself."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from signalbox.cli.setup_options import MODES

if TYPE_CHECKING:
    from signalbox.server.source import LoadResult

Command = TypeVar("Command", bound=Callable[..., Any])

_HELP = """Run the webhook: /mutate, /validate, /livez, /readyz over TLS, /metrics on a listener of its own.

Policies, signs, the cluster folder, certificate and key are watched and taken up when they change. Every option can be
given as an environment variable, SIGNALBOX_PORT for --port.

\b
Examples:
  signalbox certs issue && signalbox serve --cert certs/tls.crt --key certs/tls.key
  signalbox serve --cert /tls/tls.crt --key /tls/tls.key --policies /policies --max-mode audit
"""
_DEFAULT_KUEUE = "system:serviceaccount:kueue-system:kueue-controller-manager"
_DEFAULT_JOB_SET = "system:serviceaccount:jobset-system:jobset-controller-manager"
_FILE = click.Path()
_PORT = click.IntRange(0, 65535)


def _option(name: str, *, variable: str = "", **settings: Any) -> Callable[[Command], Command]:
    variable = variable or "SIGNALBOX_" + name.removeprefix("--").replace("-", "_").upper()
    settings.setdefault("show_default", True)
    return click.option(name, envvar=variable, **settings)


@click.command(help=_HELP, short_help="Run the webhook.")
@_option("--cert", type=_FILE, default="certs/tls.crt", help="Server certificate, PEM, with its chain.")
@_option("--key", type=_FILE, default="certs/tls.key", help="Its key, PEM.")
@_option("--policies", type=_FILE, multiple=True, show_default="the shipped set", help="A file or folder; repeatable.")
@_option("--signs", type=_FILE, multiple=True, show_default=False, help="WorkloadSigns beside the shipped ones.")
@_option("--cluster", type=_FILE, show_default=False, help="What is known of the cluster: a folder of YAML.")
@_option("--max-mode", type=click.Choice(MODES), default="enforce", help="No rule bites harder: audit for a first rollout.")
@_option("--address", default="0.0.0.0", help="Where to listen.")  # noqa: S104 the API server has to reach it
@_option("--port", type=_PORT, default=8443, help="0 takes a free one.")
@_option("--metrics-address", default="127.0.0.1", help="Where /metrics listens.")
@_option("--metrics-port", type=_PORT, default=9090, help="0 takes a free one.")
@_option("--no-metrics", is_flag=True, show_default=False, help="No listener for /metrics.")
@_option("--workers", type=click.IntRange(1, 64), default=1, help="Processes.")
@_option("--threads", type=click.IntRange(1, 1024), default=32, help="Requests a process works on at a time.")
@_option("--drain-seconds", type=click.FloatRange(0, 600), default=5.0, help="From not ready to not listening, on SIGTERM.")
@_option("--stop-seconds", type=click.IntRange(1, 600), default=15, help="The time for accepted requests after that.")
@_option("--poll-seconds", type=click.FloatRange(0.05, 3600), default=1.0, help="How often files are looked at for changes.")
@_option("--body-seconds", type=click.FloatRange(0.1, 600), default=5.0, help="What a client gets to send its body.")
@_option("--body-limit", type=click.IntRange(1024), default=8 * 1024 * 1024, help="The largest body, in bytes.")
@_option("--verify-patches", is_flag=True, show_default=False, help="Apply each patch before it is sent, and drop a wrong one.")
@_option("--kueue-account", default=_DEFAULT_KUEUE, help="The user name of Kueue's controller.")
@_option("--jobset-account", default=_DEFAULT_JOB_SET, help="The user name of JobSet's controller.")
@_option("--log-level", type=click.Choice(["debug", "info", "warning", "error"]), default="info", help="The lowest one.")
def command(
    cert: str,
    key: str,
    policies: tuple[str, ...],
    signs: tuple[str, ...],
    cluster: str | None,
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
    kueue_account: str,
    jobset_account: str,
    log_level: str,
) -> int:
    """Serves until SIGTERM."""
    from signalbox.configuration import shipped_policies
    from signalbox.server.options import ServerOptions
    from signalbox.server.serve import run_server

    paths = [Path(path) for path in policies] or [shipped_policies()]
    sign_paths = [Path(path) for path in signs]
    folder = Path(cluster) if cluster else None
    options = ServerOptions(
        certificate=Path(cert),
        key=Path(key),
        watch=(*paths, *sign_paths, *([folder] if folder else [])),
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
    )

    def load() -> "LoadResult":
        return _load(paths, sign_paths, folder, max_mode, verify_patches, kueue_account, jobset_account)

    return run_server(options, load)


def _load(
    policies: list[Path],
    signs: list[Path],
    cluster: Path | None,
    max_mode: str,
    verify_patches: bool,
    kueue_account: str,
    jobset_account: str,
) -> "LoadResult":
    from signalbox.configuration import load_setup
    from signalbox.controllers import default_controllers
    from signalbox.policy.mode import Mode
    from signalbox.server.source import LoadResult

    loaded = load_setup(
        policies,
        signs,
        cluster,
        max_mode=Mode.parse(max_mode),
        verify_patches=verify_patches,
        controllers=default_controllers(kueue_account, jobset_account),
    )
    names = tuple(policy.name for policy in loaded.setup.policies.policies)
    # Where no policy at all could be read there is nothing to go on with.
    setup = loaded.setup if names else None
    return LoadResult(setup, tuple(str(problem) for problem in loaded.errors), names, loaded.signs)
