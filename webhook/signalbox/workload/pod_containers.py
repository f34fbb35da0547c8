"""The containers of one Pod, and what they hold at a time (Kubernetes ``component-helpers/resource``)."""

from collections.abc import Iterable, Iterator

from signalbox.fieldpath import Path
from signalbox.quantity import Quantity
from signalbox.review import JsonObject
from signalbox.workload.kinds.kind import PodTemplate, members

Amounts = dict[str, Quantity]
"""By resource."""


def containers_of(template: PodTemplate, with_resources: bool = False) -> Iterator[tuple[Path, JsonObject, str]]:
    """Each container with its path and its role: ``init``, ``sidecar`` or ``container``. Others than mappings are left out.

    ``with_resources``: only those that ask for any. A manifest has room for a hundred thousand containers that do not.
    """
    spec = template.spec
    for index, container in enumerate(members(spec.get("initContainers"))):
        if isinstance(container, dict) and (not with_resources or container.get("resources")):
            role = "sidecar" if container.get("restartPolicy") == "Always" else "init"
            yield (*template.spec_path, "initContainers", index), container, role
    for index, container in enumerate(members(spec.get("containers"))):
        if isinstance(container, dict) and (not with_resources or container.get("resources")):
            yield (*template.spec_path, "containers", index), container, "container"
    for program in template.programs:
        yield program.path, program.body, "container"


def held_at_once(parts: Iterable[tuple[str, Amounts]]) -> Amounts:
    """What a Pod holds at a time, of what each container asks for, by role and in their order.

    Sidecars run beside all that comes after them, init containers one after the other.
    """
    running: Amounts = {}
    sidecars: Amounts = {}
    largest_init: Amounts = {}
    for role, amounts in parts:
        for resource, quantity in amounts.items():
            if role == "init":
                together = quantity + sidecars.get(resource, 0)
                largest_init[resource] = max(largest_init.get(resource, 0), together)
                continue
            running[resource] = running.get(resource, 0) + quantity
            if role == "sidecar":
                sidecars[resource] = sidecars.get(resource, 0) + quantity
    for resource, quantity in largest_init.items():
        running[resource] = max(running.get(resource, 0), quantity)
    return running
