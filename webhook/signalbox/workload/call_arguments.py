"""What a call in a program text is given: texts, names whose values are known, and paths that are put together of both."""

import re
from collections.abc import Iterator, Mapping
from itertools import islice

from signalbox.workload.container_paths import LONGEST_PATH
from signalbox.workload.vocabulary import MAX_NAME

NAME = r"[A-Za-z_]\w*+"
TEXT = r"[rRbBfFuU]{0,2}+(?:\"([^\"\n]*+)\"|'([^'\n]*+)')"
# `args.out` is an option of its own, and a name that more is put behind leads where that is put.
_OPTIONS = r"(?:args|opt|opts|options|flags|FLAGS|cli_args|parsed)"
_ARGUMENT = re.compile(rf"{TEXT}|(?<![\w.])({_OPTIONS}\.\w++)(?![\w(.=])|(?<![\w.])({NAME})(?![\w(.=])")
_GOES_ON = re.compile(r"\s*+[+/]\s*+[rRfF]?[\"']")
# Texts stay, and with them what is filled into them.
_WITHOUT_DICTS = re.compile(
    r"(\"[^\"\n]*+\"|'[^'\n]*+')|\{(?:[^{}\"']|\"[^\"\n]*+\"|'[^'\n]*+')*+(?:\}|\Z)"
    r"|(?<!\w)dict\((?:[^()]|\([^()]*+\))*+\)"
)
# From the end of a name to the text behind it.
_PUT_BEHIND = re.compile(r"\s*+[+/,]\s*+[rRbBfFuU]{0,2}+[\"']")
_JOINED = re.compile(r"(?:join|Path)\(\s*+\Z")
_FILLED_IN = re.compile(r"\{([^{}]*+)\}")
_FILE = re.compile(r"\.[A-Za-z]\w{0,11}\Z")
_LONGEST_CALL = 512
_MOST_ARGUMENTS = 32
_BRACKET = re.compile(r"[()]")
_LONGEST_NAME = 64


def arguments_of(text: str, start: int) -> str:
    """The text from ``start`` to where the call that is open there ends."""
    depth = 1
    for bracket in _BRACKET.finditer(text, start, start + _LONGEST_CALL):
        depth += 1 if bracket.group() == "(" else -1
        if not depth:
            return text[start : bracket.start()]
    return text[start : start + _LONGEST_CALL]


def first_place(arguments: str, known: Mapping[str, str]) -> str | None:
    """Where a call writes by its arguments; a placeholder where only a name leads there whose value nothing tells."""
    leading = ""
    for value, whole in told_by(arguments, known):
        if whole and is_place(value):
            return value
        leading = leading or ("" if whole else value)
    return leading or None


def told_by(arguments: str, known: Mapping[str, str]) -> Iterator[tuple[str, bool]]:
    """The texts among the arguments of a call, and what is known of its names; False where a name is not known.

    What is put behind a name belongs to it: ``out + "/last.pt"``. What stands in a dict is what is saved.
    """
    arguments = _WITHOUT_DICTS.sub(_text, _WITHOUT_DICTS.sub(_text, arguments))
    pending: str | None = None
    behind = -1
    for argument in islice(_ARGUMENT.finditer(arguments), _MOST_ARGUMENTS):
        double, single, option, name = argument.groups()
        text = "" if option or name else filled(double if double is not None else single or "", known)
        put = _PUT_BEHIND.match(arguments, behind, argument.start() + 3) if text and behind >= 0 else None
        if put is not None:
            if pending is not None:
                yield (pending + text if "+" in put.group() else f"{pending.rstrip('/')}/{text.lstrip('/')}"), True
            pending, behind = None, -1
            continue
        if pending is not None:
            yield pending, True
        pending, behind = None, -1
        if option is None and name is None:
            yield text, True
            continue
        leads = _leads(argument, arguments)
        value = known.get(option[option.index(".") :]) if option is not None else known.get(name)
        if value is None and (option is not None or leads):
            yield f"$({option or name})", False
        elif value is not None and leads:
            pending = value
        elif value is not None:
            yield value, True
        behind = argument.end() if leads else -1
    if pending is not None:
        yield pending, True


def filled(text: str, known: Mapping[str, str]) -> str:
    """A text with the names in braces filled in; what is not known becomes a placeholder."""
    if "{" not in text:
        return text
    filled = _FILLED_IN.sub(lambda name: known.get(name.group(1)) or "${" + name.group(1) + "}", text[:MAX_NAME])
    return filled[:LONGEST_PATH]


def _leads(name: re.Match[str], arguments: str) -> bool:
    """Whether more is put behind a name: ``out + "/last.pt"``, ``os.path.join(out, "last.pt")``."""
    return (
        _GOES_ON.match(arguments, name.end()) is not None
        or _JOINED.search(arguments, max(0, name.start() - _LONGEST_NAME), name.start()) is not None
    )


def is_place(value: str) -> bool:
    """Whether a text is a path, the name of a file, or a placeholder for one."""
    return ("/" in value or value[:2] == "$(" or _FILE.search(value) is not None) and " " not in value.strip()


def _text(found: re.Match[str]) -> str:
    return found.group(1) or ""
