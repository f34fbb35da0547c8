"""Whether one program is told to save nothing: ``--no-save``, ``save=False``, ``save_freq=-1``.

A setting of something else that is zero says nothing (``--save_image_every 0``, ``--checkpoint_step 0``, what Redis saves): of
a frequency every word must be one of saving and how often.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from signalbox.workload.signs import Signs
from signalbox.workload.vocabulary import MAX_NAME, name_words, option_name

if TYPE_CHECKING:
    from signalbox.workload.saving import Setting

NOTHING_SAVED = "nothing is saved"
ON_THE_WAY = f"{NOTHING_SAVED} on the way"
_SWITCHED_OFF = ("0", "-1", "no", "false", "none", "off", "never", "null", "")
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_FILLERS = frozenset({"per", "by", "model", "models"})
# A frequency beside others that may save all the same: fairseq saves each epoch though `--save-interval-updates 0`.
_BESIDE = frozenset({"updates"})
# Which of them is read, in Megatron and its like: `--ckpt-step 400`.
_WHICH = "step"


def is_off(value: str) -> bool:
    """Whether a value turns something off, with the unit it may have: ``0ep``, ``-1``, ``none``."""
    value = value.lower()
    return value in _SWITCHED_OFF or value.rstrip(_LETTERS) in ("0", "-1")


def turned_off(settings: "Iterable[Setting]", signs: Signs) -> "tuple[Setting, str] | None":
    """The setting by which nothing is saved, and what it says in words; None where something is."""
    never: tuple[Setting, str] | None = None
    often = False
    for setting in settings:
        meaning, value, _, seen = setting
        role, off = meaning.role, is_off(value)
        name = seen.value[:MAX_NAME].partition("=")[0].partition(" ")[0]
        if role == "unsaved" and not off:
            return setting, NOTHING_SAVED
        if role == "switch" and "/" not in value:
            if off:
                return setting, NOTHING_SAVED
            # `--save_strategy epoch`
            often = often or "strategy" in name_words(name)
        elif role == "output" and value.lower() == "false" and option_name(name) == "save":
            return setting, NOTHING_SAVED
        elif role == "frequency":
            often = often or not off
            if off and never is None and _is_of_saving(name, signs):
                never = setting, ON_THE_WAY
    return None if often else never


def _is_of_saving(name: str, signs: Signs) -> bool:
    words = name_words(name.rpartition(".")[2])
    known = signs.checkpoint
    says = (known.saving | known.subjects | known.frequency | _FILLERS) - _BESIDE
    return says.issuperset(words) and (words[-1] != _WHICH or not known.saving.isdisjoint(words))
