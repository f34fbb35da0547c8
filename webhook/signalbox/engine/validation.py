"""/validate: every finding of the final object at once, and what becomes of the request."""

from dataclasses import replace
from datetime import datetime

from signalbox import message
from signalbox.engine.gate import Case, is_untouched, old_view_of, open_case
from signalbox.engine.rules import judge
from signalbox.engine.setup import CaughtError, Outcome, Setup
from signalbox.finding import Finding, Result
from signalbox.policy.mode import Mode
from signalbox.record import field_name, is_ours
from signalbox.review import Request, Response
from signalbox.workload.labels import QUEUE_LABEL
from signalbox.workload.view import WorkloadView

AUDIT_KEY = "findings"


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
        message=message.clean(f"{text}; refused by {', '.join(strict)}", message.WARNING_LIMIT) if refuses else "",
        warnings=() if refuses else (text,),
    )
    return Outcome(response, errors=(CaughtError("validate", error),))


def _validate(setup: Setup, request: Request, now: datetime) -> Outcome:
    case = open_case(setup, request)
    if case is None or (case.is_update and is_untouched(setup, case)):
        return Outcome(Response(request.uid))
    # A known controller's write was judged at its parent: refusing it would only make the controller try for ever.
    cap = Mode.AUDIT if case.made_by_controller else Mode.ENFORCE
    old = old_view_of(setup, case) if case.is_update else None
    judged = judge(setup, request, case.view, old, now, cap, made_by_controller=case.made_by_controller)
    outcome = answer(request, case.view, judged.findings, judged.errors, help_page=setup.help_page)
    if outcome.response.allowed and not case.is_update and not case.made_by_controller and _was_queued(case):
        # Told here, not by the injector in /mutate: only now is it certain that the work is let in.
        warnings = (f"queued in {message.clean(case.view.queue)}, it starts when quota is free", *outcome.response.warnings)
        return replace(outcome, response=replace(outcome.response, warnings=warnings))
    return outcome


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
    response = Response(
        request.uid,
        allowed=not refused,
        message=message.refusal(told, view, file, help_page) if refused else "",
        warnings=warnings_of(told, view),
        audit={AUDIT_KEY: message.audit_text(told)} if told else {},
    )
    return Outcome(response, tuple(findings), tuple(errors), view)


def warnings_of(findings: list[Finding], view: WorkloadView) -> tuple[str, ...]:
    """One line each, what could not be judged on one line together; equal ones once."""
    told = [finding for finding in findings if finding.warns and finding.result is not Result.NOT_JUDGED]
    lines = [message.warning(finding, view.object) for finding in told]
    unknown = [finding for finding in findings if finding.warns and finding.result is Result.NOT_JUDGED]
    if unknown:
        lines.append(message.not_judged_warning(unknown))
    return tuple(dict.fromkeys(lines))
