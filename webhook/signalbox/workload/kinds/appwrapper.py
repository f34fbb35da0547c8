"""AppWrapper ``workload.codeflare.dev``: whole objects that are queued and started as one.

A component of a kind that is not known here is read by what it declares of its pod sets. Up to ``v1beta1`` the objects
are ``spec.resources.GenericItems[].generictemplate`` (codeflare ``multi-cluster-app-dispatcher``, ``api/v1beta1``).
"""

from collections.abc import Callable, Iterator

from signalbox.cluster.view import ClusterView
from signalbox.fieldpath import FieldPathError, Members, Path, parse_path, resolve_path, value_at
from signalbox.review import JsonObject
from signalbox.workload.kinds.kind import Metadata, PodTemplate, WorkloadKind, count, mapping, members, template_at
from signalbox.workload.kinds.nested import Kinds, completed_in, kind_of, metadata_in, templates_in


def app_wrapper(kinds: Kinds) -> WorkloadKind:
    """The kind; ``kinds`` are those that may stand in it."""

    def read(wrapper: JsonObject, inside: Callable[[Path], tuple[PodTemplate, ...]]) -> tuple[PodTemplate, ...]:
        found: list[PodTemplate] = []
        for path, component, key in _components(wrapper):
            if kind_of(component.get(key), kinds) is not None:
                found += inside((*path, key))
            else:
                found += _declared(wrapper, path, component)
        return tuple(found)

    def templates(wrapper: JsonObject) -> tuple[PodTemplate, ...]:
        return read(wrapper, lambda inner: templates_in(wrapper, inner, kinds))

    def completed(wrapper: JsonObject, namespace: str, cluster: ClusterView) -> tuple[PodTemplate, ...]:
        return read(wrapper, lambda inner: completed_in(wrapper, inner, kinds, namespace, cluster))

    def labelled(wrapper: JsonObject) -> Metadata:
        found: list[Path] = []
        for path, _, key in _components(wrapper):
            found += metadata_in(wrapper, (*path, key), kinds)
        return tuple(found)

    def holds(wrapper: JsonObject) -> tuple[tuple[Path, WorkloadKind], ...]:
        inner = (((*path, key), kind_of(component.get(key), kinds)) for path, component, key in _components(wrapper))
        return tuple([(path, kind) for path, kind in inner if kind is not None])

    return WorkloadKind(
        group="workload.codeflare.dev",
        kind="AppWrapper",
        templates=templates,
        completed=completed,
        runs="once",
        labelled=labelled,
        suspend=("spec", "suspend"),
        defaulted=False,
        wraps=lambda wrapper: next((kind for _, kind in holds(wrapper)), None),
        holds=holds,
    )


def _components(wrapper: JsonObject) -> Iterator[tuple[Path, JsonObject, str]]:
    """The components, where they stand, and the key of the object in each."""
    spec = mapping(wrapper.get("spec"))
    for index, component in enumerate(members(spec.get("components"))):
        if isinstance(component, dict):
            yield ("spec", "components", index), component, "template"
    for index, item in enumerate(members(mapping(spec.get("resources")).get("GenericItems"))):
        if isinstance(item, dict):
            yield ("spec", "resources", "GenericItems", index), item, "generictemplate"


def _declared(wrapper: JsonObject, path: Path, component: JsonObject) -> Iterator[PodTemplate]:
    known: Members = {}
    for pod_set in members(component.get("podSets")):
        where = mapping(pod_set).get("path")
        if not isinstance(where, str):
            continue
        try:
            steps = parse_path(where)
            inner = resolve_path(steps, component, known)
        except FieldPathError:
            continue
        if isinstance(value_at(component, inner), dict):
            yield template_at(wrapper, (*path, *inner), count(mapping(pod_set).get("replicas")))
