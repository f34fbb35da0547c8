"""/mutate: injects what policies say, as one patch. A fault of ours never fails a request here."""

from collections.abc import Container
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial

from signalbox import message
from signalbox.engine.asking import applies, holds
from signalbox.engine.gate import Case, is_being_deleted, is_too_large, is_untouched, old_view_of, open_case, view_of
from signalbox.engine.rules import Judged, judge
from signalbox.engine.setup import CaughtError, Outcome, Setup
from signalbox.engine.unnamed import unnamed
from signalbox.engine.validation import answer
from signalbox.finding import Result
from signalbox.inject.plan import Plan, Sourced, merge_injections
from signalbox.inject.queue import inject as inject_queue
from signalbox.inject.table import INJECTORS
from signalbox.inject.target import InjectionTarget
from signalbox.patch import PatchRecorder
from signalbox.plain_text import clean
from signalbox.policy.mode import Mode
from signalbox.policy.policy_set import Injection, Policy, effective_mode
from signalbox.policy.subject import Subject
from signalbox.record import (
    JUDGEMENT,
    Record,
    can_be_recorded,
    judged_labels,
    only_injectable,
    own_labels,
    read_record,
    still_ours,
    unite,
    write_record,
)
from signalbox.restore import Restored, restore, without_ours
from signalbox.review import JsonObject, Request, Response
from signalbox.workload.labels import (
    CHECKPOINT_LABEL,
    CHECKPOINT_REQUIRED,
    FRAMEWORK_LABEL,
    JUDGED_LABELS,
    QUEUE_LABEL,
    TYPE_LABEL,
)
from signalbox.workload.view import WorkloadView


def mutate(setup: Setup, request: Request, now: datetime) -> Outcome:
    """Injects into one request's object, or refuses what the API server would refuse before /validate is reached.

    ``now`` must know its time zone. Never raises for what stands in the object.
    """
    try:
        case = open_case(setup, request)
        if case is None or is_being_deleted(case) or is_too_large(case.view):
            return Outcome(Response(request.uid))
        early = _judge_early(setup, case, now)
        if case.made_by_controller and not case.made_by_cron_job:
            return Outcome(Response(request.uid), view=case.view)
        target = _inject(setup, case, now)
        if any(finding.result is Result.FAIL and finding.refuses for finding in early.findings):
            refused = _refused(setup, case, target, now)
            if not refused.response.allowed:
                return refused
        return _patched(setup, case, target, tuple(early.errors))
    except Exception as error:  # noqa: BLE001 no patch, allowed, counted: the cluster never stops because of us
        return Outcome(Response(request.uid), errors=(CaughtError("mutate", error),))


def _judge_early(setup: Setup, case: Case, now: datetime) -> Judged:
    # Custom resources are stored as they are and reach /validate.
    if not case.kind.defaulted or case.made_by_controller or (case.is_update and is_untouched(setup, case)):
        return Judged([], [])
    old = old_view_of(setup, case) if case.is_update else None
    return judge(setup, case.request, case.view, old, now, Mode.ENFORCE, early=True)


def _refused(setup: Setup, case: Case, target: InjectionTarget, now: datetime) -> Outcome:
    """The refusal, with everything that /validate would have said of the result: one fault at a time wears people out."""
    view = view_of(setup, target.recorder.object, case.kind, case.request.namespace)
    old = old_view_of(setup, case) if case.is_update else None
    judged = judge(setup, case.request, view, old, now, Mode.ENFORCE)
    # A fault of ours never refuses here, whatever its rule says.
    findings = [finding for finding in judged.findings if finding.result is not Result.ERROR]
    return answer(case.request, view, findings, judged.errors, help_page=setup.help_page)


@dataclass(frozen=True, slots=True)
class _Earlier:
    """What earlier passes of ours wrote into the object.

    ``own``: by the old object's record, or, of what we took it for and no longer do, by the request's. ``hinted``: by the
    request's own record, which anyone may have written, and an earlier pass of ours over this very request. ``restored``: what
    of the former was put back.
    """

    own: Record
    hinted: Record
    restored: Restored

    @property
    def written(self) -> Record:
        """Both records as one."""
        return unite(self.hinted, self.own) if self.hinted else self.own

    @property
    def again(self) -> bool:
        """Whether an earlier pass over this very request injected something."""
        return bool(self.hinted) and not self.hinted.keys() <= self.own.keys()


