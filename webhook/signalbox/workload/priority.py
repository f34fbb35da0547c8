"""Priority: the lower of the Pod's class and Kueue's own priority class.

Pod priority orders the scheduler's preemption, Kueue's WorkloadPriorityClass orders the queue (kueue#973): work can be
interrupted by either.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from signalbox.cluster.view import UNKNOWN, ClusterView
from signalbox.fieldpath import Path, value_at
from signalbox.review import JsonObject
from signalbox.workload.judgement import Evidence
from signalbox.workload.kinds.kind import PodTemplate, mapping
from signalbox.workload.queue import is_placed_by_another, metadata_of_pods, own_metadata

if TYPE_CHECKING:
    from signalbox.workload.view import WorkloadView

KUEUE_PRIORITY_LABEL = "kueue.x-k8s.io/priority-class"
# KAI reads the class from a label of this name (kai-scheduler docs/priority).
KAI_PRIORITY_LABEL = "priorityClassName"


@dataclass(frozen=True, slots=True)
class Priority:
    """``state`` is ``known``, ``unset`` or ``unknown`` (a class the view does not know).

    ``value`` is the lowest of the values that are known: where another is unknown, the priority is that or lower.
    """

    state: str
    value: int | None = None
    class_name: str = ""
    kueue_class: str = ""
    evidence: tuple[Evidence, ...] = ()


def judge_priority(
    obj: JsonObject,
    templates: tuple[PodTemplate, ...],
    metadata: Path,
    cluster: ClusterView,
    fields: tuple[Path, ...] = (),
) -> Priority:
    """The priority of a workload whose Kueue labels stand in the metadata at ``metadata``.

    ``fields`` name the class of the templates that name none.
    """
    values: list[int] = []
    unknown = False
    evidence: list[Evidence] = []
    labels = mapping(mapping(value_at(obj, metadata)).get("labels"))
    class_name = ""
    seen = False
    for template in templates:
        name, path = _template_class(template, labels, metadata)
        if not name and fields:
            name, path = _field_class(obj, fields)
        if template.virtual and not name:
            continue
        seen = True
        number = template.spec.get("priority")
        if isinstance(number, int) and not isinstance(number, bool):
            # The API server computed it: a class named beside it says no more.
            values.append(number)
            evidence.append(Evidence((*template.spec_path, "priority"), str(number), name))
        elif name:
            found = cluster.priority_class(name)
            evidence.append(Evidence(path, name))
            if found is UNKNOWN or found is None:
                unknown = True
            else:
                values.append(found.value)
        else:
            default = cluster.default_priority_class()
            if default is UNKNOWN:
                unknown = True
            elif default is not None:
                values.append(default.value)
                evidence.append(Evidence((*template.spec_path, "priorityClassName"), default.name, "the cluster's default"))
        class_name = class_name or name
    kueue = labels.get(KUEUE_PRIORITY_LABEL)
    kueue_class = kueue if isinstance(kueue, str) else ""
    if kueue_class:
        found = cluster.workload_priority_class(kueue_class)
        evidence.append(Evidence((*metadata, "labels", KUEUE_PRIORITY_LABEL), kueue_class))
        if found is UNKNOWN or found is None:
            unknown = True
        else:
            values.append(found.value)
    if not seen and templates:
        # Its Pods are made from templates that stand elsewhere.
        unknown = True
    if unknown:
        return Priority("unknown", min(values, default=None), class_name, kueue_class, tuple(evidence))
    if values:
        return Priority("known", min(values), class_name, kueue_class, tuple(evidence))
    return Priority("unset", None, "", kueue_class, tuple(evidence))


def named_class(obj: JsonObject, template: PodTemplate, fields: tuple[Path, ...]) -> tuple[str, Path]:
    """The class a template gets by its own field, else by those of its kind, and where it stands (or would)."""
    path: Path = (*template.spec_path, "priorityClassName")
    name = template.spec.get("priorityClassName")
    if isinstance(name, str) and name:
        return name, path
    name, field = _field_class(obj, fields)
    return (name, field) if name else ("", path)


def classes_by_label(view: "WorkloadView") -> dict[str, list[Path]]:
    """The classes that labels name, and everywhere that they do: Kueue's, and KAI's where another scheduler sees the Pods.

    On the Pods Kueue's counts where it is they that are queued.
    """
    found: dict[str, list[Path]] = {}
    own, of_pods = own_metadata(view), metadata_of_pods(view)
    queued = bool(view.kueue_queue) and view.takes_queue
    kai = is_placed_by_another(view)
    for name, places in (
        (KUEUE_PRIORITY_LABEL, own if queued else of_pods | own),
        (KAI_PRIORITY_LABEL, of_pods | own if kai else {}),
    ):
        for place, written in places.items():
            value = mapping(written.get("labels")).get(name)
            if isinstance(value, str) and value:
                found.setdefault(value, []).append((*place, "labels", name))
    return found


def _template_class(template: PodTemplate, labels: JsonObject, metadata: Path) -> tuple[str, Path]:
    name = template.spec.get("priorityClassName")
    if isinstance(name, str) and name:
        return name, (*template.spec_path, "priorityClassName")
    name = mapping(template.metadata.get("labels")).get(KAI_PRIORITY_LABEL)
    if isinstance(name, str) and name:
        return name, (*template.path, "metadata", "labels", KAI_PRIORITY_LABEL)
    name = labels.get(KAI_PRIORITY_LABEL)
    if isinstance(name, str) and name:
        return name, (*metadata, "labels", KAI_PRIORITY_LABEL)
    return "", ()


def _field_class(obj: JsonObject, fields: tuple[Path, ...]) -> tuple[str, Path]:
    for field in fields:
        name = value_at(obj, field)
        if isinstance(name, str) and name:
            return name, field
    return "", ()
