"""What to look at, in files or in a live cluster: the options of ``audit`` and ``diff``, and the source they amount to."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from signalbox.cli.errors import CommandError
from signalbox.cli.progress import Progress
from signalbox.cli.setup_options import Command, SetupOptions
from signalbox.cli.terminal import Terminal
from signalbox.policy.mode import Mode
from signalbox.policy.nearest import nearest

if TYPE_CHECKING:
    from signalbox.apiserver.connection import ApiServer
    from signalbox.audit.family import Key
    from signalbox.audit.listing import Item
    from signalbox.audit.result import ScanError
    from signalbox.configuration import LoadedSetup, SetupFiles
    from signalbox.engine import Setup
    from signalbox.manifests import Manifest, Manifests
    from signalbox.workload.kinds.kind import WorkloadKind


@dataclass(frozen=True, slots=True)
class ScanOptions:
    """What to look at, as given on the command line."""

    files: tuple[str, ...] = ()
    namespaces: tuple[str, ...] = ()
    all_namespaces: bool = False
    kinds: tuple[str, ...] = ()
    kubeconfig: str | None = None
    context: str | None = None
    per_second: float = 0.0

    @property
    def namespace(self) -> str:
        """The namespace of manifests that name none: the one that is looked at."""
        return self.namespaces[0] if len(self.namespaces) == 1 else ""


@dataclass(frozen=True, slots=True)
class Source:
    """What is to be judged, and by what. ``others`` are objects in files that are no workloads."""

    setup: "Setup"
    items: "Iterable[Item]"
    excluded: "frozenset[Key]"
    errors: "tuple[ScanError, ...]"
    progress: Progress
    others: "tuple[Manifest, ...]" = ()


def scope_options(command: Command) -> Command:
    """Adds ``-n``, ``-A`` and ``--kind``."""
    kind = click.option(
        "--kind", "kinds", multiple=True, metavar="KIND", help="Only this kind, as policies name it; repeatable."
    )
    every = click.option("-A", "--all-namespaces", is_flag=True, help="Every namespace, as without -n.")
    named = click.option("-n", "--namespace", "namespaces", multiple=True, metavar="NAMESPACE", help="Only here; repeatable.")
    return named(every(kind(command)))


def connection_options(command: Command) -> Command:
    """Adds ``--kubeconfig``, ``--context`` and ``--per-second``."""
    rate = click.option(
        "--per-second",
        type=click.FloatRange(min=0.1),
        default=50.0,
        metavar="N",
        help="At most so many pages of 500 objects a second.  [default: 50]",
    )
    context = click.option("--context", help="The kubeconfig's context.  [default: its current one]")
    path = click.option("--kubeconfig", type=click.Path(), help="Which cluster.  [default: the Pod's own, else KUBECONFIG]")
    return path(context(rate(command)))


def check_scope(options: ScanOptions) -> None:
    """Raises UsageError where the options contradict each other."""
    if options.all_namespaces and options.namespaces:
        raise click.UsageError("-A means every namespace, -n only some: only one can be had")
    if options.files and (options.kubeconfig or options.context):
        raise click.UsageError("with FILES no cluster is asked: --kubeconfig and --context say nothing there")


def open_source(options: ScanOptions, by: SetupOptions, now: datetime, err: Terminal) -> Source | None:
    """What these options name; None where there is nothing at all, which has been told."""
    check_scope(options)
    return _files(options, by, now, err) if options.files else _live(options, by, now, err)


def connected(options: ScanOptions) -> "ApiServer":
    """A connection to the cluster that the options name. Raises CommandError where there is none."""
    from signalbox.apiserver.connection import connect
    from signalbox.apiserver.error import ApiConfigurationError

    try:
        return connect(options.kubeconfig, options.context, per_second=options.per_second or None)
    except ApiConfigurationError as error:
        raise CommandError(
            f"{str(error).rstrip('.')}; name FILES to judge manifests, or a cluster with --kubeconfig FILE"
        ) from None


def _files(options: ScanOptions, by: SetupOptions, now: datetime, err: Terminal) -> Source | None:
    from signalbox.audit.manifest_source import from_manifests
    from signalbox.cli.beside import knowing_what_is_beside
    from signalbox.configuration import load_setup

    loaded = load_setup(
        [Path(path) for path in by.policies] or None,
        [Path(path) for path in by.signs],
        Path(by.cluster) if by.cluster else None,
        max_mode=Mode.parse(by.max_mode),
        now=now,
    )
    read = read_files(options.files, err)
    if read is None:
        return None
    setup = knowing_what_is_beside(loaded.setup, read.objects, options.namespace)
    excluded = excluded_kinds(options.kinds, setup.kinds)
    items = from_manifests(read, setup.kinds, setup.controllers, options.namespaces, excluded)
    others = tuple(manifest for manifest in read.objects if (manifest.group, manifest.kind) not in setup.kinds)
    return Source(setup, items, excluded, policy_errors(loaded, err), Progress(), others)


def _live(options: ScanOptions, by: SetupOptions, now: datetime, err: Terminal) -> Source:
    from signalbox.audit.live import live_items, live_setup

    if by.cluster:
        raise click.UsageError("--cluster is for FILES: a live cluster is asked what it knows")
    api = connected(options)
    progress = Progress()
    progress("what the cluster knows", 0, 1)
    files, objects = _policies(api, by)
    loaded, unread = live_setup(api, files, now, policy_objects=objects, max_mode=Mode.parse(by.max_mode))
    progress.close()
    excluded = excluded_kinds(options.kinds, loaded.setup.kinds)
    items = live_items(api, loaded.setup, options.namespaces, excluded, progress)
    return Source(loaded.setup, items, excluded, (*unread, *policy_errors(loaded, err)), progress)


def _policies(api: "ApiServer", by: SetupOptions) -> "tuple[SetupFiles, bool]":
    """What to judge a cluster by, and whether its policy objects come on top: those named, else those in force there."""
    from signalbox.audit.live import policies_in_force
    from signalbox.configuration import read_setup_files

    signs = [Path(path) for path in by.signs]
    if by.policies:
        return read_setup_files([Path(path) for path in by.policies], signs), False
    in_force = policies_in_force(api)
    if in_force is None:
        return read_setup_files(None, signs), True
    more = read_setup_files([], signs)
    return replace(in_force, signs=(*in_force.signs, *more.signs)), False


def read_files(files: tuple[str, ...], err: Terminal) -> "Manifests | None":
    """The manifests of the files; None where there is nothing at all, which has been told."""
    from signalbox.cli.inputs import nothing_to_judge
    from signalbox.manifests import read_manifests

    read = read_manifests(files, last_counts=True)
    for warning in read.warnings:
        err.line(str(warning))
    return None if nothing_to_judge(read, err) else read


def policy_errors(loaded: "LoadedSetup", err: Terminal) -> "tuple[ScanError, ...]":
    """What is wrong with the policies: it is left out, and the rest is judged by. Warnings are told at once."""
    from signalbox.audit.result import ScanError

    for warning in loaded.warnings:
        err.line(str(warning))
    return tuple(ScanError("policies", f"left out: {error}") for error in loaded.errors)


def excluded_kinds(wanted: tuple[str, ...], kinds: "Mapping[Key, WorkloadKind]") -> "frozenset[Key]":
    """The kinds that nobody asked for. Raises UsageError for a name that is none of them."""
    if not wanted:
        return frozenset()
    chosen: set[Key] = set()
    for name in wanted:
        exact = {key for key, kind in kinds.items() if kind.text.lower() == name.lower()}
        bare = {key for key, kind in kinds.items() if kind.kind.lower() == name.lower()}
        if not exact and not bare:
            raise click.UsageError(f"no kind {name!r}{nearest(name, [kind.text for kind in kinds.values()])}")
        chosen |= exact or bare
    return frozenset(kinds) - chosen
