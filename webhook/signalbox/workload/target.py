"""Which program, script or module an invocation is about, past launchers, wrappers and interpreters.

``env X=1 accelerate launch --num_processes 8 train.py`` is about the script ``train.py``, started by the launcher
``accelerate launch``.
"""

import re
from typing import Literal, NamedTuple

from signalbox.workload.command import Invocation, is_shell, program_name
from signalbox.workload.signs import CommandSigns

Role = Literal["script", "module", "program", "code"]

_PYTHON = re.compile(r"(?:python|pypy)[\d.]*+\Z")
_SCRIPT = (".py", ".sh", ".bash", ".ipynb", ".jl", ".R", ".js", ".pl")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
# `ray job submit`: a program with two sub-commands.
_LONGEST_NAME = 3
# Interpreter options that take the next word with them.
_TAKES_VALUE = frozenset({"-W", "-X", "--require", "-r"})


class Target(NamedTuple):
    """What is run in the end. ``at`` is the index of its word; arguments follow it.

    ``name`` is the script's file, the dotted module, the program or the code; ``launchers`` what started it.
    """

    role: Role
    name: str
    at: int
    launchers: tuple[str, ...] = ()


def find_target(invocation: Invocation, signs: CommandSigns) -> Target | None:
    """The target, or None where nothing is started (an assignment alone)."""
    words = invocation.words
    launchers: list[str] = []
    at = 0
    searching = False
    # The next word that is plainly a program: kept, so that no row of launchers has the same words searched for each.
    plain = -1
    while at < len(words):
        if not searching:
            found = _skip_assignments(words, at)
        else:
            plain = plain if plain >= at else _plain_program(words, at, signs)
            found = _next_program(words, at, plain)
        if found is None:
            break
        at = found
        name = program_name(words[at])
        if words[at] in ("-m", "--module"):
            module = words[at + 1] if at + 1 < len(words) else ""
            if module not in signs.launchers:
                return Target("module", module, at + 1, tuple(launchers))
            launchers.append(module)
            searching, at = True, at + 2
        elif length := _known(words, at, name, signs.launchers, signs.several_words):
            launchers.append(" ".join((name, *words[at + 1 : at + length])))
            searching, at = True, at + length
        elif length := _known(words, at, name, signs.wrappers, signs.several_words):
            searching, at = True, at + length
        elif name in signs.utilities:
            return Target("program", name, at, tuple(launchers))
        elif _PYTHON.match(name) or name in signs.interpreters or is_shell(name):
            target = _interpreted(invocation, at)
            if target is None:
                break
            if target.role == "module" and target.name in signs.launchers:
                launchers.append(target.name)
                searching, at = True, target.at + 1
                continue
            if target.role == "script" and program_name(target.name) in signs.launchers:
                launchers.append(program_name(target.name))
                searching, at = True, target.at + 1
                continue
            return Target(target.role, target.name, target.at, tuple(launchers))
        elif words[at].endswith(_SCRIPT):
            return Target("script", words[at], at, tuple(launchers))
        else:
            return Target("program", name, at, tuple(launchers))
    if launchers:
        return Target("program", "", len(words), tuple(launchers))
    return None


def _known(words: tuple[str, ...], at: int, name: str, names: frozenset[str], several: frozenset[str]) -> int:
    """How many words from ``at`` on are one of ``names``, the longest first; 0 for none.

    ``several`` are the first words of names of more than one.
    """
    if name not in several:
        return 1 if name in names else 0
    for length in range(min(_LONGEST_NAME, len(words) - at), 1, -1):
        if " ".join((name, *words[at + 1 : at + length])) in names:
            return length
    return 1 if name in names else 0


def _skip_assignments(words: tuple[str, ...], at: int) -> int | None:
    while at < len(words) and "=" in words[at] and _ASSIGNMENT.match(words[at]):
        at += 1
    return at if at < len(words) else None


def _next_program(words: tuple[str, ...], at: int, plain: int) -> int | None:
    """Past a launcher's own options: the word that is plainly a program, else the likeliest before the end."""
    if plain < len(words):
        if words[plain] != "--":
            return plain
        return plain + 1 if plain + 1 < len(words) else None
    for index in range(at, len(words)):
        word, before = words[index], words[index - 1]
        if word.startswith("-") or _ASSIGNMENT.match(word) or _is_value(word):
            continue
        # A word after an option is its value, unless the option brought its own.
        if index == at or before[:1] != "-" or "=" in before:
            return index
    return None


def _plain_program(words: tuple[str, ...], at: int, signs: CommandSigns) -> int:
    """The first word from ``at`` on that is a known program, a script, ``-m`` or ``--``; their number if there is none."""
    for index in range(at, len(words)):
        word = words[index]
        if word in ("--", "-m", "--module"):
            return index
        if word.startswith("-") or _ASSIGNMENT.match(word):
            continue
        name = program_name(word)
        if word.endswith(_SCRIPT) or _PYTHON.match(name) or name in signs.launchers or name in signs.wrappers or is_shell(word):
            return index
    return len(words)


def _is_value(word: str) -> bool:
    return not word or word[0].isdigit() or "," in word or ":" in word or word[0] in "^$"


def _interpreted(invocation: Invocation, at: int) -> Target | None:
    words = invocation.words
    index = at + 1
    while index < len(words):
        word = words[index]
        if word == "-m" and index + 1 < len(words):
            return Target("module", words[index + 1], index + 1)
        if word == "-c" and index + 1 < len(words):
            return Target("code", words[index + 1], index + 1)
        if word == "-":
            break
        if word in _TAKES_VALUE:
            index += 2
        elif word.startswith("-"):
            index += 1
        else:
            return Target("script", word, index)
    return Target("code", invocation.document, at) if invocation.document else None
