"""What Ray's kinds share: a cluster of one head and groups of workers, and an entrypoint that runs on it.

KubeRay hands the labels of each group's template to its Pods. Kueue refuses a cluster that scales itself.
"""

from collections.abc import Iterator
from typing import Any

from signalbox.fieldpath import Path, value_at
from signalbox.quantity import is_placeholder
from signalbox.review import JsonObject
from signalbox.workload.kinds.gathered import gather
from signalbox.workload.kinds.kind import Metadata, PodTemplate, Program, count, mapping, members, product, template_at
from signalbox.workload.kinds.rayruntime import read_runtime

# Kueue's limit of pod sets in a workload, less the head.
_MOST_GROUPS = 7


def cluster_templates(root: JsonObject, cluster: Path) -> tuple[PodTemplate, ...]:
    """The templates of the cluster spec at ``cluster``."""
    found = []
    spec = mapping(value_at(root, cluster))
    if isinstance(spec.get("headGroupSpec"), dict):
        found.append(template_at(root, (*cluster, "headGroupSpec", "template"), 1, "head"))
    for path, group in _worker_groups(root, cluster):
        name = group.get("groupName")
        pods = _workers(group, spec.get("enableInTreeAutoscaling") is True)
        found.append(template_at(root, (*path, "template"), pods, name if isinstance(name, str) else ""))
    return tuple(found)


def cluster_metadata(root: JsonObject, cluster: Path) -> Metadata:
    """Where the labels of the cluster's Pods stand."""
    return tuple([(*template.path, "metadata") for template in cluster_templates(root, cluster)])


def cluster_obstacle(root: JsonObject, cluster: Path) -> str:
    """Why Kueue would refuse the cluster; empty where it would not."""
    spec = mapping(value_at(root, cluster))
    if spec.get("enableInTreeAutoscaling") is True:
        return "Kueue takes no Ray cluster that scales itself (enableInTreeAutoscaling)"
    if len(members(spec.get("workerGroupSpecs"))) > _MOST_GROUPS:
        return f"Kueue takes at most {_MOST_GROUPS} worker groups"
    return ""


def driver(path: Path, text: Any, templates: tuple[PodTemplate, ...], runtime: Path, runtime_text: Any) -> PodTemplate:
    """What an entrypoint runs: the driver on the head, what it starts on the workers, so the volumes of all are its own.

    ``runtime`` leads to its runtime environment, ``runtime_text``.
    """
    environment = read_runtime(runtime_text)
    volumes = [volume for template in templates for volume in members(template.spec.get("volumes"))]
    mounts, mount_paths = gather(templates, "volumeMounts")
    env, env_paths = gather(templates[:1], "env")
    env += environment.env
    env_paths += (runtime,) * len(environment.env)
    body: JsonObject = {"command": text if isinstance(text, str) else None, "env": env, "volumeMounts": mounts}
    if environment.working_dir:
        body["workingDir"] = environment.working_dir
    return PodTemplate(
        path[:-1],
        {"spec": {"volumes": volumes}},
        0,
        virtual=True,
        writable=False,
        partial=not templates,
        programs=(Program(path[:-1], body, command=path, gathered={"env": env_paths, "volumeMounts": mount_paths}),),
    )


def _worker_groups(root: JsonObject, cluster: Path) -> Iterator[tuple[Path, JsonObject]]:
    for index, group in enumerate(members(mapping(value_at(root, cluster)).get("workerGroupSpecs"))):
        if isinstance(group, dict):
            yield (*cluster, "workerGroupSpecs", index), group


def _workers(group: JsonObject, scales: bool) -> int | None:
    """How many Pods a group has; one that scales itself has at least one while it is of use."""
    if group.get("suspend") is True:
        return 0
    bounds = (group.get("minReplicas"), group.get("maxReplicas"))
    if any(map(is_placeholder, bounds)) and group.get("replicas") is None:
        return None
    replicas = count(group.get("replicas"), default=0)
    if replicas is not None:
        least, most = count(bounds[0], default=0), count(bounds[1], default=-1)
        replicas = max(replicas, least or 0, 1 if scales else 0)
        replicas = replicas if most is None or most < 0 else min(replicas, most)
    return product(replicas, count(group.get("numOfHosts")))
