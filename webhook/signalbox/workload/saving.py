"""What a container says about saving: options and variables of the programs that train, and the text of inline programs."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from signalbox.workload.container_paths import LONGEST_PATH
from signalbox.workload.judgement import Evidence
from signalbox.workload.meaning import Meaning, meaning_of
from signalbox.workload.program_text import saved_in, set_in
from signalbox.workload.saving_off import SavingOff, said_of_saving
from signalbox.workload.signs import Signs
from signalbox.workload.started import Started
from signalbox.workload.vocabulary import MAX_NAME, option_name

if TYPE_CHECKING:
    from signalbox.fieldpath import Path
    from signalbox.workload.containers import ContainerView

_NO_PLACE = re.compile(r"(?:true|false|yes|no|none|null|auto|[-+]?\d++(?:\.\d*+)?(?:e[-+]?\d++)?)\Z", re.IGNORECASE)
_CONFIGURATION_FILE = re.compile(r"[^\s=]+\.(?:ya?ml|json|toml|gin|cfg)\Z", re.IGNORECASE)
_SETTING = re.compile(r"[A-Za-z_][\w.]*+=")
_A_FILE = Meaning(role="configuration")
_OFF = Meaning(role="off")
_ON_THE_WAY = Meaning(role="off-on-the-way")
_OWN_PROGRAMS = ("script", "code")
_DECLARES = ("add_argument(", "option(", "DEFINE_")
# Who gives more options does not mean each of them.
_MOST_GIVEN = 1024
# Folders that a script leaves by `pushd` and comes back to.
_MOST_LEFT = 16
_WITHOUT_PLACE = ("frequency", "switch", "configuration", "upload", "made-model", "unsaved", "store-type")
_NO_VARIABLES = ("", "configuration", "output-by-path")
# Another option than `-c`; what it is given by that name is a configuration all the same.
_CAPITAL_C = "-C"
# Before a folder it says that a run writes there, whatever stands in front of it.
_OUTPUT = "_OUTPUT_"
_ASSIGNS = ("export", "declare", "readonly")


class Setting(NamedTuple):
    """What one option, variable or line of a program says; a ``value`` that is a path is relative to ``folder``."""

    meaning: Meaning
    value: str
    folder: str
    seen: Evidence
    name: str = ""


_Told = tuple[Started, str, tuple[tuple[str, Setting], ...]]
"""A program, the folder it runs in, and what it is told by the names of its options."""


def saving_settings(container: "ContainerView", signs: Signs) -> Iterator[Setting]:
    """Every option and variable that speaks of saving, and every place that an inline program saves to.

    Of one name the last word counts: an option before an assignment in a script, and that before a variable of the Pod.
    """
    trains = {id(one) for one, said in zip(container.started, container.said, strict=True) if said is not None and said.trains}
    told = [
        (started, folder, tuple(_options(started, folder, signs, id(started) in trains)))
        for started, folder in that_may_train(container, signs)
    ]
    given = _given(told, trains)
    of_pod = list(_variables(container, given, signs))
    texts = {id(started): list(_in_text(started, folder, container, signs)) for started, folder, _ in told if started.whole}
    off = _turned_off(told, trains, texts, of_pod, signs)
    training = [id(one) for one, _, _ in told if id(one) in trains]
    if off and (not training or all(one in off for one in training)):
        # What other programs write is not what is trained.
        marks = list(off.values())
        silent = all(mark.meaning is _OFF for mark in marks)
        yield from marks
        if silent and (training or len(off) == sum(not _only_assigns(one) for one, _, _ in told)):
            return
    elif not told and (nothing := said_of_saving(of_pod, signs).off) is not None:
        yield _as_off(nothing)
        if not nothing.on_the_way:
            return
    yield from of_pod
    # An assignment speaks for what follows it, up to the next of that name.
    assigned: dict[str, Setting] = {}
    heard: set[str] = set()
    for started, _, options in told:
        if _only_assigns(started):
            for name, setting in options:
                if name in assigned and name in heard:
                    yield assigned[name]
                    heard.discard(name)
                assigned[name] = setting
        elif id(started) in off and off[id(started)].meaning is _OFF:
            continue
        else:
            heard.update(assigned)
            yield from dict(options).values()
        yield from texts.get(id(started), ())
    # Where no program follows, it may be the one that the script is handed (`exec "$@"`).
    yield from (setting for name, setting in assigned.items() if name in heard or not heard)


def _in_text(started: Started, folder: str, container: "ContainerView", signs: Signs) -> Iterator[Setting]:
    """What the text of a program says, or of a file that is written."""
    document = started.invocation.document
    text = started.code or document
    if text:
        yield from _of_text(saved_in(text, container.env, signs, _options_given(text, container)), started, folder)
    if document and not started.code:
        yield from _of_text(set_in(document, signs), started, folder)


def _options_given(text: str, container: "ContainerView") -> dict[str, str]:
    """The options that the container's own programs are given, where a text declares some: that of the training first.

    What prepares or measures may have options by the same names, as may any tool.
    """
    if not any(call in text for call in _DECLARES):
        return {}
    programs = [
        (said is None, started)
        for started, said in zip(container.started, container.said, strict=True)
        if started.target is not None and (said.trains if said is not None else started.target.role in _OWN_PROGRAMS)
    ]
    given: dict[str, str] = {}
    left = _MOST_GIVEN
    for _, started in sorted(programs, key=lambda one: one[0]):
        words = started.invocation.words[started.at + 1 :][:left]
        left -= len(words)
        for at, word in enumerate(words):
            if word[:1] == "-":
                name, equals, value = word.partition("=")
                given.setdefault(option_name(name[:MAX_NAME]), value if equals else "".join(words[at + 1 : at + 2]))
    return given


def _turned_off(
    told: Sequence[_Told], trains: set[int], texts: Mapping[int, list[Setting]], of_pod: list[Setting], signs: Signs
) -> dict[int, Setting]:
    """Which programs save nothing, by what turns that off: of their own options and texts, or of variables of the Pod."""
    # A file that is written may be what any of them is configured by.
    written = [setting for started, _, _ in told if started.invocation.document for setting in texts.get(id(started), ())]
    of_all = said_of_saving([*of_pod, *written], signs)
    found: dict[int, Setting] = {}
    for started, _, options in told:
        target = started.target
        if _only_assigns(started) or target is None or (target.role == "program" and id(started) not in trains):
            # Of another tool it turns something else off: `npm install --no-save`.
            continue
        text = texts.get(id(started), ()) if target.role == "code" else ()
        if any("(" in setting.seen.value and setting.meaning.role != "upload" for setting in text):
            # It saves by a call of its own, whatever its framework is told.
            continue
        nothing = said_of_saving([*dict(options).values(), *text], signs, of_all).off
        if nothing is not None:
            found[id(started)] = _as_off(nothing)
    return found


def _as_off(off: SavingOff) -> Setting:
    value, seen = off.setting.value, off.setting.seen
    if off.on_the_way:
        return Setting(_ON_THE_WAY, value, "", Evidence(seen.path, seen.value, "nothing is saved on the way"))
    return Setting(_OFF, value, "", Evidence(seen.path, seen.value, "nothing is saved"))


def _variables(container: "ContainerView", given: set[str], signs: Signs) -> Iterator[Setting]:
    for index, name, entry in container.variables:
        meaning = meaning_of(name, signs)
        if (meaning is None or not meaning.role) and _OUTPUT in name:
            meaning = _after_its_name(name, container, signs) or meaning
        if meaning is None or meaning.role in _NO_VARIABLES or option_name(name) in given:
            continue
        role = meaning.role
        path: Path = container.place("env", index)
        value = container.env.get(name)
        if value is None and entry.get("valueFrom") is not None:
            yield Setting(meaning, "$(valueFrom)", "", Evidence(path, name), name)
        elif value is not None and (role in _WITHOUT_PLACE or not _NO_PLACE.match(value)):
            yield Setting(meaning, value, "", Evidence(path, f"{name}={value}"), name)


def _after_its_name(name: str, container: "ContainerView", signs: Signs) -> Meaning | None:
    """What a variable means that begins with the name of the script that trains: ``BIG_T5_OUTPUT_DIR`` of ``big_t5_sft.py``."""
    before, output, after = name[:MAX_NAME].partition(_OUTPUT)
    own, known = before.lower().split("_"), signs.checkpoint
    read = known.never | known.never_around | known.reads | known.mounts_never | known.mounts_of_data
    if not read.isdisjoint(own):
        return None
    meaning = meaning_of(f"{output}{after}".lstrip("_"), signs)
    if meaning is None or meaning.role != "output":
        return None
    scripts = [
        started.target.stem
        for started, said in zip(container.started, container.said, strict=True)
        if started.target and started.target.role == "script" and said is not None and said.trains
    ]
    words = [script[:MAX_NAME].lower().replace("-", "_").split("_") for script in scripts]
    return meaning if any(set(own).issubset(one) for one in words) else None


def _given(told: Sequence[_Told], trains: set[int]) -> set[str]:
    """The names that variables of the Pod do not speak for: a script assigns them, or what trains has them as options."""
    programs = [started for started, _, _ in told if not _only_assigns(started)]
    return {
        name
        for started, _, options in told
        for name, _ in options
        if _only_assigns(started) or id(started) in trains or len(programs) == 1
    }


def _only_assigns(started: Started) -> bool:
    return started.target is None or started.invocation.words[0] in _ASSIGNS


def that_may_train(container: "ContainerView", signs: Signs) -> Iterator[tuple[Started, str]]:
    """What may train of all that is started, with the folder it runs in; an assignment speaks for what follows it.

    A tool that is fed a text writes it to a file (``cat > train.py <<EOF``): a program, or the configuration of one.
    """
    folder = ""
    left: list[str] = []
    for started, said in zip(container.started, container.said, strict=True):
        target = started.target
        words = started.invocation.words
        if words[0] in ("cd", "pushd") and len(words) > 1:
            if words[0] == "pushd" and len(left) < _MOST_LEFT:
                left.append(folder)
            folder = words[1] if words[1].startswith("/") else f"{folder}/{words[1]}" if folder else ""
            folder = folder[:LONGEST_PATH]
            continue
        if words[0] == "popd":
            folder = left.pop() if left else ""
            continue
        if target is not None and words[0] not in _ASSIGNS:
            if target.role == "program" and target.name in signs.commands.utilities and not started.invocation.document:
                continue
            if said is not None and not said.trains:
                continue
        yield started, folder


def _options(started: Started, folder: str, signs: Signs, trains: bool) -> Iterator[tuple[str, Setting]]:
    """What a program is told, by the names of what tells it; of a file that nothing names, by the file."""
    words = started.invocation.words
    field = started.invocation.field
    for option in started.options:
        role, value = option.meaning.role, option.value
        if not role or (role == "configuration" and option.at < started.at):
            # The launcher's own configuration (`accelerate launch --config_file`) is about processes.
            continue
        if role in ("upload", "unsaved") and not option.joined and (not value or value[:2] == "--"):
            value = "true"
        if not value or (not option.joined and value[:2] == "--"):
            continue
        if role == "configuration" and _SETTING.match(value):
            # `--config train.fp16=true` sets what a file would hold.
            continue
        name, meaning = option_name(started.name_of(option)), option.meaning
        if name in signs.checkpoint.outputs_by_path and trains and option.at > started.at and _is_whole_path(value, signs):
            meaning = meaning._replace(role="output-by-path")
        elif role == "output-by-path":
            continue
        # `save=False` says something too.
        if role in _WITHOUT_PLACE or (role == "output" and value.lower() == "false") or not _NO_PLACE.match(value):
            yield name, Setting(meaning, value, folder, Evidence(field(option.at), started.shown(option)), name)
    for index in range(started.at + 1, len(words)):
        word, before = words[index], words[index - 1]
        # After an option it would be that option's value.
        if (
            "." in word
            and len(word) <= LONGEST_PATH
            and word[:1] != "-"
            and (before[:1] != "-" or "=" in before or before == _CAPITAL_C)
            and _CONFIGURATION_FILE.match(word)
        ):
            yield word, Setting(_A_FILE, word, folder, Evidence(field(index), word))


def _is_whole_path(value: str, signs: Signs) -> bool:
    """Whether it is a folder, or a file of a model: no settings (``-o Global.epoch_num=3``), log or ``owner/project``."""
    last = value.rpartition("/")[2]
    # `/ckpt/checkpoint-{epoch}.h5` is written each time.
    state = "." not in last or "{" in last or last.rpartition(".")[2].lower() in signs.checkpoint.files
    whole = value[:1] == "/" or ("://" in value and value[:4] != "http")
    return whole and state and "=" not in value and value[:5] != "/dev/"


def _of_text(found: Iterator[tuple[Meaning, str, str]], started: Started, folder: str) -> Iterator[Setting]:
    path = started.invocation.field(min(started.at, len(started.invocation.words) - 1))
    for meaning, value, shown in found:
        if meaning.role in _WITHOUT_PLACE or not _NO_PLACE.match(value):
            yield Setting(meaning, value, folder, Evidence(path, shown), shown.partition("=")[0])
