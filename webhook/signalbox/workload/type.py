"""Type: what kind of AI work this is.

In a Pod the containers that hold accelerators speak, each by what it runs (see ``weighing``). Where none of them says
anything, the kind does, or the object it names.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from signalbox.fieldpath import Path, value_at
from signalbox.workload.borne_out import called_tuned, tuned
from signalbox.workload.code_says import beside_in_code
from signalbox.workload.containers import TOO_LONG, ContainerView
from signalbox.workload.distributed import is_called_distributed
from signalbox.workload.judgement import TYPES, Evidence, Judgement
from signalbox.workload.labels import TYPE_LABEL
from signalbox.workload.may_work import does_another, may_work
from signalbox.workload.naming import read_name
from signalbox.workload.said import PRECEDENCE, Said, Strength
from signalbox.workload.signs import Signs
from signalbox.workload.vocabulary import Saying
from signalbox.workload.weighing import Heard, decide, weigh

if TYPE_CHECKING:
    from signalbox.workload.view import WorkloadView

# More of the same says nothing new.
_MAX_EVIDENCE = 16
# To copy and to list are that as well.
_WHATEVER_RUNS = "data-processing"


def judge_type(view: "WorkloadView") -> Judgement:
    """One of TYPES, or None where the evidence is thin. The user's label wins."""
    declared, path = view.user_label(TYPE_LABEL)
    if declared in TYPES:
        return Judgement(declared, (Evidence(path, declared),), declared=True)
    return infer_type(view)


def infer_type(view: "WorkloadView") -> Judgement:
    """The type as it would be without the user's label."""
    kind = view.acts_as
    if kind.type is not None and kind.type_decides:
        return Judgement(kind.type, (_made_for(view),))
    best: Said | None = None
    by: ContainerView | None = None
    taken_back = False
    speakers = _speakers(view)
    decided = [(container, decide(container, view)) for container in speakers]
    served = kind.runs == "forever" and any(_is_served(container, one.said, view.signs) for container, one in decided)
    for container, (said, _, by_name) in decided:
        taken_back = taken_back or by_name
        if served and container.role == "init" and said is not None and said.trains:
            # What prepares a server is not what the whole is for.
            continue
        if said is not None and (best is None or _order(said) < _order(best)):
            best, by = said, container
    if best is None and kind.named_by is not None:
        best = _by_reference(view, kind.named_by)
    if best is not None:
        state, evidence = best.saying.says, best.evidence
    elif (made_for := _meant_for(view)) is not None and (made_for == _WHATEVER_RUNS or _leave_it_open(speakers, view.signs)):
        state, evidence = made_for, _made_for(view)
    elif not taken_back and (best := _beside(speakers, view)) is not None:
        state, evidence = best.saying.says, best.evidence
    else:
        return Judgement(None, _left_out(speakers), thin=taken_back)
    thin = taken_back or (_is_thin(best) and not _bears_out(view, best, speakers))
    if state == "batch-inference" and kind.runs == "forever":
        # What runs a model and never ends serves it.
        state = "inference"
    if state == "training" and by is not None:
        # That a model is there already is often told by names alone: the program is the same.
        if (more := tuned(by, view.signs)) is not None:
            return Judgement("fine-tuning", (evidence, more), thin=thin)
        if (more := called_tuned(by, view)) is not None:
            return Judgement("fine-tuning", (evidence, more), thin=True)
    if state == "training" and view.distributed:
        state = "distributed-training"
        thin = thin or is_called_distributed(view.distributed_by)
    return Judgement(state, (evidence,), thin=thin)


def heard(view: "WorkloadView") -> Iterator[Heard]:
    """Every sign there is, in the order in which containers and their signs are asked; some come twice.

    The judgement stops asking where it has its answer; this is for a person who wants to know what was outvoted.
    """
    speakers = _speakers(view)
    for container in view.containers:
        outdone = "" if container in speakers else "stands beside the container with the accelerators"
        for one in weigh(container, view):
            yield one._replace(outdone=outdone or one.outdone)
    beside = _beside(speakers, view)
    if beside is not None:
        yield Heard(beside)
    kind = view.acts_as
    referred = None if kind.named_by is None else _by_reference(view, kind.named_by)
    if referred is not None:
        yield Heard(referred)
    if (made_for := _meant_for(view)) is not None:
        evidence = _made_for(view)
        yield Heard(Said(Saying(made_for, evidence.note), evidence, Strength.WEAK))


def _is_served(container: ContainerView, said: Said | None, signs: Signs) -> bool:
    """Whether a container plainly serves: by what it runs, or because somebody asks it over HTTP."""
    if container.role != "container" or not container.accelerated or said is None or said.saying.says != "inference":
        return False
    return said.strength >= Strength.NAMED or container.probe is not None


def _order(said: Said) -> tuple[bool, int]:
    return said.strength is Strength.CALLED, PRECEDENCE[said.saying.says]


def _is_thin(said: Said | None) -> bool:
    return said is not None and said.strength is Strength.CALLED


def _bears_out(view: "WorkloadView", said: Said | None, speakers: list[ContainerView]) -> bool:
    """Whether the kind is made for what is likely anyhow: under any name it would be taken for no other."""
    says = said.saying.says if said is not None else ""
    return says == "training" and _meant_for(view) == says and _leave_it_open(speakers, view.signs)


def _left_out(speakers: list[ContainerView]) -> tuple[Evidence, ...]:
    """Why nothing is said, where it is for what could not be read: that must not pass for plainly nothing."""
    return tuple([Evidence(container.path, "", TOO_LONG) for container in speakers if container.unread][:_MAX_EVIDENCE])


def _by_reference(view: "WorkloadView", field: Path) -> Said | None:
    name = value_at(view.object, field)
    saying = read_name(name, view.signs).saying if isinstance(name, str) else None
    if saying is None or saying.general:
        return None
    return Said(saying, Evidence(field, name, saying.reason), Strength.WEAK)


def _beside(speakers: list[ContainerView], view: "WorkloadView") -> Said | None:
    """What the program texts of what ends do beside other work, where nothing else says what it is."""
    if view.acts_as.runs not in ("once", "schedule"):
        return None
    found = (beside_in_code(container, view.signs) for container in speakers if not container.unread)
    return next((said for said in found if said is not None), None)


def _meant_for(view: "WorkloadView") -> str | None:
    """What its kind is made for: that of the object it wraps before its own."""
    return view.acts_as.type or view.kind.type


def _made_for(view: "WorkloadView") -> Evidence:
    return Evidence(("kind",), view.kind.kind, f"made for {_meant_for(view)}")


def _leave_it_open(speakers: list[ContainerView], signs: Signs) -> bool:
    """Whether something is run that may be what the kind is made for: `sleep`, other tools and `extract.py` are not."""
    return not speakers or any(may_work(container, signs) and not does_another(container, signs) for container in speakers)


def _speakers(view: "WorkloadView") -> list[ContainerView]:
    """The containers whose work is the workload's.

    Beside one with accelerators a helper of the same Pod says nothing; a template without accelerators may be the one
    that starts the run (an MPI launcher).
    """
    containers = [container for container in view.containers if container.speaks]
    accelerated = [container for container in containers if container.accelerated]
    if all(container.role == "init" for container in accelerated):
        # What only prepares is not the work by that alone.
        return containers
    paths = {container.template.path for container in accelerated}
    return accelerated + [container for container in containers if container.template.path not in paths]
