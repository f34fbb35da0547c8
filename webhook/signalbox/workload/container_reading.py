"""Which containers of a workload are read, and in which order they draw on what may be read of one object."""

from signalbox.workload.containers import MAX_CONTAINERS, ContainerView, Turns
from signalbox.workload.kinds.kind import Asked, PodTemplate, members
from signalbox.workload.pod_containers import containers_of
from signalbox.workload.signs import Signs


def read_containers(templates: tuple[PodTemplate, ...], signs: Signs) -> tuple[ContainerView, ...]:
    """The containers that run while the workload does, and the init containers and sidecars that hold accelerators.

    What runs in no template of its own (a RayJob's entrypoint) has the accelerators of all of them.
    """
    found: list[ContainerView] = []
    more: list[ContainerView] = []
    turns = Turns()
    for template in templates:
        held = _held(template, found, signs) if template.asked or template.virtual else None
        # What a runtime's trainer asks for is that of one container, its program.
        beside = None if template.foreign else held
        path = (*template.spec_path, "containers")
        for index, body in enumerate(members(template.spec.get("containers"))):
            if type(body) is not dict:
                continue
            if len(found) < MAX_CONTAINERS:
                found.append(ContainerView(template, (*path, index), body, signs, turns, None, beside))
                continue
            turns.left_out = True
            if len(more) < MAX_CONTAINERS and (beside or body.get("resources")):
                container = ContainerView(template, (*path, index), body, signs, turns, None, beside)
                if container.accelerated:
                    more.append(container)
        if template.spec.get("initContainers"):
            for container in _accelerated_before(template, signs, turns):
                (found if len(found) < MAX_CONTAINERS else more).append(container)
        for program in template.programs:
            (found if len(found) < MAX_CONTAINERS else more).append(
                ContainerView(template, program.path, program.body, signs, turns, program, None if program.beside else held)
            )
    if more:
        turns.left_out = True
        # Those with accelerators are not to be hidden behind hundreds of others.
        found = sorted([*found, *more], key=_without_accelerators)[:MAX_CONTAINERS]
    turns.give(found)
    return tuple(found)


def native_sidecars(templates: tuple[PodTemplate, ...], signs: Signs, most: int) -> list[ContainerView]:
    """Init containers that run beside the others (``restartPolicy: Always``), read with a budget of their own."""
    return _init_containers(templates, signs, most, beside=True)


def prepared_by(templates: tuple[PodTemplate, ...], signs: Signs, most: int) -> list[ContainerView]:
    """Init containers that end before the others start, read with a budget of their own."""
    return _init_containers(templates, signs, most, beside=False)


def _init_containers(templates: tuple[PodTemplate, ...], signs: Signs, most: int, *, beside: bool) -> list[ContainerView]:
    role = "sidecar" if beside else "init"
    found: list[ContainerView] = []
    turns = Turns()
    for template in templates[:most]:
        for index, body in enumerate(members(template.spec.get("initContainers"))[:most]):
            if type(body) is dict and (body.get("restartPolicy") == "Always") is beside and len(found) < most:
                path = (*template.spec_path, "initContainers", index)
                found.append(ContainerView(template, path, body, signs, turns, role=role))
    turns.give(found)
    return found


def _accelerated_before(template: PodTemplate, signs: Signs, turns: Turns) -> list[ContainerView]:
    """Init containers and sidecars that hold accelerators: others only prepare."""
    found: list[ContainerView] = []
    for path, body, role in containers_of(template, with_resources=True):
        if role == "container":
            break
        if len(found) == MAX_CONTAINERS:
            turns.left_out = True
            break
        container = ContainerView(template, path, body, signs, turns, role=role)
        if container.accelerated:
            found.append(container)
    return found


def _without_accelerators(container: ContainerView) -> bool:
    return not container.accelerated


def _held(template: PodTemplate, found: list[ContainerView], signs: Signs) -> bool | None:
    if any(_holds(asked, signs) for asked in template.asked):
        return True
    return True if template.virtual and any(container.accelerated for container in found) else None


def _holds(asked: Asked, signs: Signs) -> bool:
    return asked.quantity is not None and asked.quantity not in (0, "0") and signs.accelerator(asked.resource) is not None
