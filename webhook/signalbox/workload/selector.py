"""Label selectors as objects of the cluster hold them: of namespaces, and of nodes (with ``Gt`` and ``Lt``).

What is not understood holds: nobody is refused for an operator that a newer Kubernetes brings.
"""

from collections.abc import Mapping

from signalbox.quantity import parse_quantity
from signalbox.review import JsonObject
from signalbox.workload.kinds.kind import mapping, members


def selects(selector: JsonObject, labels: Mapping[str, str]) -> bool:
    """Whether a selector fits labels; an empty one fits all."""
    if any(labels.get(key) != value for key, value in mapping(selector.get("matchLabels")).items()):
        return False
    return all(holds(one, labels) for one in members(selector.get("matchExpressions")) if isinstance(one, dict))


def holds(expression: JsonObject, labels: Mapping[str, str]) -> bool:
    """Whether one expression (``key``, ``operator``, ``values``) holds for labels."""
    key, operator, values = expression.get("key"), expression.get("operator"), members(expression.get("values"))
    present = labels.get(key) if isinstance(key, str) else None
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
