"""``--live``: policies that stand in a cluster, beside those in files."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from signalbox.cli.errors import CommandError
from signalbox.cli.setup_options import Command

if TYPE_CHECKING:
    from signalbox.configuration import SetupFiles


def live_options(command: Command) -> Command:
    """Adds ``--live``, ``--kubeconfig`` and ``--context``."""
    context = click.option("--context", help="The kubeconfig's context.  [default: its current one]")
    path = click.option("--kubeconfig", type=click.Path(), help="Which cluster.  [default: the Pod's own, else KUBECONFIG]")
    live = click.option("--live", is_flag=True, help="With the policies that stand in the cluster as objects.")
    return live(path(context(command)))


def read_policies(
    policies: tuple[str, ...], signs: tuple[str, ...], live: bool, kubeconfig: str | None, context: str | None
) -> "SetupFiles":
    """These policies as they are now, or the shipped ones. Raises CommandError where the cluster cannot be asked."""
    from signalbox.configuration import read_setup_files

    if not live and (kubeconfig or context):
        raise click.UsageError("--kubeconfig and --context say which cluster, --live that one is asked: it is missing")
    files = read_setup_files([Path(path) for path in policies] or None, [Path(path) for path in signs])
    if not live:
        return files
    from signalbox.apiserver.connection import connect
    from signalbox.apiserver.error import ApiConfigurationError, ApiError
    from signalbox.policy_listing import list_policy_objects
    from signalbox.policy_objects import with_objects

    try:
        return with_objects(files, list_policy_objects(connect(kubeconfig, context)))
    except (ApiConfigurationError, ApiError) as error:
        raise CommandError(str(error)) from None
