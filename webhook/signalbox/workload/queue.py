"""The queues that an object names: Kueue's by label; KAI's by label, Volcano's by annotation, label or a field of the kind."""

from typing import TYPE_CHECKING

from signalbox.fieldpath import Path, value_at
from signalbox.review import JsonObject
from signalbox.workload.kinds.kind import mapping
from signalbox.workload.labels import QUEUE_LABEL, SCHEDULER_QUEUE_ANNOTATION, SCHEDULER_QUEUE_LABELS

if TYPE_CHECKING:
    from signalbox.workload.view import WorkloadView

_DEFAULT_SCHEDULER = (None, "", "default-scheduler")
# Their operators write the scheduler's name into the Pods (KubeRay `--batch-scheduler`, Spark operator `batchScheduler`,
# mpi-operator and training-operator `--gang-scheduling`).
_NAME_THE_SCHEDULER = ("ray.io", "sparkoperator.k8s.io", "batch.volcano.sh", "kubeflow.org")


def find_kueue_queues(view: "WorkloadView") -> dict[str, list[Path]]:
    """Every Kueue queue that is named, with the paths of its labels, the one that counts first.

    A label that stands only on a pod template leaves the object unqueued and queues each of its Pods.
    """
    queues: dict[str, list[Path]] = {}
    for place, written in (own_metadata(view) | metadata_of_pods(view)).items():
        _add(queues, mapping(written.get("labels")).get(QUEUE_LABEL), (*place, "labels", QUEUE_LABEL))
    return queues


def own_metadata(view: "WorkloadView") -> dict[Path, JsonObject]:
    """The metadata that labels for Kueue stand in, and the object's own, by their paths."""
    return {view.queue_metadata: mapping(value_at(view.object, view.queue_metadata)), ("metadata",): view.metadata}


def metadata_of_pods(view: "WorkloadView") -> dict[Path, JsonObject]:
    """The metadata of each pod template, by its path."""
    return {(*template.path, "metadata"): template.metadata for template in view.templates}


def find_scheduler_queues(view: "WorkloadView") -> dict[str, list[Path]]:
    """The queues of other schedulers, and where they are named, those of the kind's fields first."""
    queues: dict[str, list[Path]] = {}
    for field in view.kind.queue_fields:
        _add(queues, value_at(view.object, field), field)
    metadata: dict[Path, JsonObject] = {("metadata",): view.metadata}
    for place, written in (metadata | metadata_of_pods(view)).items():
        labels, annotations = written.get("labels"), written.get("annotations")
        if type(labels) is dict:
            for name in SCHEDULER_QUEUE_LABELS:
                if name in labels:
                    _add(queues, labels[name], (*place, "labels", name))
        if type(annotations) is dict and SCHEDULER_QUEUE_ANNOTATION in annotations:
            _add(queues, annotations[SCHEDULER_QUEUE_ANNOTATION], (*place, "annotations", SCHEDULER_QUEUE_ANNOTATION))
    return queues


def standing_in(view: "WorkloadView", queues: dict[str, list[Path]]) -> str:
    """The queue of another scheduler that holds its Pods back; a label for one that never sees them holds nothing back."""
    name, paths = next(iter(queues.items()), ("", []))
    return name if paths and (paths[0] in view.kind.queue_fields or is_placed_by_another(view)) else ""


def _add(queues: dict[str, list[Path]], value: object, path: Path) -> None:
    if isinstance(value, str) and value:
        queues.setdefault(value, []).append(path)


def is_placed_by_another(view: "WorkloadView") -> bool:
    """Whether a scheduler of another name places any of its Pods, as far as that stands in the manifest."""
    if any(kind.group in _NAME_THE_SCHEDULER for _, kind in view.objects):
        return True
    return any(
        template.partial or template.whole or template.spec.get("schedulerName") not in _DEFAULT_SCHEDULER
        for template in view.templates
    )
