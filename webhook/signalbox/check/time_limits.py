"""Work on GPUs ends: it has a time limit, and one that is neither too long nor too short.

A run that hangs (a lost peer, a deadlock in a collective) looks busy and holds its GPUs until somebody notices. `min` and
`max` bound in seconds how long a run may take: `activeDeadlineSeconds` of a Job, a Pod, Kubeflow's `runPolicy` or a RayJob,
and for queued work Kueue's label `kueue.x-k8s.io/max-exec-time-seconds`; the shortest of them counts. `unlimited` says
whether accelerator work without any may pass. In an AppWrapper the limits of what it holds count. `maxKept` bounds how long
finished work stays in the cluster (`ttlSecondsAfterFinished`). What is kept alive for ever (a Deployment) has no time limit
and passes.

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

from collections.abc import Iterator
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from signalbox.check.check import Check, Parameters
from signalbox.fieldpath import Path, value_at
from signalbox.finding import CheckSubject, Edit, Fix, Problem
from signalbox.workload.judgement import Evidence
from signalbox.workload.kinds.kubedl import KUBEDL_KINDS
from signalbox.workload.view import WorkloadView

_DEADLINE = "activeDeadlineSeconds"
_KEPT = "ttlSecondsAfterFinished"
_KUEUE_LABEL = "kueue.x-k8s.io/max-exec-time-seconds"
_DAY = 86_400
_SPEC: Path = ("spec",)
_RUN_POLICY: Path = (*_SPEC, "runPolicy")
# Where the time limit of the whole stands, for kinds that have one beside those of their Jobs and Pods.
_LIMITED_AT: dict[tuple[str, str], Path] = {
    ("kubeflow.org", "PyTorchJob"): _RUN_POLICY,
    ("kubeflow.org", "TFJob"): _RUN_POLICY,
    ("kubeflow.org", "JAXJob"): _RUN_POLICY,
    ("kubeflow.org", "XGBoostJob"): _RUN_POLICY,
    ("kubeflow.org", "PaddleJob"): _RUN_POLICY,
    ("kubeflow.org", "MPIJob"): _RUN_POLICY,
    ("kubeflow.org", "MXJob"): _RUN_POLICY,
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
    elif parameters.unlimited == "refuse" and view.accelerators.any:
        yield from _unlimited(view, parameters.max)
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
    if view.queue:
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
    path, shortest = min(found, key=lambda limit: limit[1])
    if parameters.max is not None and shortest > parameters.max:
        yield Problem(
            f"It may run for {_time(shortest)}; at most {_time(parameters.max)} are allowed.",
            (Evidence(path, str(shortest)),),
            Fix("", (_edit(path, parameters.max),)),
            key="too-long",
            amount=shortest,
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


def _unlimited(view: WorkloadView, longest: int | None) -> Iterator[Problem]:
    holding = [
        template
        for template, accelerators in zip(view.templates, view.template_accelerators, strict=True)
        if accelerators.evidence
    ]
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
    message = "It has no time limit: a run that hangs holds its accelerators until somebody notices."
    yield Problem(message, view.accelerators.evidence, Fix("say how long it may take, in seconds:", edits), key="unlimited")


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
