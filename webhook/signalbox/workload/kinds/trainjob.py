"""TrainJob ``trainer.kubeflow.org``: a trainer whose pod template stands in a training runtime, another object.

Its child is a JobSet whose labels come from the runtime, and places in the runtime are changed only by patches, each owned
by one manager, that cannot change once the job runs. So nothing is injected but labels of its own. Kueue alone suspends it
(kueue#11931). Without ``numNodes`` or ``resourcesPerNode`` the runtime says how many.
"""

from collections.abc import Iterator
from typing import Any

from signalbox.fieldpath import Path, value_at
from signalbox.review import JsonObject
from signalbox.workload.kinds.kind import Asked, PodTemplate, Program, WorkloadKind, count, mapping, members

_TRAINER: Path = ("spec", "trainer")
_RESOURCES: Path = (*_TRAINER, "resourcesPerNode")
# What the trainer's container and its replicated job are called in the runtimes that Kubeflow ships.
_TRAINERS = ("node", "trainer", "launcher")


def _templates(job: JsonObject) -> tuple[PodTemplate, ...]:
    trainer = mapping(value_at(job, _TRAINER))
    nodes = trainer.get("numNodes")
    patches = tuple(_patches(job))
    volumes: list[Any] = []
    mounts: list[Any] = []
    for patch in patches:
        volumes += members(patch.spec.get("volumes"))
        for container in members(patch.spec.get("containers")):
            if isinstance(container, dict) and container.get("name") in _TRAINERS:
                mounts += members(container.get("volumeMounts"))
    own = PodTemplate(
        _TRAINER,
        {"spec": {"volumes": volumes}},
        None if nodes is None else count(nodes),
        virtual=True,
        writable=False,
        partial=True,
        programs=(Program(_TRAINER, {**trainer, "volumeMounts": mounts} if mounts else trainer),),
        asked=_asked(job),
    )
    return (own, *patches)


def _asked(job: JsonObject) -> tuple[Asked, ...]:
    resources = value_at(job, _RESOURCES)
    if not isinstance(resources, dict):
        return (Asked(("spec", "runtimeRef"), "", None),)
    found = []
    for section in ("limits", "requests"):
        for resource, quantity in mapping(resources.get(section)).items():
            if isinstance(resource, str) and quantity is not None:
                found.append(Asked((*_RESOURCES, section, resource), resource, quantity))
    return tuple(found)


def _patches(job: JsonObject) -> Iterator[PodTemplate]:
    """What is laid over the runtime's pod templates, in the fields of each version of the trainer."""
    spec = mapping(job.get("spec"))
    for index in range(len(members(spec.get("runtimePatches")))):
        jobs: Path = ("spec", "runtimePatches", index, "trainingRuntimeSpec", "template", "spec", "replicatedJobs")
        for at, replicated in enumerate(members(value_at(job, jobs))):
            if isinstance(replicated, dict):
                yield _patch(job, (*jobs, at, "template", "spec", "template"), inline=False)
    for index in range(len(members(spec.get("podTemplateOverrides")))):
        yield _patch(job, ("spec", "podTemplateOverrides", index), inline=False)
    for index in range(len(members(spec.get("podSpecOverrides")))):
        yield _patch(job, ("spec", "podSpecOverrides", index), inline=True)


def _patch(job: JsonObject, path: Path, inline: bool) -> PodTemplate:
    body = mapping(value_at(job, path))
    # Only where Pods may go and what is mounted is taken from a patch: it makes no Pods and runs nothing of its own.
    return PodTemplate(path, {"spec": body} if inline else body, 0, inline=inline, virtual=True, writable=False, partial=True)


TRAIN_JOB = WorkloadKind(
    group="trainer.kubeflow.org",
    kind="TrainJob",
    templates=_templates,
    runs="once",
    labelled=lambda job: (),
    defaulted=False,
    type="training",
    named_by=("spec", "runtimeRef", "name"),
)
