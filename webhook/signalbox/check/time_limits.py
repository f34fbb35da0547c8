"""Work on GPUs ends: it has a time limit, and one that is neither too long nor too short.

A run that hangs (a lost peer, a deadlock in a collective) looks busy and holds its GPUs until somebody notices. `min`
and `max` bound in seconds how long a run may take: `activeDeadlineSeconds` of a Job, a Pod, Kubeflow's `runPolicy` or a
RayJob, and for queued work Kueue's label `kueue.x-k8s.io/max-exec-time-seconds`; of those that end a Pod the shortest
counts. `unlimited` says whether accelerator work without any may pass. In an AppWrapper the limits of what it holds
count. `maxKept` bounds how long finished work stays in the cluster (`ttlSecondsAfterFinished`). What is kept alive for
ever (a Deployment) has no time limit and passes.

Rule:
    check: time-limits
    with: {max: 259200}
Refused:
    apiVersion: batch/v1
    kind: Job
    metadata: {name: sweep, namespace: research}
    spec:
      template:
        spec:
          restartPolicy: Never
          containers: [{name: trainer, image: "registry.example/llm:1", resources: {limits: {nvidia.com/gpu: 8}}}]
Passes:
    apiVersion: batch/v1
    kind: Job
    metadata: {name: sweep, namespace: research}
    spec:
      activeDeadlineSeconds: 86400
      template:
        spec:
          restartPolicy: Never
          containers: [{name: trainer, image: "registry.example/llm:1", resources: {limits: {nvidia.com/gpu: 8}}}]
"""

from collections.abc import Iterable, Iterator
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from signalbox.check.check import Check, Parameters
from signalbox.fieldpath import Path, value_at
from signalbox.finding import CheckSubject, Edit, Fix, Problem
from signalbox.review import JsonObject
from signalbox.workload.judgement import Evidence
from signalbox.workload.kinds.kind import PodTemplate, mapping, members
from signalbox.workload.kinds.kubedl import KUBEDL_KINDS
from signalbox.workload.view import WorkloadView

_DEADLINE = "activeDeadlineSeconds"
_KEPT = "ttlSecondsAfterFinished"
_KUEUE_LABEL = "kueue.x-k8s.io/max-exec-time-seconds"
_DAY = 86_400
_SPEC: Path = ("spec",)
_RUN_POLICY: Path = (*_SPEC, "runPolicy")
# Where a JobSet has its Jobs.
_JOBS: Path = (*_SPEC, "replicatedJobs")
# Where the time limit of the whole stands, for kinds that have one beside those of their Jobs and Pods.
_LIMITED_AT: dict[tuple[str, str], Path] = {
    ("kubeflow.org", "PyTorchJob"): _RUN_POLICY,
    ("kubeflow.org", "TFJob"): _RUN_POLICY,
    ("kubeflow.org", "JAXJob"): _RUN_POLICY,
    ("kubeflow.org", "XGBoostJob"): _RUN_POLICY,
    ("kubeflow.org", "PaddleJob"): _RUN_POLICY,
    ("kubeflow.org", "MPIJob"): _RUN_POLICY,
    ("kubeflow.org", "MXJob"): _RUN_POLICY,
    ("mindxdl.gitee.com", "AscendJob"): _RUN_POLICY,
    **{(kind.group, kind.kind): _SPEC for kind in KUBEDL_KINDS},
    ("ray.io", "RayJob"): _SPEC,
    ("", "Pod"): _SPEC,
}
# Where it stands how long the whole is kept once it is finished.
_KEPT_AT: dict[tuple[str, str], Path] = {
    **{key: path for key, path in _LIMITED_AT.items() if key != ("", "Pod")},
    ("batch", "Job"): ("spec",),
    ("jobset.x-k8s.io", "JobSet"): ("spec",),
    ("batch.volcano.sh", "Job"): ("spec",),
}

_Seconds = Annotated[int, Field(ge=1)] | None


