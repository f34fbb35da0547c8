"""Which program, script or module an invocation is about, past launchers, wrappers and interpreters.

``env X=1 accelerate launch --num_processes 8 train.py`` is about the script ``train.py``, started by the launcher
``accelerate launch``.
"""

import re
from collections.abc import Container
from typing import Literal, NamedTuple

from signalbox.workload.command import Invocation, is_shell, program_name, text_of_shell
from signalbox.workload.signs import CommandSigns, Wrapper

Role = Literal["script", "module", "program", "code", "shell"]

_PYTHON = re.compile(r"(?:python|pypy)[\d.]*+\Z")
_SCRIPT = (".py", ".sh", ".bash", ".ipynb", ".jl", ".R", ".js", ".pl")
_FILES = ("files", "jars")
_MODULE = ("-m", "--module")
# The launcher that is told by a class what a jar is to run; of a script the class is only what runs it.
_TAKES_CLASS = "spark-submit"
_CLASS = "--class"
_SCRIPT_OF_ITS = (".py", ".R", ".r")
_JAR = ".jar"
_SHELL_SCRIPT = (".sh", ".bash")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
# `ray job submit`: a program with two sub-commands.
_LONGEST_NAME = 3
# Interpreter options that take the next word with them.
_TAKES_VALUE = frozenset({"-W", "-X", "--require", "-r", "-cp", "-classpath", "--class-path", "--module-path"})
# How far behind a program that is not known another one is looked for, and how many words may stand between.
_HANDED = 16
_BETWEEN = 2


class Target(NamedTuple):
    """What is run in the end. ``at`` is the index of its word; arguments follow it.

    ``name`` is the script's file, the dotted module, the program or the code; ``launchers`` what started it; ``through``
    a script or program that it was handed to (``/entrypoint.sh python train.py``). A ``shell`` is one whose text is still
    to be taken apart.
    """

    role: Role
    name: str
    at: int
    launchers: tuple[str, ...] = ()
    through: str = ""

    @property
    def stem(self) -> str:
        """What it is called: a file without its folder and ending, the last part of a module."""
        if self.role == "module":
            return self.name.rpartition(".")[2]
        file = program_name(self.name)
        return file.rpartition(".")[0] or file


def find_target(invocation: Invocation, signs: CommandSigns) -> Target | None:
    """The target, or None where nothing is started (an assignment alone)."""
    words = invocation.words
    launchers = list(invocation.launchers)
    at = 0
    searching = False
    through = ""
    # The next word that is plainly a program: kept, so that no row of launchers has the same words searched for each.
    plain = -1
    while at < len(words):
        if not searching:
            found = _skip_assignments(words, at)
        else:
            plain = plain if plain >= at else _plain_program(words, at, signs, launchers[-1:] == [_TAKES_CLASS])
            found = _next_program(words, at, plain)
        if found is None:
            break
        at = found
        name = program_name(words[at])
        if launchers and launchers[-1] == _TAKES_CLASS and words[at].partition("=")[0] == _CLASS:
            return _of_class(words, at, tuple(launchers), through, signs)
        if words[at] in _MODULE:
            module = words[at + 1] if at + 1 < len(words) else ""
            if module not in signs.launchers:
                return Target("module", module, at + 1, tuple(launchers), through)
            launchers.append(module)
            searching, at = True, at + 2
        elif length := _known(words, at, name, signs.launchers, signs.several_words):
            launchers.append(" ".join((name, *words[at + 1 : at + length])))
            searching, at = True, at + length
        elif (is_shell(name) or name in signs.shells) and text_of_shell(words, at, name in signs.shells):
            return Target("shell", name, at, tuple(launchers), through)
        elif length := _known(words, at, name, signs.wrappers, signs.several_words):
            at, searching = _after_wrapper(words, at, length, name, signs)
        elif name in signs.utilities:
            return Target("program", name, at, tuple(launchers), through)
        elif _PYTHON.match(name) or name in signs.interpreters or is_shell(name):
            target = _interpreted(invocation, at, signs)
            if target is None:
                break
            inner = program_name(target.name)
            if target.role == "module" and (length := _known(words, target.at, inner, signs.wrappers, signs.several_words)):
                at, searching = _after_wrapper(words, target.at, length, inner, signs)
                continue
            if target.role in ("module", "script") and inner in signs.launchers:
                launchers.append(inner)
                searching, at = True, target.at + 1
                continue
            handed = _handed(words, target.at, signs) if target.role == "script" and is_shell(name) else 0
            if handed:
                through, at, searching = through or target.name, handed, False
                continue
            return Target(target.role, target.name, target.at, tuple(launchers), through)
        elif (scripted := words[at].endswith(_SCRIPT)) and not words[at].endswith(_SHELL_SCRIPT):
            return Target("script", words[at], at, tuple(launchers), through)
        elif handed := _handed(words, at, signs):
            through, at, searching = through or words[at], handed, False
        elif "-c" in words and _hands_text(words, at, signs):
            return Target("shell", name, at, tuple(launchers), through)
        else:
            return Target("script" if scripted else "program", words[at] if scripted else name, at, tuple(launchers), through)
    if launchers:
        return Target("program", "", len(words), tuple(launchers))
    return None


