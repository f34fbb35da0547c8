"""Objects that stand whole in another object: their kind, their templates, their labels."""

from collections.abc import Mapping
from typing import Any

from signalbox.cluster.view import ClusterView
from signalbox.fieldpath import Path, value_at
from signalbox.review import JsonObject
from signalbox.workload.kinds.kind import Metadata, PodTemplate, WorkloadKind, below

Kinds = Mapping[tuple[str, str], WorkloadKind]


def kind_of(obj: Any, kinds: Kinds) -> WorkloadKind | None:
    """The kind of an object by its own word; None where it is no workload that is known."""
    if not isinstance(obj, dict):
        return None
    version, kind = obj.get("apiVersion"), obj.get("kind")
    if not isinstance(version, str) or not isinstance(kind, str):
        return None
    return kinds.get((version.rpartition("/")[0], kind))


def templates_in(root: JsonObject, prefix: Path, kinds: Kinds) -> tuple[PodTemplate, ...]:
    """The templates of the object at ``prefix``."""
    inner = value_at(root, prefix)
    kind = kind_of(inner, kinds)
    return () if kind is None else tuple([below(prefix, template) for template in kind.templates(inner)])


def completed_in(root: JsonObject, prefix: Path, kinds: Kinds, namespace: str, cluster: ClusterView) -> tuple[PodTemplate, ...]:
    """The templates of the object at ``prefix``, with what another object adds to them."""
    inner = value_at(root, prefix)
    kind = kind_of(inner, kinds)
    if kind is None or kind.completed is None:
        return templates_in(root, prefix, kinds)
    return tuple([below(prefix, template) for template in kind.completed(inner, namespace, cluster)])


def metadata_in(root: JsonObject, prefix: Path, kinds: Kinds) -> Metadata:
    """Where the labels of the object at ``prefix``, of its Jobs and of its Pods stand."""
    inner = value_at(root, prefix)
    kind = kind_of(inner, kinds)
    if kind is None:
        return ()
    return ((*prefix, "metadata"), *[(*prefix, *path) for path in kind.labelled(inner)])
