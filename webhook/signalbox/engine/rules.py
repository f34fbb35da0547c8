"""From policies and one workload to findings."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime

from signalbox.check.table import CHECKS
from signalbox.engine.setup import CaughtError, Setup
from signalbox.fieldpath import FieldPathError, resolve_path
from signalbox.finding import CheckSubject, Edit, Finding, Fix, NotJudged, Problem, Result
from signalbox.policy.expression import ExpressionError
from signalbox.policy.match import Matcher
from signalbox.policy.mode import Mode
from signalbox.policy.policy_set import Policy, PolicyException, Rule, effective_mode
from signalbox.policy.subject import Subject
from signalbox.review import Request
from signalbox.workload.view import WorkloadView


@dataclass(slots=True)
class Judged:
    """One workload under all rules: the findings in the policies' order, and faults of ours on the way."""

    findings: list[Finding]
    errors: list[CaughtError]


@dataclass(frozen=True, slots=True)
class Hearing:
    """What all rules of one request share. ``cap`` is the highest mode here."""

    setup: Setup
    subject: Subject
    old: Subject | None
    now: datetime
    cap: Mode


def judge(
    setup: Setup,
    request: Request,
    view: WorkloadView,
    old: WorkloadView | None,
    now: datetime,
    cap: Mode,
    early: bool = False,
) -> Judged:
    """All findings of one workload, on UPDATE (``old`` is given) those that it brings; ``early``: of early checks only."""
    hearing = Hearing(
        setup,
        Subject(view, request),
        None if old is None else Subject(old, request),
        now,
        min(cap, setup.max_mode),
    )
    judged = Judged([], [])
    for policy, rules in setup.judging_early if early else setup.judging:
        try:
            matches = _holds(policy.match, hearing.subject)
        except Exception as error:  # noqa: BLE001 a fault of ours is counted and shown as an `error` finding
            judged.errors.append(CaughtError(f"match of {policy.name}", error))
            judged.findings += (_broken(rule, hearing, error) for rule in rules)
            continue
        if matches is False:
            continue
        for rule in rules:
            try:
                when = _holds(rule.when, hearing.subject)
                if when is not False:
                    judged.findings += _apply(policy, rule, matches, when, hearing)
            except Exception as error:  # noqa: BLE001 as above
                judged.errors.append(CaughtError(rule.id, error))
                judged.findings.append(_broken(rule, hearing, error))
    return judged


def applies(rule: Rule, policy: Policy, subject: Subject) -> bool:
    """Whether a rule is certain to look at this workload."""
    return _holds(policy.match, subject) is True and _holds(rule.when, subject) is True


def _apply(policy: Policy, rule: Rule, matches: bool | None, when: bool | None, hearing: Hearing) -> Iterator[Finding]:
    subject = hearing.subject
    mode = effective_mode(rule, subject, hearing.now, hearing.cap)
    if mode is Mode.DISABLED:
        return
    if matches is None or when is None:
        unknown = [
            *(policy.match.unknowns(subject) if matches is None and policy.match else ()),
            *(rule.when.unknowns(subject) if when is None and rule.when else ()),
        ]
        yield _finding(rule, mode, Result.NOT_JUDGED, Problem(f"not known: {', '.join(dict.fromkeys(unknown))}"))
        return
    problems = _problems(rule, subject, hearing.old)
    if isinstance(problems, NotJudged):
        yield _finding(rule, mode, Result.NOT_JUDGED, Problem(problems.reason))
        return
    if isinstance(problems, ExpressionError):
        yield _finding(rule, mode, Result.ERROR, Problem(f"its expression has no value here: {problems.text}"))
        return
    found = list(problems)
    if not found:
        return
    before = _before(policy, rule, hearing)
    exception = _exception(rule, hearing)
    for problem in found:
        result = Result.FAIL
        if before is not None and _is_no_worse(problem, before):
            result = Result.UNCHANGED
        elif exception is not None:
            result = Result.SKIP
        finding = _finding(rule, min(mode, problem.at_most), result, problem)
        yield (finding if result is not Result.SKIP or exception is None else replace(finding, excepted_by=exception.name))


def _problems(rule: Rule, subject: Subject, old: Subject | None) -> Iterable[Problem] | NotJudged | ExpressionError:
    if rule.check is not None:
        heard = CheckSubject(subject.view, old.view if old is not None else None, subject.request)
        return CHECKS[rule.check].run(heard, rule.parameters)
    if rule.expression is None:
        return ()
    answer = rule.expression.evaluate(subject, old.view.object if old is not None else None)
    if isinstance(answer, bool):
        return () if answer else (_expressed(rule, subject),)
    return answer if isinstance(answer, ExpressionError) else NotJudged(answer.reason)


def _expressed(rule: Rule, subject: Subject) -> Problem:
    message = rule.message.render(subject) if rule.message else f"It does not satisfy {rule.name}."
    if rule.fix is None:
        return Problem(message, key=rule.name)
    edits = []
    for steps, value in rule.fix.edits:
        try:
            edits.append(Edit(resolve_path(steps, subject.view.object), value, removes=value is None))
        except FieldPathError:
            # The fix names a list member this object has not: what is left of it still helps.
            continue
    text = rule.fix.text.render(subject) if rule.fix.text else ""
    return Problem(message, fix=Fix(text, tuple(edits)), key=rule.name)


def _before(policy: Policy, rule: Rule, hearing: Hearing) -> dict[str, float | None] | None:
    """The keys (and amounts) of what the object already had wrong under this rule; None where that does not count."""
    old = hearing.old
    if old is None or (rule.check is not None and CHECKS[rule.check].of_change):
        return None
    if not applies(rule, policy, old):
        return {}
    problems = _problems(rule, old, old)
    if isinstance(problems, (NotJudged, ExpressionError)):
        return {}
    return {problem.key: problem.amount for problem in problems}


def _is_no_worse(problem: Problem, before: dict[str, float | None]) -> bool:
    if problem.key not in before:
        return False
    was = before[problem.key]
    return problem.amount is None or was is None or problem.amount <= was


def _exception(rule: Rule, hearing: Hearing) -> PolicyException | None:
    for exception in hearing.setup.policies.exceptions:
        if exception.applies(rule.id, hearing.subject, hearing.now):
            return exception
    return None


def _holds(matcher: Matcher | None, subject: Subject) -> bool | None:
    return True if matcher is None else matcher(subject)


def _broken(rule: Rule, hearing: Hearing, error: Exception) -> Finding:
    mode = min(rule.mode, hearing.cap)
    problem = Problem(f"this rule could not be checked because of a fault in Signalbox ({type(error).__name__})")
    return _finding(rule, mode, Result.ERROR, problem)


def _finding(rule: Rule, mode: Mode, result: Result, problem: Problem) -> Finding:
    return Finding(
        rule=rule.id,
        check=rule.check or "cel",
        mode=mode,
        result=result,
        message=problem.message,
        evidence=problem.evidence,
        fix=problem.fix,
        key=problem.key,
        amount=problem.amount,
        fixed_by=problem.fixed_by,
        refuses_on_error=rule.refuse_on_error,
        help=rule.help,
    )
