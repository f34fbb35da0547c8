"""Whether a namespace's ResourceQuota can ever hold the Pods of a workload (Kubernetes ``pkg/quota/v1/evaluator/core``)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from signalbox.cluster.objects import NamespaceQuota
from signalbox.cluster.view import UNKNOWN
from signalbox.quantity import Quantity
from signalbox.workload.fitting import PodSet
from signalbox.workload.kinds.kind import mapping
from signalbox.workload.priority import named_class
from signalbox.workload.requests import pod_limits
from signalbox.workload.view import WorkloadView

# What a quota counts under a bare name as well as under requests.NAME.
_NATIVE = ("cpu", "memory", "ephemeral-storage")
_PODS = ("pods", "count/pods")


@dataclass(frozen=True, slots=True)
class Excess:
    """More than ``hard`` of what a quota calls ``resource``, by one Pod (``per_pod``) or all; ``counted`` is the resource that
    containers name. Not ``certain``: the quota may not be for these Pods at all."""

    quota: str
    resource: str
    counted: str
    asked: Quantity
    hard: Quantity
    pod_sets: tuple[PodSet, ...]
    per_pod: bool
    certain: bool


def excesses(view: WorkloadView, quota: NamespaceQuota, sets: tuple[PodSet, ...]) -> Iterator[Excess]:
    """What of a quota the workload can never stay within: for each resource one Pod that is too large, else all together."""
    concerned = [(one, answer) for one in sets if (answer := _is_for(view, quota, one)) is not False]
    for resource, hard in quota.hard.items():
        asking = [(one, answer, amount) for one, answer in concerned if (amount := _counted(one, resource))]
        if not asking:
            continue
        large = next((entry for entry in asking if entry[2] > hard), None)
        name = resource.removeprefix("requests.").removeprefix("limits.")
        if large is not None:
            yield Excess(quota.name, resource, name, large[2], hard, (large[0],), True, large[1] is True)
            continue
        total = sum((one.pods * amount for one, _, amount in asking), 0)
        if total > hard:
            certain = all(answer is True for _, answer, _ in asking)
            yield Excess(quota.name, resource, name, total, hard, tuple(one for one, _, _ in asking), False, certain)


def _counted(one: PodSet, resource: str) -> Quantity:
    """What one Pod counts for under the name that a quota uses."""
    if resource in _PODS:
        return 1
    if resource.startswith("requests."):
        return one.per_pod.get(resource.removeprefix("requests."), 0)
    if resource.startswith("limits."):
        return pod_limits(one.template).get(resource.removeprefix("limits."), 0)
    return one.per_pod.get(resource, 0) if resource in _NATIVE or resource.startswith("hugepages-") else 0


def _is_for(view: WorkloadView, quota: NamespaceQuota, one: PodSet) -> bool | None:
    """Whether a quota counts these Pods; None where that is not known."""
    answers = [_in_scope(view, one, *scope) for scope in quota.scopes]
    if False in answers:
        return False
    return None if None in answers else True


def _in_scope(view: WorkloadView, one: PodSet, scope: str, operator: str, values: tuple[str, ...]) -> bool | None:
    spec = one.template.spec
    if one.template.virtual:
        return None
    if scope in ("Terminating", "NotTerminating"):
        ends = spec.get("activeDeadlineSeconds") is not None
        return ends is (scope == "Terminating")
    if scope in ("BestEffort", "NotBestEffort"):
        # With neither CPU nor memory a LimitRange may still give it some.
        guaranteed = any(one.per_pod.get(resource) for resource in ("cpu", "memory"))
        return (scope == "NotBestEffort") if guaranteed else None
    if scope == "PriorityClass":
        return _of_class(view, one, operator, values)
    if scope == "CrossNamespacePodAffinity":
        affinity = mapping(spec.get("affinity"))
        return None if affinity.get("podAffinity") or affinity.get("podAntiAffinity") else False
    return None


def _of_class(view: WorkloadView, one: PodSet, operator: str, values: tuple[str, ...]) -> bool | None:
    name, _ = named_class(view.object, one.template, view.kind.priority)
    if not name:
        default = view.cluster.default_priority_class()
        if default is UNKNOWN:
            return None
        name = "" if default is None else default.name
    answers: Mapping[str, bool] = {
        "Exists": bool(name),
        "DoesNotExist": not name,
        "In": name in values,
        "NotIn": name not in values,
    }
    return answers.get(operator)
