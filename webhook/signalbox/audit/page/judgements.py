"""What Signalbox takes a recorded object for, and the lines of it that say so."""

from dataclasses import dataclass

from signalbox.audit.ledger.entry import Recorded
from signalbox.audit.result import Seen
from signalbox.engine import Setup
from signalbox.engine.gate import view_of
from signalbox.fieldpath import format_path
from signalbox.plain_text import clean
from signalbox.quantity import format_quantity
from signalbox.review import JsonObject
from signalbox.workload.judgement import Evidence
from signalbox.workload.view import WorkloadView

_MOST = 4


@dataclass(frozen=True, slots=True)
class Judged:
    """One judgement. ``declared``: a label of ours says so, put there by its user."""

    name: str
    state: str
    seen: tuple[Seen, ...] = ()
    declared: bool = False


def judgements(setup: Setup, recorded: Recorded) -> tuple[Judged, ...]:
    """All of them, as of today's signs; none where the object was not kept or its kind is not known here."""
    entry, obj = recorded.entry, recorded.documents.object
    kind = setup.kinds.get((entry.group, entry.kind))
    if obj is None or kind is None:
        return ()
    view = view_of(setup, obj, kind, entry.namespace)
    accelerators, priority = view.accelerators, view.priority
    asked = format_quantity(accelerators.total) if accelerators.total else "none"
    pods = "not known" if view.pods is None else str(view.pods)
    return (
        Judged("type", view.type.state or "none", _seen(view, view.type.evidence), view.type.declared),
        Judged("framework", view.framework.state or "none", _seen(view, view.framework.evidence), view.framework.declared),
        Judged("accelerators", asked, _seen(view, accelerators.evidence)),
        Judged("Pods", pods),
        Judged("spot", view.spot.state or "no", _seen(view, view.spot.evidence)),
        Judged("checkpoint", view.checkpoint.state or "none", _seen(view, view.checkpoint.evidence), view.checkpoint.declared),
        Judged("priority", _priority(view), _seen(view, priority.evidence)),
        Judged("queue", clean(view.queue) or "none"),
    )


def _priority(view: WorkloadView) -> str:
    priority = view.priority
    return str(priority.value) if priority.value is not None else priority.state


def _seen(view: WorkloadView, evidence: tuple[Evidence, ...]) -> tuple[Seen, ...]:
    root: JsonObject = view.object
    return tuple(Seen(clean(format_path(one.path, root), 160), clean(one.value), clean(one.note)) for one in evidence[:_MOST])
