"""SparkApplication ``sparkoperator.k8s.io``: a driver and executors, described by fields of their own.

Those stand where a PodSpec has them (nodeSelector, tolerations, affinity, grace), accelerators in ``gpu``, containers beside
Spark's in ``sidecars``. A role may have a pod template too: its first container is Spark's, and the fields are laid over it
(spark-operator ``api/v1beta2``). Kueue knows the kind only behind a feature gate that is off, so it gets no label of Kueue's.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import Any

from signalbox.fieldpath import Path
from signalbox.review import JsonObject
from signalbox.workload.kinds.kind import Asked, Metadata, PodTemplate, Program, WorkloadKind, count, mapping, members

_ROLES = ("driver", "executor")
# More than any container, or Pod, has of anything; what is beyond is not read anyway.
_MOST = 2048
_Placed = list[tuple[Path, Any]]
_DYNAMIC = "spark.dynamicAllocation"
_YES = ("true", True)
_SCRIPTS = (".py", ".R", ".r")
_OF_SCRIPTS = ("Python", "R")
_STARTED = ("initialExecutors", "minExecutors")
_BATCH_SCHEDULER: Path = ("spec", "batchSchedulerOptions")


def _roles(application: JsonObject) -> Iterator[tuple[str, JsonObject]]:
    spec = mapping(application.get("spec"))
    for role in _ROLES:
        body = spec.get(role)
        if isinstance(body, dict):
            yield role, body


def _templates(application: JsonObject) -> tuple[PodTemplate, ...]:
    spec = mapping(application.get("spec"))
    found = []
    volumes: list[Any] = []
    env: _Placed = []
    mounts: _Placed = []
    for role, body in _roles(application):
        path: Path = ("spec", role)
        pods = 1 if role == "driver" else _executors(spec, body)
        plain = PodTemplate(path, {"spec": body}, pods, role, inline=True, asked=_asked(spec, role, body))
        variables = _variables(path, body)
        if body.get("template") or body.get("sidecars"):
            template = mapping(body.get("template"))
            pod = mapping(template.get("spec"))
            own = members(pod.get("volumes"))
            containers = _containers((*path, "template", "spec"), pod, "containers")
            beside = [replace(one, beside=True) for one in (*_containers(path, body, "sidecars"), *containers[1:])]
            for container in containers[:1]:
                variables = [*_listed(container.path, container.body, "env"), *variables]
                mounts += _listed(container.path, container.body, "volumeMounts")
            whole = {**body, "volumes": [*members(spec.get("volumes")), *own]}
            found.append(replace(plain, body={"spec": whole}, programs=(*containers[:1], *beside)))
            found += [_below(path, template, pod, role)] if template else []
            volumes += own
        else:
            found.append(plain)
        # The driver's come last, and count.
        env = [*variables, *env] if variables else env
        mounts += _listed(path, body, "volumeMounts")
    # The application's own nodeSelector and volumes are for both roles.
    whole = {**spec, "volumes": [*members(spec.get("volumes")), *volumes]} if volumes else spec
    programs = (_program(spec, env, mounts),)
    return (*found, PodTemplate(("spec",), {"spec": whole}, 0, inline=True, virtual=True, writable=False, programs=programs))


def _program(spec: JsonObject, env: _Placed, mounts: _Placed) -> Program:
    file, main_class = spec.get("mainApplicationFile"), spec.get("mainClass")
    field, command = "mainApplicationFile", [file] if isinstance(file, str) else []
    # Of a script the class is only what runs it.
    of_script = spec.get("type") in _OF_SCRIPTS or (command and command[0].endswith(_SCRIPTS))
    if isinstance(main_class, str) and main_class and not of_script:
        field, command = "mainClass", ["spark-submit", "--class", main_class, *command]
    body: JsonObject = {
        "image": spec.get("image"),
        "command": command or None,
        "args": spec.get("arguments"),
        "env": [variable for _, variable in env],
        "volumeMounts": [mount for _, mount in mounts],
    }
    gathered = {"env": tuple([path for path, _ in env]), "volumeMounts": tuple([path for path, _ in mounts])}
    return Program(("spec",), body, ("spec", field), ("spec", "arguments"), gathered)


def _below(path: Path, template: JsonObject, pod: JsonObject, role: str) -> PodTemplate:
    """Where a role's pod template says that its Pods may go; they are counted, and its containers read, with the role."""
    rest = {key: value for key, value in pod.items() if key != "containers"}
    body = {"metadata": mapping(template.get("metadata")), "spec": rest}
    return PodTemplate((*path, "template"), body, 0, role, virtual=True, writable=False)


def _containers(path: Path, body: JsonObject, section: str) -> list[Program]:
    return [Program(place, container) for place, container in _listed(path, body, section) if isinstance(container, dict)]


def _listed(path: Path, body: JsonObject, section: str) -> _Placed:
    listed = members(body.get(section))
    return [((*path, section, index), member) for index, member in enumerate(listed[:_MOST])] if listed else []


def _variables(path: Path, role: JsonObject) -> _Placed:
    """Its environment, in the field of today and, as a mapping, in the one before it."""
    today = _listed(path, role, "env")
    former = role.get("envVars")
    if not isinstance(former, dict):
        return today
    return [
        *[((*path, "envVars", name), {"name": name, "value": value}) for name, value in islice(former.items(), _MOST)],
        *today,
    ]


def _executors(spec: JsonObject, executor: JsonObject) -> int | None:
    configured = mapping(spec.get("sparkConf"))
    instances = count(executor.get("instances", configured.get("spark.executor.instances")))
    dynamic = mapping(spec.get("dynamicAllocation"))
    if not dynamic and configured.get(f"{_DYNAMIC}.enabled") in _YES:
        dynamic = {"enabled": True} | {field: configured.get(f"{_DYNAMIC}.{field}") for field in _STARTED}
    if dynamic.get("enabled") is not True or instances is None:
        return instances
    started = [count(dynamic.get(field), default=0) for field in _STARTED]
    return max(instances, *[number or 0 for number in started])


def _asked(spec: JsonObject, role: str, body: JsonObject) -> tuple[Asked, ...]:
    """What a role asks for in its field, else by Spark's own settings (Spark "Custom Resource Scheduling")."""
    gpu = mapping(body.get("gpu"))
    name = gpu.get("name")
    if isinstance(name, str) and gpu.get("quantity") is not None:
        return (Asked(("spec", role, "gpu", "quantity"), name, gpu["quantity"]),)
    configured = mapping(spec.get("sparkConf"))
    amount = f"spark.{role}.resource.gpu.amount"
    vendor = configured.get(f"spark.{role}.resource.gpu.vendor")
    if not isinstance(vendor, str) or configured.get(amount) is None:
        return ()
    return (Asked(("spec", "sparkConf", amount), f"{vendor}/gpu", configured[amount]),)


def _labelled(application: JsonObject) -> Metadata:
    return tuple([("spec", role) for role, _ in _roles(application)])


SPARK_APPLICATION = WorkloadKind(
    group="sparkoperator.k8s.io",
    kind="SparkApplication",
    templates=_templates,
    runs="once",
    labelled=_labelled,
    queue=None,
    queue_fields=((*_BATCH_SCHEDULER, "queue"),),
    priority=((*_BATCH_SCHEDULER, "priorityClassName"),),
    defaulted=False,
    type="data-processing",
    framework="spark",
)
