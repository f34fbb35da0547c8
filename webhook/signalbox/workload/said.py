"""What one started program says by a vocabulary of types: the reading behind the type judgement."""

import re
from enum import IntEnum
from typing import NamedTuple

from signalbox.workload.command import program_name
from signalbox.workload.judgement import Evidence
from signalbox.workload.signs import Signs
from signalbox.workload.started import Started
from signalbox.workload.vocabulary import Saying

_SUB_COMMAND = re.compile(r"[a-z][a-z0-9_:-]*+\Z")
_MAX_SUB_COMMANDS = 2
_SWITCHED_OFF = frozenset({"false", "0", "no", "none"})
# What a program text does in the end: it may load and prepare before it trains, and train before it serves.
PRECEDENCE_IN_CODE = (
    "inference",
    "fine-tuning",
    "training",
    "evaluation",
    "benchmark",
    "batch-inference",
    "data-processing",
    "interactive",
)


class Strength(IntEnum):
    """How much a sign can bear: a known program, a script's or module's name, anything else."""

    WEAK = 1
    NAMED = 2
    KNOWN = 3


class Said(NamedTuple):
    """One sign that was met."""

    saying: Saying
    evidence: Evidence
    strength: Strength
    background: bool = False


def what_it_says(started: Started, signs: Signs) -> Said | None:
    """The type that one invocation speaks for, the specific before the general."""
    target = started.target
    if target is not None and target.role == "program" and target.name in signs.commands.utilities:
        return None
    said = _by_name(started, signs)
    if said is not None and said.saying.says != "training":
        return said
    by_option = _by_options(started, signs)
    if said is None:
        return by_option or _by_launcher(started, signs)
    # `train.py --mode eval` evaluates and `train.py --lora_r 8` fine-tunes: an option is more specific than "train".
    if by_option is not None and (by_option.saying.says == "fine-tuning" or by_option.strength is Strength.NAMED):
        return by_option
    return said


def _by_name(started: Started, signs: Signs) -> Said | None:
    target, types = started.target, signs.types
    if target is None:
        return None
    invocation = started.invocation
    path = invocation.field(min(target.at, len(invocation.words) - 1))
    if target.role == "code":
        in_code = types.of_code(target.name)
        if not in_code:
            return None
        spoken, piece = min(in_code, key=lambda one: PRECEDENCE_IN_CODE.index(one[0].says))
        return _said(spoken, path, _code_line(target.name, piece), started)
    name, shown = target.name, target.name
    saying: Saying | None
    subs = _sub_commands(started)
    if target.role == "module":
        stem = name.rpartition(".")[2]
        saying = types.of_module(name.lower())
        if saying is not None and name.lower() not in types.modules:
            # A package that does several things: `axolotl.cli.evaluate` evaluates.
            by_stem = types.of_name(stem)
            saying = by_stem if by_stem is not None and by_stem.rank < saying.rank else saying
        parent = name.rpartition(".")[0].rpartition(".")[2]
        shown = f"-m {name}"
    else:
        file = program_name(name)
        stem = file.rpartition(".")[0] if target.role == "script" and "." in file else file
        folder = name.rpartition("/")[0].rpartition("/")[2]
        parent = folder if target.role == "script" else ""
        saying = types.of_command((file.lower(), *subs)) if file else None
    if saying is not None:
        return _said(saying, path, " ".join((shown, *subs)), started)
    if target.role == "program" and (name in signs.commands.utilities or name.startswith("-")):
        return None
    saying = types.of_name(stem)
    if saying is None and stem.lower() in signs.commands.generic_scripts:
        saying = types.of_name(parent)
    strength = Strength.WEAK if target.role == "program" else Strength.NAMED
    for sub in subs:
        by_sub = types.of_name(sub)
        if by_sub is not None and (saying is None or by_sub.rank < saying.rank):
            saying, shown = by_sub, f"{shown} {sub}"
    return _said(saying, path, shown, started, strength) if saying is not None else None


def _by_launcher(started: Started, signs: Signs) -> Said | None:
    """What a launcher says that starts but one sort of work (`horovodrun`), where the program it starts says nothing."""
    if started.target is None or not started.target.launchers:
        return None
    for launcher in started.target.launchers:
        saying = signs.types.commands.get(launcher)
        if saying is not None:
            return _said(saying, started.invocation.field(0), launcher, started, Strength.WEAK)
    return None


def _by_options(started: Started, signs: Signs) -> Said | None:
    best: Said | None = None
    for option in started.options:
        if option.at < started.at:
            continue
        if option.meaning.selects:
            saying, strength = signs.types.of_name(option.value), Strength.NAMED
        else:
            saying, strength = option.meaning.type, Strength.WEAK
        if saying is None or option.value.lower() in _SWITCHED_OFF:
            continue
        if best is None or (-strength, saying.rank) < (-best.strength, best.saying.rank):
            best = _said(saying, started.invocation.field(option.at), started.shown(option), started, strength)
    return best


def _said(
    saying: Saying, path: "tuple[str | int, ...]", shown: str, started: Started, strength: Strength = Strength.KNOWN
) -> Said:
    return Said(saying, Evidence(path, shown, saying.reason), strength, started.invocation.background)


def _sub_commands(started: Started) -> tuple[str, ...]:
    assert started.target is not None  # noqa: S101  callers have looked
    found: list[str] = []
    after = started.target.at + 1
    for word in started.invocation.words[after : after + _MAX_SUB_COMMANDS]:
        if not _SUB_COMMAND.match(word):
            break
        found.append(word)
    return tuple(found)


def _code_line(code: str, piece: str) -> str:
    """The line of a program text that holds ``piece``."""
    at = code.find(piece)
    end = code.find("\n", at)
    return code[code.rfind("\n", 0, at) + 1 : end if end >= 0 else len(code)].strip()
