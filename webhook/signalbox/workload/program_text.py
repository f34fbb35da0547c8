"""Where the text of a program saves: ``torch.save(x, "/ckpt/last.pt")``, ``TrainingArguments(output_dir="/ckpt")``.

No parser: a text may be of any version of a language, cut off or a template. Names that are given a text count like
options of that name, calls that save by the first place among their arguments. No expression searches a stretch twice.
"""

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from types import MappingProxyType

from signalbox.workload.budget import SAVE_CALL, WORD
from signalbox.workload.container_paths import LONGEST_PATH
from signalbox.workload.meaning import Meaning, meaning_below
from signalbox.workload.signs import Signs
from signalbox.workload.vocabulary import MAX_NAME, name_words, option_name

_NAME = r"[A-Za-z_]\w*+"
# What is put around a path; the first of several parts is where it leads.
_AROUND = r"(?:(?:os\.path\.join|(?:pathlib\.)?Path|str)\(\s*+){0,3}+"
_TEXT = r"[rRbBfFuU]{0,2}+(?:\"([^\"\n]*+)\"|'([^'\n]*+)')"
_FROM_ENVIRONMENT = rf"os\.(?:environ\.get|environ|getenv)[(\[]\s*+[\"'](\w++)[\"'](?:\s*+,\s*+{_AROUND}{_TEXT})?"
_VALUE = rf"{_AROUND}(?:{_TEXT}|{_FROM_ENVIRONMENT}|({_NAME}|\d++))"
# `name=VALUE`, `name: str = VALUE`, `"name": VALUE`; no comparison.
_GIVEN = re.compile(rf"(?<!\w)({_NAME})(?:[\"']\s*+:|\s*+(?::\s*+\w++\s*+)?=(?!=))\s*+{_VALUE}")
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
_LOADED = re.compile(rf"(?<!\w)(?:load\w*+|restore|from_pretrained)\(\s*+({_NAME})(?![\w.(=])")
_SAVED = re.compile(rf"save\w{{0,32}}+\(({_GIVEN_TO})")
_RECEIVER = re.compile(rf"({_NAME})\Z")
_IMPORTS = re.compile(r"^[ \t]*+(?:import|from)[ \t]", re.MULTILINE)
# `args.out` is an option of its own, and a name that more is put behind leads where that is put.
_OPTIONS = r"(?:args|opt|opts|options|flags|FLAGS|cli_args|parsed)"
_ARGUMENT = re.compile(rf"{_TEXT}|(?<![\w.])({_OPTIONS}\.\w++)(?![\w(.=])|(?<![\w.])({_NAME})(?![\w(.=])")
_GOES_ON = re.compile(r"\s*+[+/]\s*+[rRfF]?[\"']")
# Texts stay, and with them what is filled into them.
_WITHOUT_DICTS = re.compile(
    r"(\"[^\"\n]*+\"|'[^'\n]*+')|\{(?:[^{}\"']|\"[^\"\n]*+\"|'[^'\n]*+')*+(?:\}|\Z)"
    r"|(?<!\w)dict\((?:[^()]|\([^()]*+\))*+\)"
)
# From the end of a name to the text behind it.
_PUT_BEHIND = re.compile(r"\s*+[+/,]\s*+[rRbBfFuU]{0,2}+[\"']")
_JOINED = re.compile(r"(?:join|Path)\(\s*+\Z")
_DEFAULT = re.compile(r"(add_argument|option)\(\s*+([^()]{1,512}+)")
_DECLARED = re.compile(r"[\"']--?([A-Za-z][\w-]*+)[\"']")
# `flags.DEFINE_string("out", "/ckpt", "where to")`
_DEFINED = re.compile(rf"DEFINE_\w++\(\s*+[\"'](\w++)[\"']\s*+,\s*+(?:default\s*+=\s*+)?{_TEXT}")
_ITS_NAME = re.compile(r"(?<!\w)dest\s*+=\s*+[\"'](\w++)[\"']")
_ITS_DEFAULT = re.compile(rf"(?<!\w)default\s*+=\s*+{_TEXT}")
_NAMES = re.compile(rf"(?<!\w){_NAME}")
_FILLED_IN = re.compile(r"\{([^{}]*+)\}")
_FILE = re.compile(r"\.[A-Za-z]\w{0,11}\Z")
_PLACES = ("dir", "path", "folder", "root", "bucket")
# Who gives more names, or saves at more places, is nobody.
_MOST = 256
_LONGEST_CALL = 512
_MOST_ARGUMENTS = 32
_BRACKET = re.compile(r"[()]")
_NO_OPTIONS: Mapping[str, str] = MappingProxyType({})
_SAVES = Meaning(role="output")
_SWITCHED = Meaning(role="switch")
_UPLOADS = Meaning(role="upload")
_LONGEST_NAME = 64


