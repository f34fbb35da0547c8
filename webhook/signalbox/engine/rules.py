"""From policies and one workload to findings."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial

from signalbox.check.table import CHECKS
from signalbox.engine.ours import is_injected
from signalbox.engine.place import Rules
from signalbox.engine.setup import CaughtError, Setup
from signalbox.engine.type_asked import asks_for_type, rests_on_name
from signalbox.engine.unnamed import not_by_name, under_any_name, unnamed, untyped
from signalbox.fieldpath import FieldPathError, resolve_path
from signalbox.finding import CheckSubject, Edit, Finding, Fix, Problem, Problems, Result, Unjudged
from signalbox.policy.expression import ExpressionError, NotJudged
from signalbox.policy.match import Matcher
from signalbox.policy.mode import Mode
from signalbox.policy.policy_set import Policy, PolicyException, Rule, effective_mode
from signalbox.policy.subject import Subject
from signalbox.review import JsonObject, Request
from signalbox.workload.view import WorkloadView


@dataclass(slots=True)
class Judged:
    """One workload under all rules: the findings in the policies' order, and faults of ours on the way."""

    findings: list[Finding]
    errors: list[CaughtError]


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


def judge(
    setup: Setup,
    request: Request,
    view: WorkloadView,
    old: WorkloadView | None,
    now: datetime,
    cap: Mode,
    early: bool = False,
    made_by_controller: bool = False,
) -> Judged:
    """All findings of one workload, on UPDATE (``old`` is given) those that it brings; ``early``: of early checks only."""
    subject = Subject(view, request, made_by_controller)
    hearing = Hearing(
        setup,
        subject,
        subject,
        None if old is None else Subject(old, request, made_by_controller),
        _checked(setup, subject, old),
        now,
        min(cap, setup.max_mode),
    )
    place = setup.place(view.namespace)
    policies = place.judging_early if early else place.judging
    judged = _judge(policies, hearing)
    others: list[Judged] = []
    asked: Rules | None = None
    for other in unnamed(view):
        asked = _resting_on_name(policies, hearing) if asked is None else asked
        others.append(_judge(asked, _taken_for(other, hearing)))
        if not others[-1].findings:
            break
    if not asked:
        return judged
    order = {rule.id: at for at, rule in enumerate(rule for _, rules in policies for rule in rules)}
    by_name = {rule.id for _, rules in asked for rule in rules}
    certain = [finding for finding in judged.findings if finding.rule not in by_name]
    named = [finding for finding in judged.findings if finding.rule in by_name]
    found = certain + under_any_name(named, [other.findings for other in others], view)
    errors = {error.where: error for one in (*others, judged) for error in one.errors}
    return Judged(sorted(found, key=lambda finding: order[finding.rule]), list(errors.values()))


def _resting_on_name(policies: Rules, hearing: Hearing) -> Rules:
    """The rules whose findings may rest on what the work is called."""
    view, apart = hearing.subject.view, hearing.setup.telling_apart
    asked = ((policy, tuple([rule for rule in rules if rests_on_name(rule, apart, view)])) for policy, rules in policies)
    return tuple([(policy, rules) for policy, rules in asked if rules])


def _judge(policies: Rules, hearing: Hearing) -> Judged:
    judged = Judged([], [])
    for policy, rules in policies:
        try:
            matches = holds(policy.match, hearing.subject)
        except Exception as error:  # noqa: BLE001 a fault of ours is counted and shown as an `error` finding
            judged.errors.append(CaughtError(f"match of {policy.name}", error))
            judged.findings += (_broken(rule, hearing, error) for rule in rules)
            continue
        if matches is False:
            continue
        for rule in rules:
            try:
                when = holds(rule.when, hearing.subject)
                if when is not False:
                    judged.findings += _apply(policy, rule, matches, when, hearing)
            except Exception as error:  # noqa: BLE001 as above
                judged.errors.append(CaughtError(rule.id, error))
                judged.findings.append(_broken(rule, hearing, error))
    return judged


