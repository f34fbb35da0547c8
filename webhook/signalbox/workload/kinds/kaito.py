"""Workspace and InferenceSet ``kaito.sh``: a model by name, served or tuned on nodes of a machine type.

What runs is Kaito's own program unless ``inference.template`` holds a pod template; how many GPUs each node of ``resource`` has
only its machine type says. ``tuning`` ends with an image that holds the adapter; ``inference`` never ends (kaito-project/kaito
``api/v1beta1``, where these fields stand beside ``metadata``). An InferenceSet makes Workspaces, with the same fields.
"""

from dataclasses import replace

from signalbox.fieldpath import Path, value_at
from signalbox.review import JsonObject
from signalbox.workload.kinds.kind import Asked, PodTemplate, WorkloadKind, count, mapping, product, template_at


def _workspace(root: JsonObject, path: Path, replicas: int | None = 1) -> tuple[PodTemplate, ...]:
    body = mapping(value_at(root, path)) if path else root
    resource = mapping(body.get("resource"))
    pods = product(replicas, count(resource.get("count")))
    inner: Path = (*path, "inference", "template")
    if isinstance(value_at(root, inner), dict):
        return (replace(template_at(root, inner, pods), writable=False),)
    machine = resource.get("instanceType")
    field: Path = (*path, "resource", "instanceType")
    asked = (Asked(field, "nvidia.com/gpu", None, machine),) if isinstance(machine, str) and machine else ()
    does: Path = (*path, "tuning" if _tunes(body) else "inference")
    # Where its output goes is the operator's to mount.
    return (PodTemplate(does, {}, pods, virtual=True, writable=False, partial=True, asked=asked),)


def _tunes(body: JsonObject) -> bool:
    return isinstance(body.get("tuning"), dict)


def _set(root: JsonObject) -> tuple[PodTemplate, ...]:
    return _workspace(root, ("spec", "template"), count(mapping(root.get("spec")).get("replicas")))


KAITO_INFERENCE_SET = WorkloadKind(
    group="kaito.sh",
    kind="InferenceSet",
    templates=_set,
    runs="forever",
    labelled=lambda root: (),
    queue=None,
    defaulted=False,
    type="inference",
    type_decides=True,
)
_SERVING = replace(KAITO_INFERENCE_SET, kind="Workspace", templates=lambda root: _workspace(root, ()))
_TUNING = replace(_SERVING, runs="once", type="fine-tuning", type_decides=False)
KAITO_WORKSPACE = replace(_SERVING, wraps=lambda root: _TUNING if _tunes(root) else _SERVING)
