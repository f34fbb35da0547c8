"""What Volcano's Job and CronJob share: a list of tasks, each with its pod template; queued by a field, not by a label."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from signalbox.fieldpath import Path, value_at
from signalbox.review import JsonObject
from signalbox.workload.kinds.kind import Metadata, PodTemplate, count, mapping, members, template_at

GROUP = "batch.volcano.sh"
# Volcano's own default of spec.maxRetry (volcano pkg/controllers/job).
RETRIES = 3


def _tasks(root: JsonObject, spec: Path) -> Iterator[tuple[Path, JsonObject]]:
    for index, task in enumerate(members(mapping(value_at(root, spec)).get("tasks"))):
        if isinstance(task, dict):
            yield (*spec, "tasks", index), task


def job_spec(template: PodTemplate) -> Path:
    """Where the Job spec stands that the template of a task belongs to: above ``tasks[0].template``."""
    return template.path[:-3]


def task_templates(root: JsonObject, spec: Path) -> tuple[PodTemplate, ...]:
    """The templates of the Job spec at ``spec``."""
    found = []
    everywhere = _everywhere(mapping(value_at(root, spec)))
    for path, task in _tasks(root, spec):
        name: Any = task.get("name")
        template = template_at(root, (*path, "template"), count(task.get("replicas")), name if isinstance(name, str) else "")
        found.append(replace(template, everywhere=everywhere) if everywhere else template)
    return tuple(found)


def _everywhere(spec: JsonObject) -> dict[str, JsonObject]:
    """``spec.volumes`` are mounted into every container of every task (volcano pkg/controllers/job)."""
    found: dict[str, JsonObject] = {}
    for volume in members(spec.get("volumes")):
        path = mapping(volume).get("mountPath")
        if isinstance(path, str) and path:
            name = volume.get("volumeClaimName")
            found[path] = {"claimName": name if isinstance(name, str) else ""}
    return found


def task_metadata(root: JsonObject, spec: Path) -> Metadata:
    """Where the labels of the tasks' Pods stand."""
    return tuple([(*path, "template", "metadata") for path, _ in _tasks(root, spec)])
