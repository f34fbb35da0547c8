"""SeldonDeployment ``machinelearning.seldon.io``: predictors, each a graph of models and the Pods that run them.

What a model server of Seldon's own serves (``graph.implementation``) needs no Pod here: where a predictor has no
``componentSpecs`` its servers are one Pod, whose containers another object names (seldon-core
``operator/apis/machinelearning.seldon.io/v1``). Of several ``replicas`` the innermost counts.
"""

from collections.abc import Iterator

from signalbox.fieldpath import Path
from signalbox.review import JsonObject
from signalbox.workload.kinds.kind import Metadata, PodTemplate, Program, WorkloadKind, count, mapping, members, template_at


def _predictors(deployment: JsonObject) -> Iterator[tuple[Path, JsonObject]]:
    for index, predictor in enumerate(members(mapping(deployment.get("spec")).get("predictors"))):
        if isinstance(predictor, dict):
            yield ("spec", "predictors", index), predictor


def _components(path: Path, predictor: JsonObject) -> Iterator[tuple[Path, JsonObject]]:
    for index, component in enumerate(members(predictor.get("componentSpecs"))):
        if isinstance(component, dict):
            yield (*path, "componentSpecs", index), component


def _templates(deployment: JsonObject) -> tuple[PodTemplate, ...]:
    found = []
    whole = mapping(deployment.get("spec"))
    for path, predictor in _predictors(deployment):
        name = predictor.get("name")
        name = name if isinstance(name, str) else ""
        pods = _replicas(predictor, whole)
        own = [
            template_at(deployment, at, _replicas(component, predictor, whole), name)
            for at, component in _components(path, predictor)
        ]
        found += own or [_elsewhere(path, pods, name)]
        explainer = predictor.get("explainer")
        if isinstance(explainer, dict) and explainer:
            program = Program((*path, "explainer", "containerSpec"), mapping(explainer.get("containerSpec")))
            explains = 0 if pods == 0 else _replicas(explainer)
            found.append(_elsewhere((*path, "explainer"), explains, f"{name} explainer".strip(), program))
    return tuple(found)


def _replicas(*innermost_first: JsonObject) -> int | None:
    return count(next((one["replicas"] for one in innermost_first if one.get("replicas") is not None), None))


def _elsewhere(path: Path, pods: int | None, name: str, *programs: Program) -> PodTemplate:
    return PodTemplate(path, {}, pods, name, virtual=True, writable=False, programs=programs)


def _labelled(deployment: JsonObject) -> Metadata:
    found: list[Path] = []
    for path, predictor in _predictors(deployment):
        # A predictor hands its labels to its Pods.
        found += [(*at, "metadata") for at, _ in _components(path, predictor)] or [path]
    return tuple(found)


SELDON_DEPLOYMENT = WorkloadKind(
    group="machinelearning.seldon.io",
    kind="SeldonDeployment",
    templates=_templates,
    runs="forever",
    labelled=_labelled,
    queue=None,
    defaulted=False,
    type="inference",
    type_decides=True,
)
