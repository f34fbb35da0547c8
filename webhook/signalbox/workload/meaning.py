"""What an option or variable means to the judgements, worked out once for each name that is met."""

from typing import Literal, NamedTuple

from signalbox.workload.signs import CheckpointSigns, Signs
from signalbox.workload.vocabulary import MAX_NAME, Saying, name_words, option_name

Role = Literal["place", "bucket", "output", "output-when-saving", "frequency", "configuration", ""]

_MOST_REMEMBERED = 8192


class Meaning(NamedTuple):
    """One name.

    ``type`` and ``framework`` it speaks for; whether it selects one of a program's works (``selects``), says how many
    processes a launcher starts (``counts``) or how Pods meet (``meets``); its ``role`` in saving, and the frameworks whose
    programs write there whatever else is said (``written_by``).
    """

    type: Saying | None
    framework: Saying | None
    selects: bool
    counts: bool
    meets: bool
    role: Role
    written_by: frozenset[str] = frozenset()


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


def _work_out(name: str, signs: Signs) -> Meaning | None:
    whole = option_name(name)
    last = whole.rpartition(".")[2]
    meaning = Meaning(
        type=signs.types.arguments.get(last),
        framework=signs.frameworks.arguments.get(whole),
        selects=last in signs.commands.selectors,
        counts=whole in signs.distributed.processes,
        meets=last in signs.distributed.arguments,
        role=_role(name, whole, last, signs.checkpoint),
        written_by=signs.checkpoint.outputs_of.get(last, frozenset()),
    )
    return meaning if any(meaning) else None


def _role(name: str, whole: str, last: str, signs: CheckpointSigns) -> Role:
    words = set(name_words(name))
    if words & signs.never:
        return ""
    if whole in signs.configuration or last in signs.configuration:
        return "configuration"
    if words & (signs.saving | signs.subjects) and words & signs.frequency:
        return "frequency"
    if whole in signs.outputs or last in signs.outputs:
        return "output"
    if words & signs.subjects:
        if words & signs.buckets:
            return "bucket"
        if words & signs.places:
            return "place"
    if whole in signs.outputs_when_saving or last in signs.outputs_when_saving or last in signs.outputs_of:
        return "output-when-saving"
    return ""
