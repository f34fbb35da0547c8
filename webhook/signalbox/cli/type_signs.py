"""Which signs spoke for which type: the one that decided, those that agree, and the outvoted."""

from dataclasses import dataclass

from signalbox.workload.judgement import TRAINING_TYPES, Evidence, Judgement
from signalbox.workload.said import Strength
from signalbox.workload.type import heard
from signalbox.workload.view import WorkloadView

DECIDES, AGREES, OUTVOTED = "decides", "agrees", "outvoted"
STRENGTHS = {
    Strength.KNOWN: "is known for {}",
    Strength.NAMED: "says {} by its name",
    Strength.WEAK: "hints at {}",
    Strength.CALLED: "may be {}",
}
"""How plainly a sign speaks, in words."""


@dataclass(frozen=True, slots=True)
class TypeSign:
    """One sign, and the ``reason`` its document gives; ``why`` it did not count, where its strength does not say it."""

    result: str
    says: str
    strength: Strength
    evidence: Evidence
    reason: str
    why: str = ""


def type_signs(view: WorkloadView, judged: Judgement) -> tuple[TypeSign, ...]:
    """Every sign in the manifest against the type that was inferred, the deciding one first, none twice."""
    found: dict[tuple[str, Evidence], TypeSign] = {}
    for one in heard(view):
        said = one.said
        key = (said.saying.says, said.evidence)
        if key in found:
            continue
        if judged.state is not None and said.evidence in judged.evidence:
            result, why = DECIDES, _turned(said.saying.says, judged)
        elif _same(said.saying.says, judged.state):
            result, why = AGREES, ""
        else:
            result, why = OUTVOTED, one.outdone or ("" if judged.state else "too thin by itself")
        found[key] = TypeSign(result, said.saying.says, said.strength, said.evidence, said.saying.reason.rstrip("."), why)
    order = (DECIDES, AGREES, OUTVOTED)
    return tuple(sorted(found.values(), key=lambda sign: order.index(sign.result)))


def _same(says: str, state: str | None) -> bool:
    return says == state or {says, state} == {"training", "distributed-training"}


def _turned(says: str, judged: Judgement) -> str:
    """Why the type is another than the sign says."""
    state = judged.state
    if says == state:
        return ""
    if state == "fine-tuning":
        _, model = judged.evidence
        return f"a model that exists is trained further ({model.value}), so it is {state}"
    if state in TRAINING_TYPES:
        return f"several processes work on one run, so it is {state}"
    return f"it never ends by itself, so it is {state}"
