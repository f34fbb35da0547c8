"""TrainJob ``trainer.kubeflow.org``: a trainer whose pod template stands in a training runtime, another object.

Its child is a JobSet whose labels come from the runtime, and places in the runtime are changed only by patches, each owned
by one manager, that cannot change once the job runs. So nothing is injected but labels of its own. Kueue alone suspends it
(kueue#11931). Without ``numNodes`` or ``resourcesPerNode`` the runtime says how many; where the cluster view knows it, its
templates take part (``trainingruntime``).
"""

from collections.abc import Iterator
from typing import Any

from signalbox.cluster.view import UNKNOWN, ClusterView
from signalbox.fieldpath import Path, value_at
from signalbox.review import JsonObject
from signalbox.workload.kinds.kind import Asked, PodTemplate, Program, WorkloadKind, count, mapping, members
from signalbox.workload.kinds.trainingruntime import Patched, runtime_templates

_TRAINER: Path = ("spec", "trainer")
_REFERENCE: Path = ("spec", "runtimeRef")
_RESOURCES: Path = (*_TRAINER, "resourcesPerNode")
_GROUP = "trainer.kubeflow.org"
_DEFAULT_KIND = "ClusterTrainingRuntime"
_RUNTIMES = (_DEFAULT_KIND, "TrainingRuntime")
# What the trainer's container and its replicated job are called in the runtimes that Kubeflow ships.
_TRAINERS = ("node", "trainer", "launcher")


def _templates(job: JsonObject) -> tuple[PodTemplate, ...]:
    trainer = mapping(value_at(job, _TRAINER))
    nodes = trainer.get("numNodes")
    patches = tuple(_patches(job))
    patched = _patched(patches)
    own = PodTemplate(
        _TRAINER,
        {"spec": {"volumes": patched.volumes}},
        None if nodes is None else count(nodes),
        virtual=True,
        writable=False,
        partial=True,
        programs=(_program(trainer, patched),),
        asked=_asked(job),
    )
    return (own, *patches)


def _program(trainer: JsonObject, patched: Patched) -> Program:
    if not patched.mounts:
        return Program(_TRAINER, trainer)
    mounts = [mount for _, mount in patched.mounts]
    paths = tuple(path for path, _ in patched.mounts)
    return Program(_TRAINER, {**trainer, "volumeMounts": mounts}, gathered={"volumeMounts": paths})


def _patched(patches: tuple[PodTemplate, ...]) -> Patched:
    volumes: list[Any] = []
    mounts: list[tuple[Path, Any]] = []
    for patch in patches:
        volumes += members(patch.spec.get("volumes"))
        for index, container in enumerate(members(patch.spec.get("containers"))):
            if isinstance(container, dict) and container.get("name") in _TRAINERS:
                path: Path = (*patch.spec_path, "containers", index, "volumeMounts")
                mounts += [((*path, at), mount) for at, mount in enumerate(members(container.get("volumeMounts")))]
    return Patched(volumes, mounts)


def _completed(job: JsonObject, namespace: str, cluster: ClusterView) -> tuple[PodTemplate, ...]:
    reference = mapping(value_at(job, _REFERENCE))
    name, kind = reference.get("name"), reference.get("kind") or _DEFAULT_KIND
    if not isinstance(name, str) or kind not in _RUNTIMES or reference.get("apiGroup", _GROUP) != _GROUP:
        return _templates(job)
    runtime = cluster.training_runtime(kind, namespace, name)
    if runtime is None or runtime is UNKNOWN:
        return _templates(job)
    patches = tuple(_patches(job))
    completed = runtime_templates(job, runtime, (*_REFERENCE, f"{kind} {name}"), _TRAINER, _patched(patches))
    return (*completed, *patches) if completed else _templates(job)


def _asked(job: JsonObject) -> tuple[Asked, ...]:
    resources = value_at(job, _RESOURCES)
    if not isinstance(resources, dict):
        return (Asked(_REFERENCE, "", None),)
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
    group=_GROUP,
    kind="TrainJob",
    templates=_templates,
    completed=_completed,
    runs="once",
    labelled=lambda job: (),
    defaulted=False,
    type="training",
    named_by=("spec", "runtimeRef", "name"),
)
