"""A kind from field paths: what a ``WorkloadKind`` document amounts to.

A step ``*`` stands for every member of a list or mapping; in the fields that count Pods, for the same member as in the
path of the template.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from signalbox.fieldpath import Path, value_at
from signalbox.review import JsonObject
from signalbox.workload.kinds.gathered import gather
from signalbox.workload.kinds.kind import (
    Asked,
    Metadata,
    PodTemplate,
    Program,
    Runs,
    WorkloadKind,
    count,
    inline_at,
    mapping,
    members,
    product,
    template_at,
)

Steps = tuple[str, ...]

_EVERY = "*"
# Bounds what one object can cost, whatever stands in it.
_MOST_TEMPLATES = 256


@dataclass(frozen=True, slots=True)
class Template:
    """Where templates stand, and the fields whose product is how many Pods each makes."""

    path: Steps
    pods: tuple[Steps, ...] = ()
    inline: bool = False


@dataclass(frozen=True, slots=True)
class Accelerators:
    """A field that says how many of a resource one Pod gets, and the fields whose product is how many Pods there are."""

    path: Steps
    resource: str
    pods: tuple[Steps, ...] = ()


@dataclass(frozen=True, slots=True)
class Declaration:
    """A kind in field paths; the fields are those of WorkloadKind. ``labels`` empty: the metadata of every template."""

    group: str
    kind: str
    runs: Runs = "once"
    templates: tuple[Template, ...] = ()
    accelerators: tuple[Accelerators, ...] = ()
    entrypoint: Steps | None = None
    writable: bool = True
    labels: tuple[Steps, ...] = ()
    queue: Steps | None = None
    queue_fields: tuple[Steps, ...] = ()
    suspend: Steps | None = None
    priority: tuple[Steps, ...] = ()
    restarts: Steps | None = None
    type: str | None = None
    type_decides: bool = False
    framework: str | None = None


def declared_kind(declaration: Declaration) -> WorkloadKind:
    """The kind of a declaration."""
    return WorkloadKind(
        group=declaration.group,
        kind=declaration.kind,
        templates=lambda obj: _all_templates(obj, declaration),
        runs=declaration.runs,
        labelled=lambda obj: _labelled(obj, declaration),
        queue=declaration.queue,
        queue_fields=declaration.queue_fields,
        suspend=declaration.suspend,
        priority=declaration.priority,
        defaulted=False,
        restarts=declaration.restarts,
        restarts_default=None,
        type=declaration.type,
        type_decides=declaration.type_decides,
        framework=declaration.framework,
    )


def _all_templates(obj: JsonObject, declaration: Declaration) -> tuple[PodTemplate, ...]:
    templates = tuple(_templates(obj, declaration))
    if declaration.entrypoint is None or not templates:
        return (*templates, *_flat(obj, declaration, declaration.entrypoint))
    run = [] if value_at(obj, declaration.entrypoint) is None else [_run_in(obj, declaration.entrypoint, templates)]
    return (*templates, *run, *_flat(obj, declaration, None))


def _templates(obj: JsonObject, declaration: Declaration) -> Iterator[PodTemplate]:
    made = 0
    for template in declaration.templates:
        for path, bound in _places(obj, template.path):
            if not isinstance(value_at(obj, path), dict) or made == _MOST_TEMPLATES:
                continue
            made += 1
            pods = _count(obj, template.pods, bound)
            found = inline_at(obj, path, pods, _name(obj, path, bound)) if template.inline else None
            found = found or template_at(obj, path, pods, _name(obj, path, bound))
            yield found if declaration.writable else _kept(found)


def _kept(template: PodTemplate) -> PodTemplate:
    return PodTemplate(template.path, template.body, template.pods, template.name, inline=template.inline, writable=False)


def _flat(obj: JsonObject, declaration: Declaration, entrypoint: Steps | None) -> Iterator[PodTemplate]:
    """What stands in no pod template: counts of accelerators, and what is run on them."""
    path, around, programs = _program(obj, entrypoint)
    for accelerators in declaration.accelerators:
        quantity = value_at(obj, accelerators.path)
        if quantity is not None:
            asked = Asked(accelerators.path, accelerators.resource, quantity)
            pods = _count(obj, accelerators.pods, ())
            yield _virtual(path or accelerators.path[:-1], around, pods, programs, (asked,))
            programs = ()
    if programs:
        yield _virtual(path, around, 0, programs, ())


def _run_in(obj: JsonObject, entrypoint: Steps, templates: tuple[PodTemplate, ...]) -> PodTemplate:
    """What an entrypoint runs in the first container of each template, with the variables and volumes that all of them have."""
    first = mapping(next(iter(members(templates[0].spec.get("containers"))), None))
    env, env_paths, same_env = _in_all(templates, "env")
    mounts, mount_paths, same_mounts = _in_all(templates, "volumeMounts")
    volumes = [template.spec.get("volumes") for template in templates]
    same = same_env and same_mounts and all(one == volumes[0] for one in volumes)
    body = {
        "image": first.get("image"),
        "workingDir": first.get("workingDir"),
        "command": value_at(obj, entrypoint),
        "env": env,
        "volumeMounts": mounts,
    }
    gathered = {"env": env_paths, "volumeMounts": mount_paths}
    return PodTemplate(
        # Not where it stands: accelerators may be counted there, and what is told of volumes is told by this path.
        entrypoint,
        {"spec": {"volumes": volumes[0] if same else []}},
        0,
        inline=True,
        virtual=True,
        writable=False,
        partial=not same,
        programs=(Program(entrypoint[:-1], body, command=entrypoint, gathered=gathered),),
    )


def _in_all(templates: tuple[PodTemplate, ...], section: str) -> tuple[list[Any], tuple[Path, ...], bool]:
    """A list of the first container of each template, where its members stand, and whether it is the same in all: else it is
    not known in which of them something is run.
    """
    lists = [gather((template,), section) for template in templates]
    same = all(members_of == lists[0][0] for members_of, _ in lists)
    return (*lists[0], True) if same else ([], (), False)


def _program(obj: JsonObject, entrypoint: Steps | None) -> tuple[Path, JsonObject, tuple[Program, ...]]:
    if entrypoint is None:
        return (), {}, ()
    path = entrypoint[:-1]
    around = mapping(value_at(obj, path))
    body = {**around, "command": value_at(obj, entrypoint), "args": None}
    return path, around, (Program(path, body, command=entrypoint),)


def _virtual(
    path: Path, around: JsonObject, pods: int | None, programs: tuple[Program, ...], asked: tuple[Asked, ...]
) -> PodTemplate:
    return PodTemplate(
        path or ("spec",),
        {"spec": around},
        pods,
        inline=True,
        virtual=True,
        writable=False,
        partial=True,
        programs=programs,
        asked=asked,
    )


def _labelled(obj: JsonObject, declaration: Declaration) -> Metadata:
    steps = declaration.labels or tuple([(*one.path, "metadata") for one in declaration.templates if not one.inline])
    found: list[Path] = []
    for one in steps:
        for path, _ in _places(obj, one[:-1]):
            if isinstance(value_at(obj, path), dict) and len(found) < _MOST_TEMPLATES:
                found.append((*path, one[-1]))
    return tuple(found)


def _places(obj: Any, steps: Steps) -> Iterator[tuple[Path, Path]]:
    """Every path that the steps stand for, with what each ``*`` stood for."""
    places: list[tuple[Path, Path, Any]] = [((), (), obj)]
    for step in steps:
        following: list[tuple[Path, Path, Any]] = []
        for path, bound, here in places:
            if step != _EVERY:
                following.append(((*path, step), bound, here.get(step) if isinstance(here, dict) else None))
            else:
                following += [((*path, key), (*bound, key), value) for key, value in _members(here)]
        places = following[:_MOST_TEMPLATES]
    for path, bound, _ in places:
        yield path, bound


def _members(value: Any) -> list[tuple[str | int, Any]]:
    if isinstance(value, dict):
        return [(key, item) for key, item in value.items() if isinstance(key, str)]
    return list(enumerate(value)) if isinstance(value, list) else []


def _count(obj: JsonObject, fields: tuple[Steps, ...], bound: Path) -> int | None:
    return product(*[count(value_at(obj, _bind(field, bound))) for field in fields])


def _bind(steps: Steps, bound: Path) -> Path:
    left = iter(bound)
    return tuple([next(left, step) if step == _EVERY else step for step in steps])


def _name(obj: JsonObject, path: Path, bound: Path) -> str:
    """The name of the member a template belongs to."""
    if not bound:
        return ""
    if isinstance(bound[-1], str):
        return bound[-1]
    at = len(path) - 1 - path[::-1].index(bound[-1])
    name = mapping(value_at(obj, path[: at + 1])).get("name")
    return name if isinstance(name, str) else ""
