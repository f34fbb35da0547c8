"""A judgement and the evidence it rests on."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from signalbox.fieldpath import Path, format_path

TRAINING_TYPES = frozenset({"distributed-training", "training", "fine-tuning"})
# What a single sign can say: that training is distributed is seen only from the whole workload.
SignedType = Literal[
    "training", "fine-tuning", "evaluation", "batch-inference", "data-processing", "benchmark", "interactive", "inference"
]
WorkloadType = Literal["distributed-training", SignedType]
TYPES: tuple[str, ...] = get_args(WorkloadType)
SPOT_STATES = ("demanded", "preferred", "permitted", "no")
CHECKPOINT_STATES = ("durable", "ephemeral", "none", "unknown")
RESUME_STATES = ("resumes", "starts-over", "unsaid", "unknown")


@dataclass(frozen=True, slots=True)
class Evidence:
    """One thing seen in the object: where, what, and what it means where that is not plain.

    ``path`` leads to the field; ``value`` is its text as found (not yet stripped of control characters); ``note`` is
    a short remark for people, without brackets.
    """

    path: Path
    value: str
    note: str = ""

    def as_json(self, root: Any) -> Mapping[str, str]:
        """``{path, value, note}`` with the path as text."""
        return {"path": format_path(self.path, root), "value": self.value, "note": self.note}


@dataclass(frozen=True, slots=True)
class Judgement:
    """What the workload was found to be (``state``), why, and whether the user said so with a label of ours.

    ``thin``: it rests on what somebody called it, which is enough to warn and to label, and not to refuse.
    ``finished_only``, of a checkpoint: all that is seen to be kept is the finished model. ``saving_off``: what tells the run
    to save nothing, or, where its outcome is kept, nothing before its end. ``copied_last``: what copies its outcome away once
    it is over, where nothing else is seen to outlive the Pod.
    """

    state: str | None
    evidence: tuple[Evidence, ...] = ()
    declared: bool = False
    thin: bool = False
    finished_only: bool = False
    saving_off: Evidence | None = None
    copied_last: Evidence | None = None
