"""NIMService ``apps.nvidia.com``: a model server described by fields of its own, which stand where a PodSpec has them.

``image`` is a mapping of repository and tag; nodeSelector, tolerations, env and resources are as in a Pod (k8s-nim-operator
``api/apps/v1alpha1``). Its operator writes the Deployment, or the LeaderWorkerSet or InferenceService, which come by again.
"""

from signalbox.fieldpath import Path
from signalbox.review import JsonObject
from signalbox.workload.kinds.kind import PodTemplate, Program, WorkloadKind, count, mapping, product

_SPEC: Path = ("spec",)
_OF_ITS_CONTAINER = ("command", "args", "env", "resources")


def _templates(service: JsonObject) -> tuple[PodTemplate, ...]:
    spec = mapping(service.get("spec"))
    body = {name: spec[name] for name in _OF_ITS_CONTAINER if spec.get(name) is not None}
    image = mapping(spec.get("image"))
    if isinstance(image.get("repository"), str):
        tag = image.get("tag")
        body["image"] = f"{image['repository']}:{tag}" if isinstance(tag, str) and tag else image["repository"]
    program = Program(_SPEC, body)
    pods = product(_replicas(spec), _nodes(mapping(spec.get("multiNode"))))
    return (PodTemplate(_SPEC, {"spec": spec}, pods, inline=True, virtual=True, writable=False, programs=(program,)),)


def _replicas(spec: JsonObject) -> int | None:
    """How many it has at least: an autoscaler of its own keeps as many as that is told."""
    replicas, scale = count(spec.get("replicas")), mapping(spec.get("scale"))
    least = count(mapping(scale.get("hpa")).get("minReplicas")) if scale.get("enabled") is True else 0
    return None if replicas is None or least is None else max(replicas, least)


def _nodes(spread: JsonObject) -> int | None:
    """How many Pods serve one replica: said itself, or by the stages of its pipeline."""
    size, stages = count(spread.get("size")), count(mapping(spread.get("parallelism")).get("pipeline"))
    return None if size is None or stages is None else max(size, stages)


NIM_SERVICE = WorkloadKind(
    group="apps.nvidia.com",
    kind="NIMService",
    templates=_templates,
    runs="forever",
    labelled=lambda service: (),
    queue=None,
    defaulted=False,
    type="inference",
    type_decides=True,
)