def _of_class(words: tuple[str, ...], at: int, launchers: tuple[str, ...], through: str, signs: CommandSigns) -> Target:
    """What ``spark-submit --class com.acme.Train app.jar`` is about: the class, which the jar was handed to, or a script."""
    _, equals, name = words[at].partition("=")
    if not equals and at + 1 < len(words):
        at += 1
        name = words[at]
    for index in range(at + 1, len(words)):
        word = words[index]
        if word[:1] == "-" or words[index - 1].endswith(_FILES) or not word.endswith((*_SCRIPT_OF_ITS, _JAR)):
            continue
        if word.endswith(_SCRIPT_OF_ITS):
            return Target("script", word, index, launchers, through)
        through = through or word
        break
    return Target("script", _of_java(name, signs), at, launchers, through)


def _of_java(name: str, signs: CommandSigns) -> str:
    """A class without its packages, which are mostly named after whoever wrote it; one of no name with them: a path."""
    own = name.rpartition(".")[2]
    return name.replace(".", "/") if own.lower() in signs.generic_scripts else own


def _after_wrapper(words: tuple[str, ...], at: int, length: int, name: str, signs: CommandSigns) -> tuple[int, bool]:
    """Where the program a wrapper starts stands, and whether that is only where the search for it begins."""
    wrapper: Wrapper = signs.wrappers[" ".join((name, *words[at + 1 : at + length]))]
    start = at = at + length
    left = wrapper.words
    known = True
    while at < len(words):
        word = words[at]
        if word == "--":
            return at + 1, False
        if word[:1] == "-" and word != "-":
            if word in _MODULE and word not in wrapper.options:
                return at, False
            if word in wrapper.options:
                at += 1
            elif "=" not in word:
                # An option that is not known may take the next word with it.
                known = False
        elif "=" in word and _ASSIGNMENT.match(word):
            pass
        elif left:
            left -= 1
        else:
            break
        at += 1
    return (at, False) if known else (start, True)


def _handed(words: tuple[str, ...], at: int, signs: CommandSigns) -> int:
    """Where another program stands that a program which is not known is handed, with its arguments; 0 where none does."""
    between = 0
    for index in range(at + 1, min(len(words) - 1, at + _HANDED)):
        word = words[index]
        if word == "--":
            return index + 1 if _starts_another(words[index + 1], signs) or words[index + 1].endswith(_SCRIPT) else 0
        if word[:1] == "-":
            continue
        if _starts_another(word, signs):
            return index
        between += 1
        if between > _BETWEEN:
            break
    return 0


def _hands_text(words: tuple[str, ...], at: int, signs: CommandSigns) -> bool:
    """Whether a program that is not known is given a text for a shell: ``watchdog -c 'bash run.sh 4'``."""
    text = text_of_shell(words, at, True)
    first, space, _ = words[text].partition(" ")
    return text > 0 and space != "" and _starts_another(first, signs)


def _starts_another(word: str, signs: CommandSigns) -> bool:
    name = program_name(word)
    return bool(_PYTHON.match(name)) or name in signs.launchers or is_shell(word)


def _known(words: tuple[str, ...], at: int, name: str, names: Container[str], several: frozenset[str]) -> int:
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


def _plain_program(words: tuple[str, ...], at: int, signs: CommandSigns, of_class: bool) -> int:
    """The first word from ``at`` on that is a known program, a script, ``-m``, a class or ``--``; their number if none is."""
    for index in range(at, len(words)):
        word = words[index]
        if word == "--" or word in _MODULE or (of_class and word.partition("=")[0] == _CLASS):
            return index
        if word.startswith("-") or _ASSIGNMENT.match(word):
            continue
        if words[index - 1].startswith("-") and words[index - 1].endswith(_FILES):
            # `spark-submit --py-files model.py main.py` brings the first along.
            continue
        name = program_name(word)
        if word.endswith(_SCRIPT) or _PYTHON.match(name) or name in signs.launchers or name in signs.wrappers or is_shell(word):
            return index
    return len(words)


def _is_value(word: str) -> bool:
    return not word or word[0].isdigit() or "," in word or ":" in word or word[0] in "^$"


def _interpreted(invocation: Invocation, at: int, signs: CommandSigns) -> Target | None:
    words = invocation.words
    index = at + 1
    java = program_name(words[at]) == "java"
    while index < len(words):
        word = words[index]
        if word == "-m" and index + 1 < len(words):
            return Target("module", words[index + 1], index + 1)
        if word == "-c" and index + 1 < len(words):
            return Target("code", words[index + 1], index + 1)
        if word == "-":
            break
        if word == "-jar" and index + 1 < len(words):
            return Target("script", words[index + 1], index + 1)
        if word in _TAKES_VALUE:
            index += 2
        elif word.startswith("-"):
            index += 1
        elif words[index - 1][:1] == "-" and not word.endswith(_SCRIPT) and _script_follows(words, index):
            # `julia -t 8 train.jl`: an option's value.
            index += 1
        elif java:
            return Target("script", _of_java(word, signs), index)
        else:
            return Target("script", word, index)
    return Target("code", invocation.document, at) if invocation.document else None


def _script_follows(words: tuple[str, ...], at: int) -> bool:
    """Whether a script stands among the next words, with nothing but options and their values before it."""
    return any(word.endswith(_SCRIPT) for word in words[at + 1 : at + _BETWEEN + 2])
