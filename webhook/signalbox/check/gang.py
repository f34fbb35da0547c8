"""Pods that work on one run start together, or not at all.

Half of a distributed run holds its GPUs and waits for the other half, which waits for GPUs that another half holds: so two
runs can stop a whole cluster. What starts all Pods or none is a queue, a PodGroup, a gang scheduler (`schedulers` lists
their names) or a kind that is always queued whole. Only work that ends is looked at. The other way round, the shards of an
Indexed Job that never meet need no gang: it keeps each from starting on what is free (`independent` says whether that
passes, warns or refuses). `suggest` is the queue that the fix names.

Rule:
    check: gang
    with: {suggest: training-large}
Refused:
    apiVersion: jobset.x-k8s.io/v1alpha2
    kind: JobSet
    metadata: {name: pretrain, namespace: research}
    spec:
      replicatedJobs:
        - name: workers
          template:
            spec:
              parallelism: 4
              completions: 4
              template:
                spec:
                  containers:
                    - {name: trainer, image: "registry.example/llm:1", resources: {limits: {nvidia.com/gpu: 8}}}
Passes:
    apiVersion: jobset.x-k8s.io/v1alpha2
    kind: JobSet
    metadata: {name: pretrain, namespace: research}
    spec:
      replicatedJobs:
        - name: workers
          template:
            spec:
              parallelism: 4
              completions: 4
              template:
                metadata: {annotations: {scheduling.k8s.io/group-name: pretrain}}
                spec:
                  schedulerName: volcano
                  containers:
                    - {name: trainer, image: "registry.example/llm:1", resources: {limits: {nvidia.com/gpu: 8}}}
"""

from collections.abc import Iterator
from typing import Literal

from signalbox.check.check import Check, Parameters
from signalbox.fieldpath import Path, value_at
from signalbox.finding import CheckSubject, Edit, Fix, Problem
from signalbox.policy.mode import Mode
from signalbox.workload.judgement import Evidence
from signalbox.workload.kinds.kind import mapping
from signalbox.workload.labels import QUEUE_LABEL
from signalbox.workload.view import WorkloadView

# Always started whole (Volcano, Kaiwo), or whose Pods need not meet (Spark's executors, trials).
_NOT_ASKED = frozenset({"batch.volcano.sh", "kaiwo.silogen.ai", "sparkoperator.k8s.io"})
_GROUP_LABELS = (
    "scheduling.x-k8s.io/pod-group",
    "pod-group.scheduling.sigs.k8s.io",
    "pod-group.scheduling.sigs.k8s.io/name",
    "kueue.x-k8s.io/pod-group-name",
    "pod-group-name",
)
_GROUP_ANNOTATIONS = (
    "scheduling.k8s.io/group-name",
    "scheduling.volcano.sh/group-name",
    "scheduling.volcano.sh/group-min-member",
    "yunikorn.apache.org/task-group-name",
    "pod-group-name",
)
# KubeRay's own, on the object: the operator makes the PodGroup.
_RAY_GANG = "ray.io/gang-scheduling-enabled"
# What a PodGroup is made of: by Kubeflow's operators, and by JobSet in its fields of today and of before (KEP-969).
_POLICIES: tuple[Path, ...] = (
    ("spec", "runPolicy", "schedulingPolicy"),
    ("spec", "scheduling", "schedulingPolicy", "gang"),
    ("spec", "gangPolicy"),
)
_GROUP_FIELDS = ("schedulingGroup", "workloadRef")
# Kueue queues what has no label in the queue of this name, where a namespace has one.
_DEFAULT_QUEUE = "default"


class GangParameters(Parameters):
    """Which schedulers start gangs, and what becomes of gangs that are none."""

    schedulers: list[str] = ["volcano", "kai-scheduler", "runai-scheduler"]
    independent: Literal["pass", "warn", "refuse"] = "warn"
    suggest: str = ""


