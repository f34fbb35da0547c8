"""Which requests are our business at all, and in which way."""

from dataclasses import dataclass

from signalbox.controllers import CRON_JOB_CONTROLLER
from signalbox.engine.setup import Setup
from signalbox.record import Record, own_labels, read_record
from signalbox.review import JsonObject, Request
from signalbox.workload.kinds.kind import WorkloadKind, mapping
from signalbox.workload.labels import SCHEDULER_QUEUE_ANNOTATION
from signalbox.workload.view import WorkloadView

_OUR_PREFIX = "workload.ai/"
MOST_TEMPLATES = 1000
"""What has more pod templates is nobody's work: to judge them would hold up everybody else's."""


@dataclass(frozen=True, slots=True)
class Case:
    """A request about a workload.

    ``made_by_controller``: the write of a known controller for a parent that was judged. ``made_by_cron_job``: a Job of a
    CronJob, the one child that may still need its queue. ``record`` is what the object says that we put there, which
    anyone may have written.
    """

    request: Request
    kind: WorkloadKind
    view: WorkloadView
    record: Record
    made_by_controller: bool = False
    made_by_cron_job: bool = False

    @property
    def is_update(self) -> bool:
        """Whether there is an older object to compare with."""
        return self.request.operation == "UPDATE"


def open_case(setup: Setup, request: Request) -> Case | None:
    """The case of a request, None for what we have no say in: other kinds, subresources, deletions, Kueue's own writes."""
    if request.sub_resource or request.operation not in ("CREATE", "UPDATE") or request.object is None:
        return None
    kind = setup.kinds.get((request.group, request.kind))
    if kind is None:
        return None
    if request.user is not None and request.user.username in setup.controllers.never_judged:
        return None
    record = read_record(request.object)
    view = view_of(setup, request.object, kind, request.namespace, record)
    controller = setup.controllers.made_from(request, view.owner, setup.kinds)
    if controller is None:
        return Case(request, kind, view, record)
    return Case(request, kind, view, record, True, controller.username == CRON_JOB_CONTROLLER)


def view_of(setup: Setup, obj: JsonObject, kind: WorkloadKind, namespace: str, record: Record | None = None) -> WorkloadView:
    """The view of an object as it stands, with the labels that are ours marked as such; ``record`` is its record, if read."""
    record = read_record(obj) if record is None else record
    ours = own_labels(record, obj) if record else frozenset()
    return WorkloadView(obj, kind, setup.signs, setup.cluster, namespace, ours)


def old_view_of(setup: Setup, case: Case) -> WorkloadView | None:
    """The view of the object as it was, None where there is none that can be judged."""
    old = case.request.old_object
    view = None if old is None else view_of(setup, old, case.kind, case.request.namespace)
    return None if view is None or is_too_large(view) else view


def is_too_large(view: WorkloadView) -> bool:
    """Whether an object has more pod templates than are judged."""
    return len(view.templates) > MOST_TEMPLATES


def is_untouched(setup: Setup, case: Case) -> bool:
    """Whether an UPDATE leaves alone everything that a judgement reads: spec, labels, the annotations that we or a rule know.

    Status, finalizers, managed fields and other people's annotations are none of our business. Of an object that is being
    deleted only the spec counts.
    """
    old, new = case.request.old_object, case.request.object
    if old is None or new is None:
        return False
    try:
        if _without_metadata(old) != _without_metadata(new):
            return False
    except RecursionError:
        # Nested too deeply to be compared: then it is judged.
        return False
    metadata, before = mapping(new.get("metadata")), mapping(old.get("metadata"))
    if metadata.get("deletionTimestamp") is not None:
        return True
    if mapping(metadata.get("labels")) != mapping(before.get("labels")):
        return False
    return _read(setup, metadata) == _read(setup, before)


def _without_metadata(obj: JsonObject) -> JsonObject:
    # A PodTemplate has no spec: whatever is neither metadata nor status says what the object is.
    return {key: value for key, value in obj.items() if key not in ("metadata", "status")}


def is_being_deleted(case: Case) -> bool:
    """Whether the object only waits for its finalizers."""
    return case.view.metadata.get("deletionTimestamp") is not None


def _read(setup: Setup, metadata: JsonObject) -> JsonObject:
    annotations = mapping(metadata.get("annotations"))
    if setup.reads_annotations:
        return annotations
    known = (*setup.signs.accelerator_annotations, SCHEDULER_QUEUE_ANNOTATION)
    return {name: value for name, value in annotations.items() if name.startswith(_OUR_PREFIX) or name in known}
