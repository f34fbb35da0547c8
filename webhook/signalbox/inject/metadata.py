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
from signalbox.inject.target import Target
from signalbox.record import BOOKKEEPING
from signalbox.workload.labels import INJECTED_LABELS


def inject(plan: Plan, target: Target) -> None:
    """Sets the policies' labels and annotations where they are missing."""
    if plan.labels:
        write_labels(plan.labels, target)
    if plan.annotations:
        for place in _places(target):
            _write(place, "annotations", plan.annotations, target)


def write_labels(labels: Mapping[str, Sourced], target: Target) -> None:
    """Sets labels on the object and on its templates, which note the names of those we put there."""
    for place in _places(target):
        written = _write(place, "labels", labels, target)
        if written and place != ("metadata",):
            _note_names(place, written, target)


def _places(target: Target) -> tuple[Path, ...]:
    return (("metadata",), *target.view.kind.labelled(target.recorder.object))


def _write(place: Path, section: str, values: Mapping[str, Sourced], target: Target) -> list[str]:
    written = []
    for name, planned in values.items():
        path = (*place, section, name)
        present = value_at(target.recorder.object, path)
        if present is not None and not planned.force and not _is_ours(path, present, target):
            continue
        if target.write(path, planned.value, planned.by):
            written.append(name)
            if planned.force and isinstance(present, str) and present != planned.value and place == ("metadata",):
                target.warnings.append(f"{section[:-1]} {name} was set to {planned.value} (policy {planned.by})")
    return written


def _is_ours(path: Path, present: object, target: Target) -> bool:
    return value_at(target.view.object, path) is None and present is not None


def _note_names(place: Path, written: list[str], target: Target) -> None:
    path = (*place, "annotations", INJECTED_LABELS)
    present = value_at(target.recorder.object, path)
    names = set(present.split(",")) if isinstance(present, str) and present else set()
    if not names.issuperset(written):
        target.write(path, ",".join(sorted(names | set(written))), BOOKKEEPING)
