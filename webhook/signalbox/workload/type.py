"""Type: what kind of AI work this is.

The containers that hold accelerators speak first, each by what it runs; its image speaks only where it runs nothing of
its own. Whatever answers HTTP for ever is no training, so thin signs of training beside a readiness probe say nothing.
"""

from typing import TYPE_CHECKING, Any

from signalbox.fieldpath import Path, value_at
from signalbox.workload.containers import ContainerView
from signalbox.workload.distributed import is_distributed as is_distributed
from signalbox.workload.judgement import TRAINING_TYPES, TYPES, Evidence, Judgement
from signalbox.workload.kinds.kind import mapping, members
from signalbox.workload.labels import TYPE_LABEL
from signalbox.workload.said import Said, Strength
from signalbox.workload.signs import Signs
from signalbox.workload.vocabulary import Saying, option_name

if TYPE_CHECKING:
    from signalbox.workload.view import WorkloadView

# What one container runs in turn, and what several do side by side: the first of these that was found is the whole.
_PRECEDENCE = {
    "fine-tuning": 0,
    "training": 1,
    "distributed-training": 1,
    "inference": 2,
    "interactive": 3,
    "evaluation": 4,
    "benchmark": 5,
    "batch-inference": 6,
    "data-processing": 7,
}
# Commands that only wait are short.
_MAX_IDLE = 16
_PROBES = ("readinessProbe", "livenessProbe", "startupProbe")
_ANSWERS = Saying("inference", "answers requests on accelerators", 10_000)
_SERVES_PORT = Saying("inference", "a port on accelerators that are held for ever", 10_000)
_NOTEBOOK_PORT = Saying("interactive", "the port of a notebook", 10_000)
_WAITS = Saying("interactive", "holds accelerators and waits for a person", 10_000)


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
        said = judge_container(container, view)
        if said is not None and (best is None or _PRECEDENCE[said.saying.says] < _PRECEDENCE[best.saying.says]):
            best = said
    if best is None and kind.named_by is not None:
        best = _by_reference(view, kind.named_by)
    if best is not None:
        state, evidence = best.saying.says, best.evidence
    elif kind.type is not None and _leave_it_open(speakers, view.signs):
        state, evidence = kind.type, _made_for(view)
    else:
        return Judgement(None)
    if state == "batch-inference" and kind.runs == "forever":
        # What runs a model and never ends serves it.
        state = "inference"
    if state == "training" and view.distributed:
        state = "distributed-training"
    return Judgement(state, (evidence,))


def _by_reference(view: "WorkloadView", field: Path) -> Said | None:
    name = value_at(view.object, field)
    saying = view.signs.types.of_name(name) if isinstance(name, str) else None
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
        return True
    for started in container.started:
        target = started.target
        if target is not None and not (target.role == "program" and target.name in signs.commands.utilities):
            return True
    return False


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


def judge_container(container: ContainerView, view: "WorkloadView") -> Said | None:
    """What one container's work is."""
    signs = view.signs
    forever = view.acts_as.runs == "forever"
    ends = view.acts_as.runs in ("once", "schedule")
    said = _by_commands(container)
    if container.unread and (said is None or not _stands(said)):
        # Whatever follows could only turn it into training, so nothing else is said of a program that was not read to
        # its end: evaluation in front of it excuses from no rule. Nor is it called training: a name that says nothing
        # hides as much.
        return None
    if said is None and not members(container.body.get("command")):
        said = _by_image(container, signs, ends)
    answers = _probe(container)
    if said is None and answers is None:
        said = _by_environment(container, signs)
    if said is not None and forever and said.strength is Strength.WEAK and said.saying.says in TRAINING_TYPES:
        # A service that takes orders to train is no training, nor is an image named for the training of people. A
        # script that trains may well report its health.
        thin = answers is not None or not container.accelerated or said.evidence.path[-1] == "image"
        return None if thin else said
    if said is None and answers is not None and container.accelerated:
        return Said(_ANSWERS, answers, Strength.WEAK)
    if said is None and container.accelerated and not ends:
        return _idle(container, signs) or (_by_port(container, signs) if forever else None)
    return said


