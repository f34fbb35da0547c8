"""What a ClusterQueue can ever give, with nothing else in use: its own quota and what it can borrow from its cohort.

The arithmetic is Kueue's (``pkg/cache/scheduler/resource_node.go``, ``potentialAvailable``): what a node lends is its quota
up to ``lendingLimit``, what it gets is bounded by its quota plus ``borrowingLimit``, and cohorts may have parents.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from signalbox.cluster.objects import ClusterQueue, Cohort, FlavorQuota, ResourceGroup
from signalbox.quantity import Quantity

_Pair = tuple[str, str]
_Amounts = dict[_Pair, Quantity]


@dataclass(frozen=True, slots=True)
class Capacity:
    """The most of one resource in one flavor: ``ever`` in all, ``own`` of it without the cohort."""

    ever: Quantity
    own: Quantity


@dataclass(frozen=True, slots=True)
class GroupCapacity:
    """What the flavors of one resource group can give, by flavor and resource."""

    resources: tuple[str, ...]
    flavors: Mapping[str, Mapping[str, Capacity]]


class Capacities:
    """What each of some ClusterQueues can give. The sums of the cohorts are made once, a queue's when it is asked for."""

    def __init__(self, queues: Iterable[ClusterQueue], cohorts: Iterable[Cohort]) -> None:
        self._queues = {queue.name: queue for queue in queues}
        self._trees = _Cohorts(tuple(self._queues.values()), {cohort.name: cohort for cohort in cohorts})
        self._found: dict[str, tuple[GroupCapacity, ...]] = {}

    def of(self, name: str) -> tuple[GroupCapacity, ...] | None:
        """What one can give; None where there is none, or its cohorts form a ring: Kueue uses none of these."""
        found, queue = self._found.get(name), self._queues.get(name)
        if found is not None or queue is None:
            return found
        if queue.cohort and queue.cohort not in self._trees.potential:
            return None
        lent = self._trees.potential[queue.cohort] if queue.cohort else None
        found = self._found[name] = tuple(_group(group, lent) for group in queue.groups)
        return found


def _group(group: ResourceGroup, cohort: _Amounts | None) -> GroupCapacity:
    return GroupCapacity(
        group.resources,
        {
            flavor: {
                resource: Capacity(_potential(quota, quota.nominal, cohort, (flavor, resource)), quota.nominal)
                for resource, quota in quotas.items()
            }
            for flavor, quotas in group.flavors
        },
    )


def _kept(quota: FlavorQuota | None, subtree: Quantity) -> Quantity:
    """What of a node's quota is never lent to its parent."""
    if quota is None or quota.lending_limit is None:
        return 0
    return max(0, subtree - quota.lending_limit)


def _potential(quota: FlavorQuota | None, subtree: Quantity, parent: _Amounts | None, pair: _Pair) -> Quantity:
    if parent is None:
        return subtree
    available = _kept(quota, subtree) + parent.get(pair, 0)
    if quota is not None and quota.borrowing_limit is not None:
        return min(subtree + quota.borrowing_limit, available)
    return available


def _quotas(groups: tuple[ResourceGroup, ...]) -> dict[_Pair, FlavorQuota]:
    return {
        (flavor, resource): quota for group in groups for flavor, quotas in group.flavors for resource, quota in quotas.items()
    }


class _Cohorts:
    """The trees of cohorts. ``potential``: what each cohort can give to one of its members; rings are not in it."""

    def __init__(self, queues: tuple[ClusterQueue, ...], objects: Mapping[str, Cohort]) -> None:
        names = {queue.cohort for queue in queues if queue.cohort}.union(objects)
        names.update(cohort.parent for cohort in objects.values() if cohort.parent)
        self._parents = {name: objects[name].parent if name in objects else "" for name in names}
        self._quotas = {name: _quotas(objects[name].groups) if name in objects else {} for name in names}
        self._subtrees = {name: {pair: one.nominal for pair, one in self._quotas[name].items()} for name in names}
        self.potential: dict[str, _Amounts] = {}
        for queue in queues:
            if queue.cohort:
                quotas = _quotas(queue.groups)
                self._lend(queue.cohort, quotas, {pair: quota.nominal for pair, quota in quotas.items()})
        rooted = self._roots_first()
        for name in reversed(rooted):
            if self._parents[name]:
                self._lend(self._parents[name], self._quotas[name], self._subtrees[name])
        for name in rooted:
            self.potential[name] = self._potential_of(name)

    def _lend(self, parent: str, quotas: Mapping[_Pair, FlavorQuota], subtree: _Amounts) -> None:
        amounts = self._subtrees[parent]
        for pair, amount in subtree.items():
            amounts[pair] = amounts.get(pair, 0) + amount - _kept(quotas.get(pair), amount)

    def _potential_of(self, name: str) -> _Amounts:
        subtree, quotas = self._subtrees[name], self._quotas[name]
        parent = self.potential[self._parents[name]] if self._parents[name] else None
        pairs = subtree.keys() | parent.keys() if parent is not None else subtree.keys()
        return {pair: _potential(quotas.get(pair), subtree.get(pair, 0), parent, pair) for pair in pairs}

    def _roots_first(self) -> list[str]:
        """Every cohort behind its parent; those that hang from a ring are left out."""
        children: dict[str, list[str]] = {}
        for name, parent in self._parents.items():
            children.setdefault(parent, []).append(name)
        ordered = list(children.get("", ()))
        for name in ordered:
            ordered += children.get(name, ())
        return ordered
