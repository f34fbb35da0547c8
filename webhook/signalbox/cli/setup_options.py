"""The options that several commands share, and the setup that those of them which say by what to judge amount to."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from signalbox.cli.errors import CommandError
from signalbox.policy.mode import MODE_WORDS, Mode

if TYPE_CHECKING:
    from signalbox.configuration import LoadedSetup
    from signalbox.engine import Setup
    from signalbox.policy.problem import PolicyProblem
    from signalbox.review import UserInfo

Command = TypeVar("Command", bound=Callable[..., Any])

_PATH = click.Path()
_SERVICE_ACCOUNT = "system:serviceaccount:"


@dataclass(frozen=True, slots=True)
class SetupOptions:
    """What to judge by, as given on the command line."""

    policies: tuple[str, ...] = ()
    signs: tuple[str, ...] = ()
    cluster: str | None = None
    max_mode: str = "enforce"


SIGNS = click.option("--signs", multiple=True, type=_PATH, metavar="PATH", help="WorkloadSigns beside the shipped ones.")
CLUSTER = click.option(
    "--cluster",
    type=_PATH,
    metavar="DIR",
    help="What is known of the cluster: a folder of YAML as kubectl get -o yaml prints it.",
)
OUTPUT = click.option(
    "-o", "--output", type=click.Choice(["text", "json"]), default="text", help="json: one object a line.  [default: text]"
)
FILES = click.argument("files", nargs=-1, required=True, type=click.Path(allow_dash=True), metavar="FILE...")
PATHS = click.argument("paths", nargs=-1, type=_PATH, metavar="[PATH...]")


def policies_option(what_for: str, default: str = "the shipped set") -> Callable[[Command], Command]:
    """``--policies``, with what they are for."""
    text = f"{what_for}  [default: {default}]"
    return click.option("--policies", multiple=True, type=_PATH, metavar="PATH", help=text)


def setup_options(command: Command) -> Command:
    """Adds ``--policies``, ``--signs``, ``--cluster`` and ``--max-mode``."""
    words = click.Choice(MODE_WORDS)
    mode = click.option("--max-mode", type=words, default="enforce", help="No rule bites harder, as in serve.")
    return _with(command, policies_option("Policies to judge by; repeatable."), SIGNS, CLUSTER, mode)


def user_options(command: Command) -> Command:
    """Adds ``--as`` and ``--as-group``."""
    return _with(
        command,
        click.option("--as", "user", metavar="USER", help="The user who applies it, as in kubectl --as."),
        click.option("--as-group", "groups", multiple=True, metavar="GROUP", help="A group of that user; repeatable."),
    )


def _with(command: Command, *options: Callable[[Command], Command]) -> Command:
    # A decorator above another comes first in --help.
    for option in reversed(options):
        command = option(command)
    return command


def load(options: SetupOptions, judging: bool = True) -> "Setup":
    """The setup to judge by, or without ``judging`` one that has no policy.

    Raises CommandError where policies, signs or cluster cannot be used.
    """
    loaded = load_all(options, judging)
    stop_at(loaded.errors)
    for warning in loaded.warnings:
        click.echo(str(warning), err=True)
    return loaded.setup


def load_all(options: SetupOptions, judging: bool = True) -> "LoadedSetup":
    """The setup with everything that is wrong with it."""
    from signalbox.configuration import load_setup

    return load_setup(
        ([Path(path) for path in options.policies] or None) if judging else [],
        [Path(path) for path in options.signs],
        Path(options.cluster) if options.cluster else None,
        max_mode=Mode.parse(options.max_mode),
    )


def stop_at(errors: "Sequence[PolicyProblem]") -> None:
    """Prints the faults of what to judge by and raises CommandError, if there are any: a guess helps nobody."""
    for problem in errors:
        click.echo(str(problem), err=True)
    if errors:
        count = len(errors)
        raise CommandError(f"{count} problem{'' if count == 1 else 's'} found, nothing was judged")


def asker(user: str | None, groups: tuple[str, ...]) -> "UserInfo | None":
    """Who asks, with the groups that the API server adds by itself; None where nobody was named."""
    from signalbox.review import UserInfo

    if user is None and not groups:
        return None
    own: tuple[str, ...] = ()
    if user is not None and user.startswith(_SERVICE_ACCOUNT):
        own = ("system:serviceaccounts", f"system:serviceaccounts:{user.removeprefix(_SERVICE_ACCOUNT).partition(':')[0]}")
    return UserInfo(user or "", tuple(dict.fromkeys((*groups, *own, "system:authenticated"))))