def _by_commands(container: ContainerView) -> Said | None:
    best: Said | None = None
    for said in container.said:
        if said is None or (said.saying.general and not container.accelerated):
            continue
        if _serves(said):
            # It serves until it is stopped: whatever stood before it only prepared that.
            return said
        if best is None or _order(said) < _order(best):
            best = said
    return best


def _stands(said: Said) -> bool:
    """Whether a sign is not outdone by any that may follow it."""
    return said.saying.says in TRAINING_TYPES or _serves(said)


def _serves(said: Said) -> bool:
    return said.saying.says == "inference" and not said.background and said.strength is not Strength.WEAK


def _order(said: Said) -> int:
    # A server in the background is there for what runs in front of it.
    return 10 if said.background and said.saying.says == "inference" else _PRECEDENCE[said.saying.says]


def _by_image(container: ContainerView, signs: Signs, ends: bool) -> Said | None:
    """What the image says. Options alone are given to the image's own program, so it still speaks."""
    image = container.image
    if not image:
        return None
    saying = signs.types.of_image(image)
    if saying is None and not members(container.body.get("args")):
        repository = image.partition("@")[0].rpartition("/")[2].partition(":")[0]
        saying = signs.types.of_name(repository)
    # What a program is called may be general; an image of a Job is mostly named for what it comes from.
    if saying is None or (saying.general and (ends or not container.accelerated)):
        return None
    return Said(saying, Evidence((*container.path, "image"), image, saying.reason), Strength.WEAK)


def _by_environment(container: ContainerView, signs: Signs) -> Said | None:
    """Two settings that only such work has: one alone is thin."""
    best: Said | None = None
    met = 0
    for index, name, entry in container.variables:
        saying = signs.types.environment.get(option_name(name))
        if saying is None:
            continue
        met += 1
        if best is None or saying.rank < best.saying.rank:
            shown = f"{name}={_scalar(entry.get('value'))}"
            best = Said(saying, Evidence((*container.path, "env", index), shown, saying.reason), Strength.WEAK)
    return best if met > 1 else None


def _probe(container: ContainerView) -> Evidence | None:
    for probe in _PROBES:
        body = mapping(container.body.get(probe))
        for how in ("httpGet", "grpc"):
            if isinstance(body.get(how), dict):
                return Evidence((*container.path, probe, how), _probe_text(body[how]))
    return None


def _probe_text(action: dict[str, Any]) -> str:
    return f"{_scalar(action.get('path'))} on port {_scalar(action.get('port'))}".strip()


def _scalar(value: Any) -> str:
    """A value as text; a list or mapping, which may be nested too deeply to be shown, as none."""
    return "" if value is None or isinstance(value, dict | list) else str(value)


def _by_port(container: ContainerView, signs: Signs) -> Said | None:
    for index, entry in enumerate(members(container.body.get("ports"))):
        port = entry.get("containerPort") if isinstance(entry, dict) else None
        if not isinstance(port, int) or port in signs.ports.rendezvous:
            continue
        saying = _NOTEBOOK_PORT if port in signs.ports.interactive else _SERVES_PORT
        return Said(saying, Evidence((*container.path, "ports", index), str(port), saying.reason), Strength.WEAK)
    return None


def _idle(container: ContainerView, signs: Signs) -> Said | None:
    """``sleep infinity`` on accelerators."""
    for started in container.started:
        target = started.target
        if target is None or target.role != "program":
            continue
        words = started.invocation.words
        if len(words) <= _MAX_IDLE and " ".join((target.name, *words[target.at + 1 :])) in signs.commands.idle:
            evidence = Evidence(started.invocation.field(target.at), " ".join(words), _WAITS.reason)
            return Said(_WAITS, evidence, Strength.WEAK)
    return None
