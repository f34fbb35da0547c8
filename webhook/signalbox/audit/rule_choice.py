"""A setup that judges by some of its rules only."""

from collections.abc import Callable
from dataclasses import replace

from signalbox.engine import Setup


def with_rules(setup: Setup, wanted: Callable[[str], bool]) -> Setup:
    """The same setup with those rules alone, by ``policy/rule``; what policies inject stays."""
    policies = tuple(
        replace(policy, rules=tuple(rule for rule in policy.rules if wanted(rule.id))) for policy in setup.policies.policies
    )
    return replace(setup, policies=replace(setup.policies, policies=policies))
