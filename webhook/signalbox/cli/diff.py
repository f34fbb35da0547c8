"""``signalbox diff``: what another policy set would change, for manifests or for what a cluster holds."""

from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import click

from signalbox.cli.errors import REFUSED, UNUSABLE
from signalbox.cli.progress import Progress
from signalbox.cli.scan_options import (
    ScanOptions,
    check_scope,
    connected,
    connection_options,
    excluded_kinds,
    read_files,
    scope_options,
)
from signalbox.cli.setup_options import CLUSTER, OUTPUT, SIGNS, stop_at
from signalbox.cli.terminal import stderr, stdout

if TYPE_CHECKING:
    from collections.abc import Iterable

    from signalbox.apiserver.connection import ApiServer
    from signalbox.audit.listing import Item
    from signalbox.audit.result import ScanError
    from signalbox.cluster.view import ClusterView
    from signalbox.engine import Setup

_HELP = """Say what changes when the policies OLD are replaced by the policies NEW: who is newly refused, newly allowed
or warned, and what is injected otherwise.

OLD and NEW are files or folders of policies. FILES are manifests, or - for standard input; with --live it is what the cluster
of the kubeconfig holds, as if each workload were made now. Who applies it is not known: rules on users are not judged.

\b
Examples:
  git worktree add /tmp/main main
  signalbox diff /tmp/main/policies policies manifests/   in CI, beside signalbox lint and test
  signalbox diff policies policies-new --live             before the merge, against the cluster
  signalbox diff old.yaml new.yaml job.yaml -o json

Exit codes: 0 nobody is newly refused, 1 somebody is, 2 something could not be read or judged.
"""


@click.command(help=_HELP, short_help="Say what a changed policy set would change.")
@click.argument("old", type=click.Path())
@click.argument("new", type=click.Path())
@click.argument("files", nargs=-1, type=click.Path(allow_dash=True), metavar="[FILES...]")
@click.option("--live", is_flag=True, help="What the cluster holds, instead of FILES.")
@scope_options
@connection_options
@SIGNS
@CLUSTER
@OUTPUT
def command(
    old: str,
    new: str,
    files: tuple[str, ...],
    live: bool,
    namespaces: tuple[str, ...],
    all_namespaces: bool,
    kinds: tuple[str, ...],
    kubeconfig: str | None,
    context: str | None,
    per_second: float,
    signs: tuple[str, ...],
    cluster: str | None,
    output: str,
) -> int:
    """Compares the answers of both sets; 1 when somebody is newly refused."""
    from signalbox.audit.compare import Kind
    from signalbox.audit.diff import Diff
    from signalbox.audit.live import live_items
    from signalbox.audit.manifest_source import from_manifests
    from signalbox.cli.beside import knowing_what_is_beside
    from signalbox.cli.diff_report import counts_text, write_json, write_text

    if live is bool(files):
        raise click.UsageError(f"name {'either ' if live else ''}FILES to compare over, or --live for what the cluster holds")
    now, err, out = datetime.now(UTC), stderr(), stdout()
    options = ScanOptions(files, namespaces, all_namespaces, kinds, kubeconfig, context, per_second)
    check_scope(options)
    api = connected(options) if live else None
    view, errors = _cluster(api, cluster)
    before, after = (_load(path, signs, view) for path in (old, new))
    read = None if live else read_files(files, err)
    if read is None and not live:
        return UNUSABLE
    if read is not None:
        before, after = (knowing_what_is_beside(setup, read.objects, options.namespace) for setup in (before, after))
    excluded = excluded_kinds(kinds, {**before.kinds, **after.kinds})
    diff, progress = Diff(before, after, now, excluded), Progress()
    items: Iterable[Item] = ()
    if api is not None:
        items = live_items(api, diff.setup, namespaces, excluded, progress)
    elif read is not None:
        items = from_manifests(read, diff.setup.kinds, diff.setup.controllers, namespaces, excluded)
    differences = diff.differences(chain(errors, items))
    try:
        if output == "json":
            write_json(differences, out)
        else:
            write_text(differences, out)
            out.line(counts_text(diff.compared, "workload", diff.counts), "bold")
    finally:
        progress.close()
    summary = diff.summary()
    for error in summary.errors:
        err.line(f"signalbox: {error.what}: {error.text}")
    if diff.counts[Kind.NEWLY_REFUSED]:
        return REFUSED
    return UNUSABLE if summary.error_count else 0


def _load(path: str, signs: tuple[str, ...], view: "ClusterView") -> "Setup":
    """One of the two sets. Half a set compared with a whole one says nothing: a fault in it ends the command."""
    from signalbox.configuration import load_setup_files, read_setup_files

    loaded = load_setup_files(read_setup_files([Path(path)], [Path(one) for one in signs]), view=view)
    stop_at(loaded.errors)
    return loaded.setup


def _cluster(api: "ApiServer | None", folder: str | None) -> "tuple[ClusterView, tuple[ScanError, ...]]":
    from signalbox.audit.live_cluster import read_live_cluster
    from signalbox.audit.result import ScanError
    from signalbox.cluster.folder import read_cluster
    from signalbox.cluster.view import EmptyClusterView

    if api is not None:
        if folder:
            raise click.UsageError("--cluster is for FILES: a live cluster is asked what it knows")
        return read_live_cluster(api)
    if not folder:
        return EmptyClusterView(), ()
    view, problems = read_cluster(folder)
    return view, tuple(ScanError(f"{problem.file}:{problem.line}", problem.message) for problem in problems)
