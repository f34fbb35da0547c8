"""One sign of a type that was met, and how much it can bear."""

from enum import IntEnum
from typing import Literal, NamedTuple

from signalbox.fieldpath import Path
from signalbox.workload.judgement import TRAINING_TYPES, Evidence
from signalbox.workload.started import Started
from signalbox.workload.vocabulary import Saying


class Strength(IntEnum):
    """How much a sign can bear: a known program, a script's or module's name, anything else; last what it is called."""

    CALLED = 0
    WEAK = 1
    NAMED = 2
    KNOWN = 3


# What one container runs in turn, and what several do side by side: the first of these that was found is the whole.
PRECEDENCE = {
    "fine-tuning": 0,
    "training": 1,
    "inference": 2,
    "interactive": 3,
    "evaluation": 4,
    "benchmark": 5,
    "batch-inference": 6,
    "data-processing": 7,
}

Source = Literal["variable", "image", "name", ""]
"""Where a sign was met, if that matters: in environment variables, in the image, in what object or container are called."""


class Said(NamedTuple):
    """One sign that was met.

    ``backed``: a launcher or an option of training stands beside it. ``order``: it is nothing but the order to train,
    ``ordered``: it begins with one.
    """

    saying: Saying
    evidence: Evidence
    strength: Strength
    background: bool = False
    backed: bool = False
    order: bool = False
    source: Source = ""
    ordered: bool = False

    @property
    def trains(self) -> bool:
        """Whether it speaks for training."""
        return self.saying.says in TRAINING_TYPES


def said_by(
    saying: Saying,
    path: Path,
    shown: str,
    started: Started,
    strength: Strength = Strength.KNOWN,
    backed: bool = False,
    order: bool = False,
    ordered: bool = False,
) -> Said:
    """A sign in what a program is started with: where, and how it is shown to people."""
    evidence = Evidence(path, shown, saying.reason)
    source: Source = "variable" if started.told else ""
    return Said(saying, evidence, strength, started.invocation.background, backed, order, source, ordered)
