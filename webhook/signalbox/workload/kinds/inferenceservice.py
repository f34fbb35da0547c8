"""InferenceService ``serving.kserve.io``: a predictor and what stands before it, each a PodSpec with fields of its own.

The model may stand beside the containers (``model``, or a framework's name), and its serving runtime is another object.
KServe hands the labels of the service to its Pods.
"""

from dataclasses import replace

from signalbox.fieldpath import Path
from signalbox.review import JsonObject
from signalbox.workload.kinds.kind import PodTemplate, Program, WorkloadKind, count, inline_at, mapping

_COMPONENTS = ("predictor", "transformer", "explainer")
# A container by another name: the one of today first, then those of each framework from before it.
_MODELS = (
    "model",
    "sklearn",
    "xgboost",
    "tensorflow",
    "pytorch",
    "triton",
    "onnx",
    "huggingface",
    "pmml",
    "lightgbm",
    "paddle",
    "mlflow",
    "art",
)


def _templates(service: JsonObject) -> tuple[PodTemplate, ...]:
    spec = mapping(service.get("spec"))
    found = []
    for component in _COMPONENTS:
        body = spec.get(component)
        if not isinstance(body, dict):
            continue
        path: Path = ("spec", component)
        # Where it goes down to none it has one at least while it is of use.
        pods = count(body.get("minReplicas"))
        pods = None if pods is None else max(pods, 1)
        programs = tuple(
            [Program((*path, model), body[model]) for model in _MODELS if isinstance(body.get(model), dict)],
        )
        found.append(replace(inline_at(service, path, pods, component), programs=programs, partial=True))
        workers = body.get("workerSpec")
        if isinstance(workers, dict):
            size = count(workers.get("pipelineParallelSize", workers.get("size")), default=2)
            each = None if size is None else max(size - 1, 1)
            pods = None if pods is None or each is None else max(pods, 1) * each
            found.append(inline_at(service, (*path, "workerSpec"), pods, f"{component} workers"))
    return tuple(found)


INFERENCE_SERVICE = WorkloadKind(
    group="serving.kserve.io",
    kind="InferenceService",
    templates=_templates,
    runs="forever",
    labelled=lambda service: (),
    queue=None,
    defaulted=False,
    type="inference",
    type_decides=True,
)
