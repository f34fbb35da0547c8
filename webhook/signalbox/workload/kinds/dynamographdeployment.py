"""DynamoGraphDeployment ``nvidia.com``: the parts of one inference server, each with a number of Pods of its own.

In ``v1alpha1`` each member of ``spec.services`` holds a PodSpec (``extraPodSpec``) with its container in ``mainContainer``, and
GPUs by number in ``resources``; from ``v1beta1`` on ``spec.components`` is a list with pod templates (ai-dynamo/dynamo
``deploy/operator/api``). A part over several nodes makes ``multinode.nodeCount`` Pods a replica.
"""

from collections.abc import Iterator

from signalbox.fieldpath import Path
from signalbox.review import JsonObject
from signalbox.workload.kinds.kind import (
    Asked,
    PodTemplate,
    Program,
    WorkloadKind,
    count,
    mapping,
    members,
    product,
    template_at,
)


def _templates(graph: JsonObject) -> tuple[PodTemplate, ...]:
    spec = mapping(graph.get("spec"))
    return (*_services(mapping(spec.get("services"))), *_components(graph, members(spec.get("components"))))


def _services(services: JsonObject) -> Iterator[PodTemplate]:
    for name, service in services.items():
        if not isinstance(service, dict):
            continue
        path: Path = ("spec", "services", name)
        pod = mapping(service.get("extraPodSpec"))
        main = mapping(pod.get("mainContainer"))
        body = {**main, "env": [*members(service.get("envs")), *members(main.get("env"))]} if service.get("envs") else main
        yield PodTemplate(
            (*path, "extraPodSpec"),
            {"spec": pod},
            _pods(service),
            name,
            inline=True,
            writable=False,
            programs=(Program((*path, "extraPodSpec", "mainContainer"), body, gathered=_gathered(path, service, main)),),
            asked=_asked(path, service),
        )


def _gathered(path: Path, service: JsonObject, main: JsonObject) -> dict[str, tuple[Path, ...]]:
    """Where each variable of a service stands: the service's own, then its container's."""
    if not service.get("envs"):
        return {}
    own: list[Path] = [(*path, "envs", index) for index in range(len(members(service["envs"])))]
    inner = (*path, "extraPodSpec", "mainContainer", "env")
    return {"env": (*own, *[(*inner, index) for index in range(len(members(main.get("env"))))])}


def _asked(path: Path, service: JsonObject) -> tuple[Asked, ...]:
    resources = mapping(service.get("resources"))
    found = []
    for section in ("limits", "requests"):
        quantity = mapping(resources.get(section)).get("gpu")
        if quantity is not None:
            # A name of its own stands beside the number where the GPUs are not NVIDIA's.
            named = mapping(resources.get(section)).get("gpuType")
            resource = named if isinstance(named, str) and named else "nvidia.com/gpu"
            found.append(Asked((*path, "resources", section, "gpu"), resource, quantity))
    return tuple(found)


def _components(graph: JsonObject, components: list[object]) -> Iterator[PodTemplate]:
    for index, component in enumerate(components):
        if isinstance(component, dict):
            name = component.get("name")
            path: Path = ("spec", "components", index, "podTemplate")
            yield template_at(graph, path, _pods(component), name if isinstance(name, str) else "")


def _pods(part: JsonObject) -> int | None:
    return product(count(part.get("replicas")), count(mapping(part.get("multinode")).get("nodeCount")))


DYNAMO_GRAPH_DEPLOYMENT = WorkloadKind(
    group="nvidia.com",
    kind="DynamoGraphDeployment",
    templates=_templates,
    runs="forever",
    labelled=lambda graph: (),
    queue=None,
    defaulted=False,
    type="inference",
    type_decides=True,
)
