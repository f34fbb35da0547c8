"""GPUs are asked for, never taken past the scheduler.

A container that asks for no GPU gets those of its node all the same where it sets `NVIDIA_VISIBLE_DEVICES`, runs under the
NVIDIA runtime class, or mounts the node's devices: it then computes on GPUs that the scheduler gave to others, whose runs
fail for want of memory. `runtimeClasses` lists the classes that hand GPUs out. Agents of the platform (a metrics exporter, a
device plugin) do so on purpose: leave their kinds or namespaces out with `when`.

Rule:
    check: gpu-bypass
Refused:
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: lab, namespace: research}
    spec:
      selector: {matchLabels: {app: lab}}
      template:
        metadata: {labels: {app: lab}}
        spec:
          containers:
            - name: jupyter
              image: registry.example/lab:1
              env: [{name: NVIDIA_VISIBLE_DEVICES, value: all}]
Passes:
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: lab, namespace: research}
    spec:
      selector: {matchLabels: {app: lab}}
      template:
        metadata: {labels: {app: lab}}
        spec:
          containers:
            - name: jupyter
              image: registry.example/lab:1
              resources: {limits: {nvidia.com/gpu: 1}}
"""

from collections.abc import Iterator
from itertools import islice
from posixpath import normpath
from typing import Any

from signalbox.check.check import Check, Parameters, container_name
from signalbox.fieldpath import Path
from signalbox.finding import CheckSubject, Edit, Fix, Problem
from signalbox.quantity import is_placeholder
from signalbox.review import JsonObject
from signalbox.workload.accelerators import TemplateAccelerators, holds_accelerators
from signalbox.workload.budget import Budget
from signalbox.workload.command import literal_env, read_variables
from signalbox.workload.judgement import Evidence
from signalbox.workload.kinds.kind import PodTemplate, mapping, members
from signalbox.workload.pod_containers import containers_of
from signalbox.workload.view import WorkloadView
from signalbox.workload.vocabulary import MAX_NAME

_VARIABLE = "NVIDIA_VISIBLE_DEVICES"
# What the NVIDIA container runtime takes for no devices.
_NO_DEVICES = frozenset({"", "void", "none"})
_DEVICE_FILES = ("/dev/nvidia", "/dev/dri", "/dev/kfd", "/dev/accel", "/dev/neuron", "/dev/davinci", "/dev/vfio")
_MOST_PROBLEMS = 256


class GpuBypassParameters(Parameters):
    """Which runtime classes hand GPUs out."""

    runtime_classes: list[str] = ["nvidia", "nvidia-legacy", "nvidia-cdi"]


def run(subject: CheckSubject, parameters: GpuBypassParameters) -> Iterator[Problem]:
    """One problem a container and way round, one a template for its runtime class; keyed by names."""
    return islice(_run(subject.view, parameters), _MOST_PROBLEMS)


def _run(view: WorkloadView, parameters: GpuBypassParameters) -> Iterator[Problem]:
    for template, accelerators in zip(view.templates, view.template_accelerators, strict=True):
        # What is laid over a template that stands elsewhere may well ask there.
        if template.virtual or template.partial:
            continue
        spec = template.spec
        runtime = spec.get("runtimeClassName")
        runs_on_gpus = type(runtime) is str and runtime in parameters.runtime_classes
        devices = _device_volumes(spec)
        asks: bool | None = None
        for path, container, _ in containers_of(template):
            found = _visible(container, path) or (_mounted(container, path, devices) if devices else None)
            if found is None:
                continue
            if asks is None:
                asks = _annotated(accelerators)
            if not asks and not holds_accelerators(container, template, view.signs):
                yield _taken(container, path, template, *found)
        if runs_on_gpus and not accelerators.evidence:
            path = (*template.spec_path, "runtimeClassName")
            of = f" of {template.name}" if template.name else ""
            yield Problem(
                f"The Pods{of} ask for no GPU, but runtime class {runtime} gives them those of their node.",
                (Evidence(path, str(runtime)),),
                Fix("ask for the GPUs they use, or leave the runtime class out.", (Edit(path, removes=True),)),
                key=f"{template.name}/runtime-class",
            )


def _annotated(accelerators: TemplateAccelerators) -> bool:
    """Whether the Pod has accelerators that no container of it asks for (a fraction by annotation)."""
    return any(seen.path[-2:-1] == ("annotations",) for seen in accelerators.evidence)


def _visible(container: JsonObject, path: Path) -> tuple[str, Evidence] | None:
    filled: dict[str, str] | None = None
    for index, entry in enumerate(members(container.get("env"))):
        if type(entry) is not dict or entry.get("name") != _VARIABLE:
            continue
        value = entry.get("value")
        if type(value) is str and "$(" in value:
            # Kubernetes fills in what the variables before it say.
            if filled is None:
                budget = Budget()
                filled = literal_env(read_variables(container, budget), budget)
            value = filled.get(_VARIABLE, value)
        if type(value) is str and value.strip().lower() not in _NO_DEVICES and not is_placeholder(value):
            return "env", Evidence((*path, "env", index), f"{_VARIABLE}={value}")
    return None


def _device_volumes(spec: JsonObject) -> dict[str, str]:
    """The host's folders that hold devices, and its device files, by the names of their volumes."""
    found = {}
    for volume in members(spec.get("volumes")):
        where = mapping(mapping(volume).get("hostPath")).get("path")
        if type(where) is str and len(where) <= MAX_NAME and type(volume.get("name")) is str:
            where = _plain(where)
            if where == "/" or _holds_devices(where):
                found[volume["name"]] = where
    return found


def _plain(path: str) -> str:
    """The path as the host reads it: ``//dev/./nvidia0`` is ``/dev/nvidia0``."""
    return normpath("/" + path.lstrip("/"))


def _holds_devices(path: str) -> bool:
    return path == "/dev" or path.startswith(_DEVICE_FILES)


def _mounted(container: JsonObject, path: Path, devices: dict[str, str]) -> tuple[str, Evidence] | None:
    privileged = mapping(container.get("securityContext")).get("privileged") is True
    for index, mount in enumerate(members(container.get("volumeMounts"))):
        name = mapping(mount).get("name")
        where = devices.get(name) if type(name) is str else None
        below = mapping(mount).get("subPath")
        if where is not None and type(below) is str and len(below) <= MAX_NAME:
            where = _plain(f"{where}/{below}")
        if where is None or not _holds_devices(where):
            continue
        # The folder alone opens no device to a container without privileges.
        if privileged or where != "/dev":
            return "devices", Evidence((*path, "volumeMounts", index), f"hostPath {where}", "privileged" if privileged else "")
    return None


def _taken(container: JsonObject, path: Path, template: PodTemplate, way: str, evidence: Evidence) -> Problem:
    name = container_name(container)
    of = f" of {template.name}" if template.name else ""
    limit: dict[str, Any] = {"nvidia.com/gpu": 1}
    resources = container.get("resources")
    where: Path = (*path, "resources", "limits", "nvidia.com/gpu")
    edit = Edit(where, limit["nvidia.com/gpu"], to_fill_in=True)
    if resources is not None and type(resources) is not dict:
        edit = Edit((*path, "resources"), {"limits": limit}, to_fill_in=True)
    return Problem(
        f"Container {name}{of} asks for no GPU but sees those of its node, which others asked for.",
        (evidence,),
        Fix("ask for the GPUs it uses:", (edit,)),
        key=f"{template.name}/{name}/{way}",
    )


CHECK = Check("gpu-bypass", GpuBypassParameters, run, __doc__)
