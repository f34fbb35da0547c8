"""Everything an answer depends on beside the request and the time."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from signalbox.check.table import CHECKS
from signalbox.cluster.view import ClusterView, EmptyClusterView
from signalbox.controllers import Controllers, default_controllers
from signalbox.finding import Finding
from signalbox.policy.mode import Mode
from signalbox.policy.policy_set import Policy, PolicySet, Rule
from signalbox.record import Record
from signalbox.review import JsonObject, Response
from signalbox.workload.kinds.kind import WorkloadKind
from signalbox.workload.kinds.table import KINDS
from signalbox.workload.labels import INJECTED_LABELS, JUDGED_LABELS, QUEUE_LABEL
from signalbox.workload.signs import Signs
from signalbox.workload.view import WorkloadView


@dataclass(frozen=True, slots=True)
class Setup:
    """What the engine is run with. ``max_mode`` caps every rule; ``verify_patches`` applies each patch before it is sent.

    Sorted out once: ``injecting``, ``judging`` and ``judging_early`` are the policies that inject, and those with rules for
    /validate and for /mutate; ``asking_for_checkpoints`` the rules of that check; ``injected_names`` the labels and
    annotations that may be ours.
    """

    signs: Signs
    policies: PolicySet
    cluster: ClusterView = field(default_factory=EmptyClusterView)
    controllers: Controllers = field(default_factory=default_controllers)
    kinds: Mapping[tuple[str, str], WorkloadKind] = field(default_factory=lambda: KINDS)
    max_mode: Mode = Mode.ENFORCE
    verify_patches: bool = False
    injecting: tuple[Policy, ...] = field(init=False)
    judging: tuple[tuple[Policy, tuple[Rule, ...]], ...] = field(init=False)
    judging_early: tuple[tuple[Policy, tuple[Rule, ...]], ...] = field(init=False)
    asking_for_checkpoints: tuple[tuple[Policy, Rule], ...] = field(init=False)
    injected_names: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        policies = self.policies.policies
        early = [(policy, tuple(rule for rule in policy.rules if _is_early(rule))) for policy in policies]
        object.__setattr__(self, "injecting", tuple(policy for policy in policies if policy.inject is not None))
        object.__setattr__(self, "judging", tuple((policy, policy.rules) for policy in policies if policy.rules))
        object.__setattr__(self, "judging_early", tuple((policy, rules) for policy, rules in early if rules))
        named = [name for policy in policies if policy.inject for name in (*policy.inject.labels, *policy.inject.annotations)]
        object.__setattr__(self, "injected_names", frozenset((*named, *JUDGED_LABELS, QUEUE_LABEL, INJECTED_LABELS)))
        rules = [(policy, rule) for policy in policies for rule in policy.rules]
        object.__setattr__(self, "asking_for_checkpoints", tuple(pair for pair in rules if pair[1].check == "checkpoint"))


def _is_early(rule: Rule) -> bool:
    return rule.check is not None and CHECKS[rule.check].early


@dataclass(frozen=True, slots=True)
class CaughtError:
    """A fault of ours that was not let through to the request: where it happened, and the exception."""

    where: str
    error: BaseException


@dataclass(frozen=True, slots=True)
class Outcome:
    """An answer and what led to it. ``view`` is None where the request was none of our business."""

    response: Response
    findings: tuple[Finding, ...] = ()
    errors: tuple[CaughtError, ...] = ()
    view: WorkloadView | None = None
    mutated: JsonObject | None = None
    record: Record = field(default_factory=dict)
