"""Pods that work on one run start together, or not at all.

Half of a distributed run holds its GPUs and waits for the other half, which waits for GPUs that another half holds: so two
runs can stop a whole cluster. What starts all Pods or none is a queue, a PodGroup, a gang scheduler (`schedulers` lists
their names) or a kind that is always queued whole. A group that starts with fewer Pods than must meet (`minAvailable: 1`) is
no gang; elastic runs start with fewer by themselves. Only work that ends is looked at. The other way round, the shards of an
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
from signalbox.workload.containers import ContainerView
from signalbox.workload.distributed import may_be_fewer, told_to_meet
from signalbox.workload.judgement import Evidence
from signalbox.workload.kinds.kind import count, mapping, members
from signalbox.workload.kinds.volcanotasks import GROUP as VOLCANO
from signalbox.workload.kinds.volcanotasks import job_spec
from signalbox.workload.labels import QUEUE_LABEL
from signalbox.workload.view import WorkloadView
from signalbox.workload.vocabulary import MAX_NAME, name_words

# Always started whole (Kaiwo, Run:ai), or whose Pods need not meet (Spark's executors, trials).
_NOT_ASKED = frozenset({"kaiwo.silogen.ai", "run.ai", "sparkoperator.k8s.io"})
_JOB_SET = "jobset.x-k8s.io"
# What tells a Pod of a JobSet its number (jobset ``api/jobset/v1alpha2``, and the completion index of its Job).
_NUMBERS = ("JOB_INDEX", "JOB_GLOBAL_INDEX", "JOB_COMPLETION_INDEX")
_PARTS = frozenset({"shard", "shards", "part", "partition", "chunk", "split"})
# Volcano's plugins that tell the Pods of a Job how to meet (volcano ``pkg/controllers/job/plugins/distributed-framework``).
_MEETING_PLUGINS = ("pytorch", "mpi")
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
_ELASTIC = "elasticPolicy"
_LEAST = "minAvailable"
_LEAST_ANNOTATION = "scheduling.volcano.sh/group-min-member"
# Kueue queues what has no label in the queue of this name, where a namespace has one.
_DEFAULT_QUEUE = "default"


class GangParameters(Parameters):
    """Which schedulers start gangs, and what becomes of gangs that are none."""

    schedulers: list[str] = ["volcano", "kai-scheduler", "runai-scheduler"]
    independent: Literal["pass", "warn", "refuse"] = "warn"
    suggest: str = ""


def run(subject: CheckSubject, parameters: GangParameters) -> list[Problem]:
    """One problem at most: a gang that is missing, one that is too small, or one that is none."""
    view = subject.view
    pods = _gpu_pods(view) if _looks_at(view) else None
    if pods is None or pods < 2:
        return []
    if view.acts_as.group == VOLCANO:
        # Started whole, unless it says otherwise. That it makes several Pods does not tell that they meet.
        return _too_small(view, pods) if _meets_in_volcano(view) else []
    asked = list(_asked(view))
    if view.distributed and not _are_shards(view):
        if _is_queued(view) or _is_elastic(view):
            return []
        small = _too_small(view, pods)
        return small or ([] if asked or _starts_whole(view, parameters) else [_missing(view, pods, parameters.suggest)])
    if asked and parameters.independent != "pass" and (_is_sharded(view) or view.distributed):
        return [_needless(asked, Mode.WARN if parameters.independent == "warn" else Mode.ENFORCE)]
    return []


def _looks_at(view: WorkloadView) -> bool:
    kind = view.acts_as
    if kind.runs not in ("once", "schedule") or view.kind.kind == "Experiment":
        return False
    if not _NOT_ASKED.isdisjoint((kind.group, view.kind.group)):
        return False
    # What is added elsewhere (a training runtime that is not known) may well be a gang.
    return not any(template.partial and template.pods != 0 for template in view.templates)


def _gpu_pods(view: WorkloadView) -> int | None:
    """How many Pods with accelerators start at once; None where that is not known."""
    if view.pods is not None and view.pods < 2:
        return None
    total = 0
    for template, accelerators in zip(view.templates, view.template_accelerators, strict=True):
        if template.pods != 0 and accelerators.evidence:
            if template.pods is None:
                return None
            total += template.pods
    return total


def _places(view: WorkloadView) -> dict[Path, None]:
    """The metadata of the object, of its Jobs and its Pods; of an object in another one (AppWrapper) its own counts too."""
    places: list[Path] = [("metadata",), *view.kind.labelled(view.object)]
    places += [(*template.path, "metadata") for template in view.templates if template.path]
    return dict.fromkeys(places)


def _asked(view: WorkloadView) -> Iterator[Evidence]:
    """What says by itself that the Pods are a group."""
    if view.labels.get(_RAY_GANG) == "true":
        yield Evidence(("metadata", "labels", _RAY_GANG), "true")
    for place in _places(view):
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


def _is_queued(view: WorkloadView) -> bool:
    """Whether Kueue starts all of it or none."""
    if view.kueue_queue:
        return True
    return view.takes_queue and view.cluster.has_local_queue(view.namespace, _DEFAULT_QUEUE) is True


def _is_elastic(view: WorkloadView) -> bool:
    """Whether a run starts with what it gets."""
    return any(mapping(value_at(view.object, (*place[:-1], "spec", _ELASTIC))) for place in _places(view))


def _starts_whole(view: WorkloadView, parameters: GangParameters) -> bool:
    if view.queue or any(template.whole for template in view.templates):
        return True
    named = [view.object.get("spec"), *(template.spec for template in view.templates)]
    return any(mapping(spec).get("schedulerName") in parameters.schedulers for spec in named)


def _meets_in_volcano(view: WorkloadView) -> bool:
    jobs = dict.fromkeys(map(job_spec, view.templates))
    plugins = [mapping(value_at(view.object, (*job, "plugins"))) for job in jobs]
    return any(name in said for said in plugins for name in _MEETING_PLUGINS) or told_to_meet(view)


def _too_small(view: WorkloadView, pods: int) -> list[Problem]:
    """A group that starts with fewer Pods than must meet."""
    for path, least in _least(view):
        number = int(least) if type(least) is str and len(least) < 10 and least.isdecimal() else least
        if type(number) is int and 0 < number < pods and not may_be_fewer(view):
            message = (
                f"It starts once {number} of its {pods} Pods fit, so some may hold their accelerators and wait for the others."
            )
            fix = Fix("start all of them or none:", (Edit(path, str(pods) if type(least) is str else pods),))
            by = "queue" if view.takes_queue else ""
            return [Problem(message, (Evidence(path, str(number)),), fix, key="gang", amount=pods, fixed_by=by)]
    return []


def _least(view: WorkloadView) -> Iterator[tuple[Path, object]]:
    """Where it is said how many Pods a group starts with, and what."""
    if view.acts_as.group == VOLCANO:
        for job in dict.fromkeys(map(job_spec, view.templates)):
            path: Path = (*job, _LEAST)
            # Left out it is the sum of what the tasks say (volcano ``pkg/webhooks/admission/jobs/mutate``).
            yield path, value_at(view.object, path) or _of_tasks(view, job)
        return
    for place in _places(view):
        path = (*place[:-1], *_POLICIES[0], _LEAST)
        yield path, value_at(view.object, path)
        path = (*place, "annotations", _LEAST_ANNOTATION)
        yield path, value_at(view.object, path)


def _of_tasks(view: WorkloadView, job: Path) -> int | None:
    total = 0
    for task in members(value_at(view.object, (*job, "tasks"))):
        least = mapping(task).get(_LEAST)
        pods = least if type(least) is int else count(mapping(task).get("replicas"))
        if pods is None:
            return None
        total += pods
    return total


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


def _are_shards(view: WorkloadView) -> bool:
    """Whether each Job of a JobSet is told to do the part of its own number, and none to meet the others."""
    if view.acts_as.group != _JOB_SET or view.trains or any(container.unread for container in view.containers):
        return False
    return any(_takes_a_part(container) for container in view.containers) and not told_to_meet(view)


def _takes_a_part(container: ContainerView) -> bool:
    for started in container.started:
        words = started.invocation.words
        for word, following in zip(words, (*words[1:], ""), strict=True):
            name, joined, value = word.partition("=")
            if name[:1] == "-" and any(number in (value if joined else following) for number in _NUMBERS):
                return not _PARTS.isdisjoint(name_words(name[:MAX_NAME]))
    return False


def _needless(asked: list[Evidence], at_most: Mode) -> Problem:
    return Problem(
        "Its Pods have parts of their own and never meet, but each waits until all of them fit.",
        tuple(asked),
        Fix("let each start on what is free: leave the group out.", tuple(Edit(seen.path, removes=True) for seen in asked)),
        key="independent",
        at_most=at_most,
    )


CHECK = Check("gang", GangParameters, run, __doc__, looks_at=_looks_at)
