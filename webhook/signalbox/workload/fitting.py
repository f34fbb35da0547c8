"""Whether a queue can ever hold a workload: what its Pods ask for against what the queue's flavors can give.

Kueue gives each pod set, for each resource group it needs, one flavor that has enough of every resource of the group, and
starts all pod sets of a workload together or none. Only what no assignment of flavors can hold is short.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from signalbox.cluster.capacity import Capacity, GroupCapacity
from signalbox.fieldpath import value_at
from signalbox.quantity import Quantity, parse_quantity
from signalbox.workload.flavors import Conflict, FlavorGroup
from signalbox.workload.kinds.kind import PodTemplate, mapping
from signalbox.workload.lazy import lazy
from signalbox.workload.pod_containers import Amounts
from signalbox.workload.requests import pod_requests
from signalbox.workload.view import WorkloadView

PODS = "pods"
# Kueue starts a Job with fewer Pods than it asks for where this annotation allows it.
_LEAST_PODS = "kueue.x-k8s.io/job-min-parallelism"
# Of these Kueue makes one workload of all pod sets; of the others (Deployment…) one of each Pod or each group of them.
_WHOLE = ("once", "schedule", "open")
# Steps of the search for an assignment; beyond them a workload counts as fitting.
_MOST_STEPS = 2000


@dataclass(frozen=True)
class PodSet:
    """Pods of one template that start together: ``pods`` of them."""

    name: str
    template: PodTemplate
    pods: int

    @lazy
    def per_pod(self) -> Amounts:
        """What each of them asks for: nobody wants to know it where nothing is known of the queue and the namespace."""
        return pod_requests(self.template)

    def total(self, resource: str) -> Quantity:
        """What all of its Pods ask for together."""
        return self.pods if resource == PODS else self.pods * self.per_pod.get(resource, 0)


@dataclass(frozen=True, slots=True)
class Shortage:
    """What a queue can never give.

    ``pod_sets`` together ask for ``asked`` of ``resource``; ``flavor`` has the most of it for them, ``capacity``. Where the
    flavors are short of different resources, it is the first flavor's that is told. ``capacity`` None: no flavor can be used.
    ``unusable``: the flavors that do not count, each with why.
    """

    resource: str
    asked: Quantity
    pod_sets: tuple[PodSet, ...]
    flavor: str = ""
    capacity: Capacity | None = None
    unusable: tuple[Conflict, ...] = ()


def pod_sets(view: WorkloadView) -> tuple[PodSet, ...]:
    """What has to find room at the same time."""
    whole = view.acts_as.runs in _WHOLE
    found = []
    for template in view.templates:
        pods = 1 if template.pods is None else template.pods
        if pods:
            pods = _least(view, pods) if whole else 1
            found.append(PodSet(template.name, template, pods))
    return tuple(found) if whole or len(found) < 2 else tuple(sorted(found, key=_largest)[-1:])


def queue_shortages(view: WorkloadView, sets: Sequence[PodSet], groups: Iterable[GroupCapacity]) -> Iterator[Shortage]:
    """What of the resources that a queue has a quota for it can never give."""
    for group in groups:
        asking = [one for one in sets if any(one.total(resource) for resource in group.resources)]
        flavors = FlavorGroup(view.cluster, group.flavors)
        if asking and not _all_in_one(asking, group, flavors):
            yield from _shortages(asking, group, flavors)


def _all_in_one(asking: list[PodSet], group: GroupCapacity, flavors: FlavorGroup) -> bool:
    """Whether some flavor has enough for everything: what is mostly so, and quickly found."""
    totals = [(resource, sum((one.total(resource) for one in asking), 0)) for resource in group.resources]
    return any(
        all(asked <= _ever(group, name, resource) for resource, asked in totals if asked)
        and not any(flavors.conflict(name, one.template) for one in asking)
        for name in group.flavors
    )


def _shortages(asking: list[PodSet], group: GroupCapacity, flavors: FlavorGroup) -> Iterator[Shortage]:
    alone, usable = [], []
    for one in asking:
        unusable = tuple(found for name in group.flavors if (found := flavors.conflict(name, one.template)))
        out = {found.flavor for found in unusable}
        left = [name for name in group.flavors if name not in out]
        usable.append(left)
        if not any(_fits(one, group, name) for name in left):
            alone.append(_short(one, group, left, unusable))
    if alone:
        yield from alone
    elif len(asking) > 1:
        together = _together(asking, group, usable)
        if together is not None:
            yield together


def _least(view: WorkloadView, pods: int) -> int:
    """How many Pods have to start for the work to start."""
    annotations = mapping(mapping(value_at(view.object, view.queue_metadata)).get("annotations"))
    least = parse_quantity(annotations.get(_LEAST_PODS))
    if (
        least is None
        or least.denominator != 1
        or (view.kind.group, view.kind.kind) not in (("batch", "Job"), ("batch", "CronJob"))
    ):
        return pods
    return max(1, min(pods, int(least)))


def _largest(one: PodSet) -> tuple[Quantity, ...]:
    extended = sum((amount for resource, amount in one.per_pod.items() if "/" in resource), 0)
    return extended, one.per_pod.get("cpu", 0), one.per_pod.get("memory", 0)


def _needs(one: PodSet, group: GroupCapacity) -> Iterator[tuple[str, Quantity]]:
    for resource in group.resources:
        asked = one.total(resource)
        if asked:
            yield resource, asked


def _fits(one: PodSet, group: GroupCapacity, flavor: str) -> bool:
    return all(asked <= _ever(group, flavor, resource) for resource, asked in _needs(one, group))


def _ever(group: GroupCapacity, flavor: str, resource: str) -> Quantity:
    capacity = group.flavors[flavor].get(resource)
    return 0 if capacity is None else capacity.ever


def _short(one: PodSet, group: GroupCapacity, usable: list[str], unusable: tuple[Conflict, ...]) -> Shortage:
    needs = dict(_needs(one, group))
    # Accelerators are what people have in mind, and what is scarce.
    resources = sorted(needs, key=lambda resource: "/" not in resource)
    if not usable:
        return Shortage(resources[0], needs[resources[0]], (one,), unusable=unusable)
    for resource in resources:
        most, best = max((_ever(group, name, resource), name) for name in usable)
        if needs[resource] > most:
            return Shortage(resource, needs[resource], (one,), best, _capacity(group, best, resource), unusable)
    first = usable[0]
    resource = next(resource for resource in resources if needs[resource] > _ever(group, first, resource))
    return Shortage(resource, needs[resource], (one,), first, _capacity(group, first, resource), unusable)


def _capacity(group: GroupCapacity, flavor: str, resource: str) -> Capacity:
    return group.flavors[flavor].get(resource) or Capacity(0, 0)


def _together(sets: list[PodSet], group: GroupCapacity, usable: list[list[str]]) -> Shortage | None:
    """What is short where each pod set has room by itself; None where all find room."""
    if _assign(sets, group, usable):
        return None
    flavors = list(dict.fromkeys(name for names in usable for name in names))
    totals = {resource: sum((one.total(resource) for one in sets), 0) for resource in group.resources}
    resources = sorted((resource for resource in totals if totals[resource]), key=lambda resource: "/" not in resource)

    def missing(resource: str) -> bool:
        return totals[resource] > sum((_ever(group, name, resource) for name in flavors), 0)

    resource = next((one for one in resources if missing(one)), resources[0])
    asking = tuple(one for one in sets if one.total(resource))
    if len(flavors) == 1:
        return Shortage(resource, totals[resource], asking, flavors[0], _capacity(group, flavors[0], resource))
    capacities = [_capacity(group, name, resource) for name in flavors]
    both = Capacity(sum((one.ever for one in capacities), 0), sum((one.own for one in capacities), 0))
    return Shortage(resource, totals[resource], asking, "", both)


def _assign(sets: list[PodSet], group: GroupCapacity, usable: list[list[str]]) -> bool:
    """Whether flavors can be given so that all pod sets have room; True as well where that takes too long to find out."""
    order = sorted(
        range(len(sets)), key=lambda index: (len(usable[index]), -max(amount for _, amount in _needs(sets[index], group)))
    )
    free = {(name, resource): capacity.ever for name, own in group.flavors.items() for resource, capacity in own.items()}
    # One entry a pod set that has its flavor: the flavors it was not tried with yet.
    tried: list[Iterator[str]] = []
    given: list[str] = []
    steps = 0
    while len(given) < len(order):
        steps += 1
        if steps > _MOST_STEPS + len(order):
            return True
        if len(tried) == len(given):
            tried.append(iter(usable[order[len(given)]]))
        needs = dict(_needs(sets[order[len(given)]], group))
        flavor = next(
            (name for name in tried[-1] if all(free.get((name, resource), 0) >= asked for resource, asked in needs.items())),
            None,
        )
        if flavor is not None:
            given.append(flavor)
            for resource, asked in needs.items():
                free[flavor, resource] -= asked
            continue
        tried.pop()
        if not given:
            return False
        back = given.pop()
        for resource, asked in _needs(sets[order[len(given)]], group):
            free[back, resource] += asked
    return True
