"""A training runtime as it becomes the Pods of a TrainJob (Kubeflow trainer, ``pkg/runtime``).

The TrainJob's trainer takes the place of the image, command and arguments of the container ``node``, its resources that of
the container's resources, and its environment is added; ``numNodes`` counts before the runtime's.
"""

from dataclasses import dataclass, replace
from typing import Any

from signalbox.cluster.objects import TrainingRuntime
from signalbox.fieldpath import Path, value_at
from signalbox.review import JsonObject
from signalbox.workload.kinds.job import job_pods
from signalbox.workload.kinds.kind import Asked, PodTemplate, Program, count, mapping, members, product
from signalbox.workload.volumes import claimed_volumes

_STEP = "trainer.kubeflow.org/trainjob-ancestor-step"
_TRAINER_STEP = "trainer"
_NODE = "node"
# What a PodGroup is made of: by the trainer (``podGroupPolicy`` of a runtime), and by JobSet.
_GANGS: tuple[Path, ...] = (("podGroupPolicy",), ("template", "spec", "gangPolicy"))
_INITIALIZERS = ("dataset-initializer", "model-initializer")


@dataclass(frozen=True, slots=True)
class Patched:
    """What the patches of a TrainJob add to its trainer: volumes, and mounts with where each stands."""

    volumes: list[Any]
    mounts: list[tuple[Path, Any]]


def runtime_templates(
    job: JsonObject, runtime: TrainingRuntime, path: Path, trainer: Path, patched: Patched
) -> tuple[PodTemplate, ...]:
    """The templates of a TrainJob on this runtime, which is shown at ``path``; ``trainer`` leads to the job's trainer.

    None where no replicated job of the runtime is the trainer's: then nothing is known of what it does.
    """
    replicated = [
        one for one in members(value_at(runtime.spec, ("template", "spec", "replicatedJobs"))) if isinstance(one, dict)
    ]
    if not any(_step(one) == _TRAINER_STEP for one in replicated):
        return ()
    policy = mapping(runtime.spec.get("mlPolicy"))
    whole = any(mapping(value_at(runtime.spec, gang)) for gang in _GANGS)
    claimed = claimed_volumes(runtime.spec, [("template", "spec", "replicatedJobs")])
    shared = [{"name": name, source: body} for name, (source, body) in claimed.items()]
    found = (_template(job, policy, one, (*path, _name(one)), trainer, patched, shared) for one in replicated)
    return tuple(replace(template, whole=True) for template in found) if whole else tuple(found)


def _name(replicated: JsonObject) -> str:
    name = replicated.get("name")
    return name if isinstance(name, str) else ""


def _step(replicated: JsonObject) -> Any:
    return mapping(value_at(replicated, ("template", "metadata", "labels"))).get(_STEP)


def _template(
    job: JsonObject,
    policy: JsonObject,
    replicated: JsonObject,
    path: Path,
    trainer: Path,
    patched: Patched,
    shared: list[JsonObject],
) -> PodTemplate:
    template = mapping(value_at(replicated, ("template", "spec", "template")))
    spec = mapping(template.get("spec"))
    if shared:
        spec = {**spec, "volumes": [*members(spec.get("volumes")), *shared]}
    own = mapping(value_at(job, trainer))
    runs_it = _step(replicated) == _TRAINER_STEP
    as_node = mapping(policy.get("mpi")).get("runLauncherAsNode") is True and _name(replicated) == _NODE
    rest = spec
    programs: tuple[Program, ...] = ()
    asked: tuple[Asked, ...] = ()
    at = _node_at(spec) if runs_it or as_node else None
    if at is not None:
        container: JsonObject = spec["containers"][at]
        where: Path = (*path, "containers", at)
        rest = {
            **spec,
            "containers": [one for index, one in enumerate(spec["containers"]) if index != at],
            "volumes": [*members(spec.get("volumes")), *patched.volumes],
        }
        said = own if runs_it else {"env": own.get("env")}
        programs = (_program(container, where, said, trainer, patched),)
        asked = _asked(container, where, own, trainer)
    return PodTemplate(
        path,
        {"metadata": mapping(template.get("metadata")), "spec": rest},
        _pods(policy, replicated, own, runs_it),
        _name(replicated),
        inline=True,
        virtual=True,
        writable=False,
        programs=programs,
        asked=asked,
        foreign=str(path[-2]),
        apart=_step(replicated) in _INITIALIZERS,
    )


def _node_at(spec: JsonObject) -> int | None:
    for index, container in enumerate(members(spec.get("containers"))):
        if isinstance(container, dict) and container.get("name") == _NODE:
            return index
    return None


def _pods(policy: JsonObject, replicated: JsonObject, own: JsonObject, runs_it: bool) -> int | None:
    asked = own.get("numNodes")
    mpi = policy.get("mpi")
    if runs_it:
        # Under MPI the trainer is the launcher, and the nodes are counted apart.
        return count(policy.get("numNodes") if mpi is not None or asked is None else asked)
    if mpi is not None and asked is not None and _name(replicated) == _NODE:
        nodes = count(asked)
        if nodes is None or mapping(mpi).get("runLauncherAsNode") is not True:
            return nodes
        return max(nodes - 1, 1)
    return product(count(replicated.get("replicas")), job_pods(mapping(value_at(replicated, ("template", "spec")))))


def _program(container: JsonObject, where: Path, own: JsonObject, trainer: Path, patched: Patched) -> Program:
    """The container with what the trainer says; what it asks for is counted by itself."""
    named = {key: own[key] for key in ("image", "command", "args") if own.get(key) is not None}
    plain = {key: value for key, value in container.items() if key != "resources"}
    env, more = members(container.get("env")), members(own.get("env"))
    mounts = members(container.get("volumeMounts"))
    return Program(
        trainer if named else where,
        {**plain, **named, "env": [*env, *more], "volumeMounts": [*mounts, *(mount for _, mount in patched.mounts)]},
        command=(*(trainer if "command" in named else where), "command"),
        args=(*(trainer if "args" in named else where), "args"),
        gathered={
            "env": (*_places(where, "env", env), *_places(trainer, "env", more)),
            "volumeMounts": (*_places(where, "volumeMounts", mounts), *(path for path, _ in patched.mounts)),
        },
    )


def _places(path: Path, section: str, listed: list[Any]) -> list[Path]:
    return [(*path, section, index) for index in range(len(listed))]


def _asked(container: JsonObject, where: Path, own: JsonObject, trainer: Path) -> tuple[Asked, ...]:
    resources, path = own.get("resourcesPerNode"), (*trainer, "resourcesPerNode")
    if not isinstance(resources, dict):
        resources, path = mapping(container.get("resources")), (*where, "resources")
    return tuple(
        Asked((*path, section, resource), resource, quantity)
        for section in ("limits", "requests")
        for resource, quantity in mapping(resources.get(section)).items()
        if isinstance(resource, str) and quantity is not None
    )
