"""What one rule finds wrong with one workload."""

from dataclasses import dataclass
from datetime import datetime

from signalbox.check.table import CHECKS
from signalbox.engine.ours import InjectedLabels
from signalbox.engine.setup import Setup
from signalbox.fieldpath import FieldPathError, resolve_path
from signalbox.finding import CheckSubject, Edit, Fix, Problem, Problems, Unjudged
from signalbox.policy.expression import ExpressionError, NotJudged
from signalbox.policy.match import Matcher
from signalbox.policy.mode import Mode
from signalbox.policy.policy_set import Policy, Rule
from signalbox.policy.subject import Subject
from signalbox.review import JsonObject
from signalbox.workload.view import WorkloadView


@dataclass(frozen=True, slots=True)
class Hearing:
    """What all rules of one request share. ``checked`` is what checks are handed; ``cap`` is the highest mode here.

    ``shown`` is what messages tell of: the subject, or where that is taken for something else, the one as it was seen.
    """

    setup: Setup
    subject: Subject
    shown: Subject
    old: Subject | None
    checked: CheckSubject
    now: datetime
    cap: Mode


def holds(matcher: Matcher | None, subject: Subject) -> bool | None:
    """Whether a match holds; one that is not there always does."""
    return True if matcher is None else matcher(subject)


def applies(rule: Rule, policy: Policy, subject: Subject) -> bool:
    """Whether a rule is certain to look at this workload."""
    return holds(policy.match, subject) is True and holds(rule.when, subject) is True


def check_subject(setup: Setup, subject: Subject, old: WorkloadView | None) -> CheckSubject:
    """What checks are handed of a subject; ``old``: the object as it was."""
    return CheckSubject(subject.view, old, InjectedLabels(setup, subject))


def problems_of(rule: Rule, subject: Subject, checked: CheckSubject, shown: Subject) -> Problems | NotJudged | ExpressionError:
    """What a rule finds wrong, whether it is to look at this workload or not; ``shown`` is what its message tells of."""
    if rule.check is not None:
        return CHECKS[rule.check].run(checked, rule.parameters)
    if rule.expression is None:
        return ()
    old_object = checked.old.object if checked.old is not None else None
    answer = rule.expression.evaluate(subject, old_object)
    if isinstance(answer, bool):
        return () if answer else (_expressed(rule, subject, old_object, shown),)
    return answer


def sorted_out(problems: Problems) -> tuple[list[Problem], list[str]]:
    """The problems, and in words what could not be judged."""
    found: list[Problem] = []
    unknown: list[str] = []
    for one in problems:
        if isinstance(one, Unjudged):
            unknown.append(one.what)
        else:
            found.append(one)
    return found, unknown


def problems_by_key(policy: Policy, rule: Rule, subject: Subject, checked: CheckSubject) -> dict[str, Problem]:
    """What is wrong with a workload under a rule that is certain to look at it, as far as that can be judged."""
    if not applies(rule, policy, subject):
        return {}
    problems = problems_of(rule, subject, checked, subject)
    if isinstance(problems, (NotJudged, ExpressionError)):
        return {}
    return {problem.key: problem for problem in sorted_out(problems)[0]}


def _expressed(rule: Rule, subject: Subject, old_object: JsonObject | None, shown: Subject) -> Problem:
    message = rule.message.render(shown) if rule.message else f"It does not satisfy {rule.name}."
    amount = rule.amount.amount(subject, old_object) if rule.amount else None
    if rule.fix is None:
        return Problem(message, key=rule.name, amount=amount)
    edits = []
    for steps, value in rule.fix.edits:
        try:
            edits.append(Edit(resolve_path(steps, subject.view.object), value, removes=value is None))
        except FieldPathError:
            # The fix names a list member this object has not: what is left of it still helps.
            continue
    text = rule.fix.text.render(shown) if rule.fix.text else ""
    return Problem(message, fix=Fix(text, tuple(edits)), key=rule.name, amount=amount)