def cost_of(text: str, signs: Signs) -> int:
    """What it costs to read what a text says about saving, beside searching through it."""
    assigned = min(text.count("=") + text.count(":"), 2 * _MOST)
    return WORD * assigned + SAVE_CALL * min(sum(map(text.count, signs.checkpoint.calls)), _MOST)


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
    known.update(_of_options(text, given))
    kept: list[str] = []
    left = _MOST
    for call in signs.checkpoint.calls:
        at = text.find(call)
        while at >= 0 and left:
            left -= 1
            if call[0] == "." and _is_aside(text, at, signs):
                at = text.find(call, at + len(call))
                continue
            place = _first_place(_arguments(text, at + len(call)), known)
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
            told = [value for value, _ in _told(_arguments(text, at + len(call)), known)]
            carried = [value.removeprefix("./").rstrip("/") in saved for value in told]
            if call in signs.checkpoint.copy_calls:
                if len(told) > 1 and carried[0] and _is_place(told[1]):
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
            names.difference_update(_NAMES.findall(_arguments(text, at + len(piece))))
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
    return meaning if named or _is_place(value) else None


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
    filled = _FILLED_IN.sub(lambda name: known.get(name.group(1)) or "${" + name.group(1) + "}", text[:MAX_NAME])
    return filled[:LONGEST_PATH]


def _arguments(text: str, start: int) -> str:
    """The text from ``start`` to where the call that is open there ends."""
    depth = 1
    for bracket in _BRACKET.finditer(text, start, start + _LONGEST_CALL):
        depth += 1 if bracket.group() == "(" else -1
        if not depth:
            return text[start : bracket.start()]
    return text[start : start + _LONGEST_CALL]


def _of_options(text: str, given: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """``.NAME``, as behind ``args``, of each option that a text declares, with what it is given, or else its default."""
    for flag in islice(_DEFINED.finditer(text), _MOST):
        name, double, single = flag.groups()
        yield f".{name}", given.get(option_name(name), double if double is not None else single or "")[:MAX_NAME]
    for call in islice(_DEFAULT.finditer(text), _MOST):
        by, declared = call.groups()
        names = _DECLARED.findall(declared)
        if not names:
            continue
        own, default = _ITS_NAME.search(declared), _ITS_DEFAULT.search(declared)
        value = next((given[name] for name in map(option_name, names) if name in given), None)
        if value is None and default is not None:
            value = default.group(1) if default.group(1) is not None else default.group(2)
        if value is not None:
            name = own.group(1) if own is not None else max(names, key=len).replace("-", "_")
            yield f".{name}", value[:MAX_NAME]
            if by == "option" and f"{name} = " not in text:
                # click hands it over by its bare name.
                yield name, value[:MAX_NAME]


def _first_place(arguments: str, known: Mapping[str, str]) -> str | None:
    """Where a call writes by its arguments; a placeholder where only a name leads there whose value nothing tells."""
    leading = ""
    for value, whole in _told(arguments, known):
        if whole and _is_place(value):
            return value
        leading = leading or ("" if whole else value)
    return leading or None


def _told(arguments: str, known: Mapping[str, str]) -> Iterator[tuple[str, bool]]:
    """The texts among the arguments of a call, and what is known of its names; False where a name is not known.

    What is put behind a name belongs to it: ``out + "/last.pt"``. What stands in a dict is what is saved.
    """
    arguments = _WITHOUT_DICTS.sub(_kept, _WITHOUT_DICTS.sub(_kept, arguments))
    pending: str | None = None
    behind = -1
    for argument in islice(_ARGUMENT.finditer(arguments), _MOST_ARGUMENTS):
        double, single, option, name = argument.groups()
        text = "" if option or name else _filled(double if double is not None else single or "", known)
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


def _leads(name: re.Match[str], arguments: str) -> bool:
    """Whether more is put behind a name: ``out + "/last.pt"``, ``os.path.join(out, "last.pt")``."""
    return (
        _GOES_ON.match(arguments, name.end()) is not None
        or _JOINED.search(arguments, max(0, name.start() - _LONGEST_NAME), name.start()) is not None
    )


def _is_place(value: str) -> bool:
    return ("/" in value or value[:2] == "$(" or _FILE.search(value) is not None) and " " not in value.strip()
