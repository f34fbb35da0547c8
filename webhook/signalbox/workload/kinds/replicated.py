"""The ``apps`` kinds that keep a number of Pods alive: one template at ``spec.template``."""

from collections.abc import Callable

from signalbox.fieldpath import Path
from signalbox.review import JsonObject
from signalbox.workload.kinds.kind import PodTemplate, WorkloadKind, count, mapping, template_at

_TEMPLATE: Path = ("spec", "template")


def replicated_kind(
    kind: str,
    pods: Callable[[JsonObject], int | None] = lambda spec: count(spec.get("replicas")),
    queue: Path | None = ("metadata",),
    injected_on_update: bool = True,
) -> WorkloadKind:
    """A kind of group ``apps`` whose controller starts a finished Pod again."""

    def templates(workload: JsonObject) -> tuple[PodTemplate, ...]:
        return (template_at(workload, _TEMPLATE, pods(mapping(workload.get("spec")))),)

    return WorkloadKind(
        group="apps",
        kind=kind,
        templates=templates,
        runs="forever",
        labelled=lambda workload: ((*_TEMPLATE, "metadata"),),
        queue=queue,
        injected_on_update=injected_on_update,
    )
