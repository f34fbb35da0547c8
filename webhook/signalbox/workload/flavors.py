"""Which flavors of a Kueue queue the Pods of a template can be given, as Kueue decides it.

Kueue looks only at the node labels that any flavor of the resource group has, at required node affinity and node
selectors, and at taints that keep Pods off (``pkg/scheduler/flavorassigner``). What is not understood here counts as
fitting: a flavor is ruled out only where that is certain.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from signalbox.cluster.objects import ResourceFlavor
from signalbox.quantity import parse_quantity
from signalbox.review import JsonObject
from signalbox.workload.kinds.kind import PodTemplate, mapping, members

_KEEPING_OFF = ("NoSchedule", "NoExecute")


def label_keys(flavors: Iterable[ResourceFlavor]) -> frozenset[str]:
    """The node labels that tell the flavors of one group apart."""
    return frozenset(key for flavor in flavors for key in flavor.node_labels)


def conflict(flavor: ResourceFlavor, keys: frozenset[str], template: PodTemplate) -> str:
    """Why Kueue gives this flavor to no Pod of the template; empty where it may."""
    spec = template.spec
    if not template.virtual:
        taint = _untolerated(flavor, members(spec.get("tolerations")))
        if taint:
            return f"its taint {taint} is not tolerated"
    labels = flavor.node_labels
    for key, value in mapping(spec.get("nodeSelector")).items():
        if key in keys and isinstance(value, str) and labels.get(key) != value:
            return f"nodeSelector asks for {key}={value}"
    if not _fits_affinity(labels, keys, spec):
        return "node affinity rules it out"
    return ""


def _untolerated(flavor: ResourceFlavor, tolerations: list[Any]) -> str:
    for taint in flavor.taints:
        if taint.get("effect") in _KEEPING_OFF and not any(
            _tolerates(toleration, taint) for toleration in (*tolerations, *flavor.tolerations)
        ):
            key, value = taint.get("key"), taint.get("value")
            return f"{key}={value}" if value else str(key)
    return ""


def _tolerates(toleration: Any, taint: JsonObject) -> bool:
    if not isinstance(toleration, dict):
        return False
    if toleration.get("effect") and toleration["effect"] != taint.get("effect"):
        return False
    operator = toleration.get("operator") or "Equal"
    if not toleration.get("key"):
        return operator == "Exists"
    if toleration["key"] != taint.get("key"):
        return False
    return operator != "Equal" or (toleration.get("value") or "") == (taint.get("value") or "")


def _fits_affinity(labels: Mapping[str, str], keys: frozenset[str], spec: JsonObject) -> bool:
    affinity = mapping(mapping(spec.get("affinity")).get("nodeAffinity"))
    required = mapping(affinity.get("requiredDuringSchedulingIgnoredDuringExecution"))
    terms = [
        [one for one in members(mapping(term).get("matchExpressions")) if isinstance(one, dict) and one.get("key") in keys]
        for term in members(required.get("nodeSelectorTerms"))
    ]
    # Terms are alternatives, and one that asks for nothing the flavors differ in holds for each of them.
    return not terms or not all(terms) or any(all(_holds(labels, one) for one in term) for term in terms)


def _holds(labels: Mapping[str, str], expression: JsonObject) -> bool:
    operator = expression.get("operator")
    present = labels.get(expression["key"])
    values = members(expression.get("values"))
    if operator == "In":
        return present in values
    if operator == "NotIn":
        return present not in values
    if operator == "Exists":
        return present is not None
    if operator == "DoesNotExist":
        return present is None
    if operator in ("Gt", "Lt") and len(values) == 1:
        number, bound = parse_quantity(present), parse_quantity(values[0])
        if number is None or bound is None:
            return False
        return number > bound if operator == "Gt" else number < bound
    return True
