"""From a decision that waits to the entry that is written: read anew, redacted, measured. Pure."""

from dataclasses import dataclass

import orjson

from signalbox.audit.ledger.entry import Decision, Documents, LedgerEntry, LedgerFinding
from signalbox.audit.ledger.options import Redaction
from signalbox.audit.ledger.redaction import mask, redact
from signalbox.audit.ledger.waiting import Waiting
from signalbox.engine.gate import view_of
from signalbox.finding import Finding, Result
from signalbox.plain_text import clean
from signalbox.quantity import Quantity
from signalbox.review import JsonObject, Request, UserInfo, parse_review
from signalbox.workload.accelerators import total_by_resource
from signalbox.workload.kinds.kind import mapping
from signalbox.workload.labels import QUEUE_LABEL
from signalbox.workload.view import WorkloadView

_OUR_PREFIX = "workload.ai/"
_DIGEST_DIGITS = 12
_NAME = 253
_USER = 512
_MESSAGE = 600
_MOST_GROUPS = 50
_MOST = 10**15
_MOST_LABELS = 50
_MOST_FINDINGS = 200
# managedFields, twice, are the most that goes from a body.
_HOPELESS = 2
_TOO_LARGE = "the object, which is too large to keep"


@dataclass(frozen=True, slots=True)
class Built:
    """An entry ready to be written, its documents as JSON."""

    entry: LedgerEntry
    object: str | None
    old_object: str | None

    @property
    def size(self) -> int:
        """The characters of its documents."""
        return len(self.object or "") + len(self.old_object or "")


def build(waiting: Waiting, rules: Redaction, largest: int) -> Built:
    """The entry of a decision. Objects that are larger than ``largest`` characters together are not kept."""
    request = parse_review(orjson.loads(waiting.body))
    setup = waiting.setup
    # Far too large even without what is taken away: looking through it would only hold up requests.
    hopeless = len(waiting.body) > _HOPELESS * largest
    objects = (None, None) if hopeless else (request.object, request.old_object)
    kept = redact(*objects, rules, setup.signs, setup.injected_names)
    documents = Documents(kept.object, kept.old_object)
    obj, old, doubts = _json(documents.object), _json(documents.old_object), kept.doubts
    if hopeless or len(obj or "") + len(old or "") > largest:
        obj = old = None
        doubts = (_TOO_LARGE,)
    return Built(_entry(waiting, request, doubts), obj, old)


def decision_of(allowed: bool, findings: tuple[Finding, ...], faulty: bool) -> Decision:
    """The one word for an answer."""
    if not allowed:
        return "refused"
    if faulty or any(finding.result is Result.ERROR for finding in findings):
        return "error"
    if any(finding.warns for finding in findings):
        return "warned"
    return "audited" if found_something(findings) else "allowed"


def found_something(findings: tuple[Finding, ...]) -> bool:
    """Whether there is more than what an UPDATE merely left as it was."""
    return any(finding.result is not Result.UNCHANGED for finding in findings)


def _entry(waiting: Waiting, request: Request, doubts: tuple[str, ...]) -> LedgerEntry:
    view = _view(waiting, request)
    metadata = mapping((request.object or {}).get("metadata"))
    user = request.user or UserInfo()
    amounts = {} if view is None else accelerators_by_resource(view)
    generate_name = metadata.get("generateName")
    return LedgerEntry(
        at=waiting.at,
        uid=clean(request.uid, 128),
        user=clean(user.username, _USER),
        groups=tuple(clean(group, _NAME) for group in user.groups[:_MOST_GROUPS]),
        operation=request.operation,
        endpoint=waiting.endpoint,
        group=clean(request.group, _NAME),
        version=clean(request.version, 64),
        kind=clean(request.kind, _NAME),
        namespace=clean(request.namespace, _NAME),
        name=clean(request.name or _named(metadata), _NAME),
        generate_name=clean(generate_name, _NAME) if isinstance(generate_name, str) else "",
        labels=_labels(metadata),
        decision=decision_of(waiting.allowed, waiting.findings, waiting.faulty),
        type="" if view is None else view.type.state or "",
        accelerators=_number(sum(amounts.values())),
        by_resource={clean(name, _NAME): _number(amount) for name, amount in amounts.items()},
        digest=waiting.setup.policies.digest[:_DIGEST_DIGITS],
        excepted_by=tuple(sorted({finding.excepted_by for finding in waiting.findings if finding.excepted_by})),
        weight=waiting.weight,
        doubts=doubts,
        findings=tuple(_finding(finding) for finding in _bounded(waiting.findings)),
    )


def _number(amount: Quantity) -> float:
    # A manifest may ask for more than a float holds, and sums of it should still be numbers.
    return float(min(amount, _MOST))


def _named(metadata: JsonObject) -> str:
    name = metadata.get("name")
    return name if isinstance(name, str) else ""


def _view(waiting: Waiting, request: Request) -> WorkloadView | None:
    kind = waiting.setup.kinds.get((request.group, request.kind))
    if kind is None or request.object is None:
        return None
    return view_of(waiting.setup, request.object, kind, request.namespace)


def accelerators_by_resource(view: WorkloadView) -> dict[str, Quantity]:
    """How many of each accelerator all Pods together ask for."""
    return total_by_resource(view.templates, view.template_accelerators)


def _labels(metadata: JsonObject) -> dict[str, str]:
    found = {
        clean(name, _NAME): clean(mask(value), _NAME)
        for name, value in mapping(metadata.get("labels")).items()
        if isinstance(value, str) and (name.startswith(_OUR_PREFIX) or name == QUEUE_LABEL)
    }
    return dict(list(found.items())[:_MOST_LABELS])


def _bounded(findings: tuple[Finding, ...]) -> list[Finding]:
    """Not all of an object that has thousands, but of each rule the first that says each thing."""
    if len(findings) <= _MOST_FINDINGS:
        return list(findings)
    first: dict[tuple[str, Result, bool], Finding] = {}
    for finding in findings:
        first.setdefault((finding.rule, finding.result, finding.refuses), finding)
    return list(first.values())[:_MOST_FINDINGS]


def _finding(finding: Finding) -> LedgerFinding:
    # A message quotes the manifest.
    return LedgerFinding(
        rule=clean(finding.rule, _USER),
        check=clean(finding.check, 64),
        mode=finding.mode.text,
        result=finding.result.value,
        refused=finding.refuses,
        would_refuse=finding.would_refuse,
        message=clean(mask(finding.message), _MESSAGE),
        key=clean(mask(finding.key), _NAME),
        amount=finding.amount,
        fixed_by=clean(finding.fixed_by, 64),
        excepted_by=clean(finding.excepted_by, _NAME),
    )


def _json(value: JsonObject | None) -> str | None:
    return None if value is None else orjson.dumps(value).decode()
