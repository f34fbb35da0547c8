"""What Argo's Workflow and CronWorkflow share: a list of templates, each of which makes one Pod where a step runs it.

A template's containers stand in fields of its own, where its Pods may go in those of a PodSpec; what it does not say of that
stands in the workflow's spec (argo-workflows ``pkg/apis/workflow/v1alpha1``, ``workflow/controller/workflowpod.go``). A step
that is run for each of several items counts once, and ``podSpecPatch`` is text that is not read.
"""

from collections.abc import Iterator
from typing import Any

from signalbox.fieldpath import Path, value_at
from signalbox.review import JsonObject
from signalbox.workload.kinds.kind import Metadata, PodTemplate, Program, mapping, members
from signalbox.workload.kinds.workflowparameters import StepParameters

GROUP = "argoproj.io"
# More than any set of containers shares.
_MOST_MOUNTS = 32
_RUN_IN = ("container", "script", "containerSet")
# What a template says replaces what the spec says.
_PLACING = ("nodeSelector", "tolerations", "affinity")


def step_templates(root: JsonObject, spec_path: Path, given: bool = True) -> tuple[PodTemplate, ...]:
    """The templates of the workflow spec at ``spec_path`` that make Pods, and what that spec says for those that do not.

    ``given``: the workflow's arguments are those that it is run with.
    """
    spec = mapping(value_at(root, spec_path))
    parameters = StepParameters(spec if given else {})
    listed = enumerate(members(spec.get("templates")))
    steps = [(index, _filled(step, parameters)) for index, step in listed if _makes_pods(step)]
    volumes = _by_name(members(spec.get("volumes")))
    found = [_template((*spec_path, "templates", index), step, volumes) for index, step in steps]
    shared = {field: spec[field] for field in _PLACING if spec.get(field) and not all(step.get(field) for _, step in steps)}
    if shared:
        whole = parameters.filled(shared, "")
        found.append(PodTemplate(spec_path, {"spec": whole}, 0, inline=True, virtual=True, writable=False))
    return tuple(found)


def _filled(step: JsonObject, parameters: StepParameters) -> JsonObject:
    name = step.get("name")
    found: JsonObject = parameters.filled(step, name if isinstance(name, str) else "")
    return found


def step_metadata(spec_path: Path) -> Metadata:
    """Where the labels of every step's Pods stand."""
    return ((*spec_path, "podMetadata"),)


def _makes_pods(step: object) -> bool:
    return isinstance(step, dict) and any(isinstance(step.get(field), dict) for field in _RUN_IN)


def _by_name(volumes: list[Any]) -> dict[str, JsonObject]:
    return {volume["name"]: volume for volume in volumes if isinstance(volume, dict) and isinstance(volume.get("name"), str)}


def _template(path: Path, step: JsonObject, volumes: dict[str, JsonObject]) -> PodTemplate:
    name = step.get("name")
    programs = tuple(_programs(path, step))
    bodies = [*[program.body for program in programs], *members(step.get("initContainers"))]
    # Of the workflow's volumes a Pod has those that it mounts.
    shared = [volumes[mounted] for mounted in _mounted(bodies) if mounted in volumes] if volumes else []
    # Its containers are programs; a field of that name means nothing to Argo.
    pod = {**step, "volumes": [*members(step.get("volumes")), *shared], "containers": []}
    return PodTemplate(
        path,
        {"metadata": mapping(step.get("metadata")), "spec": pod},
        name=name if isinstance(name, str) else "",
        inline=True,
        writable=False,
        programs=programs,
    )


def _mounted(bodies: list[Any]) -> dict[str, None]:
    mounts = [mapping(mount).get("name") for body in bodies for mount in members(mapping(body).get("volumeMounts"))]
    return dict.fromkeys([name for name in mounts if isinstance(name, str)])


def _programs(path: Path, step: JsonObject) -> Iterator[Program]:
    if isinstance(step.get("container"), dict):
        yield Program((*path, "container"), step["container"])
    if isinstance(step.get("script"), dict):
        yield _script((*path, "script"), step["script"])
    yield from _together((*path, "containerSet"), mapping(step.get("containerSet")))
    for index, sidecar in enumerate(members(step.get("sidecars"))):
        if isinstance(sidecar, dict):
            yield Program((*path, "sidecars", index), sidecar, beside=True)


def _script(path: Path, script: JsonObject) -> Program:
    """The interpreter in ``command`` is handed a file with the text in ``source``: as if the text stood after ``-c``."""
    command, source = script.get("command"), script.get("source")
    if not isinstance(command, list) or not command or not isinstance(source, str):
        return Program(path, script)
    body = {**script, "command": [*command, *members(script.get("args"))], "args": ["-c", source]}
    return Program(path, body, args=(*path, "source"))


def _together(path: Path, one: JsonObject) -> Iterator[Program]:
    """Several containers; what the set mounts is mounted into each."""
    mounts = members(one.get("volumeMounts"))[:_MOST_MOUNTS]
    places = tuple([(*path, "volumeMounts", at) for at in range(len(mounts))])
    of_set = {"volumeMounts": places}
    for index, container in enumerate(members(one.get("containers"))):
        if not isinstance(container, dict):
            continue
        here: Path = (*path, "containers", index)
        own = members(container.get("volumeMounts"))
        if not mounts:
            yield Program(here, container)
        elif not own:
            yield Program(here, {**container, "volumeMounts": mounts}, gathered=of_set)
        else:
            gathered = (*[(*here, "volumeMounts", at) for at in range(len(own))], *places)
            yield Program(here, {**container, "volumeMounts": [*own, *mounts]}, gathered={"volumeMounts": gathered})
