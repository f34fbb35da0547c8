"""Whether one program is told to save nothing: ``--no-save``, ``save=False``, ``save_freq=-1``.

A setting of something else that is zero says nothing (``--save_image_every 0``, ``--checkpoint_step 0``, what Redis saves): of
a frequency every word must be one of saving and how often.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from signalbox.quantity import is_placeholder
from signalbox.workload.signs import Signs
from signalbox.workload.switched import is_off
from signalbox.workload.vocabulary import MAX_NAME, name_words, option_name

if TYPE_CHECKING:
    from signalbox.workload.saving import Setting

# What is left empty, or to be filled in, turns nothing on or off.
_UNSAID = ("", "null", "~")
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_FILLERS = frozenset({"per", "by", "model", "models"})
# A frequency beside others that may save all the same: fairseq saves each epoch though `--save-interval-updates 0`.
_BESIDE = frozenset({"updates"})
# Which of them is read, in Megatron and its like: `--ckpt-step 400`.
_WHICH = "step"
# Groups of settings that are about the run; `viz.save_every` is not.
_GROUPS = frozenset({"", "trainer", "train", "training", "checkpoint", "checkpointing", "exp_manager", "saver"})


class SavingOff(NamedTuple):
    """The setting by which nothing is saved; ``on_the_way``: nothing before the end."""

    setting: "Setting"
    on_the_way: bool


def saves_nothing(value: str) -> bool:
    """Whether a value turns saving off, with the unit it may have: ``0ep``, ``-1``, ``none``."""
    return is_off(value) or value.lower().rstrip(_LETTERS) in ("0", "-1")


class SaidOfSaving(NamedTuple):
    """What settings say together. ``saves``: something is saved, whatever else they say."""

    saves: bool = False
    nothing: SavingOff | None = None
    never: SavingOff | None = None

    @property
    def off(self) -> SavingOff | None:
        """The setting by which nothing is saved, or nothing on the way; None where something is."""
        return None if self.saves else self.nothing or self.never


NOTHING_SAID = SaidOfSaving()


def said_of_saving(settings: "Iterable[Setting]", signs: Signs, before: SaidOfSaving = NOTHING_SAID) -> SaidOfSaving:
    """What settings say of saving beside what others ``before`` them said."""
    saves, nothing, never = before
    for setting in settings:
        if saves:
            break
        meaning, value, _, seen, _ = setting
        role, off = meaning.role, saves_nothing(value)
        name = seen.value[:MAX_NAME].partition("=")[0].partition(" ")[0]
        if value.lower() in _UNSAID or is_placeholder(value):
            continue
        if (role == "unsaved" and not off) or (role == "output" and value.lower() == "false" and option_name(name) == "save"):
            nothing = nothing or SavingOff(setting, on_the_way=False)
        elif role == "switch" and "/" not in value:
            # `--save_strategy epoch`; NeMo turns Lightning's own saving off and brings another.
            saves = not off
            nothing = nothing or SavingOff(setting, on_the_way=False)
        elif role == "frequency":
            saves = not off
            if never is None and _is_of_saving(name, signs):
                never = SavingOff(setting, on_the_way=True)
    return SaidOfSaving(saves, nothing, never)


def _is_of_saving(name: str, signs: Signs) -> bool:
    group, _, last = option_name(name).rpartition(".")
    if group not in _GROUPS:
        return False
    words = name_words(last)
    known = signs.checkpoint
    says = (known.saving | known.subjects | known.frequency | _FILLERS) - _BESIDE
    return says.issuperset(words) and (words[-1] != _WHICH or not known.saving.isdisjoint(words))
