"""The policies that have a say in one namespace, sorted out by what they are asked for."""

from collections.abc import Iterable
from dataclasses import dataclass

from signalbox.check.table import CHECKS
from signalbox.policy.policy_set import Policy, Rule

Rules = tuple[tuple[Policy, tuple[Rule, ...]], ...]


@dataclass(frozen=True, slots=True)
class NamespacePolicies:
    """``injecting``: policies that inject. ``judging``, ``judging_early``: those with rules for /validate and for /mutate.

    ``asking_for_checkpoints``: the rules of that check.
    """

    injecting: tuple[Policy, ...]
    judging: Rules
    judging_early: Rules
    asking_for_checkpoints: tuple[tuple[Policy, Rule], ...]


def sort_policies(policies: Iterable[Policy]) -> NamespacePolicies:
    """All of these policies, in their order."""
    listed = tuple(policies)
    early = [(policy, tuple(rule for rule in policy.rules if _is_early(rule))) for policy in listed]
    return NamespacePolicies(
        injecting=tuple(policy for policy in listed if policy.inject is not None),
        judging=tuple((policy, policy.rules) for policy in listed if policy.rules),
        judging_early=tuple((policy, rules) for policy, rules in early if rules),
        asking_for_checkpoints=tuple(
            (policy, rule) for policy in listed for rule in policy.rules if rule.check == "checkpoint"
        ),
    )


def _is_early(rule: Rule) -> bool:
    return rule.check is not None and CHECKS[rule.check].early
