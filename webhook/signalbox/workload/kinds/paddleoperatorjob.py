"""PaddleJob ``batch.paddlepaddle.org``, that of PaddlePaddle's own operator (PaddleFlow/paddle-operator ``api/v1``).

Roles stand in ``spec.ps``, ``spec.worker`` and ``spec.heter``, in the version after that in a list ``spec.tasks``; Volcano
queues it by a field.
"""

from collections.abc import Iterator

from signalbox.fieldpath import Path
from signalbox.review import JsonObject
from signalbox.workload.kinds.kind import Metadata, PodTemplate, WorkloadKind, count, mapping, members, template_at

_ROLES = ("ps", "worker", "heter")
_SCHEDULING: Path = ("spec", "schedulingPolicy")


def _roles(job: JsonObject) -> Iterator[tuple[Path, str, JsonObject]]:
    spec = mapping(job.get("spec"))
    for role in _ROLES:
        if isinstance(spec.get(role), dict):
            yield ("spec", role), role, spec[role]
    for index, task in enumerate(members(spec.get("tasks"))):
        if isinstance(task, dict):
            name = task.get("name")
            yield ("spec", "tasks", index), name if isinstance(name, str) else "", task


def _templates(job: JsonObject) -> tuple[PodTemplate, ...]:
    return tuple([template_at(job, (*path, "template"), count(role.get("replicas")), name) for path, name, role in _roles(job)])


def _labelled(job: JsonObject) -> Metadata:
    return tuple([(*path, "template", "metadata") for path, _, _ in _roles(job)])


PADDLE_OPERATOR_JOB = WorkloadKind(
    group="batch.paddlepaddle.org",
    kind="PaddleJob",
    namesake=True,
    templates=_templates,
    runs="once",
    labelled=_labelled,
    queue=None,
    queue_fields=((*_SCHEDULING, "queue"),),
    priority=((*_SCHEDULING, "priorityClass"),),
    defaulted=False,
    type="training",
    framework="paddle",
)