def applies(rule: Rule, policy: Policy, subject: Subject) -> bool:
    """Whether a rule is certain to look at this workload."""
    return holds(policy.match, subject) is True and holds(rule.when, subject) is True


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
        yield _unknown(rule, mode, unknown)
        return
    problems = _problems(rule, subject, hearing.checked, hearing.shown)
    if isinstance(problems, NotJudged):
        if problems.unknown:
            yield _unknown(rule, mode, [problems.reason])
        else:
            yield _finding(rule, mode, Result.NOT_JUDGED, Problem(problems.reason))
        return
    if isinstance(problems, ExpressionError):
        yield _finding(rule, mode, Result.ERROR, Problem(f"its expression has no value here: {problems.text}"))
        return
    found, unknown = _sorted_out(problems)
    if not found and not unknown:
        return
    if subject.view.kind.completed is not None:
        found = [_mended_here(problem, subject.view) for problem in found]
    if rests_on_name(rule, hearing.setup.telling_apart, subject.view):
        found = [not_by_name(problem, subject.view) for problem in found]
    before = _before(policy, rule, hearing)
    worse = []
    for problem in found:
        if before is None or not _is_no_worse(problem, before):
            worse.append(problem)
        else:
            yield _finding(rule, min(mode, problem.at_most), Result.UNCHANGED, problem)
    if not worse and not unknown:
        return
    exception = _exception(rule, hearing)
    if isinstance(exception, PolicyException):
        for problem in worse:
            finding = _finding(rule, min(mode, problem.at_most), Result.SKIP, problem)
            yield replace(
                finding, excepted_by=exception.name, approved_by=exception.approved_by, excepted_until=exception.until
            )
    elif exception:
        # Whether it is excepted is not known, and nobody is refused on a guess.
        yield _unknown(rule, mode, exception)
    else:
        refused = [_finding(rule, min(mode, problem.at_most), Result.FAIL, problem) for problem in worse]
        standing = _standing_untyped(policy, rule, refused, hearing)
        for finding in refused:
            rests = standing is not None and finding.refuses and finding.key not in standing
            yield replace(finding, by_type=True) if rests else finding
        if unknown:
            yield _unknown(rule, mode, unknown)


def _sorted_out(problems: Problems) -> tuple[list[Problem], list[str]]:
    """The problems, and in words what could not be judged."""
    found: list[Problem] = []
    unknown: list[str] = []
    for one in problems:
        if isinstance(one, Unjudged):
            unknown.append(one.what)
        else:
            found.append(one)
    return found, unknown


def _mended_here(problem: Problem, view: WorkloadView) -> Problem:
    """The problem with no edit of what stands in another object."""
    elsewhere = {template.path: template.foreign for template in view.templates if template.foreign}
    kept, named = [], ""
    for edit in problem.fix.edits:
        foreign = next((name for path, name in elsewhere.items() if edit.path[: len(path)] == path), "")
        if foreign:
            named = foreign
        else:
            kept.append(edit)
    if not named:
        return problem
    return replace(problem, fix=Fix(problem.fix.text if kept else f"change it in {named}.", tuple(kept)))


def _taken_for(view: WorkloadView, hearing: Hearing) -> Hearing:
    """The same request about the same work as another view sees it. What is there by our own hand stays that."""
    return replace(hearing, subject=replace(hearing.subject, view=view), checked=replace(hearing.checked, view=view))


def _standing_untyped(policy: Policy, rule: Rule, found: list[Finding], hearing: Hearing) -> Collection[str] | None:
    """The keys of the problems that a rule would refuse for, if nothing told the type; None where that makes no difference."""
    view = hearing.subject.view
    if not asks_for_type(policy, rule) or view.type.state is None or view.type.declared:
        return None
    if all(finding.by_type or not finding.refuses for finding in found):
        return None
    other = _taken_for(untyped(view), hearing)
    if effective_mode(rule, other.subject, hearing.now, hearing.cap) is not Mode.ENFORCE:
        return ()
    # A rule may find hundreds of problems: the check is run again once, not for each of them.
    return _problems_by_key(policy, rule, other.subject, other.checked)


def _checked(setup: Setup, subject: Subject, old: WorkloadView | None) -> CheckSubject:
    return CheckSubject(subject.view, old, partial(is_injected, setup, subject))


