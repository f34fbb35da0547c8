"""InferenceService ``serving.kserve.io``: a predictor and what stands before it, each a PodSpec with fields of its own.

The model may stand beside the containers (``model``, or a framework's name: a container with fields of its own, KServe
``pkg/apis/serving/v1beta1`` PredictorExtensionSpec), and its serving runtime is another object.
KServe hands the labels of the service to its Pods. Before ``v1beta1`` the predictor stands in ``spec.default``, and that of a
next version in ``spec.canary``: no PodSpec, but a framework's name or one ``custom.container`` (KServe
``pkg/apis/serving/v1alpha2``).
"""

from collections.abc import Iterator
from dataclasses import replace

from signalbox.fieldpath import Path
from signalbox.review import JsonObject
from signalbox.workload.kinds.kind import PodTemplate, Program, WorkloadKind, count, inline_at, mapping

_COMPONENTS = ("predictor", "transformer", "explainer")
_ENDPOINTS = ("default", "canary")
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
    "tensorrt",
    "alibi",
    "aix",
)


def _templates(service: JsonObject) -> tuple[PodTemplate, ...]:
    spec = mapping(service.get("spec"))
    found = list(_components(service, spec))
    for endpoint in _ENDPOINTS:
        body = spec.get(endpoint)
        if isinstance(body, dict):
            found += _endpoint(endpoint, body)
    return tuple(found)


def _components(service: JsonObject, spec: JsonObject) -> Iterator[PodTemplate]:
    for component in _COMPONENTS:
        body = spec.get(component)
        if not isinstance(body, dict):
            continue
        path: Path = ("spec", component)
        pods = _pods(body)
        models = tuple([replace(model, container=True) for model in _models(path, body)])
        yield replace(inline_at(service, path, pods, component), programs=models, partial=True)
        workers = body.get("workerSpec")
        if isinstance(workers, dict):
            size = count(workers.get("pipelineParallelSize", workers.get("size")), default=2)
            each = None if size is None else max(size - 1, 1)
            pods = None if pods is None or each is None else pods * each
            yield inline_at(service, (*path, "workerSpec"), pods, f"{component} workers")


def _endpoint(endpoint: str, spec: JsonObject) -> Iterator[PodTemplate]:
    for component in _COMPONENTS:
        body = spec.get(component)
        if isinstance(body, dict):
            path: Path = ("spec", endpoint, component)
            programs = _models(path, body)
            container = mapping(body.get("custom")).get("container")
            if isinstance(container, dict):
                programs = (*programs, Program((*path, "custom", "container"), container))
            name = component if endpoint == "default" else f"{endpoint} {component}"
            yield PodTemplate(path, {}, _pods(body), name, inline=True, virtual=True, writable=False, programs=programs)


def _pods(component: JsonObject) -> int | None:
    """Where it goes down to none it has one at least while it is of use."""
    pods = count(component.get("minReplicas"))
    return None if pods is None else max(pods, 1)


def _models(path: Path, component: JsonObject) -> tuple[Program, ...]:
    return tuple([Program((*path, model), component[model]) for model in _MODELS if isinstance(component.get(model), dict)])


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
