"""Type: what kind of AI work this is.

The containers that hold accelerators speak first, each by what it runs; its image speaks only where it runs nothing of
its own. Whatever answers HTTP for ever is no training, so thin signs of training beside a readiness probe say nothing.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from signalbox.fieldpath import Path, value_at
from signalbox.workload.containers import TOO_LONG, ContainerView
from signalbox.workload.distributed import is_distributed as is_distributed
from signalbox.workload.judgement import TYPES, Evidence, Judgement
from signalbox.workload.kinds.kind import members
from signalbox.workload.labels import TYPE_LABEL
from signalbox.workload.naming import named
from signalbox.workload.said import Said, Strength
from signalbox.workload.signs import Signs
from signalbox.workload.started import Started
from signalbox.workload.target import Target
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
# More of the same says nothing new.
_MAX_EVIDENCE = 16
# Commands that only wait are short.
_MAX_IDLE = 16
_LOOPS = ("while ", "until ", "for ", "trap ")
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
        return Judgement(None, _left_out(speakers))
    if state == "batch-inference" and kind.runs == "forever":
        # What runs a model and never ends serves it.
        state = "inference"
    if state == "training" and view.distributed:
        state = "distributed-training"
    return Judgement(state, (evidence,))


class Heard(NamedTuple):
    """One sign in the manifest. ``outdone``: why it has no say there, whatever others say."""

    said: Said
    outdone: str = ""


def heard(view: "WorkloadView") -> Iterator[Heard]:
    """Every sign there is, in the order in which containers and their signs are asked.

    The judgement stops asking where it has its answer; this is for a person who wants to know what was outvoted.
    """
    speakers = _speakers(view)
    for container in view.containers:
        outdone = "" if container in speakers else "stands beside the container with the accelerators"
        for one in _heard_in(container, view):
            yield one._replace(outdone=outdone or one.outdone)
    kind = view.acts_as
    referred = None if kind.named_by is None else _by_reference(view, kind.named_by)
    if referred is not None:
        yield Heard(referred)
    if kind.type is not None:
        made_for = _made_for(view)
        yield Heard(Said(Saying(kind.type, made_for.note), made_for, Strength.WEAK))


def _heard_in(container: ContainerView, view: "WorkloadView") -> Iterator[Heard]:
    signs, runs = view.signs, view.acts_as.runs
    ends = runs in ("once", "schedule") or container.role == "init"
    for said in container.said:
        if said is not None:
            yield Heard(said, TOO_LONG if container.unread and not said.trains else "")
    own = bool(members(container.body.get("command")))
    rest: list[Said | None] = [_by_environment(container, signs)]
    answers = _probe(container)
    if container.accelerated:
        rest += [None if answers is None else Said(_ANSWERS, answers, Strength.WEAK)]
        rest += [] if ends else _by_holding(container, signs, runs == "forever")
    image = _by_image(container, signs, ends)
    if image is not None:
        yield Heard(image, "the container has a command of its own" if own else "")
    if container.role != "init":
        yield from (Heard(said) for said in rest if said is not None)


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
    runs = view.acts_as.runs
    # An init container ends, whatever it prepares.
    ends = runs in ("once", "schedule") or container.role == "init"
    said = _by_commands(container, ends)
    if container.unread and (said is None or not said.trains):
        # Whatever follows could only turn it into training, so nothing else is said of a program that was not read to
        # its end: evaluation in front of it excuses from no rule. Nor is it called training: a name that says nothing
        # hides as much.
        return None
    if said is None and not members(container.body.get("command")):
        said = _by_image(container, signs, ends)
    if container.role == "init":
        return said
    answers = _probe(container)
    if said is None and answers is None:
        said = _by_environment(container, signs)
    if said is not None and said.trains and not ends and _is_doubtful(said, container, answers, runs == "forever", signs):
        said = None
        if answers is None:
            return None
    if said is None and answers is not None and container.accelerated:
        return Said(_ANSWERS, answers, Strength.WEAK)
    if said is None and container.accelerated and not ends:
        return next(_by_holding(container, signs, runs == "forever"), None)
    return said


def _by_holding(container: ContainerView, signs: Signs, forever: bool) -> Iterator[Said]:
    """What is told by holding accelerators where nothing is said of the work: it waits for a person, or for requests."""
    for said in (_idle(container, signs, forever), _by_port(container, signs) if forever else None):
        if said is not None:
            yield said


def _is_doubtful(said: Said, container: ContainerView, answers: Evidence | None, forever: bool, signs: Signs) -> bool:
    """Whether what runs until it is stopped is rather a service, though words of training stand in it.

    A service that takes orders to train is no training, nor is an image named for the training of people. A script that
    trains may well report its health.
    """
    if said.strength is Strength.KNOWN:
        return False
    serves = answers is not None or _by_port(container, signs) is not None
    if said.strength is Strength.WEAK:
        return serves or (forever and (not container.accelerated or said.evidence.path[-1] == "image"))
    if container.accelerated or said.backed:
        return False
    return serves or (forever and not said.order)


def _by_commands(container: ContainerView, ends: bool) -> Said | None:
    best: Said | None = None
    server: Said | None = None
    for said in container.said:
        if said is None:
            continue
        if _serves(said):
            server = said
            continue
        if said.trains and not said.background:
            # The script went on behind the server: that is not what it is for.
            server = None
        if best is None or _order(said) < _order(best):
            best = said
    if server is None or best is None or not best.trains:
        # It serves until it is stopped: whatever stood before it only prepared that.
        return server or best
    if server.strength is not Strength.KNOWN and not best.background:
        return best
    # A server that comes last in what is to end by itself is no reason to overlook a run before it.
    return best if ends and (best.backed or best.strength is Strength.KNOWN) else server


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
        by_name = named(repository, signs)
        saying = by_name.saying if container.accelerated else by_name.plain
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
        body = container.body.get(probe)
        if type(body) is not dict:
            continue
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


def _idle(container: ContainerView, signs: Signs, forever: bool) -> Said | None:
    """``sleep infinity`` on accelerators, or nothing but naps again and again."""
    idle = signs.commands.idle
    nap: tuple[Started, Target] | None = None
    only_naps = True
    for started in container.started:
        target = started.target
        if target is None or target.role != "program":
            only_naps = False
            continue
        words = started.invocation.words
        if len(words) <= _MAX_IDLE and " ".join((target.name, *words[target.at + 1 :])) in idle:
            return _waits(started, target)
        only_naps = only_naps and target.name in idle
        nap = nap or (started, target)
    return _waits(*nap) if only_naps and nap is not None and (forever or _loops(container)) else None


def _loops(container: ContainerView) -> bool:
    texts = (*members(container.body.get("command")), *members(container.body.get("args")))
    return any(isinstance(text, str) and text.lstrip().startswith(_LOOPS) for text in texts[:_MAX_IDLE])


def _waits(started: Started, target: Target) -> Said:
    evidence = Evidence(started.invocation.field(target.at), " ".join(started.invocation.words[:_MAX_IDLE]), _WAITS.reason)
    return Said(_WAITS, evidence, Strength.WEAK)
