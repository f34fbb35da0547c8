"""LLMInferenceService ``serving.kserve.io``: a model served by bare PodSpecs, decoding and prefill apart if need be.

What is not written here comes from configurations that are other objects, so only a PodSpec that stands here is written to.
"""

from dataclasses import replace

from signalbox.fieldpath import Path, value_at
from signalbox.review import JsonObject
from signalbox.workload.kinds.kind import PodTemplate, WorkloadKind, count, inline_at, mapping, product

_WORKLOADS: tuple[tuple[Path, str], ...] = ((("spec",), ""), (("spec", "prefill"), "prefill"))


def _templates(service: JsonObject) -> tuple[PodTemplate, ...]:
    found = []
    for path, name in _WORKLOADS:
        workload = mapping(value_at(service, path))
        replicas = count(workload.get("replicas"))
        if isinstance(workload.get("template"), dict):
            found.append(_template(service, (*path, "template"), replicas, name))
        if isinstance(workload.get("worker"), dict):
            nodes = _nodes(mapping(workload.get("parallelism")))
            workers = None if nodes is None else max(nodes - 1, 1)
            found.append(_template(service, (*path, "worker"), product(replicas, workers), f"{name} worker".strip()))
    return tuple(found)


def _template(service: JsonObject, path: Path, pods: int | None, name: str) -> PodTemplate:
    return replace(inline_at(service, path, pods, name), partial=True)


def _nodes(parallelism: JsonObject) -> int | None:
    """How many Pods serve one replica."""
    data, local = count(parallelism.get("data")), count(parallelism.get("dataLocal"))
    pipeline = count(parallelism.get("pipeline"))
    if data is None or local is None or pipeline is None:
        return None
    return max(data // max(local, 1) if parallelism.get("dataLocal") is not None else 1, pipeline)


LLM_INFERENCE_SERVICE = WorkloadKind(
    group="serving.kserve.io",
    kind="LLMInferenceService",
    templates=_templates,
    runs="forever",
    labelled=lambda service: (),
    queue=None,
    defaulted=False,
    type="inference",
    type_decides=True,
)
