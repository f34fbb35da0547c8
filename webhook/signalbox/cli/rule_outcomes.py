"""Which policies match one workload, which of their rules look at it, and what those say."""

from dataclasses import dataclass
from datetime import datetime

from signalbox.admission import Admission
from signalbox.check.table import CHECKS
from signalbox.cli.report import options_that_tell
from signalbox.engine import Setup
from signalbox.engine.asking import applies, holds
from signalbox.engine.gate import view_of
from signalbox.engine.mutation import injecting_policies
from signalbox.finding import Finding, Result
from signalbox.message import exception_text
from signalbox.policy.mode import Mode
from signalbox.policy.policy_set import Policy, Rule, effective_mode
from signalbox.policy.subject import Subject
from signalbox.record import read_record, still_ours
from signalbox.restore import without_ours
from signalbox.workload.view import WorkloadView

PASSES, WARNS, REFUSES, NOT_JUDGED, RECORDED, EXCEPTED = "passes", "warns", "refuses", "not judged", "recorded", "excepted"
NOT_FOR_THIS = "does not apply"
RESULTS = (REFUSES, WARNS, NOT_JUDGED, EXCEPTED, RECORDED, PASSES, NOT_FOR_THIS)
"""What a rule may say, the worst first."""


@dataclass(frozen=True, slots=True)
class RuleOutcome:
    """What one rule says of one workload: the worst of its findings, and how many ``more`` there are.

    ``finding`` is that worst one, None where the rule passes, or where its check has nothing to look at in such work.
    """

    rule: Rule
    mode: Mode
    result: str
    message: str = ""
    more: int = 0
    finding: Finding | None = None


@dataclass(frozen=True, slots=True)
class PolicyOutcome:
    """A policy that matches, or of which that is not known, with those of its rules that look at the workload."""

    policy: Policy
    rules: tuple[RuleOutcome, ...]


@dataclass(frozen=True, slots=True)
class Injecting:
    """The policies that match, and with what is not known those of which it is not known: they inject nothing.

    ``held_back`` are the names of those that match only for a type that is not certain: of them little is injected.
    """

    matching: tuple[Policy, ...]
    unknown: tuple[tuple[Policy, tuple[str, ...]], ...]
    held_back: frozenset[str] = frozenset()


def rule_outcomes(setup: Setup, admission: Admission, now: datetime) -> tuple[PolicyOutcome, ...]:
    """The policies with rules that match what would be stored, in their order."""
    view = admission.decided.view
    if view is None:
        return ()
    subject = Subject(view, admission.request)
    findings: dict[str, list[Finding]] = {}
    for finding in admission.decided.findings:
        findings.setdefault(finding.rule, []).append(finding)
    outcomes = []
    for policy, rules in setup.policies_in(view.namespace).judging:
        found = [
            outcome
            for rule in rules
            if (outcome := _outcome(policy, rule, findings.get(rule.id, []), subject, now, setup)) is not None
        ]
        if found or holds(policy.match, subject):
            outcomes.append(PolicyOutcome(policy, tuple(found)))
    return tuple(outcomes)


def _outcome(
    policy: Policy, rule: Rule, findings: list[Finding], subject: Subject, now: datetime, setup: Setup
) -> RuleOutcome | None:
    if findings:
        told = sorted(findings, key=lambda finding: RESULTS.index(_result(finding)))
        worst = told[0]
        return RuleOutcome(rule, worst.mode, _result(worst), _message(worst), len(told) - 1, worst)
    if not applies(rule, policy, subject):
        return None
    mode = effective_mode(rule, subject, now, setup.max_mode)
    if mode is Mode.DISABLED:
        return None
    looks = rule.check is None or CHECKS[rule.check].looks_at(subject.view)
    return RuleOutcome(rule, mode, PASSES if looks else NOT_FOR_THIS)


def _result(finding: Finding) -> str:
    if finding.refuses:
        return REFUSES
    if finding.result in (Result.NOT_JUDGED, Result.ERROR):
        return NOT_JUDGED
    if finding.result is Result.SKIP:
        return EXCEPTED
    return WARNS if finding.warns else RECORDED


def _message(finding: Finding) -> str:
    if finding.excepted_by:
        return f"{exception_text(finding)}: {finding.message}"
    options = options_that_tell(finding.unknown)
    return f"{finding.message}; see {', '.join(options)}" if options else finding.message


def injecting(setup: Setup, admission: Admission, view: WorkloadView) -> Injecting:
    """The policies that inject into the workload of ``view``, the manifest as it was sent to /mutate."""
    # As /mutate sees it: without what an earlier pass of ours left in it. It may have injected variables, which say where
    # checkpoints go or how processes meet: nothing that was judged with them is kept.
    record = still_ours(read_record(view.object), view.object)
    if record:
        view = view_of(setup, without_ours(view.object, record), view.kind, view.namespace)
    subject = Subject(view, admission.request)
    policies = injecting_policies(setup, subject)
    unknown = [
        (policy, tuple(dict.fromkeys(policy.match.unknowns(subject))))
        for policy in setup.policies_in(view.namespace).injecting
        if policy.match is not None and holds(policy.match, subject) is None
    ]
    held_back = frozenset(policy.name for policy, certain in policies if not certain)
    return Injecting(tuple([policy for policy, _ in policies]), tuple(unknown), held_back)