def _problems(rule: Rule, subject: Subject, checked: CheckSubject, shown: Subject) -> Problems | NotJudged | ExpressionError:
    if rule.check is not None:
        return CHECKS[rule.check].run(checked, rule.parameters)
    if rule.expression is None:
        return ()
    old_object = checked.old.object if checked.old is not None else None
    answer = rule.expression.evaluate(subject, old_object)
    if isinstance(answer, bool):
        return () if answer else (_expressed(rule, subject, old_object, shown),)
    return answer


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


def _before(policy: Policy, rule: Rule, hearing: Hearing) -> dict[str, Problem] | None:
    """By key what the object already had wrong under this rule; None where that does not count."""
    old = hearing.old
    if old is None or (rule.check is not None and CHECKS[rule.check].of_change):
        return None
    if _asks_who(policy, rule) and _runs_something_else(hearing.subject.view, old.view):
        # The old object was let in for somebody else: whoever puts other work into it needs the right to do so.
        return None
    checked = _checked(hearing.setup, old, old.view)
    before = _problems_by_key(policy, rule, old, checked)
    if not rests_on_name(rule, hearing.setup.telling_apart, old.view):
        return before
    others = [
        _problems_by_key(policy, rule, replace(old, view=view), replace(checked, view=view)) for view in unnamed(old.view)
    ]
    by_name = {key: replace(problem, at_most=min(problem.at_most, Mode.WARN)) for key, problem in before.items()}
    return by_name | {key: problem for key, problem in others[0].items() if all(key in other for other in others)}


def _problems_by_key(policy: Policy, rule: Rule, subject: Subject, checked: CheckSubject) -> dict[str, Problem]:
    """What is wrong with a workload under a rule that is certain to look at it, as far as that can be judged."""
    if not applies(rule, policy, subject):
        return {}
    problems = _problems(rule, subject, checked, subject)
    if isinstance(problems, (NotJudged, ExpressionError)):
        return {}
    return {problem.key: problem for problem in _sorted_out(problems)[0]}


def _asks_who(policy: Policy, rule: Rule) -> bool:
    reads = (policy.match.reads if policy.match else frozenset()) | (rule.when.reads if rule.when else frozenset())
    return not reads.isdisjoint(("users", "groups"))


def _runs_something_else(new: WorkloadView, old: WorkloadView) -> bool:
    return [(template.spec, template.pods) for template in new.templates] != [
        (template.spec, template.pods) for template in old.templates
    ]


def _is_no_worse(problem: Problem, before: dict[str, Problem]) -> bool:
    was = before.get(problem.key)
    # What was only doubtful (a checkpoint that could not be seen) and is certain now is worse.
    if was is None or problem.at_most > was.at_most:
        return False
    return problem.amount is None or was.amount is None or problem.amount <= was.amount


def _exception(rule: Rule, hearing: Hearing) -> PolicyException | list[str]:
    """The exception that covers the rule here; else, in words, what is not known of those that might."""
    unknown: list[str] = []
    for exception in hearing.setup.policies.exceptions:
        applies_here = exception.applies(rule.id, hearing.subject, hearing.now)
        if applies_here:
            return exception
        if applies_here is None:
            unknown += exception.match.unknowns(hearing.subject)
    return unknown


def holds(matcher: Matcher | None, subject: Subject) -> bool | None:
    """Whether a match holds; one that is not there always does."""
    return True if matcher is None else matcher(subject)


def _unknown(rule: Rule, mode: Mode, unknown: Sequence[str]) -> Finding:
    words = tuple(dict.fromkeys(unknown))
    return _finding(rule, mode, Result.NOT_JUDGED, Problem(f"not known: {', '.join(words)}"), words)


def _broken(rule: Rule, hearing: Hearing, error: Exception) -> Finding:
    mode = min(rule.mode, hearing.cap)
    problem = Problem(f"this rule could not be checked because of a fault in Signalbox ({type(error).__name__})")
    return _finding(rule, mode, Result.ERROR, problem)


def _finding(rule: Rule, mode: Mode, result: Result, problem: Problem, unknown: tuple[str, ...] = ()) -> Finding:
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
        by_type=problem.by_type,
        at_most=problem.at_most,
        refuses_on_error=rule.refuse_on_error,
        help=rule.help,
        unknown=unknown,
    )
