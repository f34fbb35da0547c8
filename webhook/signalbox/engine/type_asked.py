"""Which rules ask what the work is, so that what they find may rest on what somebody called it."""

from collections.abc import Container, Iterable, Sequence

from signalbox.engine.unnamed import has_thin_type, is_thin, unnamed
from signalbox.policy.policy_set import Policy, PolicySet, Rule
from signalbox.workload.view import WorkloadView

_TYPE_KEYS = ("types", "trains")
_TYPE_FIELDS = ("type", "trains")
# Checks that ask whether several processes work together.
_OF_SEVERAL = ("gang", "quota-feasible")
# Kept with the view, as what it may be under another name is.
_TRAINS_ANYWAY = "trains_anyway"


def asks_for_type(policy: Policy, rule: Rule) -> bool:
    """Whether a rule's match, modes or expression read the type; of its check the check itself says so."""
    return _reads(policy, rule, _TYPE_KEYS, _TYPE_FIELDS)


def rules_telling_trainings_apart(policies: PolicySet) -> frozenset[str]:
    """The ids of rules that may find other things in one sort of training than in another, or where processes work together."""
    excepted = any(not exception.match.reads.isdisjoint(("types", "distributed")) for exception in policies.exceptions)
    rules: Iterable[tuple[Policy, Rule]] = ((policy, rule) for policy in policies.policies for rule in policy.rules)
    return frozenset(
        rule.id
        for policy, rule in rules
        if excepted
        or rule.check in _OF_SEVERAL
        or _reads(policy, rule, ("types", "distributed"), ("type", "distributed"))
        or hasattr(rule.parameters, "types")
    )


def rests_on_name(rule: Rule, telling_apart: Container[str], view: WorkloadView) -> bool:
    """Whether what a rule finds may rest on what the work is called, as it is taken for what it is by its name.

    By whatever name, some of it trains, and the name says only how (`gemma-sft` runs `train.py`): that touches the rules which
    tell one sort of training from another, and no others.
    """
    return is_thin(view) and (rule.id in telling_apart or (has_thin_type(view) and not _trains_anyway(view)))


def _trains_anyway(view: WorkloadView) -> bool:
    known: bool | None = view.__dict__.get(_TRAINS_ANYWAY)
    if known is None:
        known = view.__dict__[_TRAINS_ANYWAY] = view.trains and all(other.trains for other in unnamed(view))
    return known


def _reads(policy: Policy, rule: Rule, keys: Sequence[str], fields: Sequence[str]) -> bool:
    matches = (policy.match, rule.when, *(override.match for override in rule.overrides))
    if any(match is not None and not match.reads.isdisjoint(keys) for match in matches):
        return True
    return rule.expression is not None and any(field[0] in fields for field in rule.expression.syntax.fields("workload"))