def run(subject: CheckSubject, parameters: GangParameters) -> list[Problem]:
    """One problem at most: a gang that is missing, or one that is none."""
    view = subject.view
    pods = _gpu_pods(view)
    if pods is None or pods < 2:
        return []
    asked = list(_asked(view))
    if view.distributed:
        return [] if asked or _starts_whole(view, parameters) else [_missing(view, pods, parameters.suggest)]
    if asked and parameters.independent != "pass" and _is_sharded(view):
        return [_needless(asked, Mode.WARN if parameters.independent == "warn" else Mode.ENFORCE)]
    return []


def _gpu_pods(view: WorkloadView) -> int | None:
    """How many Pods with accelerators start at once; None where that is not known, or not ours to say."""
    if view.acts_as.runs not in ("once", "schedule") or view.acts_as.group in _NOT_ASKED or view.kind.kind == "Experiment":
        return None
    templates = view.templates
    if (view.pods is not None and view.pods < 2) or any(template.partial or template.foreign for template in templates):
        return None
    total = 0
    for template, accelerators in zip(templates, view.template_accelerators, strict=True):
        if template.pods != 0 and accelerators.evidence:
            if template.pods is None:
                return None
            total += template.pods
    return total


def _asked(view: WorkloadView) -> Iterator[Evidence]:
    """What says by itself that the Pods are a group."""
    if view.labels.get(_RAY_GANG) == "true":
        yield Evidence(("metadata", "labels", _RAY_GANG), "true")
    # Of an object in another one (AppWrapper) its own metadata counts too.
    places: list[Path] = [("metadata",), *view.kind.labelled(view.object)]
    places += [(*template.path, "metadata") for template in view.templates if template.path]
    for place in dict.fromkeys(places):
        for way in _POLICIES:
            policy = (*place[:-1], *way)
            if type(value_at(view.object, policy)) is dict:
                yield Evidence(policy, "", "a PodGroup is made of it")
        metadata = mapping(value_at(view.object, place))
        for section, names in (("labels", _GROUP_LABELS), ("annotations", _GROUP_ANNOTATIONS)):
            present = metadata.get(section)
            if type(present) is dict:
                for name in names:
                    value = present.get(name)
                    if type(value) is str and value:
                        yield Evidence((*place, section, name), value)
    for template in view.templates:
        for field in _GROUP_FIELDS:
            if mapping(template.spec.get(field)):
                yield Evidence((*template.spec_path, field), "")


def _starts_whole(view: WorkloadView, parameters: GangParameters) -> bool:
    if view.queue or (view.takes_queue and view.cluster.has_local_queue(view.namespace, _DEFAULT_QUEUE) is True):
        return True
    # An elastic run starts with what it gets.
    if mapping(value_at(view.object, ("spec", "elasticPolicy"))):
        return True
    named = [view.object.get("spec"), *(template.spec for template in view.templates)]
    return any(mapping(spec).get("schedulerName") in parameters.schedulers for spec in named)


def _missing(view: WorkloadView, pods: int, suggest: str) -> Problem:
    if view.takes_queue:
        path = (*view.queue_metadata, "labels", QUEUE_LABEL)
        queue = Edit(path, suggest or "QUEUE", to_fill_in=not suggest)
        fix = Fix("put it into a queue, which starts all Pods or none:", (queue,))
    else:
        fix = Fix("give its Pods a PodGroup and the name of a gang scheduler (schedulerName).")
    message = f"Nothing starts its {pods} Pods together, so some may hold their accelerators and wait for the others."
    return Problem(message, view.accelerators.evidence, fix, key="gang", amount=pods, fixed_by="queue")


def _is_sharded(view: WorkloadView) -> bool:
    """Whether every Pod has a part of its own: an Indexed Job whose commands were read and say nothing of meeting."""
    jobs = [template.job for template in view.templates]
    if any(job is None or value_at(view.object, (*job, "completionMode")) != "Indexed" for job in jobs):
        return False
    return not any(container.unread for container in view.containers)


def _needless(asked: list[Evidence], at_most: Mode) -> Problem:
    return Problem(
        "Its Pods have parts of their own and never meet, but each waits until all of them fit.",
        tuple(asked),
        Fix("let each start on what is free: leave the group out.", tuple(Edit(seen.path, removes=True) for seen in asked)),
        key="independent",
        at_most=at_most,
    )


CHECK = Check("gang", GangParameters, run, __doc__)
