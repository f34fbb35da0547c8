"""Shell text read as words: ``bash -c`` scripts, block scalars, a RayJob's entrypoint.

This is no shell: it finds the simple commands of a script, with quotes, comments, line continuations, variables set in
the script and here-documents understood well enough to know which programs run with which arguments.

The text may be hostile. No expression may search the same stretch again and again: repetitions are possessive, and a
piece whose end may be missing stops where another of its kind begins, or is the last of its kind if its end is missing.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from signalbox.workload.budget import PROGRAM, SHELL_CHARACTER, STEP, WORD, Budget

# Of a command with more words only the beginning is read.
MAX_WORDS = 4096
# Longer values are not filled in where they are named, so that text cannot be made to grow without bound.
MAX_VALUE = 512

_PIECE = (
    r"'[^']*+'"
    r'|"(?:[^"\\]++|\\.)*+"'
    r"|\$\([^()]*+(?:\([^()]*+\)[^()]*+)*+\)"
    r"|\$\{\w++:?\?[^$}\n]*+\}"
    r"|\$\{[^$}\s]*+\}"
    r"|`[^`]*+`"
    r"|\\."
)
_TOKEN = re.compile(
    r"[^\S\n]*+(?:"
    # `2>` is a redirection, and what begins with # a comment; inside a word both are letters.
    r"(?P<word>(?!\#|[0-9][<>])(?:[^\s;&|<>()'\"`$\\]++|" + _PIECE + r"|[$'\"`\\])++)"
    r"|(?P<end>\n|&&|\|\|?|;;?|\(|\)|\Z)"
    r"|(?P<comment>\#[^\n]*+)"
    r"|(?P<heredoc><<-?[ \t]*+['\"\\]?(?P<stop>[A-Za-z_][\w.-]*+)['\"]?)"
    r"|(?P<redirect>&>>?|[0-9]?(?:>>|>&|>\||<<<|<&|<>|>|<)(?:[0-9-](?![\w./]))?)"
    r"|(?P<background>&))",
    re.DOTALL,
)
# Most commands are plain words: they need no more than splitting.
_PLAIN = re.compile(r"([^\n'\"\\`<>()&|;#]*+)(?:\n|&&|\|\|?|;|\Z)")
# `${NAME:?words for people}` holds what else ends words and commands.
_DEMANDS = re.compile(r"\$\{\w++:?\?")
_QUOTED = re.compile(_PIECE, re.DOTALL)
_REFERENCE = re.compile(r"\$(?:\{([A-Za-z_]\w*)(?::?(?:[-=]([^{}]*)|\?[^{}]*))?\}|([A-Za-z_]\w*))")
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
_Known = Callable[[str], "str | None"]
# Words that stand before a command without being one.
_BEFORE = frozenset({"if", "then", "else", "elif", "do", "while", "until", "!", "{", "time", "exec", "eval", "command"})
_NO_COMMAND = frozenset({"for", "case", "in", "select", "function", "fi", "done", "esac", "}", "((", ":"})
_OPENS = frozenset({"while", "until", "for", "select"})
# `then do while`: more of them stand before no command.
_MAX_BEFORE = 8
TESTS = frozenset({"[", "[[", "test"})
"""First words of a condition: yielded like commands, for what a script looks at before it goes on."""
_TALK = frozenset({"echo", "printf", "true", "false"})


class ShellCommand(NamedTuple):
    """One simple command: its words, whether the script goes on without waiting for it, its here-document, whether it stands in
    a loop, and the file that it writes to.
    """

    words: tuple[str, ...]
    background: bool = False
    document: str = ""
    looped: bool = False
    into: str = ""


def read_script(text: str, env: Mapping[str, str], budget: Budget) -> Iterator[ShellCommand]:
    """The simple commands of a script in order. ``echo`` and comments are left out; known variables are filled in."""
    text = budget.text(text, SHELL_CHARACTER).replace("\\\n", " ").replace("\\\r\n", " ")
    # Laid over the environment instead of a copy of it, which each script of thousands would make. None: not known.
    variables: dict[str, str | None] = {}

    def known(name: str) -> str | None:
        return variables[name] if name in variables else env.get(name)

    words: list[str] = []
    stop = document = into = ""
    skip_target = writes = False
    loops = at = 0
    while at < len(text) and budget.pay(STEP):
        if not words and not stop and not skip_target:
            plain = _PLAIN.match(text, at)
            if plain is not None and not _DEMANDS.search(plain.group(1)):
                at = plain.end()
                plain_words = _plain_words(plain.group(1), known, budget)
                loops = _loops(plain_words, loops)
                command = _command(plain_words, variables, budget)
                if command:
                    yield ShellCommand(command, looped=loops > 0)
                continue
        token = _TOKEN.match(text, at)
        if token is None:
            at += 1
            continue
        at = token.end()
        kind = token.lastgroup
        if kind == "word":
            if skip_target:
                skip_target = False
                into = _unquoted(token.group("word"), known, budget) if writes else into
            elif len(words) < MAX_WORDS and budget.pay(WORD):
                word = token.group("word")
                found = _unquoted(word, known, budget)
                words += _split(word, found, budget) if found is not word and " " in found else (found,)
            else:
                budget.unread = True
        elif kind == "end" or kind == "background":
            new_line = token.group("end") == "\n"
            if stop and new_line:
                document, at = _document(text, at, stop, budget)
                stop = ""
            if words:
                loops = _loops(words, loops)
                command = _command(words, variables, budget)
                if command:
                    yield ShellCommand(command, kind == "background", document, loops > 0, into)
                words = []
                into = ""
            document = "" if new_line else document
            skip_target = False
        elif kind == "redirect":
            # `2>&1` is complete in itself, `> file` takes the next word with it.
            skip_target = token.group("redirect")[-1] in "<>&|"
            writes = token.group("redirect") == ">"
        elif kind == "stop" or kind == "heredoc":
            stop = token.group("stop")
    loops = _loops(words, loops)
    command = _command(words, variables, budget)
    if command:
        yield ShellCommand(command, False, document, loops > 0, into)


def _loops(words: list[str], loops: int) -> int:
    """In how many loops the command of these words stands, after the one before it."""
    first = next((word for word in words[:_MAX_BEFORE] if word not in _BEFORE or word in _OPENS), "")
    if first in _OPENS:
        return loops + 1
    return max(0, loops - 1) if first == "done" else loops


def expand(text: str, known: _Known, budget: Budget) -> str:
    """``$NAME``, ``${NAME}``, ``${NAME:-default}`` and ``${NAME:?message}`` with what is known; the rest stays as it is."""
    if "$" not in text:
        return text

    def value(reference: re.Match[str]) -> str | None:
        found = known(reference.group(1) or reference.group(3))
        return found if found is not None else reference.group(2)

    return substitute(_REFERENCE, text, value, budget)


def substitute(pattern: re.Pattern[str], text: str, value: Callable[[re.Match[str]], str | None], budget: Budget) -> str:
    """``text`` with references filled in, as long as there is budget for what that adds; the others stay as they are."""
    parts: list[str] = []
    at = 0
    for reference in pattern.finditer(text):
        if not budget.pay(STEP):
            break
        found = value(reference)
        if found is None:
            continue
        if not budget.pay(len(found)):
            break
        parts += (text[at : reference.start()], found)
        at = reference.end()
    if not parts:
        return text
    parts.append(text[at:])
    return "".join(parts)


def _plain_words(text: str, known: _Known, budget: Budget) -> list[str]:
    words = text.split(None, MAX_WORDS)
    if len(words) > MAX_WORDS:
        budget.unread = True
        words.pop()
    if not budget.pay(WORD * len(words)):
        return []
    if "$" not in text:
        return words
    found: list[str] = []
    for word in words:
        value = expand(word, known, budget)
        found += (value,) if value is word else _split(word, value, budget)
    return found


def _split(word: str, value: str, budget: Budget) -> list[str]:
    """What became of a word once its variables were filled in: several words where nothing quotes them (``$ARGS``)."""
    # What a command prints (`$(…)`) is not known, so nor is where its words end.
    if _ASSIGNMENT.match(word) or "'" in word or '"' in word or "$(" in value or "`" in value or not _REFERENCE.search(word):
        return [value]
    pieces = value.split()[:MAX_WORDS]
    return pieces if budget.pay(WORD * len(pieces)) else []


def _command(words: list[str], variables: dict[str, str | None], budget: Budget) -> tuple[str, ...]:
    """The words of a command that is more than talk, empty where there is none; what it assigns is remembered."""
    start = 0
    while start < len(words) and words[start] in _BEFORE:
        start += 1
    if start == len(words) or words[start] in _NO_COMMAND or words[start] in _TALK or not budget.pay(PROGRAM):
        return ()
    rest = words[start:]
    assigned = rest[1:] if rest[0] in ("export", "declare", "readonly") else rest
    for word in assigned:
        assignment = _ASSIGNMENT.match(word)
        if assignment is None:
            break
        # `VAR=x command` sets it for that command alone, but its arguments may name it in a nested script.
        value = assignment.group(2)
        variables[assignment.group(1)] = value if len(value) <= MAX_VALUE else None
    return tuple(rest)


def _unquoted(word: str, known: _Known, budget: Budget) -> str:
    if not ("'" in word or '"' in word or "\\" in word):
        return expand(word, known, budget)
    parts: list[str] = []
    at = 0
    for piece in _QUOTED.finditer(word):
        if not budget.pay(STEP):
            break
        parts.append(expand(word[at : piece.start()], known, budget))
        text = piece.group()
        if text[0] == "'":
            parts.append(text[1:-1])
        elif text[0] == '"':
            inner = text[1:-1]
            parts.append(expand(inner.replace('\\"', '"'), known, budget))
        elif text[0] == "\\":
            parts.append(text[1:])
        else:
            parts.append(expand(text, known, budget))
        at = piece.end()
    parts.append(expand(word[at:], known, budget))
    return "".join(parts)


def _document(text: str, at: int, stop: str, budget: Budget) -> tuple[str, int]:
    """The here-document that starts at ``at``, and where the script goes on."""
    start = at
    while at < len(text) and budget.pay(STEP):
        end = text.find("\n", at)
        line_end = len(text) if end < 0 else end
        if text[at:line_end].strip() == stop:
            return text[start:at], line_end
        at = line_end + 1
    return text[start:], len(text)
