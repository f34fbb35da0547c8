"""What a container really runs: ``command`` and ``args`` as programs with their arguments.

Kubernetes fills ``$(VAR)`` in from the container's own environment; a shell also reads ``$VAR`` and ``${VAR}``. A
reference whose value only the cluster knows (a ConfigMap, the field of a Pod) stays as it stands: a placeholder.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from signalbox.fieldpath import Path
from signalbox.review import JsonObject
from signalbox.workload.kinds.kind import members
from signalbox.workload.shell import MAX_SCRIPT, MAX_VALUE, expand, read_script

_KUBERNETES_REFERENCE = re.compile(r"\$\(([A-Za-z_][\w.-]*)\)")
_SHELLS = frozenset({"sh", "bash", "dash", "ash", "zsh", "ksh"})
_SHELL_OPTION = re.compile(r"[-+][A-Za-z]+\Z")
# A script in a script in a script: deeper nesting is no longer somebody's manifest.
_MAX_DEPTH = 3
_MAX_WORDS = 4096


# Made for every command of every review: a tuple costs a third of a frozen dataclass.
class Invocation(NamedTuple):
    """One program that is started.

    ``words`` are the program and its arguments. ``path`` is the field they stand in; where the list goes on from
    ``command`` into ``args``, the words from ``split`` on stand in ``next_path``. ``document`` is text fed to it by a
    here-document.
    """

    words: tuple[str, ...]
    path: Path
    split: int = 0
    next_path: Path = ()
    background: bool = False
    document: str = ""
    scripted: bool = False

    def field(self, index: int) -> Path:
        """The field the word at ``index`` stands in."""
        return self.next_path if self.next_path and index >= self.split else self.path


def literal_env(container: JsonObject) -> dict[str, str]:
    """The environment variables whose values stand in the manifest, references among them filled in."""
    values: dict[str, str] = {}
    for entry in members(container.get("env")):
        if isinstance(entry, dict):
            name, value = entry.get("name"), entry.get("value")
            if isinstance(name, str) and value is not None and not isinstance(value, dict | list):
                text = fill(_text(value), values)
                if len(text) <= MAX_VALUE:
                    values[name] = text
    return values


def fill(text: str, env: Mapping[str, str]) -> str:
    """``text`` with ``$(VAR)`` filled in where the value is known."""
    if "$(" not in text:
        return text
    return _KUBERNETES_REFERENCE.sub(lambda reference: env.get(reference.group(1), reference.group()), text)


def read_command(container: JsonObject, path: Path, env: Mapping[str, str]) -> tuple[Invocation, ...]:
    """Every program that ``command`` and ``args`` start, shell scripts taken apart, in order."""
    command = _words(container.get("command"), env)
    args = _words(container.get("args"), env)
    if not command and not args:
        return ()
    if not command:
        whole = Invocation(tuple(args), (*path, "args"))
    elif not args:
        whole = Invocation(tuple(command), (*path, "command"))
    else:
        whole = Invocation((*command, *args), (*path, "command"), len(command), (*path, "args"))
    if isinstance(container.get("command"), str) or (not command and isinstance(container.get("args"), str)):
        return tuple(_script(" ".join(whole.words), whole.path, env, 0))
    return tuple(_unwrapped(whole, env, 0))


def read_text(text: str, path: Path, env: Mapping[str, str]) -> tuple[Invocation, ...]:
    """Every program that a line of shell text starts (an ``entrypoint``)."""
    return tuple(_script(fill(text, env), path, env, 0))


def program_name(word: str) -> str:
    """The name of an executable without its folder."""
    return word.rpartition("/")[2]


def is_shell(word: str) -> bool:
    """Whether a program is a shell."""
    return word.rpartition("/")[2] in _SHELLS


def _unwrapped(invocation: Invocation, env: Mapping[str, str], depth: int) -> Iterator[Invocation]:
    words = invocation.words
    if depth >= _MAX_DEPTH or not is_shell(words[0]):
        yield invocation
        return
    index = 1
    while index < len(words):
        word = words[index]
        if word == "-o" or word == "+o":
            index += 2
        elif word.startswith("--"):
            index += 1
        elif _SHELL_OPTION.match(word):
            if "c" in word:
                break
            index += 2 if word[-1] == "o" else 1
        else:
            # A script file; its name says what it does.
            yield invocation
            return
    if index + 1 >= len(words):
        # `bash` alone, or a here-document fed to it.
        if invocation.document:
            yield from _script(invocation.document, invocation.path, env, depth + 1)
        else:
            yield invocation
        return
    if words[index + 1] == "--" and index + 2 < len(words):
        index += 1
    text = words[index + 1]
    if "$@" in text or "$*" in text:
        # Words after the text are its arguments, the first of them $0.
        rest = " ".join(words[index + 3 :])
        text = text.replace('"$@"', rest).replace("$@", rest).replace("$*", rest)
    yield from _script(text, invocation.field(index + 1), env, depth + 1)


def _script(text: str, path: Path, env: Mapping[str, str], depth: int) -> Iterator[Invocation]:
    for command in read_script(text, env):
        read = Invocation(command.words, path, 0, (), command.background, command.document, True)
        yield from _unwrapped(read, env, depth) if is_shell(command.words[0]) else (read,)


def _words(value: Any, env: Mapping[str, str]) -> list[str]:
    if isinstance(value, str):
        return [fill(value[:MAX_SCRIPT], env)] if value else []
    if not isinstance(value, list):
        return []
    words = []
    for item in value[:_MAX_WORDS]:
        if isinstance(item, str):
            words.append(fill(item, env) if "$(" in item else item)
        elif item is not None and not isinstance(item, dict | list):
            words.append(_text(item))
    # An empty word is an argument; an empty program is none.
    return words if any(words) else []


def _text(value: Any) -> str:
    return value if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else str(value)


__all__ = ["Invocation", "expand", "fill", "is_shell", "literal_env", "program_name", "read_command", "read_text"]
