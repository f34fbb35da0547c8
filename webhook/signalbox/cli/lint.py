"""``signalbox lint``: every mistake in policy files, with its place."""

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from signalbox.cli.errors import REFUSED, CommandError
from signalbox.cli.json_line import json_line
from signalbox.cli.live_policies import live_options, read_policies
from signalbox.cli.setup_options import OUTPUT, PATHS, SIGNS
from signalbox.cli.terminal import Terminal, stderr, stdout

if TYPE_CHECKING:
    from signalbox.policy.problem import PolicyProblem

_HELP = """Find mistakes in policy files: all of them in one run, with file, line, column and key path.

PATH is a file or a folder (its tests folder is left out); without one, the shipped policies are read. With --live the
policies that stand in the cluster as objects are read with them, as a server does.
Warnings, such as an exception that has ended, leave the exit code at 0.

\b
Examples:
  signalbox lint
  signalbox lint policies/ team-policies.yaml
  signalbox lint policies/ -o json | jq .message
  signalbox lint policies/ --live
"""


@click.command(help=_HELP, short_help="Find mistakes in policy files.")
@PATHS
@SIGNS
@live_options
@OUTPUT
def command(
    paths: tuple[str, ...], signs: tuple[str, ...], live: bool, kubeconfig: str | None, context: str | None, output: str
) -> int:
    """Prints every problem; 1 where one is an error."""
    from signalbox.configuration import NOT_POLICIES, load_setup_files
    from signalbox.manifests import SUFFIXES, other_files

    missing = [path for path in (*paths, *signs) if not Path(path).exists()]
    if missing:
        raise CommandError(f"{missing[0]}: there is no such file or folder")
    loaded = load_setup_files(read_policies(paths, signs, live, kubeconfig, context), now=datetime.now(UTC))
    out, err = stdout(), stderr()
    for problem in loaded.problems:
        if output == "json":
            click.echo(json_line(_as_json(problem)))
        else:
            _write(problem, out)
    for other in (file for path in (*paths, *signs) for file in other_files(path, NOT_POLICIES)):
        err.line(f"{other}: not read, only files that end in {', '.join(SUFFIXES)} are")
    if output == "text":
        policies, problems = len(loaded.setup.policies.policies), len(loaded.problems)
        counted = f"{policies} polic{'y' if policies == 1 else 'ies'} read, "
        counted += f"{problems or 'no'} problem{'' if problems == 1 else 's'}"
        err.line(counted, "bold")
    return REFUSED if loaded.errors else 0


def _write(problem: "PolicyProblem", out: Terminal) -> None:
    from signalbox.source import place as place_of

    place = place_of(problem.file, problem.line, problem.column)
    rest = str(problem).removeprefix(place)
    out.line(out.styled(place, "bold") + out.styled(rest, "yellow" if problem.severity == "warning" else "red"))


def _as_json(problem: "PolicyProblem") -> dict[str, str | int]:
    return {
        "file": problem.file,
        "line": problem.line,
        "column": problem.column,
        "path": problem.path,
        "message": problem.message,
        "severity": problem.severity,
    }
