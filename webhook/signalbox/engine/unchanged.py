"""What an object had wrong before an UPDATE: its user need not mend that now.

An object may be older than a rule, so only what a change brings, or makes worse, is held against it.
"""

from dataclasses import replace

from signalbox.check.table import CHECKS
from signalbox.engine.asking import Hearing, check_subject, problems_by_key
from signalbox.engine.type_asked import rests_on_name
from signalbox.engine.unnamed import unnamed
from signalbox.fieldpath import value_at
from signalbox.finding import Problem
from signalbox.policy.mode import Mode
from signalbox.policy.policy_set import Policy, PolicyException, Rule, expired
from signalbox.workload.view import WorkloadView

_PEOPLE = ("users", "groups")


def problems_before(policy: Policy, rule: Rule, hearing: Hearing) -> dict[str, Problem] | None:
    """By key what the object already had wrong under this rule; None where that does not count."""
    old = hearing.old
    if old is None or (rule.check is not None and CHECKS[rule.check].of_change):
        return None
    view = hearing.subject.view
    exceptions = [one for one in hearing.setup.policies.exceptions if one.covers(rule.id)]
    if (_asks_who(policy, rule) or any(map(_names_people, exceptions))) and _runs_something_else(view, old.view):
        # The old object was let in for somebody else: whoever puts other work into it needs the right to do so.
        return None
    standing = [one for one in exceptions if not expired(one.until, hearing.now)]
    if any(one.match(old) and not one.match(hearing.subject) for one in standing):
        # It was excepted as what it was.
        return None
    if view.kind.completed is not None and _is_started(view, old.view):
        # What another object says of it may have been another thing when it was let in.
        return None
    checked = check_subject(hearing.setup, old, old.view)
    before = problems_by_key(policy, rule, old, checked)
    if not rests_on_name(rule, hearing.setup.telling_apart, old.view):
        return before
    others = [problems_by_key(policy, rule, replace(old, view=view), replace(checked, view=view)) for view in unnamed(old.view)]
    by_name = {key: replace(problem, at_most=min(problem.at_most, Mode.WARN)) for key, problem in before.items()}
    return by_name | {key: problem for key, problem in others[0].items() if all(key in other for other in others)}


def _names_people(exception: PolicyException) -> bool:
    return not exception.match.reads.isdisjoint(_PEOPLE)


def _is_started(new: WorkloadView, old: WorkloadView) -> bool:
    """Whether it was suspended and is no longer."""
    field = new.kind.suspend or ("spec", "suspend")
    return value_at(old.object, field) is True and value_at(new.object, field) is not True


def _asks_who(policy: Policy, rule: Rule) -> bool:
    reads = (policy.match.reads if policy.match else frozenset()) | (rule.when.reads if rule.when else frozenset())
    return not reads.isdisjoint(_PEOPLE)


def _runs_something_else(new: WorkloadView, old: WorkloadView) -> bool:
    return [(template.spec, template.pods) for template in new.templates] != [
        (template.spec, template.pods) for template in old.templates
    ]


def is_no_worse(problem: Problem, before: dict[str, Problem]) -> bool:
    """Whether a problem was there before, and as bad."""
    was = before.get(problem.key)
    # What was only doubtful (a checkpoint that could not be seen) and is certain now is worse.
    if was is None or problem.at_most > was.at_most:
        return False
    return problem.amount is None or was.amount is None or problem.amount <= was.amount
