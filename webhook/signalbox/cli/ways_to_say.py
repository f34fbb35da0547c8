"""What a user can write into a manifest where a judgement is not what they meant."""

from dataclasses import dataclass

from signalbox.fieldpath import Path
from signalbox.workload.judgement import TYPES
from signalbox.workload.labels import CHECKPOINT_URI, FRAMEWORK_LABEL, QUEUE_LABEL, TYPE_LABEL
from signalbox.workload.view import WorkloadView


@dataclass(frozen=True, slots=True)
class WayToSay:
    """``value`` at ``path`` settles the judgement ``name``; ``words`` say when one would want that."""

    name: str
    path: Path
    value: str
    words: str


def ways_to_say(view: WorkloadView) -> list[WayToSay]:
    """Those that would change something here: a user's word wins over whatever was inferred."""
    ways = []
    labels: Path = ("metadata", "labels")
    if view.type.declared:
        _, path = view.user_label(TYPE_LABEL)
        ways.append(WayToSay("type", path, "TYPE", "your label decides: change it or take it off"))
    else:
        others = ", ".join(name for name in TYPES if name != view.type.state)
        ways.append(WayToSay("type", (*labels, TYPE_LABEL), "TYPE", f"if it is something else: {others}"))
    if not (view.accelerators.any or view.type.state or view.queue):
        return ways
    if not view.framework.declared:
        ways.append(WayToSay("framework", (*labels, FRAMEWORK_LABEL), "FRAMEWORK", "if another framework does the work"))
    if view.checkpoint.state != "durable" and (view.trains or view.type.state is None):
        uri: Path = ("metadata", "annotations", CHECKPOINT_URI)
        words = "where progress is kept: an object store, or a path on a mounted volume that lasts"
        ways.append(WayToSay("checkpoint", uri, "s3://BUCKET/RUN", words))
    if view.takes_queue and not view.queue and view.type.state != "inference":
        ways.append(WayToSay("queue", (*view.queue_metadata, "labels", QUEUE_LABEL), "QUEUE", "to choose the queue yourself"))
    writable = next((template for template in view.templates if template.writable and not template.virtual), None)
    if writable is not None and not view.priority.class_name and view.accelerators.any:
        path = (*writable.spec_path, "priorityClassName")
        ways.append(WayToSay("priority", path, "CLASS", "to choose the priority class yourself"))
    return ways
