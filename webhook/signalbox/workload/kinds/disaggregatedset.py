"""DisaggregatedSet ``disaggregatedset.x-k8s.io``: LeaderWorkerSets that serve together, one a role (prefill, decode).

Each member of ``spec.roles`` holds a name, metadata and the spec of a LeaderWorkerSet (lws api/disaggregatedset/v1). What
Kueue does with those is not known here, so no queue is put on the whole.
"""

from collections.abc import Iterator

from signalbox.fieldpath import Path
from signalbox.review import JsonObject
from signalbox.workload.kinds.kind import Metadata, PodTemplate, WorkloadKind, mapping, members
from signalbox.workload.kinds.leaderworkerset import group_metadata, group_templates


def _roles(obj: JsonObject) -> Iterator[tuple[Path, str]]:
    for index, role in enumerate(members(mapping(obj.get("spec")).get("roles"))):
        if isinstance(role, dict):
            name = role.get("name")
            yield ("spec", "roles", index), name if isinstance(name, str) else ""


def _templates(obj: JsonObject) -> tuple[PodTemplate, ...]:
    return tuple([template for role, name in _roles(obj) for template in group_templates(obj, (*role, "spec"), name)])


def _labelled(obj: JsonObject) -> Metadata:
    return tuple([metadata for role, _ in _roles(obj) for metadata in group_metadata(obj, (*role, "spec"))])


DISAGGREGATED_SET = WorkloadKind(
    group="disaggregatedset.x-k8s.io",
    kind="DisaggregatedSet",
    templates=_templates,
    runs="forever",
    labelled=_labelled,
    queue=None,
    defaulted=False,
)
