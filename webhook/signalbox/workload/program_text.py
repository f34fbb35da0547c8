"""Where the text of a program saves: ``torch.save(x, "/ckpt/last.pt")``, ``TrainingArguments(output_dir="/ckpt")``.

No parser: a text may be of any version of a language, cut off or a template. Names that are given a text count like
options of that name, calls that save by the first place among their arguments. No expression searches a stretch twice.
"""

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from types import MappingProxyType

from signalbox.workload.budget import SAVE_CALL, WORD
from signalbox.workload.call_arguments import NAME, TEXT, arguments_of, filled, first_place, is_place, told_by
from signalbox.workload.declared_options import declared_options
from signalbox.workload.meaning import Meaning, meaning_below
from signalbox.workload.signs import Signs
from signalbox.workload.vocabulary import MAX_NAME, name_words

# What is put around a path; the first of several parts is where it leads.
_AROUND = r"(?:(?:os\.path\.join|(?:pathlib\.)?Path|str)\(\s*+){0,3}+"
_FROM_ENVIRONMENT = rf"os\.(?:environ\.get|environ|getenv)[(\[]\s*+[\"'](\w++)[\"'](?:\s*+,\s*+{_AROUND}{TEXT})?"
_VALUE = rf"{_AROUND}(?:{TEXT}|{_FROM_ENVIRONMENT}|({NAME}|\d++))"
# `name=VALUE`, `name: str = VALUE`, `"name": VALUE`; no comparison.
_GIVEN = re.compile(rf"(?<!\w)({NAME})(?:[\"']\s*+:|\s*+(?::\s*+\w++\s*+)?=(?!=))\s*+{_VALUE}")
# A line of YAML; without a value it is what the lines below it, further in, belong to.
_LINE = re.compile(
    r"^([ \t]*+)([A-Za-z_][\w.-]*+):(?:[ \t]++(?:\"([^\"\n]*+)\"|'([^'\n]*+)'|([^\s\"'#]++))|[ \t]*+$)", re.MULTILINE
)
# Each of them from its beginning to its end, so that a mark in a text is none of a comment. What is not closed ends with all.
_COMMENTS = re.compile(
    r"""^[ \t]*+[rRuU]?(?:\"{3}(?:[^"]|"(?!""))*+(?:\"{3}|\Z)|'{3}(?:[^']|'(?!''))*+(?:'{3}|\Z))"""
    r"""|(\"{3}(?:[^"]|"(?!""))*+(?:\"{3}|\Z)|'{3}(?:[^']|'(?!''))*+(?:'{3}|\Z)"""
    r"""|"(?:[^"\\\n]|\\.)*+"?|'(?:[^'\\\n]|\\.)*+'?)"""
    r"""|\#[^\n]*+""",
    re.MULTILINE | re.DOTALL,
)
# What a call is given, with calls in it, and in those; deeper ones end it.
_GIVEN_TO = r"(?:[^()]|\((?:[^()]|\([^()]*+\))*+\))*+"
# `TensorBoardLogger(save_dir="/logs")`
_LOGGERS = re.compile(rf"Logger\({_GIVEN_TO}")
_LOADED = re.compile(rf"(?<!\w)(?:load\w*+|restore|from_pretrained)\(\s*+({NAME})(?![\w.(=])")
_SAVED = re.compile(rf"save\w{{0,32}}+\(({_GIVEN_TO})")
_RECEIVER = re.compile(rf"({NAME})\Z")
_IMPORTS = re.compile(r"^[ \t]*+(?:import|from)[ \t]", re.MULTILINE)
_NAMES = re.compile(rf"(?<!\w){NAME}")
_PLACES = ("dir", "path", "folder", "root", "bucket")
# Who gives more names, or saves at more places, is nobody.
_MOST = 256
_NO_OPTIONS: Mapping[str, str] = MappingProxyType({})
_SAVES = Meaning(role="output")
_SWITCHED = Meaning(role="switch")
_UPLOADS = Meaning(role="upload")
_LONGEST_NAME = 64


def cost_of(text: str, signs: Signs) -> int:
    """What it costs to read what a text says about saving, beside searching through it."""
    assigned = min(text.count("=") + text.count(":"), 2 * _MOST)
    known = signs.checkpoint
    calls = (*known.calls, *known.file_upload_calls, *known.copy_calls)
    return WORD * assigned + SAVE_CALL * min(sum(map(text.count, calls)), 2 * _MOST)


def saved_in(
    text: str, env: Mapping[str, str], signs: Signs, given: Mapping[str, str] = _NO_OPTIONS
) -> Iterator[tuple[Meaning, str, str]]:
    """``(meaning, value, what says so)`` of what a program text says about saving; ``env`` are the variables it may read.

    ``given`` are the options that the container's programs are given, as ``option_name`` has them, with their values: of
    others the default counts. What says so is no more than that: beside it in its line may stand a secret.
    """
    text = _bare(text)
    for name in signs.checkpoint.switches:
        if f"{name}=False" in text:
            yield _SWITCHED, "false", f"{name}=False"
    only_read = _only_read(text, signs)
    known: dict[str, str] = {}
    for assigned in islice(_GIVEN.finditer(text), _MOST):
        name, *texts = assigned.groups()
        value = _value(texts, known, env)
        if value is None:
            continue
        if not value.isdigit():
            # What is filled into others is short, or it would double with each of them.
            known[name] = value[:MAX_NAME]
        if name in only_read:
            continue
        # `out = os.environ.get("CHECKPOINT_DIR", "/ckpt")`; a variable of the manifest counts by itself.
        for spoken in (name, None if texts[2] in env else texts[2]):
            meaning = _meaning(spoken, value, signs) if spoken else None
            if meaning is not None:
                yield meaning, value, f"{spoken}={_shown(value)}"
                break
    for call in signs.checkpoint.upload_calls:
        if call in text:
            yield _UPLOADS, "true", call
    known.update(declared_options(text, given))
    kept: list[str] = []
    left = _MOST
    for call in signs.checkpoint.calls:
        at = text.find(call)
        while at >= 0 and left:
            left -= 1
            if call[0] == "." and _is_aside(text, at, signs):
                at = text.find(call, at + len(call))
                continue
            place = first_place(arguments_of(text, at + len(call)), known)
            if place is not None:
                only_of = signs.checkpoint.calls_of.get(call)
                saves = _SAVES if only_of is None else _SAVES._replace(role="output-when-saving", written_by=only_of)
                yield saves, place, f"{call}…{_shown(place)})"
                kept.append(place)
            at = text.find(call, at + len(call))
    if kept:
        yield from _carried_away(text, kept, known, signs)


