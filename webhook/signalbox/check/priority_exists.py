"""The priority class that is named must be there.

A Job that names an unknown class is stored, and none of its Pods can then be made: the Job controller tries for ever. An
unknown class of Kueue's own (the label kueue.x-k8s.io/priority-class) is worse to find: Kueue makes no Workload, so the
Job stays suspended and nothing says why. Bare Pods with an unknown class the API server refuses itself.

Rule:
    check: priority-exists
Cluster:
    apiVersion: scheduling.k8s.io/v1
    kind: PriorityClass
    metadata: {name: train-normal}
    value: 10000
Refused:
    apiVersion: batch/v1
    kind: Job
    metadata: {name: sweep, namespace: research}
    spec:
      template:
        spec:
          priorityClassName: train-norml
          restartPolicy: Never
          containers: [{name: trainer, image: "registry.example/llm:1"}]
Passes:
    apiVersion: batch/v1
    kind: Job
    metadata: {name: sweep, namespace: research}
    spec:
      template:
        spec:
          priorityClassName: train-normal
          restartPolicy: Never
          containers: [{name: trainer, image: "registry.example/llm:1"}]
"""

from collections.abc import Iterator

from signalbox.check.check import Check, NoParameters, close_to, some_of
from signalbox.cluster.view import UNKNOWN
from signalbox.fieldpath import Path, value_at
from signalbox.finding import CheckSubject, Edit, Fix, Problem, Unjudged
from signalbox.workload.judgement import Evidence
from signalbox.workload.kinds.kind import mapping
from signalbox.workload.priority import KUEUE_PRIORITY_LABEL, named_class
from signalbox.workload.view import WorkloadView


def run(subject: CheckSubject, parameters: NoParameters) -> Iterator[Problem | Unjudged]:
    """One problem a class, keyed by the class."""
    view = subject.view
    places: dict[str, list[Path]] = {}
    for template in view.templates:
        name, path = named_class(view.object, template, view.kind.priority)
        if name and path not in places.setdefault(name, []):
            places[name].append(path)
    for name, paths in places.items():
        found = view.cluster.priority_class(name)
        if found is UNKNOWN:
            yield Unjudged(f"PriorityClass {name}")
        elif found is None:
            message = f"There is no PriorityClass {name}, so none of its Pods can be made"
            yield _missing(message, name, name, paths, view.cluster.priority_class_names())
    yield from _of_kueue(view)


def _of_kueue(view: WorkloadView) -> Iterator[Problem | Unjudged]:
    path = (*view.queue_metadata, "labels", KUEUE_PRIORITY_LABEL)
    name = mapping(mapping(value_at(view.object, view.queue_metadata)).get("labels")).get(KUEUE_PRIORITY_LABEL)
    # Without a queue Kueue does not look at it.
    if not isinstance(name, str) or not name or not view.kueue_queue:
        return
    found = view.cluster.workload_priority_class(name)
    if found is UNKNOWN or view.cluster.has_kueue() is False:
        yield Unjudged(f"WorkloadPriorityClass {name}")
    elif found is None:
        message = f"There is no WorkloadPriorityClass {name}, so Kueue never looks at this and it stays suspended"
        yield _missing(message, f"kueue:{name}", name, [path], view.cluster.workload_priority_class_names())


def _missing(message: str, key: str, name: str, paths: list[Path], names: tuple[str, ...]) -> Problem:
    meant = close_to(name, names)
    edits = tuple(Edit(path, meant) if meant else Edit(path, removes=True) for path in paths)
    fix = Fix("" if meant else "name a class that is there, or leave it out.", edits)
    there = f"; the cluster has {some_of(names, name)}" if names else ""
    return Problem(f"{message}{there}.", tuple(Evidence(path, name) for path in paths), fix, key=key)


CHECK = Check("priority-exists", NoParameters, run, __doc__)
