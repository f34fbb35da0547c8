"""Every program a container starts, each with what it is about.

A shell may stand behind wrappers and launchers (``tini -- bash -c …``, ``mpirun … bash -c …``): its text is taken apart
like that of a shell that stands first.
"""

from collections.abc import Iterator, Mapping

from signalbox.fieldpath import Path
from signalbox.review import JsonObject
from signalbox.workload.budget import Budget
from signalbox.workload.command import MAX_DEPTH, Invocation, is_shell, open_shell, program_name, read_command
from signalbox.workload.signs import CommandSigns, Signs
from signalbox.workload.target import Target, find_target
from signalbox.workload.vocabulary import image_name


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


def with_copier(body: JsonObject, signs: Signs) -> JsonObject:
    """A container whose image runs the copier that it is called after (`rclone/rclone`): as if it stood before ``args``."""
    args, image = body.get("args"), body.get("image")
    if body.get("command") or not isinstance(args, list) or not args or not isinstance(image, str):
        return body
    name = image_name(image)[0].lower().removesuffix("-cli")
    told = (name, *[word for word in args[:2] if isinstance(word, str)])
    if any(" ".join(told[:length]) in signs.checkpoint.copiers for length in (2, 3)):
        return {**body, "args": [name, *args]}
    return body


def read_variable(
    text: str, path: Path, env: Mapping[str, str], signs: CommandSigns, budget: Budget
) -> Iterator[tuple[Invocation, Target | None]]:
    """What the command line in a variable starts (``RUN_CMD="torchrun train.py"``): its words are those of ``path``."""
    yield from read_programs({"command": text}, path, env, path, path, signs, budget)


def is_command_line(text: str) -> bool:
    """Whether the value of a variable is a command line, or a script."""
    return " " in text or text.endswith((".py", ".sh"))


def starts_what_it_is_told(target: Target | None, signs: Signs) -> bool:
    """Whether a program may start what a variable says: tools before it and scripts named for nothing, no server."""
    if target is None or (target.role == "program" and target.name in signs.commands.utilities):
        return True
    file = program_name(target.name)
    if target.role == "script":
        return file.endswith(".sh") or file.rpartition(".")[0].lower() in signs.commands.generic_scripts
    return target.role == "program" and signs.types.of_command((file.lower(),)) is None


def _opened(
    invocation: Invocation, shell: Target, env: Mapping[str, str], signs: CommandSigns, budget: Budget
) -> Iterator[tuple[Invocation, Target | None]]:
    if invocation.depth >= MAX_DEPTH:
        budget.unread = True
        yield invocation, None
        return
    for inner in open_shell(invocation, shell.at, env, budget, not is_shell(shell.name)):
        started = inner._replace(launchers=shell.launchers) if shell.launchers else inner
        target = find_target(started, signs)
        if target is not None and target.role == "shell":
            yield from _opened(started, target, env, signs, budget)
        else:
            yield started, target
