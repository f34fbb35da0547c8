"""What one Pod of a template asks for, resource by resource, as the scheduler, Kueue and ResourceQuotas count it.

A container that gives only a limit requests as much. Sidecars run beside everything, init containers one after the other;
resources of the Pod as a whole take the place of its containers', and a runtime's overhead comes on top (Kubernetes
``component-helpers/resource``). A placeholder counts nothing, and neither does what a LimitRange adds: what is counted is
asked for in any case.
"""

from collections.abc import Callable, Iterator
from typing import Any

from signalbox.quantity import parse_quantity
from signalbox.review import JsonObject
from signalbox.workload.judgement import Evidence
from signalbox.workload.kinds.kind import PodTemplate, mapping
from signalbox.workload.pod_containers import Amounts, containers_of, held_at_once

# What a Pod can ask for as a whole (KEP-2837).
_OF_PODS = ("cpu", "memory", "hugepages-")
_OVERCOMMITTED = ("cpu", "memory")


def pod_requests(template: PodTemplate) -> Amounts:
    """By resource what one Pod requests."""
    return _pod(template, _requests)


def pod_limits(template: PodTemplate) -> Amounts:
    """By resource what one Pod may use at most, where every part of it says so."""
    return _pod(template, lambda resources: _amounts(resources.get("limits")))


def asking(template: PodTemplate, resource: str) -> Iterator[Evidence]:
    """Where a template asks for a resource."""
    for path, container, _ in containers_of(template, with_resources=True):
        for section in ("requests", "limits"):
            value = mapping(mapping(container.get("resources")).get(section)).get(resource)
            if parse_quantity(value):
                yield Evidence((*path, "resources", section, resource), str(value))
                break
    for asked in template.asked:
        if asked.resource == resource and parse_quantity(asked.quantity):
            yield Evidence(asked.path, str(asked.quantity))
            return


def _pod(template: PodTemplate, amounts: Callable[[JsonObject], Amounts]) -> Amounts:
    running = held_at_once(
        (role, amounts(mapping(container.get("resources"))))
        for _, container, role in containers_of(template, with_resources=True)
    )
    for resource, quantity in amounts(_flat(template)).items():
        running[resource] = running.get(resource, 0) + quantity
    spec = template.spec
    whole = mapping(spec.get("resources"))
    for resource, quantity in amounts(whole).items():
        # A limit of the Pod is its request only where no container requests any (``defaultPodRequests``).
        asked = amounts is not _requests or resource in mapping(whole.get("requests")) or resource not in _OVERCOMMITTED
        if resource.startswith(_OF_PODS) and (asked or resource not in running):
            running[resource] = quantity
    for resource, quantity in _amounts(spec.get("overhead")).items():
        if resource in running:
            running[resource] += quantity
        elif amounts is _requests:
            running[resource] = quantity
    return running


def _requests(resources: JsonObject) -> Amounts:
    return {**_amounts(resources.get("limits")), **_amounts(resources.get("requests"))}


def _amounts(quantities: Any) -> Amounts:
    found = {}
    for resource, raw in mapping(quantities).items():
        quantity = parse_quantity(raw)
        if isinstance(resource, str) and quantity is not None and quantity > 0:
            found[resource] = quantity
    return found


def _flat(template: PodTemplate) -> JsonObject:
    """What fields of the kind's own ask for, as the resources of a container."""
    resources: dict[str, JsonObject] = {"limits": {}, "requests": {}}
    for asked in template.asked:
        section = asked.path[-2] if len(asked.path) > 1 and asked.path[-2] in resources else "requests"
        resources[str(section)].setdefault(asked.resource, asked.quantity)
    return dict(resources)
