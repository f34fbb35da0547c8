"""Everything that is to be said of one workload: each judgement, with the evidence and the line that made it."""

from dataclasses import dataclass
from datetime import datetime

from signalbox.admission import Admission, Asked, admit
from signalbox.cli.changes import Change, changes_of
from signalbox.cli.left_out import LeftOut, left_out
from signalbox.cli.place import Place, Places
from signalbox.cli.rule_outcomes import Injecting, PolicyOutcome, injecting, rule_outcomes
from signalbox.cli.type_signs import TypeSign, type_signs
from signalbox.cli.ways_to_say import WayToSay, ways_to_say
from signalbox.engine import Setup
from signalbox.engine.gate import view_of
from signalbox.manifests import Manifest
from signalbox.plain_text import clean
from signalbox.quantity import Quantity
from signalbox.workload.accelerators import template_accelerators
from signalbox.workload.judgement import Evidence, Judgement
from signalbox.workload.kinds.kind import PodTemplate, WorkloadKind
from signalbox.workload.labels import TYPE_LABEL
from signalbox.workload.type import infer_type
from signalbox.workload.view import WorkloadView

_RUNS = {
    "once": "ends by itself",
    "schedule": "is started again by a schedule",
    "forever": "runs until it is taken away, its Pods are replaced",
    "pod": "a bare Pod, nothing replaces it",
    "open": "stands until it is taken away",
}
_SPOT = {
    "demanded": "no other nodes fit it",
    "preferred": "other nodes will do",
    "permitted": "only tolerated, any node will do",
    "no": "nothing asks for spot nodes or tolerates them",
}
_CHECKPOINT = {
    "durable": "outlives the Pod",
    "ephemeral": "is gone with the Pod",
    "none": "nothing says where progress is saved",
    "unknown": "whether progress is kept cannot be seen from here",
}
_OFF = "it is told to save nothing"
_RESUME = {
    "resumes": "reads it back when it is started again",
    "starts-over": "leaves aside what is there",
    "unsaid": "nothing in the manifest reads it back, though a program may do so by itself",
    "unknown": "what would say so is not in the manifest",
}


@dataclass(frozen=True, slots=True)
class Seen:
    """One piece of evidence and where it stands. ``within`` is the pod template it belongs to, if any."""

    evidence: Evidence
    place: Place
    within: PodTemplate | None = None


@dataclass(frozen=True, slots=True)
class Fact:
    """One judgement. ``state`` None: not known. ``remark`` is what the state means, or why there is nothing to show."""

    name: str
    state: str | bool | None
    remark: str = ""
    seen: tuple[Seen, ...] = ()
    declared: bool = False


@dataclass(frozen=True, slots=True)
class Template:
    """One pod template: how many Pods it makes (None: not known) and what each of them asks for."""

    name: str
    pods: int | None
    per_pod: dict[str, Quantity]
    placeholder: bool
    place: Place


@dataclass(frozen=True, slots=True)
class Explanation:
    """One workload: ``facts`` of it as its user wrote it, with the API server's defaults, and what follows from them.

    ``inferred`` is its type if no label said it, and ``signs`` what spoke for which. ``injecting`` are the policies behind
    the ``changes``, ``left_out`` is what of theirs is not written, and ``policies`` are those that judge the result.
    """

    manifest: Manifest
    view: WorkloadView
    places: Places
    facts: tuple[Fact, ...]
    templates: tuple[Template, ...]
    inferred: Judgement
    signs: tuple[TypeSign, ...]
    admission: Admission
    changes: tuple[Change, ...]
    injecting: Injecting
    left_out: tuple[LeftOut, ...]
    policies: tuple[PolicyOutcome, ...]
    ways: tuple[WayToSay, ...]


def explain(setup: Setup, manifest: Manifest, kind: WorkloadKind, asked: Asked, now: datetime) -> Explanation:
    """Everything that is to be said of one manifest of a known kind."""
    admission = admit(setup, manifest.value, asked, now)
    view = view_of(setup, admission.before, kind, admission.request.namespace)
    places = Places(manifest, admission.before)
    inferred = infer_type(view) if view.type.declared else view.type
    behind = injecting(setup, admission, view)
    return Explanation(
        manifest,
        view,
        places,
        tuple(_facts(view, places)),
        tuple(_template(template, view, places) for template in view.templates if template.pods != 0 or not template.virtual),
        inferred,
        type_signs(view, inferred),
        admission,
        changes_of(admission),
        behind,
        left_out(setup, view, behind) if admission.mutation.response.allowed else (),
        rule_outcomes(setup, admission, now),
        tuple(ways_to_say(view)),
    )