def _earlier(setup: Setup, case: Case, old: JsonObject | None, recorder: PatchRecorder, claimed: Container[str]) -> _Earlier:
    """What was written earlier; what an UPDATE dropped of it is put back into the recorder's object."""
    hinted = only_injectable(case.record, setup.injected_names, case.kind.suspend)
    own: Record = {}
    restored = Restored()
    if old is not None:
        # What the request says of our record is not believed: the old object's is what we wrote.
        own = still_ours(only_injectable(read_record(old), setup.injected_names, case.kind.suspend), old)
        restored = restore(recorder, old, own)
        own = still_ours(own, recorder.object)
    # An entry of the request's own counts only if an injector writes that field now.
    hinted = still_ours(hinted, recorder.object) if hinted else {}
    if claimed:
        hinted = {field: entry for field, entry in hinted.items() if field not in claimed}
    if old is None and hinted:
        # What we took it for in an earlier pass and no longer do stands there all the same, and is not its user's word.
        own = judged_labels(hinted)
    return _Earlier(own, hinted, restored)


def _inject(setup: Setup, case: Case, now: datetime, claimed: Container[str] = ()) -> InjectionTarget:
    """``claimed`` are fields that the request's own record names and that are not ours all the same."""
    recorder = PatchRecorder(case.request.object or {})
    old = case.request.old_object if case.is_update else None
    earlier = _earlier(setup, case, old, recorder, claimed)
    written, hinted = earlier.written, earlier.hinted
    view = case.view
    if written or recorder.operations:
        obj = without_ours(recorder.object, written) if written else recorder.object
        view = view_of(setup, obj, case.kind, case.request.namespace)
    theirs = earlier.restored.theirs.difference(hinted)
    warnings = _kept_queues(written, earlier.restored)
    target = InjectionTarget(view, recorder, dict(earlier.own), written, theirs, warnings=warnings)
    if not can_be_recorded(recorder.object):
        return target
    if old is None or (case.kind.injected_on_update and (earlier.again or _template_changed(case, old, recorder.object))):
        _run_injectors(setup, case, now, target, is_update=old is not None)
    if hinted and not claimed and (nobodys := judged_labels(hinted).keys() - target.record.keys()):
        # Only the request says so: a label is its user's word, and everything else was to be judged by it.
        return _inject(setup, case, now, nobodys)
    write_record(recorder, target.record)
    return target


def _run_injectors(setup: Setup, case: Case, now: datetime, target: InjectionTarget, is_update: bool) -> None:
    plan = _plan(setup, case, target.view)
    if not case.made_by_cron_job:
        target.infer_labels = partial(_inferred_labels, setup, case, target, plan, now)
    for inject in INJECTORS:
        # On UPDATE a queue on metadata stays as it is: Kueue refuses to change it once Pods run.
        if inject is inject_queue and is_update and case.kind.queue == ("metadata",):
            continue
        inject(plan, target)
    # What the labels are inferred by holds the target itself: without this every review left a cycle to the collector.
    target.infer_labels = dict


def _kept_queues(record: Record, restored: Restored) -> list[str]:
    """A queue label that somebody took off and that is there again would be a riddle."""
    return [
        f"queue {record[field].set} stays: Signalbox set it (policy {record[field].by})"
        for field in sorted(restored.put_back)
        if field.endswith(f"[{QUEUE_LABEL}]") and field in record
    ]


def _plan(setup: Setup, case: Case, view: WorkloadView) -> Plan:
    policies = injecting_policies(setup, Subject(view, case.request))
    plan = merge_injections([policy if certain else _only_words(policy) for policy, certain in policies])
    # The one exception to "never mutate a controller's write": a CronJob that was there before us has no queue to hand on.
    return Plan(queue=plan.queue) if case.made_by_cron_job else plan


def injecting_policies(setup: Setup, subject: Subject) -> list[tuple[Policy, bool]]:
    """The policies that inject into a workload, in their order, each with whether that is certain: it holds under any name."""
    injecting = setup.policies_in(subject.view.namespace).injecting
    named = [policy for policy in injecting if holds(policy.match, subject) is True]
    others = [replace(subject, view=other) for other in unnamed(subject.view)]
    if not others:
        return [(policy, True) for policy in named]
    certain = [policy for policy in injecting if all(holds(policy.match, other) is True for other in others)]
    return [(policy, policy in certain) for policy in injecting if policy in certain or policy in named]


