"""What is to be injected into one object: the injections of all matching policies as one plan.

For a scalar the first policy wins (lower precedence first, then by name), maps merge per key, lists unite, grace takes
the highest. Each value knows the policy it came from.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from signalbox.policy.policy_set import Policy
from signalbox.review import JsonObject


@dataclass(frozen=True, slots=True)
class Sourced:
    """A value, the policy it came from, and whether it overwrites the user's."""

    value: Any
    by: str
    force: bool = False


@dataclass(slots=True)
class Plan:
    """The merged injections. Empty fields inject nothing."""

    queue: Sourced | None = None
    priority_class_name: Sourced | None = None
    tolerations: list[Sourced] = field(default_factory=list)
    termination_grace: Sourced | None = None
    labels: dict[str, Sourced] = field(default_factory=dict)
    annotations: dict[str, Sourced] = field(default_factory=dict)
    env: dict[str, Sourced] = field(default_factory=dict)
    node_selector: dict[str, Sourced] = field(default_factory=dict)


def merge_injections(policies: Sequence[Policy]) -> Plan:
    """The plan of the policies that match, in the policy set's order."""
    plan = Plan()
    for policy in policies:
        injection = policy.inject
        if injection is None:
            continue
        by, force = policy.name, injection.force
        if plan.queue is None and injection.queue:
            plan.queue = Sourced(injection.queue, by, force)
        if plan.priority_class_name is None and injection.priority_class_name:
            plan.priority_class_name = Sourced(injection.priority_class_name, by, force)
        for toleration in injection.tolerations:
            if not any(covers(planned.value, toleration) for planned in plan.tolerations):
                plan.tolerations.append(Sourced(toleration, by))
        grace = injection.termination_grace_period_seconds
        if grace is not None and (plan.termination_grace is None or grace > plan.termination_grace.value):
            plan.termination_grace = Sourced(grace, by, force)
        for key, value in injection.labels.items():
            plan.labels.setdefault(key, Sourced(value, by, force))
        for key, value in injection.annotations.items():
            plan.annotations.setdefault(key, Sourced(value, by, force))
        for key, value in injection.env.items():
            plan.env.setdefault(key, Sourced(value, by))
        for key, value in injection.node_selector.items():
            plan.node_selector.setdefault(key, Sourced(value, by, force))
    return plan


def covers(present: Any, wanted: JsonObject) -> bool:
    """Whether a toleration that stands there tolerates everything that ``wanted`` does.

    An absent operator means Equal, an absent effect every effect, an empty key with Exists every taint (Kubernetes
    ``core/v1`` Toleration.ToleratesTaint); with a number of seconds it tolerates only that long.
    """
    if not isinstance(present, dict):
        return False
    if present.get("tolerationSeconds") is not None and wanted.get("tolerationSeconds") is None:
        return False
    effect = present.get("effect")
    if effect and effect != wanted.get("effect"):
        return False
    exists = present.get("operator") == "Exists"
    if not present.get("key"):
        return exists
    if present.get("key") != wanted.get("key"):
        return False
    if exists:
        return True
    return wanted.get("operator") in (None, "", "Equal") and (present.get("value") or "") == (wanted.get("value") or "")
