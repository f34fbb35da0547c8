"""From policies and one workload to findings."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from signalbox.engine.asking import Hearing, check_subject, holds, problems_by_key, problems_of, sorted_out
from signalbox.engine.namespace_policies import Rules
from signalbox.engine.setup import CaughtError, Setup
from signalbox.engine.type_asked import asks_for_type, rests_on_name
from signalbox.engine.unchanged import is_no_worse, problems_before
from signalbox.engine.unnamed import not_by_name, under_any_name, unnamed, untyped
from signalbox.finding import Finding, Fix, Problem, Result
from signalbox.policy.expression import ExpressionError, NotJudged
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
        check_subject(setup, subject, old),
        now,
        min(cap, setup.max_mode),
    )
    here = setup.policies_in(view.namespace)
    policies = here.judging_early if early else here.judging
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


def _apply(policy: Policy, rule: Rule, matches: bool | None, when: bool | None, hearing: Hearing) -> Sequence[Finding]:
    """What a rule that may look at this workload finds."""
    subject = hearing.subject
    mode = effective_mode(rule, subject, hearing.now, hearing.cap)
    if mode is Mode.DISABLED:
        return ()
    if matches is None or when is None:
        unknown = [
            *(policy.match.unknowns(subject) if matches is None and policy.match else ()),
            *(rule.when.unknowns(subject) if when is None and rule.when else ()),
        ]
        return (_unknown(rule, mode, unknown),)
    problems = problems_of(rule, subject, hearing.checked, hearing.shown)
    if isinstance(problems, NotJudged):
        if problems.unknown:
            return (_unknown(rule, mode, [problems.reason]),)
        # What is padded so that it cannot be judged is no better than what has no answer, where the rule is that strict.
        result = Result.ERROR if rule.refuse_on_error else Result.NOT_JUDGED
        return (_finding(rule, mode, result, Problem(problems.reason)),)
    if isinstance(problems, ExpressionError):
        return (_finding(rule, mode, Result.ERROR, Problem(f"its expression has no value here: {problems.text}")),)
    found, unknown = sorted_out(problems)
    return _findings(policy, rule, mode, found, unknown, hearing) if found or unknown else ()


def _findings(
    policy: Policy, rule: Rule, mode: Mode, found: list[Problem], unknown: list[str], hearing: Hearing
) -> list[Finding]:
    """What becomes of the problems that a rule found: what was there before, and what is excepted, refuses nobody."""
    view = hearing.subject.view
    if view.kind.completed is not None:
        found = [_mended_here(problem, view) for problem in found]
    if rests_on_name(rule, hearing.setup.telling_apart, view):
        found = [not_by_name(problem, view) for problem in found]
    before = problems_before(policy, rule, hearing)
    worse, findings = [], []
    for problem in found:
        if before is None or not is_no_worse(problem, before):
            worse.append(problem)
        else:
            findings.append(_finding(rule, min(mode, problem.at_most), Result.UNCHANGED, problem))
    if not worse and not unknown:
        return findings
    exception = _exception(rule, hearing)
    if isinstance(exception, PolicyException):
        name, by, until = exception.name, exception.approved_by, exception.until
        for problem in worse:
            skipped = _finding(rule, min(mode, problem.at_most), Result.SKIP, problem)
            findings.append(replace(skipped, excepted_by=name, approved_by=by, excepted_until=until))
        return findings
    if exception:
        # Whether it is excepted is not known, and nobody is refused on a guess.
        return [*findings, _unknown(rule, mode, exception)]
    failed = [_finding(rule, min(mode, problem.at_most), Result.FAIL, problem) for problem in worse]
    standing = _standing_untyped(policy, rule, failed, hearing)
    for finding in failed:
        rests = standing is not None and finding.refuses and finding.key not in standing
        findings.append(replace(finding, by_type=True) if rests else finding)
    return [*findings, _unknown(rule, mode, unknown)] if unknown else findings


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
    return problems_by_key(policy, rule, other.subject, other.checked)


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
