"""Shell text read as words: ``bash -c`` scripts, block scalars, a RayJob's entrypoint.

This is no shell: it finds the simple commands of a script, with quotes, comments, line continuations, variables set in
the script and here-documents understood well enough to know which programs run with which arguments.
"""

import re
from collections.abc import Mapping
from typing import NamedTuple

# A script longer than this is read up to here: it bounds what one manifest can cost.
MAX_SCRIPT = 64 * 1024
# Longer values are not filled in where they are named, so that text cannot be made to grow without bound.
MAX_VALUE = 512

_PIECE = (
    r"'[^']*+'"
    r'|"(?:[^"\\]++|\\.)*+"'
    r"|\$\([^()]*+(?:\([^()]*+\)[^()]*+)*+\)"
    r"|\$\{[^}\s]{0,200}+\}"
    r"|`[^`]*+`"
    r"|\\."
)
_TOKEN = re.compile(
    r"[ \t\r]*+(?:"
    # `2>` is a redirection, and what begins with # a comment; inside a word both are letters.
    r"(?P<word>(?!\#|[0-9][<>])(?:[^\s;&|<>()'\"`$\\]++|" + _PIECE + r"|[$'\"`\\])++)"
    r"|(?P<end>\n|&&|\|\|?|;;?|\(|\)|\Z)"
    r"|(?P<comment>\#[^\n]*+)"
    r"|(?P<heredoc><<-?[ \t]*+['\"\\]?(?P<stop>[A-Za-z_][\w.-]*+)['\"]?)"
    r"|(?P<redirect>&>>?|[0-9]?(?:>>|>&|>\||<<<|<&|<>|>|<)(?:[0-9-](?![\w./]))?)"
    r"|(?P<background>&)"
    r"|(?P<blank>\s))",
    re.DOTALL,
)
# Most commands are plain words: they need no more than splitting.
_PLAIN = re.compile(r"([^\n'\"\\`<>()&|;#]*+)(?:\n|&&|\|\|?|;|\Z)")
_QUOTED = re.compile(_PIECE, re.DOTALL)
_REFERENCE = re.compile(r"\$(?:\{([A-Za-z_]\w*)(?::?[-=]([^{}]*))?\}|([A-Za-z_]\w*))")
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
# Words that stand before a command without being one.
_BEFORE = frozenset({"if", "then", "else", "elif", "do", "while", "until", "!", "{", "time", "exec", "eval", "command"})
_NO_COMMAND = frozenset({"for", "case", "in", "select", "function", "fi", "done", "esac", "}", "[", "[[", "test", "((", ":"})
_TALK = frozenset({"echo", "printf", "true", "false"})


class ShellCommand(NamedTuple):
    """One simple command: its words, whether the script goes on without waiting for it, and its here-document."""

    words: tuple[str, ...]
    background: bool = False
    document: str = ""


def read_script(text: str, env: Mapping[str, str]) -> list[ShellCommand]:
    """The simple commands of a script in order. ``echo`` and comments are left out; known variables are filled in."""
    text = text[:MAX_SCRIPT].replace("\\\n", " ").replace("\\\r\n", " ")
    variables = dict(env)
    commands: list[ShellCommand] = []
    words: list[str] = []
    stop = document = ""
    skip_target = False
    at = 0
    while at < len(text):
        if not words and not stop:
            plain = _PLAIN.match(text, at)
            if plain is not None:
                at = plain.end()
                words = [expand(word, variables) for word in plain.group(1).split()]
                if words:
                    _add(commands, words, False, "", variables)
                    words = []
                continue
        token = _TOKEN.match(text, at)
        if token is None:
            at += 1
            continue
        at = token.end()
        kind = token.lastgroup
        if kind == "word":
            if not skip_target:
                words.append(_unquoted(token.group("word"), variables))
            skip_target = False
        elif kind == "end" or kind == "background":
            new_line = token.group("end") == "\n"
            if stop and new_line:
                document, at = _document(text, at, stop)
                stop = ""
            if words:
                _add(commands, words, kind == "background", document, variables)
                words = []
            document = "" if new_line else document
            skip_target = False
        elif kind == "redirect":
            # `2>&1` is complete in itself, `> file` takes the next word with it.
            skip_target = token.group("redirect")[-1] in "<>&|"
        elif kind == "stop" or kind == "heredoc":
            stop = token.group("stop")
    if words:
        _add(commands, words, False, document, variables)
    return commands


def expand(text: str, variables: Mapping[str, str]) -> str:
    """``$NAME``, ``${NAME}`` and ``${NAME:-default}`` with what is known; the rest stays as it is."""
    if "$" not in text:
        return text

    def value(reference: re.Match[str]) -> str:
        name = reference.group(1) or reference.group(3)
        known = variables.get(name)
        if known is not None:
            return known
        default = reference.group(2)
        return default if default is not None else reference.group()

    return _REFERENCE.sub(value, text)


def _add(commands: list[ShellCommand], words: list[str], background: bool, document: str, variables: dict[str, str]) -> None:
    start = 0
    while start < len(words) and words[start] in _BEFORE:
        start += 1
    if start == len(words) or words[start] in _NO_COMMAND or words[start] in _TALK:
        return
    rest = words[start:]
    assigned = rest[1:] if rest[0] in ("export", "declare", "readonly") else rest
    for word in assigned:
        assignment = _ASSIGNMENT.match(word)
        if assignment is None:
            break
        # `VAR=x command` sets it for that command alone, but its arguments may name it in a nested script.
        if len(assignment.group(2)) <= MAX_VALUE:
            variables[assignment.group(1)] = assignment.group(2)
        else:
            variables.pop(assignment.group(1), None)
    commands.append(ShellCommand(tuple(rest), background, document))


def _unquoted(word: str, variables: Mapping[str, str]) -> str:
    if not ("'" in word or '"' in word or "\\" in word):
        return expand(word, variables)
    parts: list[str] = []
    at = 0
    for piece in _QUOTED.finditer(word):
        parts.append(expand(word[at : piece.start()], variables))
        text = piece.group()
        if text[0] == "'":
            parts.append(text[1:-1])
        elif text[0] == '"':
            inner = text[1:-1]
            parts.append(expand(inner.replace('\\"', '"'), variables))
        elif text[0] == "\\":
            parts.append(text[1:])
        else:
            parts.append(expand(text, variables))
        at = piece.end()
    parts.append(expand(word[at:], variables))
    return "".join(parts)


def _document(text: str, at: int, stop: str) -> tuple[str, int]:
    """The here-document that starts at ``at``, and where the script goes on."""
    start = at
    while at < len(text):
        end = text.find("\n", at)
        line_end = len(text) if end < 0 else end
        if text[at:line_end].strip() == stop:
            return text[start:at], line_end
        at = line_end + 1
    return text[start:], len(text)
