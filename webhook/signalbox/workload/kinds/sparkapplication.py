"""SparkApplication ``sparkoperator.k8s.io``: a driver and executors, described by fields of their own.

Those stand where a PodSpec has them (nodeSelector, tolerations, affinity, grace), accelerators in ``gpu``. Kueue knows the
kind only behind a feature gate that is off, so it gets no label of Kueue's.
"""

from collections.abc import Iterator
from typing import Any

from signalbox.fieldpath import Path
from signalbox.review import JsonObject
from signalbox.workload.kinds.kind import Asked, Metadata, PodTemplate, Program, WorkloadKind, count, mapping, members

_ROLES = ("driver", "executor")
# More than any container has; what is beyond is not read anyway.
_MOST_MOUNTS = 2048
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
    mounts: list[Any] = []
    paths: list[Path] = []
    for role, body in _roles(application):
        pods = 1 if role == "driver" else _executors(spec, body)
        found.append(
            PodTemplate(("spec", role), {"spec": body}, pods, role, inline=True, asked=_asked(("spec", role, "gpu"), body))
        )
        listed = members(body.get("volumeMounts"))[:_MOST_MOUNTS]
        mounts += listed
        paths += [("spec", role, "volumeMounts", index) for index in range(len(listed))]
    variables = members(mapping(spec.get("driver")).get("env"))[:_MOST_MOUNTS]
    gathered = {
        "volumeMounts": tuple(paths),
        "env": tuple([("spec", "driver", "env", index) for index in range(len(variables))]),
    }
    file = spec.get("mainApplicationFile")
    program: JsonObject = {
        "image": spec.get("image"),
        "command": [file] if isinstance(file, str) else None,
        "args": spec.get("arguments"),
        "env": variables,
        "volumeMounts": mounts,
    }
    main = Program(("spec",), program, ("spec", "mainApplicationFile"), ("spec", "arguments"), gathered)
    # The application's own nodeSelector and volumes are for both roles.
    own = PodTemplate(("spec",), {"spec": spec}, 0, inline=True, virtual=True, writable=False, programs=(main,))
    return (*found, own)


def _executors(spec: JsonObject, executor: JsonObject) -> int | None:
    instances = count(executor.get("instances"))
    dynamic = mapping(spec.get("dynamicAllocation"))
    if dynamic.get("enabled") is not True or instances is None:
        return instances
    started = [count(dynamic.get(field), default=0) for field in ("initialExecutors", "minExecutors")]
    return max(instances, *[number or 0 for number in started])


def _asked(path: Path, role: JsonObject) -> tuple[Asked, ...]:
    gpu = mapping(role.get("gpu"))
    name = gpu.get("name")
    if not isinstance(name, str) or gpu.get("quantity") is None:
        return ()
    return (Asked((*path, "quantity"), name, gpu["quantity"]),)


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
