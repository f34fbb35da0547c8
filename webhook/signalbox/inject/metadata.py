"""Labels and annotations: on the object, and wherever its Jobs and Pods take theirs from.

A label on a JobSet reaches no Pod, one on a CronJob no Job: each goes to the object and to every template's metadata that
the kind names. What the user set stays.

Example:
    inject: {labels: {workload.ai/team: research}}
Before:
    apiVersion: batch/v1
    kind: Job
    metadata: {name: sweep, namespace: research}
    spec: {template: {spec: {restartPolicy: Never, containers: [{name: trainer, image: "registry.example/llm:1"}]}}}
After:
    metadata.labels[workload.ai/team]: research
    spec.template.metadata.labels[workload.ai/team]: research
"""

from collections.abc import Mapping

from signalbox.fieldpath import Path, value_at
from signalbox.inject.plan import Plan, Sourced
from signalbox.inject.target import InjectionTarget
from signalbox.record import BOOKKEEPING
from signalbox.workload.kinds.kind import mapping
from signalbox.workload.labels import INJECTED_LABELS


def inject(plan: Plan, target: InjectionTarget) -> None:
    """Sets the policies' labels and annotations where they are missing, and with them the labels that were inferred."""
    own: Path = ("metadata",)
    places = target.view.kind.labelled(target.recorder.object)
    if plan.annotations:
        for place in (own, *places):
            _write(place, "annotations", plan.annotations, target)
    if plan.labels:
        _write(own, "labels", plan.labels, target)
    inferred = target.infer_labels()
    if inferred:
        _write(own, "labels", inferred, target)
    labels = {**inferred, **plan.labels}
    if labels:
        for place in places:
            if not isinstance(value_at(target.recorder.object, (*place, "annotations")), dict | None):
                # Without the note beside them the labels would read as the user's own word.
                continue
            written = _write(place, "labels", labels, target)
            if written:
                _note_names(place, written, target)


def _write(place: Path, section: str, values: Mapping[str, Sourced], target: InjectionTarget) -> list[str]:
    path = (*place, section)
    users = mapping(value_at(target.view.object, path))
    wanted = {}
    for name, planned in values.items():
        own = users.get(name)
        if own is not None and not planned.force:
            continue
        wanted[name] = planned
        if place == ("metadata",) and own not in (None, planned.value):
            target.warnings.append(f"{section[:-1]} {name} was set to {planned.value} (policy {planned.by})")
    return target.write_keys(path, wanted) if wanted else []


def _note_names(place: Path, written: list[str], target: InjectionTarget) -> None:
    path = (*place, "annotations", INJECTED_LABELS)
    present = value_at(target.recorder.object, path)
    names = set(present.split(",")) if isinstance(present, str) and present else set()
    target.write(path, ",".join(sorted(names | set(written))), BOOKKEEPING)
