"""What a program, script or module is called, and what that says of its work."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from signalbox.fieldpath import Path
from signalbox.workload.code_says import by_code
from signalbox.workload.command import program_name
from signalbox.workload.judgement import TRAINING_TYPES
from signalbox.workload.naming import Named, read_name
from signalbox.workload.said import Said, Strength, said_by
from signalbox.workload.signs import Signs
from signalbox.workload.started import Started
from signalbox.workload.target import Target
from signalbox.workload.vocabulary import MAX_NAME, Saying, name_words

_SUB_COMMAND = re.compile(r"[a-z][a-z0-9_:-]*+\Z")
_MAX_SUB_COMMANDS = 2
_SCRIPT = (".py", ".sh")
_MAX_PACKAGES = 4
# Scripts of languages for the web: what they are called says little about training.
_OF_THE_WEB = (".js", ".mjs", ".cjs", ".ts", ".rb", ".php", ".pl")


class _Name(NamedTuple):
    """A script, module or program as it is called: ``stem`` without folder and ending, the folder or package that it is in, and
    how it is shown.
    """

    stem: str
    parent: str
    shown: str


def by_name_of(started: Started, signs: Signs, accelerated: bool) -> Said | None:
    """What the name of what is started says, known programs and modules first, and that of its sub-commands."""
    target = started.target
    if target is None:
        return None
    invocation = started.invocation
    path = invocation.field(min(target.at, len(invocation.words) - 1))
    if target.role == "code":
        return by_code(started, path, signs, accelerated)
    if target.through:
        # What is known speaks for itself, whatever it is handed: `neuron_parallel_compile torchrun train.py`.
        known = signs.types.of_command((program_name(target.through).lower(),))
        if known is not None:
            return said_by(known, invocation.field(0), target.through, started)
    subs = _sub_commands(started)
    name = _taken_apart(target, signs)
    saying = _known_module(target.name, subs, signs) if target.role == "module" else _known_program(target, subs, signs)
    if saying is not None:
        return None if saying.general and not accelerated else said_by(saying, path, " ".join((name.shown, *subs)), started)
    if target.role == "program" and (target.name in signs.commands.utilities or target.name.startswith("-")):
        return None
    return _by_what_it_is_called(started, target, name, subs, path, signs, accelerated)


def _taken_apart(target: Target, signs: Signs) -> _Name:
    name = target.name
    if target.role == "module":
        return _Name(name.rpartition(".")[2], _told_by_package(name, signs), f"-m {name}")
    file = program_name(name)
    if target.role != "script":
        return _Name(file, "", name)
    return _Name(file.rpartition(".")[0] if "." in file else file, name.rpartition("/")[0].rpartition("/")[2], name)


def _known_module(name: str, subs: Sequence[str], signs: Signs) -> Saying | None:
    """What is known of a module, with its sub-commands."""
    types = signs.types
    saying = types.of_command((name.lower(), *subs)) if subs else None
    if saying is None:
        saying = types.of_module(name.lower())
        if saying is not None and name.lower() not in types.modules:
            # A package that does several things: `axolotl.cli.evaluate` evaluates.
            saying = _of_another_work(name.split("."), saying, signs) or saying
    if saying is not None and saying.says in TRAINING_TYPES:
        return _of_another_work(subs[:1], saying, signs) or saying
    return saying


def _known_program(target: Target, subs: Sequence[str], signs: Signs) -> Saying | None:
    """What is known of a program or script, with its sub-commands."""
    file = program_name(target.name).lower()
    saying = signs.types.of_command((file, *subs)) if file else None
    if saying is not None and saying.says in TRAINING_TYPES and target.role == "program":
        # A tool that does several things, told to do one that nobody listed.
        unlisted = bool(subs) and f"{file} {subs[0]}" not in signs.types.commands
        return (_of_another_work(subs[:1], saying, signs) if unlisted else None) or saying
    return saying


def _by_what_it_is_called(
    started: Started, target: Target, name: _Name, subs: tuple[str, ...], path: Path, signs: Signs, accelerated: bool
) -> Said | None:
    """What the words of a name that is not known say, and those of its sub-commands."""
    stem, parent, shown = name
    is_program = target.role == "program"
    generic = stem.lower() in signs.commands.generic_scripts
    # What stands in a folder or package and says nothing by itself is named by that: `trainer/app.py`, `sft/run_qwen.sh`.
    whole = f"{parent} {stem}" if generic else stem
    if not generic and parent and read_name(stem, signs).saying is None:
        generic = target.role == "module" or name_words(stem[:MAX_NAME])[:1] == ["run"]
    by_name = read_name(whole, signs)
    if generic and parent and by_name.saying is None and not (by_name.another or by_name.thing):
        by_name = read_name(parent, signs)
    weak = is_program or by_name.part or target.name.endswith(_OF_THE_WEB) or (generic and target.role == "script")
    best = _counts(by_name, accelerated)
    found = None if best is None else named(best, by_name, path, shown, started, weak)
    # The words after a program that is not known may be anything; nor does one say more of what trains for others.
    if by_name.refused or (is_program and not accelerated):
        return found or _handed_over(started, signs, accelerated) or _ordered(started, subs, by_name.refused, signs)
    for sub in subs:
        by_sub = read_name(sub, signs)
        best = _counts(by_sub, accelerated)
        if best is not None and (found is None or best.rank < found.saying.rank):
            shown = f"{shown} {sub}"
            found = named(best, by_sub, path, shown, started, is_program)
    if found is None and accelerated and subs and subs[0] in signs.types.switches:
        # `main.py test`: a sub-command that is the plain name of a work.
        return said_by(signs.types.switches[subs[0]], path, f"{shown} {subs[0]}", started, Strength.NAMED)
    return found or _handed_over(started, signs, accelerated) or _given(started, signs, accelerated)


def _of_another_work(names: Sequence[str], saying: Saying, signs: Signs) -> Saying | None:
    """What the last part of a module's name, or a sub-command, says beyond the package or tool: that it merges, or serves."""
    for name in reversed(names):
        by_name = read_name(name, signs)
        if by_name.saying is not None and (by_name.saying.rank < saying.rank or by_name.saying.says not in TRAINING_TYPES):
            return by_name.saying
        if by_name.saying is not None:
            return None
    return None