def _carried_away(text: str, kept: list[str], known: Mapping[str, str], signs: Signs) -> Iterator[tuple[Meaning, str, str]]:
    """Where what a text has saved is uploaded or copied to by another of its calls."""
    left = _MOST
    saved = _with_folders(kept)
    for call in (*signs.checkpoint.file_upload_calls, *signs.checkpoint.copy_calls):
        at = text.find(call)
        while at >= 0 and left:
            left -= 1
            told = [value for value, _ in told_by(arguments_of(text, at + len(call)), known)]
            carried = [value.removeprefix("./").rstrip("/") in saved for value in told]
            if call in signs.checkpoint.copy_calls:
                if len(told) > 1 and carried[0] and is_place(told[1]):
                    yield _SAVES, told[1], f"{call}…{_shown(told[1])})"
            elif any(carried):
                yield _UPLOADS, "true", call
            at = text.find(call, at + len(call))


def set_in(text: str, signs: Signs) -> Iterator[tuple[Meaning, str, str]]:
    """The same of a configuration file that a script writes: ``output_dir: /ckpt/run``; nothing of a program."""
    if _IMPORTS.search(text):
        return
    above: list[tuple[int, str]] = []
    for line in islice(_LINE.finditer(text), _MOST):
        indent, name, double, single, plain = line.groups()
        value = double or single or plain or ""
        while above and above[-1][0] >= len(indent):
            above.pop()
        if not value:
            above.append((len(indent), name))
            continue
        meaning = _meaning(name, value, signs, above[-1][1] if above else "")
        if meaning is not None:
            yield meaning, value, f"{name}: {value}"


def without_comments(text: str) -> str:
    """A program text without what is only said to people."""
    if "#" in text or '"""' in text or "'''" in text:
        return _COMMENTS.sub(_kept, text)
    return text


def _bare(text: str) -> str:
    """The same, and without what its loggers are given."""
    text = without_comments(text)
    return _LOGGERS.sub("Logger(", text) if "Logger(" in text else text


def _kept(found: re.Match[str]) -> str:
    return found.group(1) or ""


def _only_read(text: str, signs: Signs) -> set[str]:
    """Names that something is loaded from and that no call which saves is given."""
    names = {found.group(1) for found in islice(_LOADED.finditer(text), _MOST)}
    if not names:
        return names
    for call in _SAVED.finditer(text):
        names.difference_update(_NAMES.findall(call.group(1)))
    for piece in signs.checkpoint.calls:
        at = text.find(piece) if "save" not in piece else -1
        if at >= 0:
            names.difference_update(_NAMES.findall(arguments_of(text, at + len(piece))))
    return names


def _is_aside(text: str, at: int, signs: Signs) -> bool:
    """Whether what a method is called of goes along with a model: ``tokenizer.save_pretrained(``."""
    receiver = _RECEIVER.search(text, max(0, at - _LONGEST_NAME), at)
    return receiver is not None and not signs.checkpoint.asides.isdisjoint(name_words(receiver.group()))


def _meaning(name: str, value: str, signs: Signs, above: str = "") -> Meaning | None:
    """What a name that is given a value says about saving; None where it says nothing."""
    meaning = meaning_below(above, name, signs)
    if meaning is None or not value or meaning.role in ("", "configuration", "output-by-path"):
        return None
    # `output` may be anything in a program, `output_dir` is a folder.
    named = meaning.role in ("frequency", "switch", "upload") or any(word in name.lower() for word in _PLACES)
    return meaning if named or is_place(value) else None


def _value(texts: list[str | None], known: Mapping[str, str], env: Mapping[str, str]) -> str | None:
    double, single, variable, default, other_default, name = texts
    if variable is not None:
        text = env.get(variable, default if default is not None else other_default)
        return text if text is not None else f"$({variable})"
    if name is not None:
        return name if name.isdigit() else known.get(name)
    return filled(double if double is not None else single or "", known)


def _with_folders(kept: list[str]) -> set[str]:
    """The files that were saved to, and the folders they are in."""
    found: set[str] = set()
    for one in kept:
        place = one.removeprefix("./").rstrip("/")
        while place and place not in found:
            found.add(place)
            place = place.rpartition("/")[0]
    return found


def _shown(place: str) -> str:
    """A place as it is shown: without what may be a secret in a URL."""
    scheme, separator, rest = place.partition("://")
    if not separator:
        return place
    return f"{scheme}://{rest.partition('?')[0].rpartition('@')[2]}"
