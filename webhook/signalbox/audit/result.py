"""What a scan says: one ``Subject`` a workload, and what the whole of it came to."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from signalbox.finding import Result
from signalbox.policy.mode import Mode


@dataclass(frozen=True, slots=True)
class Seen:
    """One piece of evidence, as people read it: ``spec.nodeSelector[x]``, ``"true"``, and a remark behind it."""

    path: str
    value: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class ScanFinding:
    """One rule's word on one workload; ``rule`` is ``policy/name``.

    ``would_refuse``: refused if the workload were made now, or would be if the rule's mode were ``enforce``.
    ``fixed_by``: the injector that mends it in /mutate, tried out on this very object; whoever makes it now is not refused.
    """

    rule: str
    check: str
    mode: Mode
    result: Result
    message: str
    would_refuse: bool = False
    fixed_by: str = ""
    excepted_by: str = ""
    key: str = ""
    evidence: tuple[Seen, ...] = ()
    fix: str = ""

    @property
    def policy(self) -> str:
        """The policy that the rule belongs to."""
        return self.rule.partition("/")[0]

    @property
    def stands(self) -> bool:
        """Whether it says that something is wrong which nothing mends and nobody excepted."""
        return self.result is Result.FAIL and not self.fixed_by

    @property
    def refuses(self) -> bool:
        """Whether the workload would be refused for it today."""
        return self.would_refuse and self.mode is Mode.ENFORCE and not self.fixed_by

    @property
    def refuses_if_enforced(self) -> bool:
        """Whether it would be refused for it once the rule's mode is ``enforce``, or is today."""
        return self.would_refuse and not self.fixed_by


@dataclass(frozen=True, slots=True)
class NotJudged:
    """A rule of which it is not known whether it holds, and what would have had to be known."""

    rule: str
    mode: Mode
    reason: str


@dataclass(frozen=True, slots=True)
class Asked:
    """Accelerators asked for: in total, and by resource. ``unknown``: a placeholder or another object says how many."""

    total: float = 0
    by_resource: Mapping[str, float] = field(default_factory=dict)
    unknown: bool = False


@dataclass(frozen=True, slots=True)
class Subject:
    """One workload that was judged.

    ``kind`` is the name that policies use (``JobSet.jobset.x-k8s.io``). ``uid`` is empty for what stands only in a file,
    ``place`` (``job.yaml, document 2``) for what is in the cluster. ``team`` is the label ``workload.ai/team``, else the
    namespace. ``passed`` names the rules that looked at it and found nothing, where that was asked for.
    """

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str = ""
    place: str = ""
    owner: str = ""
    type: str = ""
    team: str = ""
    accelerators: Asked = Asked()
    findings: tuple[ScanFinding, ...] = ()
    not_judged: tuple[NotJudged, ...] = ()
    passed: tuple[str, ...] = ()

    @property
    def refused(self) -> bool:
        """Whether it would be refused if it were made now."""
        return any(finding.refuses for finding in self.findings)

    @property
    def refused_if_enforced(self) -> bool:
        """Whether it would be if every rule that looks at it were enforced."""
        return any(finding.refuses_if_enforced for finding in self.findings)


EVERY_KIND = "every kind"
"""Stands for all kinds where it is not even known which there are."""


@dataclass(frozen=True, slots=True)
class ScanError:
    """Something that could not be read or judged. ``what`` names it: a kind, an object, a file with its line.

    ``kind`` is set where a whole list failed: nothing is known then of what is missing of it.
    """

    what: str
    text: str
    kind: str = ""


@dataclass(frozen=True, slots=True)
class ScanSummary:
    """What a scan came to. Mappings count by kind.

    ``children`` were made by a controller from what was judged, ``finished`` ask for nothing any more. ``errors`` holds the
    first of them, ``error_count`` says how many. ``incomplete`` names the kinds whose lists failed.
    """

    started: datetime
    seconds: float
    digest: str
    judged: Mapping[str, int]
    children: Mapping[str, int]
    finished: Mapping[str, int]
    errors: tuple[ScanError, ...]
    error_count: int
    incomplete: frozenset[str]

    @property
    def objects(self) -> int:
        """Everything that was looked at."""
        return sum(sum(counts.values()) for counts in (self.judged, self.children, self.finished))
