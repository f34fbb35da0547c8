"""Every program a container starts, each with what it is about.

A shell may stand behind wrappers and launchers (``tini -- bash -c …``, ``mpirun … bash -c …``): its text is taken apart
like that of a shell that stands first.
"""

from collections.abc import Iterator, Mapping

from signalbox.fieldpath import Path
from signalbox.review import JsonObject
from signalbox.workload.budget import Budget
from signalbox.workload.command import MAX_DEPTH, Invocation, open_shell, read_command
from signalbox.workload.signs import CommandSigns
from signalbox.workload.target import Target, find_target


def read_programs(
    container: JsonObject,
    path: Path,
    env: Mapping[str, str],
    command_path: Path | None,
    args_path: Path | None,
    signs: CommandSigns,
    budget: Budget,
) -> Iterator[tuple[Invocation, Target | None]]:
    """What ``command`` and ``args`` start, in order (see ``read_command``)."""
    for invocation in read_command(container, path, env, command_path, args_path, budget=budget):
        target = find_target(invocation, signs)
        if target is not None and target.role == "shell":
            yield from _opened(invocation, target, env, signs, budget)
        else:
            yield invocation, target


def read_variable(
    text: str, path: Path, env: Mapping[str, str], signs: CommandSigns, budget: Budget
) -> Iterator[tuple[Invocation, Target | None]]:
    """What the command line in a variable starts (``RUN_CMD="torchrun train.py"``): its words are those of ``path``."""
    yield from read_programs({"command": text}, path, env, path, path, signs, budget)


def _opened(
    invocation: Invocation, shell: Target, env: Mapping[str, str], signs: CommandSigns, budget: Budget
) -> Iterator[tuple[Invocation, Target | None]]:
    if invocation.depth >= MAX_DEPTH:
        budget.unread = True
        yield invocation, None
        return
    for inner in open_shell(invocation, shell.at, env, budget, shell.name in signs.shells):
        started = inner._replace(launchers=shell.launchers) if shell.launchers else inner
        target = find_target(started, signs)
        if target is not None and target.role == "shell":
            yield from _opened(started, target, env, signs, budget)
        else:
            yield started, target
