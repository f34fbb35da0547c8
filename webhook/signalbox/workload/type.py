"""Type: what kind of AI work this is.

The containers that hold accelerators speak first, each by what it runs (see ``weighing``). Where none of them says
anything, the kind does, or the object it names.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from signalbox.fieldpath import Path, value_at
from signalbox.workload.command import program_name
from signalbox.workload.containers import TOO_LONG, ContainerView
from signalbox.workload.distributed import is_distributed as is_distributed
from signalbox.workload.judgement import TYPES, Evidence, Judgement
from signalbox.workload.kinds.kind import members
from signalbox.workload.labels import TYPE_LABEL
from signalbox.workload.naming import named
from signalbox.workload.said import Said, Strength
from signalbox.workload.signs import Signs
from signalbox.workload.vocabulary import MAX_NAME, Saying, name_words
from signalbox.workload.weighing import PRECEDENCE, Heard, decide, weigh

if TYPE_CHECKING:
    from signalbox.workload.view import WorkloadView

# More of the same says nothing new.
_MAX_EVIDENCE = 16


def judge_type(view: "WorkloadView") -> Judgement:
    """One of TYPES, or None where the evidence is thin. The user's label wins."""
    declared = view.user_label(TYPE_LABEL)
    if declared in TYPES:
        return Judgement(declared, (Evidence(view.label_path(TYPE_LABEL), declared),), declared=True)
    return infer_type(view)


def infer_type(view: "WorkloadView") -> Judgement:
    """The type as it would be without the user's label."""
    kind = view.acts_as
    if kind.type is not None and kind.type_decides:
        return Judgement(kind.type, (_made_for(view),))
    best: Said | None = None
    speakers = _speakers(view)
    for container in speakers:
        said = decide(container, view).said
        if said is not None and (best is None or PRECEDENCE[said.saying.says] < PRECEDENCE[best.saying.says]):
            best = said
    if best is None and kind.named_by is not None:
        best = _by_reference(view, kind.named_by)
    if best is not None:
        state, evidence = best.saying.says, best.evidence
    elif kind.type is not None and _leave_it_open(speakers, view.signs):
        state, evidence = kind.type, _made_for(view)
    else:
        return Judgement(None, _left_out(speakers))
    if state == "batch-inference" and kind.runs == "forever":
        # What runs a model and never ends serves it.
        state = "inference"
    if state == "training" and view.distributed:
        state = "distributed-training"
    return Judgement(state, (evidence,))


def heard(view: "WorkloadView") -> Iterator[Heard]:
    """Every sign there is, in the order in which containers and their signs are asked; some come twice.

    The judgement stops asking where it has its answer; this is for a person who wants to know what was outvoted.
    """
    speakers = _speakers(view)
    for container in view.containers:
        outdone = "" if container in speakers else "stands beside the container with the accelerators"
        for one in weigh(container, view):
            yield one._replace(outdone=outdone or one.outdone)
    kind = view.acts_as
    referred = None if kind.named_by is None else _by_reference(view, kind.named_by)
    if referred is not None:
        yield Heard(referred)
    if kind.type is not None:
        made_for = _made_for(view)
        yield Heard(Said(Saying(kind.type, made_for.note), made_for, Strength.WEAK))


def _left_out(speakers: list[ContainerView]) -> tuple[Evidence, ...]:
    """Why nothing is said, where it is for what could not be read: that must not pass for plainly nothing."""
    return tuple([Evidence(container.path, "", TOO_LONG) for container in speakers if container.unread][:_MAX_EVIDENCE])


def _by_reference(view: "WorkloadView", field: Path) -> Said | None:
    name = value_at(view.object, field)
    saying = named(name, view.signs).saying if isinstance(name, str) else None
    if saying is None or saying.general:
        return None
    return Said(saying, Evidence(field, name, saying.reason), Strength.WEAK)


def _made_for(view: "WorkloadView") -> Evidence:
    return Evidence(("kind",), view.kind.kind, f"made for {view.acts_as.type}")


def _leave_it_open(speakers: list[ContainerView], signs: Signs) -> bool:
    """Whether something is run that may be what the kind is made for: `sleep` and other tools are not."""
    return not speakers or any(_may_work(container, signs) for container in speakers)


def _may_work(container: ContainerView, signs: Signs) -> bool:
    if not container.started:
        # A command that starts nothing only says something: `echo hello`.
        return container.unread or not (members(container.body.get("command")) or members(container.body.get("args")))
    for started in container.started:
        target = started.target
        if target is None or (target.role == "program" and target.name in signs.commands.utilities):
            continue
        if target.role == "code" or not _only_looks(target.name, signs):
            return True
    return False


def _only_looks(name: str, signs: Signs) -> bool:
    """Whether a name says that it only looks whether something works: `run_check`, `hello.py`."""
    file = program_name(name[-MAX_NAME:])
    words = name_words(file.rpartition(".")[0] or file)
    return bool(words) and (words[0] in signs.names.looks or words[-1] in signs.names.looks)


def _speakers(view: "WorkloadView") -> list[ContainerView]:
    """The containers whose work is the workload's.

    Beside one with accelerators a helper of the same Pod says nothing; a template without accelerators may be the one
    that starts the run (an MPI launcher).
    """
    containers = view.containers
    accelerated = [container for container in containers if container.accelerated]
    if not accelerated:
        return list(containers)
    paths = {container.template.path for container in accelerated}
    return accelerated + [container for container in containers if container.template.path not in paths]
