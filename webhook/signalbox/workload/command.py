"""What a container really runs: ``command`` and ``args`` as programs with their arguments.

Kubernetes fills ``$(VAR)`` in from the container's own environment; a shell also reads ``$VAR`` and ``${VAR}``. A
reference whose value only the cluster knows (a ConfigMap, the field of a Pod) stays as it stands: a placeholder.
"""

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from signalbox.fieldpath import Path
from signalbox.review import JsonObject
from signalbox.workload.budget import VARIABLE, WORD, WORD_CHARACTER, Budget
from signalbox.workload.kinds.kind import members
from signalbox.workload.shell import MAX_VALUE, MAX_WORDS, read_script, substitute
from signalbox.workload.vocabulary import MAX_NAME

_KUBERNETES_REFERENCE = re.compile(r"\$\(([A-Za-z_][\w.-]*+)\)")
# `bash -c`
_SHELL_AND_OPTION = 2
_SHELLS = frozenset({"sh", "bash", "dash", "ash", "zsh", "ksh"})
_SHELL_OPTION = re.compile(r"[-+][A-Za-z]+\Z")
# The arguments of the text of `bash -c`, named in it.
_ARGUMENTS = re.compile(r'"\$@"|"\$\{@\}"|\$@|\$\{@\}|\$\*')
_BY_NUMBER = re.compile(r"\$\{?[1-9]|\$\{@:")
_SHELL_FILE = re.compile(r"(?:\.sh|/[^./]+)\Z")
_ON_STOP = frozenset({"EXIT", "TERM", "SIGTERM", "INT", "SIGINT", "0", "15", "2"})
# A script in a script in a script: deeper nesting is no longer somebody's manifest.
MAX_DEPTH = 3
# How far behind a program like `su` the text is looked for that it hands to a shell.
_MAX_OPTIONS = 16
# More scripts than one script writes.
_MOST_FILES = 8
# More variables than any program reads.
MAX_VARIABLES = 2048


# An entry of `env`: where it stands, its name, the entry.
Variable = tuple[int, str, JsonObject]


# Made for every command of every review: a tuple costs a third of a frozen dataclass.
class Invocation(NamedTuple):
    """One program that is started.

    ``words`` are the program and its arguments. ``path`` is the field they stand in; where the list goes on from
    ``command`` into ``args``, the words from ``split`` on stand in ``next_path``. ``document`` is text fed to it by a
    here-document. ``depth`` is in how many scripts it stands, ``launchers`` are what started those. ``repeated``: it stands in
    a loop, or is done when the container is stopped.
    """

    words: tuple[str, ...]
    path: Path
    split: int = 0
    next_path: Path = ()
    background: bool = False
    document: str = ""
    depth: int = 0
    launchers: tuple[str, ...] = ()
    repeated: bool = False

    def field(self, index: int) -> Path:
        """The field the word at ``index`` stands in."""
        return self.next_path if self.next_path and index >= self.split else self.path


def read_variables(container: JsonObject, budget: Budget) -> tuple[Variable, ...]:
    """The environment variables of a container that have a name."""
    entries = members(container.get("env"))
    if not entries:
        return ()
    found = []
    for index, entry in enumerate(budget.members(entries, VARIABLE, MAX_VARIABLES)):
        name = entry.get("name") if isinstance(entry, dict) else None
        if isinstance(name, str) and len(name) <= MAX_NAME:
            found.append((index, name, entry))
    return tuple(found)


def literal_env(variables: Iterable[Variable], budget: Budget) -> dict[str, str]:
    """The variables whose values stand in the manifest, references among them filled in."""
    values: dict[str, str] = {}
    for _, name, entry in variables:
        value = entry.get("value")
        if value is not None and not isinstance(value, dict | list):
            text = _text(value)
            if "$(" in text and len(text) <= MAX_VALUE:
                text = fill(text, values, budget)
            if len(text) <= MAX_VALUE:
                values[name] = text
    return values


def fill(text: str, env: Mapping[str, str], budget: Budget) -> str:
    """``text`` with ``$(VAR)`` filled in where the value is known."""
    if "$(" not in text:
        return text
    return substitute(_KUBERNETES_REFERENCE, text, lambda reference: env.get(reference.group(1)), budget)


def read_command(
    container: JsonObject,
    path: Path,
    env: Mapping[str, str],
    command_path: Path | None = None,
    args_path: Path | None = None,
    *,
    budget: Budget,
) -> Iterator[Invocation]:
    """Every program that ``command`` and ``args`` start, shell scripts taken apart, in order.

    They stand below ``path``, or at paths of their own.
    """
    command = _words(container.get("command"), env, budget)
    args = _words(container.get("args"), env, budget)
    if not command and not args:
        return
    command_path, args_path = command_path or (*path, "command"), args_path or (*path, "args")
    if not command:
        whole = Invocation(tuple(args), args_path)
    elif not args:
        whole = Invocation(tuple(command), command_path)
    elif _is_doubled(command, args):
        # A shell that is told to start a shell does nothing; what the second is told was meant.
        whole = Invocation(tuple(args), args_path)
    else:
        whole = Invocation((*command, *args), command_path, len(command), args_path)
    if isinstance(container.get("command"), str) or (not command and isinstance(container.get("args"), str)):
        yield from _script(" ".join(whole.words), whole.path, env, 0, budget)
    else:
        yield from _unwrapped(whole, env, budget)


def _is_doubled(command: Sequence[str], args: Sequence[str]) -> bool:
    """Whether a shell that has yet to be told what to run is handed another: ``[bash, -c]`` and ``[bash, -c, text]``."""
    return (
        len(command) == _SHELL_AND_OPTION
        and len(args) > _SHELL_AND_OPTION
        and all(is_shell(words[0]) and words[1][:1] == "-" and words[1][-1:] == "c" for words in (command, args))
    )


