"""From one object to what a scan says of it, by the engine that the webhook runs.

A manifest is judged as it would be stored: defaults, injection, then the rules. An object of the cluster has been through
all that, perhaps under other policies: it is judged as it stands, and a finding that the injectors would mend if it were made
now says so.
"""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime

from signalbox.admission import Asked as AskedFor
from signalbox.admission import admit
from signalbox.audit.family import owner_text
from signalbox.audit.ledger.building import accelerators_by_resource
from signalbox.audit.ledger.redaction import mask
from signalbox.audit.listing import Found
from signalbox.audit.result import Asked, NotJudged, ScanFinding, Seen, Subject
from signalbox.audit.rule_choice import with_rules
from signalbox.engine import Setup, mutate
from signalbox.engine.asking import applies
from signalbox.engine.gate import view_of
from signalbox.engine.rules import judge
from signalbox.fieldpath import format_path
from signalbox.finding import Finding, Result
from signalbox.plain_text import clean
from signalbox.policy.mode import Mode
from signalbox.policy.policy_set import effective_mode
from signalbox.policy.subject import Subject as Judged
from signalbox.quantity import Quantity
from signalbox.review import JsonObject, Request
from signalbox.workload.labels import TEAM_LABEL
from signalbox.workload.view import WorkloadView

_MOST_EVIDENCE = 4
_MOST_EDITS = 2
_LONGEST_NAME = 253
# An object of thousands of containers has as many findings; each says the same of another one.
_MOST_FINDINGS = 100


class Judging:
    """Judges objects at one moment. ``passes``: whether to say which rules looked at a workload and found nothing."""

    def __init__(self, setup: Setup, now: datetime, passes: bool = False) -> None:
        self._setup = setup
        self._now = now
        self._passes = passes
        self._by_rules: dict[frozenset[str], Setup] = {}

    def judge(self, found: Found) -> Subject:
        """What the rules say. May raise whatever a fault of ours raises."""
        if found.stored:
            request, view = self._request(found)
            findings = judge(self._setup, request, view, None, self._now, Mode.ENFORCE).findings
            mended = self._mended(found, request, findings)
        else:
            admission = admit(self._setup, found.obj, AskedFor(found.namespace), self._now)
            request, findings, mended = admission.request, list(admission.decided.findings), set()
            view = admission.decided.view or self._request(found)[1]
        return self._subject(found, view, request, findings, mended)

    def _request(self, found: Found) -> tuple[Request, WorkloadView]:
        obj, kind = found.obj, found.kind
        version = str(obj.get("apiVersion", "")).rpartition("/")[2]
        request = Request("scan", "CREATE", kind.group, version, kind.kind, found.namespace, object=obj)
        return request, view_of(self._setup, obj, kind, found.namespace)

    def _mended(self, found: Found, request: Request, findings: list[Finding]) -> set[tuple[str, str]]:
        """The findings, by rule and key, that would be gone once /mutate had seen the object."""
        hoped = {(one.rule, one.key) for one in findings if one.fixed_by and one.result is Result.FAIL}
        if not hoped:
            return hoped
        mutated = mutate(self._setup, request, self._now).mutated
        if mutated is None:
            return set()
        rules = frozenset(rule for rule, _ in hoped)
        if rules not in self._by_rules:
            # Few rules have an injector: asking them alone is a fraction of asking all of them again.
            self._by_rules[rules] = with_rules(self._setup, rules.__contains__)
        changed, view = self._request(replace(found, obj=mutated))
        after = judge(self._by_rules[rules], changed, view, None, self._now, Mode.ENFORCE).findings
        return hoped - {(one.rule, one.key) for one in after}

    def _subject(
        self, found: Found, view: WorkloadView, request: Request, findings: list[Finding], mended: set[tuple[str, str]]
    ) -> Subject:
        team = view.labels.get(TEAM_LABEL)
        uid = view.metadata.get("uid")
        return Subject(
            api_version=clean(found.obj.get("apiVersion", "")),
            kind=view.kind.text,
            namespace=clean(view.namespace),
            name=clean(view.name, _LONGEST_NAME),
            uid=clean(uid) if isinstance(uid, str) else "",
            place=clean(found.place, _LONGEST_NAME),
            owner=clean(owner_text(found.obj), _LONGEST_NAME),
            type=view.type.state or "",
            team=clean(team if isinstance(team, str) and team else view.namespace),
            accelerators=_asked(view),
            findings=tuple(
                _finding(one, view.object, (one.rule, one.key) in mended)
                for one in findings[:_MOST_FINDINGS]
                if one.result is not Result.NOT_JUDGED
            ),
            not_judged=tuple(
                NotJudged(one.rule, one.mode, clean(one.message, 200)) for one in findings if one.result is Result.NOT_JUDGED
            ),
            passed=tuple(self._passed(view, request, findings)) if self._passes and findings else (),
        )

    def _passed(self, view: WorkloadView, request: Request, findings: list[Finding]) -> Iterator[str]:
        found = {finding.rule for finding in findings}
        subject = Judged(view, request)
        for policy, rules in self._setup.policies_in(view.namespace).judging:
            for rule in rules:
                if rule.id not in found and applies(rule, policy, subject):
                    mode = effective_mode(rule, subject, self._now, self._setup.max_mode)
                    if mode is not Mode.DISABLED:
                        yield rule.id


def _finding(finding: Finding, root: JsonObject, mended: bool) -> ScanFinding:
    # What a scan says is read by more people than the manifest that it quotes: in reports, in the kept scan, on the pages.
    return ScanFinding(
        rule=finding.rule,
        check=finding.check,
        mode=finding.mode,
        result=finding.result,
        message=clean(mask(finding.message), 600),
        would_refuse=finding.would_refuse,
        fixed_by=finding.fixed_by if mended else "",
        excepted_by=finding.excepted_by,
        key=clean(mask(finding.key)),
        evidence=tuple(
            Seen(clean(format_path(one.path, root), 160), clean(mask(str(one.value))), clean(mask(one.note)))
            for one in finding.evidence[:_MOST_EVIDENCE]
        ),
        fix=_fix(finding, root),
    )


def _fix(finding: Finding, root: JsonObject) -> str:
    fix = finding.fix
    edits = [edit for edit in fix.edits if not edit.removes and not isinstance(edit.value, dict | list)]
    if fix.text and not fix.text.endswith(":"):
        edits = []
    shown = ", ".join(f"{format_path(edit.path, root)}: {edit.value}" for edit in edits[:_MOST_EDITS])
    return clean(mask(f"{fix.text} {shown}".strip()), 400)


def _asked(view: WorkloadView) -> Asked:
    accelerators = view.accelerators
    if not accelerators.any:
        return _NONE
    resources = accelerators.resources
    if len(resources) == 1:
        by_resource = {resources[0]: _number(accelerators.total)}
    else:
        by_resource = {resource: _number(quantity) for resource, quantity in accelerators_by_resource(view).items()}
    return Asked(_number(accelerators.total), by_resource, accelerators.placeholder)


_NONE = Asked()


def _number(quantity: Quantity) -> float:
    return quantity.numerator if quantity.denominator == 1 else float(quantity)
