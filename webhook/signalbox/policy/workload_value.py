"""The ``workload`` value of CEL expressions and message templates: the names of the match vocabulary, as plain data.

Built from the view field by field, and only the fields an expression names, because each judgement costs time.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from signalbox.policy.nearest import nearest
from signalbox.policy.subject import Subject
from signalbox.quantity import format_quantity
from signalbox.review import JsonObject
from signalbox.workload.view import WorkloadView

Field = tuple[str, ...]

NONE = "none"
"""What a type or framework reads as where the view found none."""


def number(value: int | Fraction) -> int | float:
    """A count as CEL knows it: whole numbers as int, of 64 bits at most; what does not fit there as the nearest that does."""
    if value.denominator != 1:
        return float(value)
    return max(-(2**63), min(value.numerator, 2**63 - 1))


_SIMPLE: dict[str, Callable[[WorkloadView], Any]] = {
    "kind": lambda view: view.kind.text,
    "name": lambda view: view.name,
    "namespace": lambda view: view.namespace,
    "labels": lambda view: view.labels,
    "annotations": lambda view: view.annotations,
    "type": lambda view: view.type.state or NONE,
    "trains": lambda view: view.trains,
    "distributed": lambda view: view.distributed,
    "framework": lambda view: view.framework.state or NONE,
    "queue": lambda view: view.queue,
    "spot": lambda view: view.spot.state,
    "checkpoint": lambda view: view.checkpoint.state,
    "resume": lambda view: view.resume.state,
    "pods": lambda view: None if view.pods is None else number(view.pods),
}
_NESTED: dict[str, tuple[Callable[[WorkloadView], Any], dict[str, Callable[[Any], Any]]]] = {
    "accelerators": (
        lambda view: view.accelerators,
        {
            "total": lambda found: number(found.total),
            "perPod": lambda found: number(found.per_pod),
            "vendors": lambda found: list(found.vendors),
            "resources": lambda found: list(found.resources),
            "placeholder": lambda found: found.placeholder,
        },
    ),
    "priority": (
        lambda view: view.priority,
        {
            # Left out where there is none, so that has(workload.priority.value) is the question to ask.
            "value": lambda found: None if found.value is None else number(found.value),
            "unset": lambda found: found.state == "unset",
            "class": lambda found: found.class_name,
            "kueueClass": lambda found: found.kueue_class,
        },
    ),
}
WORKLOAD_FIELDS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(_SIMPLE, ()),
    **{name: tuple(inner) for name, (_, inner) in _NESTED.items()},
}
"""Every field of ``workload`` with the fields inside it, where they are fixed."""

_MAPS = ("labels", "annotations")

SAMPLE: JsonObject = {
    "kind": "Job",
    "name": "sample",
    "namespace": "default",
    "labels": {},
    "annotations": {},
    "type": "training",
    "trains": True,
    "distributed": False,
    "framework": "pytorch",
    "accelerators": {"total": 1, "perPod": 1, "vendors": ["nvidia"], "resources": ["nvidia.com/gpu"], "placeholder": False},
    "queue": "sample",
    "spot": "no",
    "checkpoint": "durable",
    "resume": "unsaid",
    "priority": {"value": 0, "unset": False, "class": "sample", "kueueClass": ""},
    "pods": 1,
}
"""A workload with a value of the right type in every field: what lint tries an expression on."""


def workload_builder(fields: frozenset[Field]) -> Callable[[WorkloadView], JsonObject]:
    """What builds the ``workload`` value with these fields alone; ``("accelerators",)`` has all that are inside it."""
    simple = tuple((name, get) for name, get in _SIMPLE.items() if any(field[0] == name for field in fields))
    nested = []
    for name, (get, inner) in _NESTED.items():
        named = [field for field in fields if field[0] == name]
        wanted = tuple((key, pick) for key, pick in inner.items() if (name,) in named or (name, key) in named)
        if wanted:
            nested.append((name, get, wanted))

    def build(view: WorkloadView) -> JsonObject:
        value = {name: get(view) for name, get in simple}
        for name, get, wanted in nested:
            found = get(view)
            value[name] = {key: picked for key, pick in wanted if (picked := pick(found)) is not None}
        return value

    return build


def unknown_field(field: Field, view: WorkloadView) -> str:
    """What the view does not know of a field, in words; empty where it knows the value."""
    head = field[0]
    if head == "accelerators" and field[1:2] in ((), ("total",), ("perPod",)) and view.accelerators.placeholder:
        return unknown_number(view)
    if head == "pods" and view.pods is None:
        return "the number of Pods (a placeholder stands there)"
    if head == "priority" and field[1:] != ("class",) and field[1:] != ("kueueClass",) and view.priority.state == "unknown":
        return unknown_priority(view)
    return ""


def unknown_number(view: WorkloadView) -> str:
    """In words, why it is not known how many accelerators there are."""
    return f"the number of accelerators ({view.accelerators.unknown})"


def unknown_priority(view: WorkloadView) -> str:
    """In words, which class has a value the view does not know."""
    found = view.priority
    if found.kueue_class and found.class_name:
        return f"the value of PriorityClass {found.class_name} or of WorkloadPriorityClass {found.kueue_class}"
    if found.kueue_class:
        return f"the value of WorkloadPriorityClass {found.kueue_class}, or whether there is a default PriorityClass"
    if found.class_name:
        return f"the value of PriorityClass {found.class_name}"
    return "whether there is a default PriorityClass"


def nearest_field(field: Field) -> str | None:
    """What is wrong with ``workload.<…>`` as written, with the nearest name there is; None where it is a field."""
    head, *rest = field
    if head != "workload":
        return 'only names that start with "workload." can stand here'
    if not rest:
        return f"name a field of workload: {', '.join(WORKLOAD_FIELDS)}"
    name, *inner = rest
    if name not in WORKLOAD_FIELDS:
        return f"workload has no field {name!r}{nearest(name, WORKLOAD_FIELDS)}"
    if not inner:
        return None
    if name in _MAPS:
        return None if len(inner) == 1 else f"workload.{name} holds text, which has no fields"
    if len(inner) > 1 or not WORKLOAD_FIELDS[name]:
        deepest = ".".join(field[: 3 if WORKLOAD_FIELDS[name] else 2])
        return f"{deepest} has no fields"
    if inner[0] not in WORKLOAD_FIELDS[name]:
        return f"workload.{name} has no field {inner[0]!r}{nearest(inner[0], WORKLOAD_FIELDS[name])}"
    return None


def render_field(field: Field, subject: Subject) -> str:
    """``workload.<…>`` as text for people."""
    view = subject.view
    steps = field[1:]
    if unknown_field(steps, view):
        return "an unknown number" if steps[0] != "priority" else "unknown"
    value: Any = workload_builder(frozenset((steps,)))(view)
    for step in steps:
        value = value.get(step) if isinstance(value, dict) else None
    return _text(value)


def _text(value: Any) -> str:
    if value is None or value == "" or value == []:
        return NONE
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return format_quantity(Fraction(value))
    if isinstance(value, list):
        return ", ".join(_text(item) for item in value)
    if isinstance(value, dict):
        return ", ".join(f"{key}={_text(item)}" for key, item in value.items())
    return str(value)
