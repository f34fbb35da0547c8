"""Label selectors of policies as tests of labels."""

from collections.abc import Callable, Mapping
from typing import Any

from signalbox.policy.match_document import LabelSelector, Requirement


def label_tests(selector: LabelSelector) -> tuple[tuple[str, Callable[[Mapping[str, Any]], bool]], ...]:
    """A test for each requirement, with the key of the label that it asks for."""
    wanted = [(key, _equals(key, value)) for key, value in selector.matchLabels.items()]
    return (*wanted, *((one.key, _requirement(one)) for one in selector.matchExpressions))


def _equals(key: str, value: str) -> Callable[[Mapping[str, Any]], bool]:
    return lambda labels: labels.get(key) == value


def _requirement(requirement: Requirement) -> Callable[[Mapping[str, Any]], bool]:
    key, values = requirement.key, frozenset(requirement.values)

    def is_in(labels: Mapping[str, Any]) -> bool:
        value = labels.get(key)
        return isinstance(value, str) and value in values

    if requirement.operator == "In":
        return is_in
    if requirement.operator == "NotIn":
        return lambda labels: not is_in(labels)
    if requirement.operator == "Exists":
        return lambda labels: key in labels
    return lambda labels: key not in labels
