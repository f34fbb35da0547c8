"""What one entry of the ledger holds."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from signalbox.finding import Finding, Result
from signalbox.policy.mode import Mode
from signalbox.review import JsonObject, Operation, Request, UserInfo
from signalbox.workload.labels import TEAM_LABEL

Decision = Literal["refused", "warned", "audited", "error", "allowed"]
DECISIONS: tuple[Decision, ...] = ("refused", "error", "warned", "audited", "allowed")
"""``audited``: something was found that nobody was told of, such as by a rule in audit mode, or an excepted finding."""


@dataclass(frozen=True, slots=True)
class LedgerFinding:
    """One finding as it was recorded.

    ``mode`` is the rule's effective mode then, ``amount`` how bad it was. ``would_refuse``: it refused, or would have if the
    rule had been enforced.
    """

    rule: str
    check: str
    mode: str
    result: str
    refused: bool
    would_refuse: bool
    message: str
    key: str = ""
    amount: float | None = None
    fixed_by: str = ""
    excepted_by: str = ""

    @property
    def policy(self) -> str:
        """The policy whose rule it is."""
        return self.rule.partition("/")[0]

    def as_finding(self) -> Finding:
        """The same as the engine has it; evidence and fix are not recorded."""
        return Finding(
            rule=self.rule,
            check=self.check,
            mode=Mode.parse(self.mode),
            result=Result(self.result),
            message=self.message,
            key=self.key,
            amount=self.amount,
            fixed_by=self.fixed_by,
            excepted_by=self.excepted_by,
            at_most=Mode.ENFORCE if self.would_refuse else Mode.WARN,
            refuses_on_error=self.refused and self.result == Result.ERROR.value,
        )


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """One decision.

    ``name`` is empty on a CREATE with ``generate_name``. ``labels`` are those that Signalbox reads and writes. ``weight`` is
    how many requests it stands for: more than one where what was allowed is sampled. ``digest`` names the policies' very
    content. ``doubts`` says, in words, what was removed from the object though a judgement reads it. ``id`` orders entries
    as they were written, whatever the clock did; 0 as long as it is not written.
    """

    at: datetime
    uid: str
    user: str
    groups: tuple[str, ...]
    operation: Operation
    endpoint: str
    group: str
    version: str
    kind: str
    namespace: str
    name: str
    generate_name: str
    labels: dict[str, str]
    decision: Decision
    type: str
    accelerators: float
    by_resource: dict[str, float]
    digest: str
    excepted_by: tuple[str, ...] = ()
    weight: float = 1.0
    doubts: tuple[str, ...] = ()
    findings: tuple[LedgerFinding, ...] = ()
    id: int = 0

    @property
    def shown_name(self) -> str:
        """``llama-*`` where generateName makes the name; empty without either."""
        return self.name or (f"{self.generate_name}*" if self.generate_name else "")

    @property
    def subject(self) -> str:
        """``Job team-a/llama-*``: what it was about, the same for every object that one generateName makes."""
        shown = self.shown_name or "without a name"
        return f"{self.kind} {self.namespace}/{shown}" if self.namespace else f"{self.kind} {shown}"

    @property
    def team(self) -> str:
        """Who answers for it: the team's label, else the namespace."""
        return self.labels.get(TEAM_LABEL) or self.namespace


@dataclass(frozen=True, slots=True)
class Documents:
    """The objects of an entry, redacted. ``object`` None: it was too large to keep, or there was none."""

    object: JsonObject | None = None
    old_object: JsonObject | None = None


@dataclass(frozen=True, slots=True)
class Recorded:
    """An entry with what it takes to judge its request again."""

    entry: LedgerEntry
    documents: Documents = field(default_factory=Documents)

    def request(self, obj: JsonObject | None = None) -> Request:
        """The request as it was asked; with ``obj``, about that object instead."""
        entry = self.entry
        return Request(
            uid=entry.uid,
            operation=entry.operation,
            group=entry.group,
            version=entry.version,
            kind=entry.kind,
            namespace=entry.namespace,
            name=entry.name,
            user=UserInfo(entry.user, entry.groups),
            object=self.documents.object if obj is None else obj,
            old_object=self.documents.old_object,
        )