class TimeLimitsParameters(Parameters):
    """The bounds in seconds, and whether work without an end passes."""

    min: _Seconds = None
    max: _Seconds = None
    unlimited: Literal["pass", "refuse"] = "refuse"
    max_kept: Annotated[int, Field(ge=0)] | None = None

    @model_validator(mode="after")
    def _bounds(self) -> Self:
        if self.min is not None and self.max is not None and self.min > self.max:
            raise ValueError("min is greater than max")
        if self.unlimited == "pass" and self.min is self.max is self.max_kept is None:
            raise ValueError("give min, max or maxKept, or unlimited: refuse")
        return self


def run(subject: CheckSubject, parameters: TimeLimitsParameters) -> Iterator[Problem]:
    """One problem for the run's time limit, one for how long it is kept afterwards."""
    view = subject.view
    if not _looks_at(view):
        return
    set_limits = [path for path in dict.fromkeys(_places(view)) if value_at(view.object, path) is not None]
    if set_limits:
        yield from _bounds(view, set_limits, parameters)
    if parameters.unlimited == "refuse" and view.accelerators.any:
        yield from _unlimited(view, set_limits, parameters.max)
    if parameters.max_kept is not None:
        yield from _kept(view, parameters.max_kept)


def _looks_at(view: WorkloadView) -> bool:
    if view.acts_as.runs not in ("once", "schedule", "pod"):
        return False
    return (view.kind.group, view.kind.kind) in _KEPT_AT or any(True for _ in _places(view))


def _places(view: WorkloadView) -> Iterator[Path]:
    """Where a limit may stand: for the whole, for each Job, for each Pod."""
    for place, whole in _wholes(view):
        yield (*place, *whole, _DEADLINE)
        if whole == _RUN_POLICY:
            # Where it stood before there was one.
            yield (*place, *_SPEC, _DEADLINE)
    if view.kueue_queue and view.takes_queue:
        yield (*view.queue_metadata, "labels", _KUEUE_LABEL)
    for template in view.templates:
        if template.job is not None:
            yield (*template.job, _DEADLINE)
        if template.path and not template.virtual:
            yield (*template.spec_path, _DEADLINE)


def _wholes(view: WorkloadView) -> Iterator[tuple[Path, Path]]:
    """Where an object with a limit of its own stands (this one, or one in it), and below that what holds the limit."""
    for place, kind in view.objects:
        whole = _LIMITED_AT.get((kind.group, kind.kind))
        if whole is not None:
            yield place, whole


def _bounds(view: WorkloadView, limits: list[Path], parameters: TimeLimitsParameters) -> Iterator[Problem]:
    found = [(path, seconds) for path in limits if (seconds := _seconds(value_at(view.object, path))) is not None]
    if not found or len(found) < len(limits):
        # A placeholder or nonsense may well be the shortest.
        return
    path, longest = _longest(view, found)
    _, shortest = min(found, key=lambda limit: limit[1])
    if parameters.max is not None and longest > parameters.max:
        yield Problem(
            f"It may run for {_time(longest)}; at most {_time(parameters.max)} are allowed.",
            (Evidence(path, str(longest)),),
            Fix("", (_edit(path, parameters.max),)),
            key="too-long",
            amount=longest,
        )
    elif parameters.min is not None and shortest < parameters.min:
        short = [limit for limit in found if limit[1] < parameters.min]
        yield Problem(
            f"It is ended after {_time(shortest)}, done or not; at least {_time(parameters.min)} are needed.",
            tuple(Evidence(path, str(seconds)) for path, seconds in short),
            Fix("", tuple(_edit(path, parameters.min) for path, _ in short)),
            key="too-short",
            amount=parameters.min - shortest,
        )


def _longest(view: WorkloadView, found: list[tuple[Path, int]]) -> tuple[Path, int]:
    """How long any Pod with accelerators may run, by the shortest limit that ends it; without any, the shortest of all."""
    shortest: dict[Path, tuple[Path, int]] = {}
    job_sets = _job_sets(view)
    for limit in sorted(found, key=_by_length):
        for place in _ended(view, limit[0], job_sets):
            shortest.setdefault(place, limit)
    ending = [
        min(those, key=_by_length)
        for template in _holding(view)
        if (those := [shortest[place] for place in _around(template.spec_path) if place in shortest])
    ]
    return max(ending, key=_by_length) if ending else min(found, key=_by_length)


def _by_length(limit: tuple[Path, int]) -> int:
    return limit[1]


