"""The queue of a scheduler beside Kueue: KAI's by label, Volcano's by annotation, label or a field of the kind."""

from signalbox.fieldpath import value_at
from signalbox.review import JsonObject
from signalbox.workload.kinds.kind import PodTemplate, WorkloadKind, mapping
from signalbox.workload.labels import SCHEDULER_QUEUE_ANNOTATION, SCHEDULER_QUEUE_LABELS


def scheduler_queue(obj: JsonObject, kind: WorkloadKind, templates: tuple[PodTemplate, ...]) -> str:
    """The first queue that is named; empty where there is none."""
    for field in kind.queue_fields:
        value = value_at(obj, field)
        if isinstance(value, str) and value:
            return value
    found = _of_metadata(mapping(obj.get("metadata")))
    if found:
        return found
    return next((found for template in templates if (found := _of_metadata(template.metadata))), "")


def _of_metadata(metadata: JsonObject) -> str:
    labels = metadata.get("labels")
    if isinstance(labels, dict):
        for name in SCHEDULER_QUEUE_LABELS:
            value = labels.get(name)
            if isinstance(value, str) and value:
                return value
    annotations = metadata.get("annotations")
    value = annotations.get(SCHEDULER_QUEUE_ANNOTATION) if isinstance(annotations, dict) else None
    return value if isinstance(value, str) else ""
