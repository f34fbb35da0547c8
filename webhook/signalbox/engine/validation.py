"""/validate: every finding of the final object at once, and what becomes of the request."""

from dataclasses import replace
from datetime import datetime

from signalbox import message
from signalbox.engine.gate import (
    MOST_TEMPLATES,
    Case,
    is_being_deleted,
    is_too_large,
    is_untouched,
    old_view_of,
    open_case,
    view_of,
)
from signalbox.engine.rules import judge
from signalbox.engine.setup import CaughtError, Outcome, Setup
from signalbox.finding import Finding, Result
from signalbox.plain_text import clean
from signalbox.policy.mode import Mode
from signalbox.policy.policy_set import Policy
from signalbox.policy.subject import Subject
from signalbox.record import field_name, is_ours
from signalbox.review import Request, Response
from signalbox.workload.labels import QUEUE_LABEL
from signalbox.workload.view import WorkloadView

AUDIT_KEY = "findings"
MOST_WARNINGS = 20
"""An API server cuts what comes after 4,096 characters of warnings (apiserver, endpoints/filters/warning.go)."""


def validate(setup: Setup, request: Request, now: datetime) -> Outcome:
    """Judges one request. ``now`` must know its time zone. Never raises for what stands in the object."""
    try:
        return _validate(setup, request, now)
    except Exception as error:  # noqa: BLE001 a fault of ours outside any rule: told, counted, and no outage
        return _faulty(setup, request, error)


def _faulty(setup: Setup, request: Request, error: Exception) -> Outcome:
    """No rule could be asked. Those that say `onError: refuse` refuse, the others let pass with a warning."""
    strict = [
        rule.id for _, rules in setup.everywhere.judging for rule in rules if rule.refuse_on_error and rule.mode is Mode.ENFORCE
    ]
    text = f"not judged because of a fault in Signalbox ({type(error).__name__})"
    refuses = bool(strict) and setup.max_mode is Mode.ENFORCE
    response = Response(
        request.uid,
        allowed=not refuses,
        message=clean(f"{text}; refused by {', '.join(strict)}", message.WARNING_LIMIT) if refuses else "",
        warnings=() if refuses else (text,),
    )
    return Outcome(response, errors=(CaughtError("validate", error),))


def _validate(setup: Setup, request: Request, now: datetime) -> Outcome:
    case = open_case(setup, request)
    if case is None or (case.is_update and is_untouched(setup, case)):
        return Outcome(Response(request.uid))
    if is_too_large(case.view):
        return _too_large(setup, case)
    # A known controller's write was judged at its parent: refusing it would only make the controller try for ever.
    cap = Mode.AUDIT if case.made_by_controller else Mode.ENFORCE
    old = old_view_of(setup, case) if case.is_update else None
    judged = judge(setup, request, case.view, old, now, cap, made_by_controller=case.made_by_controller)
    outcome = answer(request, case.view, judged.findings, judged.errors, help_page=setup.help_page)
    if outcome.response.allowed and not case.is_update and not case.made_by_controller and _was_queued(case):
        # Told here, not by the injector in /mutate: only now is it certain that the work is let in.
        warnings = (f"queued in {clean(case.view.queue)}, it starts when quota is free", *outcome.response.warnings)
        return replace(outcome, response=replace(outcome.response, warnings=warnings))
    return outcome


def _too_large(setup: Setup, case: Case) -> Outcome:
    """The answer to an object of more pod templates than are judged: let in only where no rule would refuse anything."""
    count = f"{len(case.view.templates)} pod templates, and no more than {MOST_TEMPLATES} are judged"
    text = f"{message.name_of(case.view)} has {count}: make it several"
    subject = Subject(case.view, case.request)
    judging = [
        rules for policy, rules in setup.policies_in(case.view.namespace).judging if not _is_of_other_kinds(policy, subject)
    ]
    enforced = any(rule.mode is Mode.ENFORCE for rules in judging for rule in rules)
    # What was as large before is not made so by this write.
    old = case.request.old_object if case.is_update else None
    was = old is not None and is_too_large(view_of(setup, old, case.kind, case.request.namespace))
    spared = case.made_by_controller or was or is_being_deleted(case)
    refuses = enforced and setup.max_mode is Mode.ENFORCE and not spared
    warnings = () if refuses else (clean(text, message.WARNING_LIMIT),)
    response = Response(case.request.uid, not refuses, text if refuses else "", warnings=warnings)
    return Outcome(response, view=case.view)


def _is_of_other_kinds(policy: Policy, subject: Subject) -> bool:
    terms = policy.match.terms if policy.match is not None else ()
    return any(term.key == "kinds" and term.test(subject) is False for term in terms)


def _was_queued(case: Case) -> bool:
    """Whether the object's queue is one that we put it in."""
    field = field_name((*case.view.queue_metadata, "labels", QUEUE_LABEL), case.view.object)
    entry = case.record.get(field)
    return entry is not None and is_ours(entry, case.view.queue)


def answer(
    request: Request,
    view: WorkloadView,
    findings: list[Finding],
    errors: list[CaughtError],
    file: str = "FILE",
    help_page: str = "",
) -> Outcome:
    """The response that these findings amount to."""
    told = [finding for finding in findings if finding.result is not Result.UNCHANGED]
    refused = any(finding.refuses for finding in told)
    faults: list[CaughtError] = []
    try:
        words = message.refusal(told, view, file, help_page) if refused else ""
        warnings = warnings_of(told, view)
        audit = {AUDIT_KEY: message.audit_text(told)} if told else {}
    except Exception as error:  # noqa: BLE001 what was judged stands, whatever became of its words
        words, warnings = _without_words(told, error)
        audit = {}
        faults = [CaughtError("message", error)]
    response = Response(request.uid, not refused, words if refused else "", warnings=warnings, audit=audit)
    return Outcome(response, tuple(findings), (*errors, *faults), view)


def _without_words(findings: list[Finding], error: Exception) -> tuple[str, tuple[str, ...]]:
    """Which rules refuse and which warn, where a fault of ours leaves no more than that to say."""
    fault = f"Signalbox could not say why: {type(error).__name__}"
    refusing = dict.fromkeys(finding.rule for finding in findings if finding.refuses)
    warning = dict.fromkeys(finding.rule for finding in findings if finding.warns)
    lines = (clean(f"{', '.join(warning)} ({fault})", message.WARNING_LIMIT),) if warning else ()
    return clean(f"refused by {', '.join(refusing)} ({fault})", message.WARNING_LIMIT), lines


def warnings_of(findings: list[Finding], view: WorkloadView) -> tuple[str, ...]:
    """One line each, what could not be judged on one line together; equal ones once, and no more than MOST_WARNINGS."""
    told = [finding for finding in findings if finding.warns and finding.result is not Result.NOT_JUDGED]
    lines: dict[str, None] = {}
    for index, finding in enumerate(told):
        if len(lines) == MOST_WARNINGS:
            lines[f"and {len(told) - index} more warnings"] = None
            break
        lines[message.warning(finding, view.object)] = None
    unknown = [finding for finding in findings if finding.warns and finding.result is Result.NOT_JUDGED]
    if unknown:
        lines[message.not_judged_warning(unknown)] = None
    return tuple(lines)
