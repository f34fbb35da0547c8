"""Where the text of a program saves: ``torch.save(x, "/ckpt/last.pt")``, ``TrainingArguments(output_dir="/ckpt")``.

No parser: a text may be of any version of a language, cut off or a template. Names that are given a text count like
options of that name, calls that save by the first place among their arguments. No expression searches a stretch twice.
"""

import re
from collections.abc import Iterator, Mapping
from itertools import islice

from signalbox.workload.meaning import Meaning, meaning_of
from signalbox.workload.signs import Signs
from signalbox.workload.vocabulary import MAX_NAME

_NAME = r"[A-Za-z_]\w*+"
# What is put around a path; the first of several parts is where it leads.
_AROUND = r"(?:(?:os\.path\.join|(?:pathlib\.)?Path|str)\(\s*+){0,3}+"
_TEXT = r"[rRbBfFuU]{0,2}+(?:\"([^\"\n]*+)\"|'([^'\n]*+)')"
_FROM_ENVIRONMENT = rf"os\.(?:environ\.get|environ|getenv)[(\[]\s*+[\"'](\w++)[\"'](?:\s*+,\s*+{_AROUND}{_TEXT})?"
_VALUE = rf"{_AROUND}(?:{_TEXT}|{_FROM_ENVIRONMENT}|({_NAME}|\d++))"
# `name=VALUE`, `name: str = VALUE`, `"name": VALUE`; no comparison.
_GIVEN = re.compile(rf"(?<!\w)({_NAME})(?:[\"']\s*+:|\s*+(?::\s*+\w++\s*+)?=(?!=))\s*+{_VALUE}")
# A line of YAML.
_LINE = re.compile(r"^[ \t]*+([A-Za-z_][\w.-]*+):[ \t]++(?:\"([^\"\n]*+)\"|'([^'\n]*+)'|([^\s\"'#]++))", re.MULTILINE)
_IMPORTS = re.compile(r"^[ \t]*+(?:import|from)[ \t]", re.MULTILINE)
_ARGUMENT = re.compile(rf"{_TEXT}|(?<![\w.])({_NAME})(?![\w(.=])")
_FILLED_IN = re.compile(r"\{([^{}]*+)\}")
_FILE = re.compile(r"\.[A-Za-z]\w{0,11}\Z")
_PLACES = ("dir", "path", "folder", "root", "bucket")
# Who gives more names, or saves at more places, is nobody.
_MOST = 256
_LONGEST_CALL = 512
_SAVES = Meaning(None, None, False, False, False, "output")


def saved_in(text: str, env: Mapping[str, str], signs: Signs) -> Iterator[tuple[Meaning, str, str]]:
    """``(meaning, value, what says so)`` of what a program text says about saving; ``env`` are the variables it may read.

    What says so is no more than that: beside it in its line may stand a secret.
    """
    known: dict[str, str] = {}
    for given in islice(_GIVEN.finditer(text), _MOST):
        name, *texts = given.groups()
        value = _value(texts, known, env)
        if value is None:
            continue
        if not value.isdigit():
            known[name] = value
        # `out = os.environ.get("CHECKPOINT_DIR", "/ckpt")`; a variable of the manifest counts by itself.
        for spoken in (name, None if texts[2] in env else texts[2]):
            meaning = _meaning(spoken, value, signs) if spoken else None
            if meaning is not None:
                yield meaning, value, f"{spoken}={value}"
                break
    left = _MOST
    for call in signs.checkpoint.calls:
        at = text.find(call)
        while at >= 0 and left:
            left -= 1
            place = _first_place(_arguments(text, at + len(call)), known)
            if place is not None:
                yield _SAVES, place, f"{call}…{place})"
            at = text.find(call, at + len(call))


def set_in(text: str, signs: Signs) -> Iterator[tuple[Meaning, str, str]]:
    """The same of a configuration file that a script writes: ``output_dir: /ckpt/run``; nothing of a program."""
    if _IMPORTS.search(text):
        return
    for line in islice(_LINE.finditer(text), _MOST):
        name, double, single, plain = line.groups()
        value = double or single or plain or ""
        meaning = _meaning(name, value, signs)
        if meaning is not None:
            yield meaning, value, f"{name}: {value}"


def _meaning(name: str, value: str, signs: Signs) -> Meaning | None:
    """What a name that is given a value says about saving; None where it says nothing."""
    meaning = meaning_of(name, signs)
    if meaning is None or not value or meaning.role in ("", "configuration"):
        return None
    # `output` may be anything in a program, `output_dir` is a folder.
    telling = meaning.role in ("frequency", "switch") or any(word in name.lower() for word in _PLACES) or _is_place(value)
    return meaning if telling else None


def _value(texts: list[str | None], known: Mapping[str, str], env: Mapping[str, str]) -> str | None:
    double, single, variable, default, other_default, name = texts
    if variable is not None:
        text = env.get(variable, default if default is not None else other_default)
        return text if text is not None else f"$({variable})"
    if name is not None:
        return name if name.isdigit() else known.get(name)
    return _filled(double if double is not None else single or "", known)


def _filled(text: str, known: Mapping[str, str]) -> str:
    """A text with the names in braces filled in; what is not known becomes a placeholder."""
    if "{" not in text:
        return text
    return _FILLED_IN.sub(lambda name: known.get(name.group(1)) or "${" + name.group(1) + "}", text[:MAX_NAME])


def _arguments(text: str, start: int) -> str:
    """The text from ``start`` to where the call that is open there ends."""
    depth = 1
    for at in range(start, min(len(text), start + _LONGEST_CALL)):
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        if not depth:
            return text[start:at]
    return text[start : start + _LONGEST_CALL]


def _first_place(arguments: str, known: Mapping[str, str]) -> str | None:
    for argument in _ARGUMENT.finditer(arguments):
        double, single, name = argument.groups()
        value = known.get(name) if name is not None else _filled(double if double is not None else single or "", known)
        if value is not None and _is_place(value):
            return value
    return None


def _is_place(value: str) -> bool:
    return ("/" in value or value[:2] == "$(" or _FILE.search(value) is not None) and " " not in value.strip()