def _facts(view: WorkloadView, places: Places) -> list[Fact]:
    def seen(*evidence: Evidence) -> tuple[Seen, ...]:
        return tuple(Seen(one, places.of(one), _template_of(one, view)) for one in evidence)

    def judged(name: str, judgement: Judgement, remark: str) -> Fact:
        return Fact(name, judgement.state, remark, seen(*judgement.evidence), judgement.declared)

    kind, accelerators, priority = view.kind, view.accelerators, view.priority
    together = view.distributed_by
    spot, checkpoint = view.spot.state or "no", view.checkpoint.state or "none"
    told_off = checkpoint == "none" and view.checkpoint.saving_off is not None
    return [
        Fact("kind", kind.text, _RUNS[view.acts_as.runs], seen(Evidence(("kind",), kind.kind))),
        Fact("accelerators", accelerators.any, "", seen(*accelerators.evidence)),
        judged("type", view.type, _type_remark(view)),
        judged("framework", view.framework, "" if view.framework.state else "no program, image or variable names one"),
        Fact(
            "distributed",
            together is not None,
            "" if together else "nothing says that several processes work on one run",
            seen(together) if together else (),
        ),
        judged("spot", view.spot, _SPOT[spot]),
        judged("checkpoint", view.checkpoint, _OFF if told_off else _CHECKPOINT[checkpoint]),
        judged("resume", view.resume, _RESUME[view.resume.state or "unsaid"]),
        Fact("priority", priority.state, _priority_remark(view), seen(*priority.evidence)),
        _queue(view, places),
        _owner(view, places),
    ]


def _type_remark(view: WorkloadView) -> str:
    remark = "" if view.type.state else "nothing says it plainly enough"
    said = "" if view.type.declared else view.user_label(TYPE_LABEL)[0]
    if not said:
        return remark
    return f"{remark}{'; ' if remark else ''}your label says {clean(said, 63)}, which is no type"


def _priority_remark(view: WorkloadView) -> str:
    priority = view.priority
    if priority.value is not None:
        return f"{priority.value}" + (", or lower" if priority.state == "unknown" else "")
    if priority.state == "unset":
        return "no class is named, and the cluster has no default"
    if priority.evidence:
        return "what the class is worth stands in the cluster (--cluster)"
    return "no class is named, the default stands in the cluster (--cluster)"


def _queue(view: WorkloadView, places: Places) -> Fact:
    if not view.queue:
        return Fact("queue", None)
    named = [Evidence(path, view.queue) for path in view.queues[view.queue]]
    seen = [Seen(one, places.of(one)) for one in named]
    # A Job that has no labels is given its template's: the line is where its user wrote it.
    seen.sort(key=lambda one: one.place.line is None)
    return Fact("queue", view.queue, "", tuple(seen[:1]))


def _owner(view: WorkloadView, places: Places) -> Fact:
    owner = view.owner
    if owner is None:
        return Fact("owner", None)
    evidence = Evidence(("metadata", "ownerReferences"), f"{owner.kind} {owner.name}")
    return Fact("owner", evidence.value, "made by that one, as it says itself", (Seen(evidence, places.of(evidence)),))


def _template(template: PodTemplate, view: WorkloadView, places: Places) -> Template:
    asked = template_accelerators(template, view.signs)
    return Template(template.name, template.pods, asked.per_pod, asked.placeholder, places.of_path(template.path or ("spec",)))


def _template_of(evidence: Evidence, view: WorkloadView) -> PodTemplate | None:
    """The template whose PodSpec holds the evidence: what stands above it need not be told again line by line."""
    for template in view.templates:
        base = template.spec_path
        if len(evidence.path) > len(base) and evidence.path[: len(base)] == base:
            return template
    return None