def program_name(word: str) -> str:
    """The name of an executable without its folder."""
    return word.rpartition("/")[2]


def is_shell(word: str) -> bool:
    """Whether a program is a shell."""
    return word.rpartition("/")[2] in _SHELLS


def text_of_shell(words: tuple[str, ...], at: int, only_by_option: bool = False) -> int:
    """The index of the text that the shell at ``at`` is given after ``-c``; 0 where it is given none.

    ``only_by_option``: no shell, but a program that hands such text to one (``su - USER -c TEXT``).
    """
    index = at + 1
    while index < len(words):
        word = words[index]
        if only_by_option:
            if word in ("-c", "--command") or (word[-1:] == "c" and _SHELL_OPTION.match(word)):
                break
            if word == "--" or index > at + _MAX_OPTIONS:
                return 0
            index += 1
        elif word == "-o" or word == "+o":
            index += 2
        elif word.startswith("--"):
            index += 1
        elif _SHELL_OPTION.match(word):
            if "c" in word:
                break
            index += 2 if word[-1] == "o" else 1
        else:
            # A script file; its name says what it does.
            return 0
    if words[index + 1 : index + 2] == ("--",) and index + 2 < len(words):
        index += 1
    return index + 1 if index + 1 < len(words) else 0


def open_shell(
    invocation: Invocation, at: int, env: Mapping[str, str], budget: Budget, only_by_option: bool = False
) -> Iterator[Invocation]:
    """The programs of the text that the shell at ``at`` is given."""
    words = invocation.words
    index = text_of_shell(words, at, only_by_option)
    text = words[index]
    if "$@" in text or "$*" in text:
        # Words after the text are its arguments, the first of them $0.
        rest = " ".join(words[index + 2 :])
        if rest or "<<" not in text:
            # In a script that it writes they are those of that script.
            text = substitute(_ARGUMENTS, text, lambda _: rest, budget)
    above = (invocation.background, invocation.repeated)
    yield from _script(text, invocation.field(index), env, invocation.depth + 1, budget, *above)


def _unwrapped(invocation: Invocation, env: Mapping[str, str], budget: Budget) -> Iterator[Invocation]:
    words = invocation.words
    if not is_shell(words[0]):
        yield invocation
        return
    if invocation.depth >= MAX_DEPTH:
        budget.unread = True
        yield invocation
    elif text_of_shell(words, 0):
        yield from open_shell(invocation, 0, env, budget)
    elif invocation.document and all(word[:1] == "-" for word in words[1:]):
        # A here-document fed to it.
        above = (invocation.background, invocation.repeated)
        yield from _script(invocation.document, invocation.path, env, invocation.depth + 1, budget, *above)
    else:
        yield invocation


def _script(
    text: str,
    path: Path,
    env: Mapping[str, str],
    depth: int,
    budget: Budget,
    background: bool = False,
    repeated: bool = False,
) -> Iterator[Invocation]:
    # What it writes to files: `cat > run.sh <<EOF`.
    files: dict[str, str] = {}
    for command in read_script(text, env, budget):
        behind, again = background or command.background, repeated or command.looped
        if command.document and command.into and len(files) < _MOST_FILES:
            files[_bare_path(command.into)] = command.document
        document = _started_file(command.words, files, budget) if files and depth < MAX_DEPTH else None
        if document is not None:
            yield from _script(document, path, env, depth + 1, budget, behind, again)
        read = Invocation(command.words, path, 0, (), behind, command.document, depth, (), again)
        if is_shell(command.words[0]):
            yield from _unwrapped(read, env, budget)
        elif command.words[0] == "trap" and depth < MAX_DEPTH and not _ON_STOP.isdisjoint(command.words[2:]):
            # What is done when it is stopped.
            yield from _script(command.words[1], path, env, depth + 1, budget, True, True)
        else:
            yield read


def _started_file(words: tuple[str, ...], files: dict[str, str], budget: Budget) -> str | None:
    """The text of the script that a command starts, where the script that it stands in wrote it: read once."""
    at = 0
    if is_shell(words[0]) or words[0] in ("source", "."):
        at = next((index for index, word in enumerate(words) if index and word[:1] != "-"), 0)
    elif "/" not in words[0] or not _SHELL_FILE.search(words[0]):
        # A bare word is looked for among the programs, and a file may be of another language.
        return None
    text = files.get(_bare_path(words[at]))
    if text is None or _BY_NUMBER.search(text) or (text[:2] == "#!" and "sh" not in text.partition("\n")[0]):
        # Which of its arguments it starts is not followed, nor what is no script of a shell.
        return None
    del files[_bare_path(words[at])]
    rest = shlex.join(words[at + 1 :])
    return substitute(_ARGUMENTS, text, lambda _: rest, budget) if "$" in text else text


def _bare_path(path: str) -> str:
    return path.strip("\"'").removeprefix("./")


def _words(value: Any, env: Mapping[str, str], budget: Budget) -> list[str]:
    if isinstance(value, str):
        return [fill(budget.text(value, WORD_CHARACTER), env, budget)] if value else []
    words: list[str] = []
    if not value:
        return words
    for item in budget.members(members(value), WORD, MAX_WORDS):
        if isinstance(item, str):
            words.append(item)
        elif item is not None and not isinstance(item, dict | list):
            words.append(_text(item))
    cost = WORD_CHARACTER * sum(map(len, words))
    if cost * 2 <= budget.left:
        budget.left -= cost
    else:
        words = [budget.text(word, WORD_CHARACTER) for word in words]
    # An empty word is an argument; an empty program is none.
    return [fill(word, env, budget) if "$(" in word else word for word in words] if any(words) else []


def _text(value: Any) -> str:
    return value if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else str(value)
