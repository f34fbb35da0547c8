"""Pod: its own template. ``spec.priority`` is filled in by the API server before a webhook sees it."""

from signalbox.review import JsonObject
from signalbox.workload.kinds.kind import PodTemplate, WorkloadKind


def _templates(pod: JsonObject) -> tuple[PodTemplate, ...]:
    return (PodTemplate((), pod),)


POD = WorkloadKind(group="", kind="Pod", templates=_templates, runs="pod", labelled=lambda pod: ())
