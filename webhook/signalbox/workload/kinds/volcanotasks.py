"""What Volcano's Job and CronJob share: a list of tasks, each with its pod template; queued by a field, not by a label."""

from collections.abc import Iterator
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


def task_templates(root: JsonObject, spec: Path) -> tuple[PodTemplate, ...]:
    """The templates of the Job spec at ``spec``."""
    found = []
    for path, task in _tasks(root, spec):
        name: Any = task.get("name")
        template = template_at(root, (*path, "template"), count(task.get("replicas")), name if isinstance(name, str) else "")
        found.append(template)
    return tuple(found)


def task_metadata(root: JsonObject, spec: Path) -> Metadata:
    """Where the labels of the tasks' Pods stand."""
    return tuple([(*path, "template", "metadata") for path, _ in _tasks(root, spec)])