def _only_words(policy: Policy) -> Policy:
    """A policy with nothing but the labels, the annotations and the grace period that it injects.

    All else may be what a rule then refuses: a queue brings rules, a node selector spot nodes, a variable a type.
    """
    injection = policy.inject
    if injection is None:
        return policy
    kept = Injection(
        labels=injection.labels,
        annotations=injection.annotations,
        termination_grace_period_seconds=injection.termination_grace_period_seconds,
        force=injection.force,
    )
    return replace(policy, inject=kept)


def _template_changed(case: Case, old: JsonObject, new: JsonObject) -> bool:
    before, after = case.kind.templates(old), case.kind.templates(new)
    return [template.body for template in before] != [template.body for template in after]


def _inferred_labels(setup: Setup, case: Case, target: InjectionTarget, plan: Plan, now: datetime) -> dict[str, Sourced]:
    """Type, framework and ``checkpoint: required``, inferred from the result of the other injectors."""
    obj = target.recorder.object
    declared = bool(plan.annotations) or any(name in plan.labels for name in JUDGED_LABELS)
    ours = own_labels({**target.earlier, **target.record}, obj)
    if plan.env:
        # Variables may say where checkpoints go or how processes meet: nothing that was judged before is kept.
        view = WorkloadView(obj, case.kind, setup.signs, setup.cluster, case.request.namespace, ours)
    else:
        view = target.view.after_injection(obj, ours, declared)
    if not (view.accelerators.any or view.trains or view.queue):
        # A web server is no AI work: it is left as it is.
        return {}
    labels: dict[str, Sourced] = {}
    if view.type.state and not view.type.declared:
        labels[TYPE_LABEL] = Sourced(view.type.state, JUDGEMENT)
    if view.framework.state and not view.framework.declared:
        labels[FRAMEWORK_LABEL] = Sourced(view.framework.state, JUDGEMENT)
    if view.trains and _needs_checkpoint(setup, view, case.request, now):
        labels[CHECKPOINT_LABEL] = Sourced(CHECKPOINT_REQUIRED, JUDGEMENT)
    # A label that a policy sets says what the platform team wants to stand there.
    return {name: label for name, label in labels.items() if name not in plan.labels}


def _needs_checkpoint(setup: Setup, view: WorkloadView, request: Request, now: datetime) -> bool:
    """Whether the work can be interrupted: it demands or prefers spot, or a checkpoint rule in force looks at it."""
    if view.spot.state in ("demanded", "preferred"):
        return True
    subject = Subject(view, request)
    return any(
        applies(rule, policy, subject) and effective_mode(rule, subject, now, setup.max_mode) is not Mode.DISABLED
        for policy, rule in setup.policies_in(view.namespace).asking_for_checkpoints
    )


def _patched(setup: Setup, case: Case, target: InjectionTarget, errors: tuple[CaughtError, ...]) -> Outcome:
    operations = tuple(target.recorder.operations)
    if setup.verify_patches and operations:
        fault = _verify(case.request.object or {}, target.recorder.object, list(operations))
        if fault is not None:
            return Outcome(Response(case.request.uid), errors=(*errors, CaughtError("patch", fault)), view=case.view)
    warnings = tuple(clean(line, message.WARNING_LIMIT) for line in dict.fromkeys(target.warnings))
    response = Response(case.request.uid, warnings=warnings, patch=operations)
    return Outcome(response, errors=errors, view=case.view, mutated=target.recorder.object, record=target.record)


def _verify(before: JsonObject, after: JsonObject, operations: list[JsonObject]) -> Exception | None:
    """Applies the patch with an RFC 6902 library of somebody else's and compares; the fault, or None where it is right."""
    import jsonpatch

    try:
        result = jsonpatch.apply_patch(before, operations)
    except (jsonpatch.JsonPatchException, jsonpatch.JsonPointerException) as error:
        return error
    return None if result == after else ValueError("the patch leads to another object than the one that was built")