def _holding(view: WorkloadView) -> list[PodTemplate]:
    """The templates whose Pods hold accelerators."""
    asked = zip(view.templates, view.template_accelerators, strict=True)
    return [template for template, accelerators in asked if accelerators.evidence]


def _ended(view: WorkloadView, limit: Path, job_sets: set[Path]) -> set[Path]:
    """What a limit ends: the object, Job or Pod whose field it is; a JobSet as a whole, if that Job's success is its own."""
    if limit[-1] == _KUEUE_LABEL:
        return {()}
    ended = {limit[:-2] if limit[-2] == _RUN_POLICY[-1] else limit[:-1]}
    ended.update(place for place in _around(limit) if place in job_sets and _is_the_success(view.object, place, limit))
    return ended


def _job_sets(view: WorkloadView) -> set[Path]:
    return {place for place, kind in view.objects if kind.kind == "JobSet"}


def _is_the_success(root: JsonObject, place: Path, limit: Path) -> bool:
    """Whether a JobSet is over with the replicated job that a limit ends (``successPolicy``; it fails with any that fails)."""
    if limit[len(place) :][: len(_JOBS)] != _JOBS:
        return False
    policy = mapping(value_at(root, (*place, "spec", "successPolicy")))
    targets = members(policy.get("targetReplicatedJobs"))
    name = value_at(root, (*limit[: len(place) + len(_JOBS) + 1], "name"))
    return targets == [name] or (policy.get("operator") == "Any" and (not targets or name in targets))


def _unlimited(view: WorkloadView, limits: Iterable[Path], longest: int | None) -> Iterator[Problem]:
    """The problem of what holds accelerators and that no limit ends."""
    job_sets = _job_sets(view)
    ends = {place for limit in limits for place in _ended(view, limit, job_sets)}
    holding = [template for template in _holding(view) if not _stands_in(template.spec_path, ends)]
    paths: list[Path] = [
        (*place, *whole, _DEADLINE)
        for place, whole in _wholes(view)
        if any(template.path[: len(place)] == place for template in holding)
    ]
    paths += [(*template.job, _DEADLINE) for template in holding if template.job is not None]
    if not paths:
        # Where a kind keeps its limit, if it has one, is not known here.
        return
    edits = tuple(Edit(path, longest or _DAY, to_fill_in=longest is None) for path in paths)
    what = "Some of it has" if limits else "It has"
    message = f"{what} no time limit: a run that hangs holds its accelerators until somebody notices."
    places = {template.spec_path for template in holding}
    seen = tuple([one for one in view.accelerators.evidence if _stands_in(one.path, places)]) or view.accelerators.evidence
    yield Problem(message, seen, Fix("say how long it may take, in seconds:", edits), key="unlimited")


def _stands_in(path: Path, places: set[Path]) -> bool:
    return any(place in places for place in _around(path))


def _around(path: Path) -> list[Path]:
    """A place and all that it stands in."""
    return [path[:length] for length in range(len(path) + 1)]


def _kept(view: WorkloadView, longest: int) -> Iterator[Problem]:
    place = _KEPT_AT.get((view.kind.group, view.kind.kind))
    if place is None:
        return
    path = (*place, _KEPT)
    value = value_at(view.object, path)
    fix = Fix("", (Edit(path, longest),))
    if value is None:
        message = f"It is kept for ever once it is finished; at most {_time(longest)} are allowed."
        yield Problem(message, (), fix, key="kept")
    elif type(value) is int and value > longest:
        message = f"It is kept for {_time(value)} once it is finished; at most {_time(longest)} are allowed."
        yield Problem(message, (Evidence(path, str(value)),), fix, key="kept", amount=value)


def _seconds(value: object) -> int | None:
    if type(value) is str and len(value) < 16 and value.isascii() and value.isdecimal():
        return int(value)
    return value if type(value) is int else None


def _edit(path: Path, seconds: int) -> Edit:
    return Edit(path, str(seconds) if path[-1] == _KUEUE_LABEL else seconds)


def _time(seconds: int) -> str:
    """In words that can be compared at a glance, exactly."""
    for unit, size in (("days", _DAY), ("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * size and seconds % size == 0:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"


CHECK = Check("time-limits", TimeLimitsParameters, run, __doc__, looks_at=_looks_at)
