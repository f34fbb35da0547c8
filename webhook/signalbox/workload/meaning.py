"""What an option or variable means to the judgements, worked out once for each name that is met."""

from typing import Literal, NamedTuple

from signalbox.workload.judgement import TRAINING_TYPES
from signalbox.workload.saving_role import Role, role_of
from signalbox.workload.saving_signs import ResumeSigns
from signalbox.workload.signs import Signs
from signalbox.workload.vocabulary import MAX_NAME, Saying, name_words, option_name

ReadBack = Literal["resume", "load", "anew", ""]

_MOST_REMEMBERED = 8192
# `--eval-only`, `--no-train`
_ALONE = frozenset({"only", "no", "skip"})


class Meaning(NamedTuple):
    """One name.

    ``type`` and ``framework`` it speaks for; whether it selects one of a program's works (``selects``; by ``choice`` only if
    its value is the plain name of one) or turns one on (``switch``), and nothing beside it (``alone``); the type whose name it
    bears out (``hint``), or says beside another such (``pair``); whether it names the model that is trained further (``base``),
    or says how one is tuned or loaded (``adapter``); whether it says how many processes a launcher starts (``counts``) or how
    Pods meet (``meets``); its ``role`` in saving, the frameworks whose programs write there
    whatever else is said (``written_by``), whether such a folder holds what is read as well (``root``), and whether only the
    words of the name say the role (``role_by_words``); what it says of reading a checkpoint back (``reads_back``).
    """

    type: Saying | None = None
    framework: Saying | None = None
    selects: bool = False
    counts: bool = False
    meets: bool = False
    role: Role = ""
    written_by: frozenset[str] = frozenset()
    choice: bool = False
    switch: Saying | None = None
    reads_back: ReadBack = ""
    several_words: bool = False
    alone: bool = False
    root: bool = False
    hint: Saying | None = None
    base: bool = False
    pair: Saying | None = None
    adapter: Saying | None = None
    role_by_words: bool = False


def meaning_of(name: str, signs: Signs) -> Meaning | None:
    """The meaning of an option or variable as it is written; None where it has none."""
    known = signs.meanings
    if name in known:
        return known[name]
    if len(name) > MAX_NAME:
        # Not worked out, nor remembered: thousands of such names would fill the memory.
        return None
    if len(known) > _MOST_REMEMBERED:
        known.clear()
    meaning = known[name] = _work_out(name, signs)
    return meaning


def meaning_below(parent: str, key: str, signs: Signs) -> Meaning | None:
    """The meaning of a key in a document; a place in it belongs to what it stands below (``logging.output_dir``)."""
    meaning = meaning_of(key, signs)
    if meaning is not None and parent and meaning.base:
        # `{"reward": {"pretrained_model": …}}` is a model that scores.
        meaning = meaning._replace(base=False)
    if meaning is None or not parent or meaning.role in ("", "frequency", "switch"):
        return meaning
    below = meaning_of(f"{parent}.{key}", signs)
    return meaning if below is not None and below.role else meaning._replace(role="", root=False)


def _work_out(name: str, signs: Signs) -> Meaning | None:
    whole = option_name(name)
    last = whole.rpartition(".")[2]
    role, by_words = role_of(name, whole, last, signs.checkpoint)
    meaning = Meaning(
        type=signs.types.arguments.get(last),
        framework=signs.frameworks.arguments.get(whole),
        selects=last in signs.commands.selectors,
        counts=whole in signs.distributed.processes,
        meets=last in signs.distributed.arguments,
        role=role,
        role_by_words=by_words,
        written_by=signs.checkpoint.outputs_of.get(last, frozenset()),
        choice=last in signs.commands.choices,
        switch=signs.types.switches.get(last),
        reads_back=_reads_back(name, whole, last, signs.resume),
        root=whole in signs.checkpoint.roots or last in signs.checkpoint.roots,
        hint=signs.types.hints.get(last),
        base=whole in signs.types.bases,
        pair=signs.types.pairs.get(last),
        adapter=signs.types.adapters.get(last),
    )
    if meaning.pair is None and "." in whole and (group := signs.types.words.get(whole.partition(".")[0])) is not None:
        # `trainer.devices=1`: a setting in a group that is named for training.
        meaning = meaning._replace(pair=group if group.says in TRAINING_TYPES else None)
    if not any(meaning):
        return None
    words = last.split("_")
    return meaning._replace(several_words=len(words) > 1, alone=not _ALONE.isdisjoint(words))


def _reads_back(name: str, whole: str, last: str, signs: ResumeSigns) -> ReadBack:
    if whole in signs.anew or last in signs.anew:
        return "anew"
    words = name_words(name)
    if not signs.never.isdisjoint(words):
        return ""
    if whole in signs.options or last in signs.options or not signs.words.isdisjoint(words):
        return "anew" if words[0] == "no" else "resume"
    return "load" if whole in signs.loads or last in signs.loads else ""