def _told_by_package(module: str, signs: Signs) -> str:
    """The nearest package of a module that says something: `embedders.finetune.encoder.base`, and no `training.api.main`."""
    parts = module.split(".")[:-1]
    for part in reversed(parts[-_MAX_PACKAGES:]):
        by_name = read_name(part, signs)
        if by_name.plain is not None and by_name.plain.says in TRAINING_TYPES:
            return part
        if by_name.saying is not None or by_name.another or by_name.thing:
            return part
    return parts[-1] if parts else ""


def _ordered(started: Started, subs: tuple[str, ...], refused: bool, signs: Signs) -> Said | None:
    """The plain order to train, with options to it, given to a program that is not known: `pipeline train --data x`."""
    target, words = started.target, started.invocation.words
    if refused or target is None or target.role != "program" or not subs:
        return None
    by_sub, at = read_name(subs[0], signs), target.at + 2
    if not by_sub.order or by_sub.plain is None or not any(word[:2] == "--" for word in words[at : at + _MAX_SUB_COMMANDS]):
        return None
    return named(by_sub.plain, by_sub, started.invocation.field(at - 1), f"{target.name} {subs[0]}", started, True)


def _given(started: Started, signs: Signs, accelerated: bool) -> Said | None:
    """What a script says of training that another script is given first: `launch.py train.py config.yml`."""
    target, words = started.target, started.invocation.words
    at = target.at + 1 if target is not None and target.role in ("script", "module") else len(words)
    if target is None or at >= len(words) or not words[at].endswith(_SCRIPT):
        return None
    first = name_words(program_name(target.name)[:MAX_NAME])
    if first and first[0] in signs.names.errands:
        # `lint.py train.py` does something to it.
        return None
    by_name = read_name(program_name(words[at]).rpartition(".")[0], signs)
    saying = _counts(by_name, accelerated)
    return (
        None
        if saying is None or saying.says not in TRAINING_TYPES
        else named(saying, by_name, started.invocation.field(at), words[at], started, True)
    )


def _handed_over(started: Started, signs: Signs, accelerated: bool) -> Said | None:
    """What a script says that another program was handed to: `train.sh python main.py`."""
    through = started.target.through if started.target is not None else ""
    if not through:
        return None
    by_name = read_name(program_name(through).rpartition(".")[0] or program_name(through), signs)
    saying = _counts(by_name, accelerated)
    return None if saying is None else named(saying, by_name, started.invocation.field(0), through, started, True)


def ordered_in_front(started: Started, signs: Signs) -> Said | None:
    """The training that a script's or module's name orders in front of something else: `train_chatbot.py`."""
    target = started.target
    if target is None or target.role not in ("script", "module"):
        return None
    by_name = read_name(target.stem, signs)
    if by_name.ordered is None or by_name.look:
        return None
    return named(by_name.ordered, by_name, started.invocation.field(target.at), target.name, started, True)


def is_of_another(started: Started, signs: Signs) -> bool:
    """Whether a program is named for something else than training."""
    target = started.target
    if target is None or target.role == "code":
        return False
    by_name = read_name(target.stem, signs)
    return by_name.another or by_name.refused or (by_name.thing and target.stem.lower() not in signs.commands.generic_scripts)


def is_of_one_word(started: Started) -> bool:
    """Whether a program is called by one word alone, which then is an order: `predict.py`, `cli.py predict`."""
    target = started.target
    return target is not None and len(name_words(target.stem[:MAX_NAME])) == 1


def _counts(name: Named, accelerated: bool) -> Saying | None:
    return name.saying if accelerated else name.plain


def named(saying: Saying, name: Named, path: Path, shown: str, started: Started, weak: bool) -> Said:
    """A sign that is a name; ``weak`` where it is no script's or module's own."""
    strength = Strength.WEAK if weak else Strength.NAMED
    return said_by(saying, path, shown, started, strength, order=name.order, ordered=name.ordered is not None)


def _sub_commands(started: Started) -> tuple[str, ...]:
    assert started.target is not None  # noqa: S101  callers have looked
    found: list[str] = []
    after = started.target.at + 1
    for word in started.invocation.words[after : after + _MAX_SUB_COMMANDS]:
        if not _SUB_COMMAND.match(word):
            break
        found.append(word)
    return tuple(found)
