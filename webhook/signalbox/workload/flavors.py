"""Which flavors of a Kueue queue the Pods of a template can be given, as Kueue decides it.

Kueue looks only at the node labels that any flavor of the resource group has, at required node affinity and node
selectors, and at taints that keep Pods off (``pkg/scheduler/flavorassigner``). What is not understood here counts as
fitting: a flavor is ruled out only where that is certain.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from signalbox.cluster.objects import ResourceFlavor
from signalbox.cluster.view import UNKNOWN, ClusterView
from signalbox.review import JsonObject
from signalbox.workload.kinds.kind import PodTemplate, mapping, members
from signalbox.workload.selector import holds

_KEEPING_OFF = ("NoSchedule", "NoExecute")


@dataclass(frozen=True, slots=True)
class Conflict:
    """Why a flavor does not suit a template, in words; ``taint`` where that is all that keeps its Pods off."""

    flavor: str
    reason: str
    taint: JsonObject | None = None


class FlavorGroup:
    """The flavors of one resource group that the view knows, by name."""

    __slots__ = ("_keys", "known")

    def __init__(self, cluster: ClusterView, names: Iterable[str]) -> None:
        found = [(name, cluster.resource_flavor(name)) for name in names]
        self.known = {name: flavor for name, flavor in found if flavor is not UNKNOWN and flavor is not None}
        self._keys: frozenset[str] | None = None

    def conflict(self, name: str, template: PodTemplate) -> Conflict | None:
        """Why Kueue gives this flavor to no Pod of the template; None where it may."""
        flavor = self.known.get(name)
        if flavor is None:
            return None
        spec = template.spec
        if spec.get("nodeSelector") or spec.get("affinity"):
            reason = _placed_elsewhere(flavor.node_labels, self._label_keys(), spec)
            if reason:
                return Conflict(name, reason)
        # What is laid over a template that stands elsewhere may be tolerated there.
        taint = None if template.virtual or not flavor.taints else _untolerated(flavor, members(spec.get("tolerations")))
        if taint is None:
            return None
        shown = f"{taint.get('key')}={taint['value']}" if taint.get("value") else str(taint.get("key"))
        return Conflict(name, f"taint {shown} is not tolerated", taint)

    def _label_keys(self) -> frozenset[str]:
        """The node labels that tell the flavors apart."""
        if self._keys is None:
            self._keys = frozenset(key for flavor in self.known.values() for key in flavor.node_labels)
        return self._keys


def _placed_elsewhere(labels: Mapping[str, str], keys: frozenset[str], spec: JsonObject) -> str:
    for key, value in mapping(spec.get("nodeSelector")).items():
        if key in keys and isinstance(value, str) and labels.get(key) != value:
            return f"nodeSelector asks for {key}={value}"
    return "" if _fits_affinity(labels, keys, spec) else "node affinity rules it out"


def _untolerated(flavor: ResourceFlavor, tolerations: list[Any]) -> JsonObject | None:
    every = (*tolerations, *flavor.tolerations)
    for taint in flavor.taints:
        if taint.get("effect") in _KEEPING_OFF and not any(_tolerates(toleration, taint) for toleration in every):
            return taint
    return None


def _tolerates(toleration: Any, taint: JsonObject) -> bool:
    if not isinstance(toleration, dict):
        return False
    if toleration.get("effect") and toleration["effect"] != taint.get("effect"):
        return False
    operator = toleration.get("operator") or "Equal"
    if not toleration.get("key"):
        return bool(operator == "Exists")
    if toleration["key"] != taint.get("key"):
        return False
    return operator != "Equal" or (toleration.get("value") or "") == (taint.get("value") or "")


def _fits_affinity(labels: Mapping[str, str], keys: frozenset[str], spec: JsonObject) -> bool:
    affinity = mapping(mapping(spec.get("affinity")).get("nodeAffinity"))
    required = mapping(affinity.get("requiredDuringSchedulingIgnoredDuringExecution"))
    terms = [
        [one for one in members(mapping(term).get("matchExpressions")) if _names_one_of(one, keys)]
        for term in members(required.get("nodeSelectorTerms"))
    ]
    # Terms are alternatives, and one that asks for nothing the flavors differ in holds for each of them.
    return not terms or not all(terms) or any(all(holds(one, labels) for one in term) for term in terms)


def _names_one_of(expression: Any, keys: frozenset[str]) -> bool:
    key = expression.get("key") if isinstance(expression, dict) else None
    return isinstance(key, str) and key in keys
