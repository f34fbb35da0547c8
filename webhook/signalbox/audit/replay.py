"""Recorded requests through another policy set. Pure.

A request that /validate recorded holds what injectors had put into it by then. That is taken out first, by the note the
object carries, so that it is injected into and judged as it was asked. What is not known here, such as the cluster's
queues, makes a rule not judged: such a rule is left out of the comparison on both sides, and the entry says so.
"""

from collections import Counter
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import orjson

from signalbox.audit.compare import Answer, Change, Kind, compare
from signalbox.audit.ledger.entry import LedgerEntry, Recorded
from signalbox.engine import Outcome, Setup, mutate, validate
from signalbox.finding import Finding, Result
from signalbox.patch import PatchRecorder
from signalbox.record import only_injectable, read_record, still_ours
from signalbox.restore import without_ours
from signalbox.review import JsonObject
from signalbox.workload.kinds.kind import WorkloadKind
from signalbox.workload.labels import INJECTED

_MARK = b"<removed "


@dataclass(frozen=True, slots=True)
class Replayed:
    """One entry. ``change`` None: it is answered as before, as far as that is known.

    ``doubts``: why the change may not be one. ``unknown``: what would have had to be known to compare all of it.
    ``unusable``: why it could not be judged at all.
    """

    entry: LedgerEntry
    change: Change | None = None
    doubts: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    unusable: str = ""


class _AnyName(Container[tuple[str, ...]]):
    """Which names another policy set injected is not known, so any may be ours."""

    def __contains__(self, name: object) -> bool:
        return True


_ANY_NAME = _AnyName()


class Replay:
    """Judges recorded requests by ``setup``: each at its own time, or all as of ``now``."""

    def __init__(self, setup: Setup, now: datetime | None = None) -> None:
        self._setup = setup
        self._now = now
        self._readers = _readers_of_objects(setup)

    def of(self, recorded: Recorded) -> Replayed:
        """How a request would have been answered."""
        entry = recorded.entry
        answered = judge_again(self._setup, recorded, self._now or entry.at)
        if isinstance(answered, str):
            return Replayed(entry, unusable=answered)
        outcome, stored = answered
        if outcome.errors:
            return Replayed(entry, unusable=f"a fault of Signalbox ({outcome.errors[0].where})")
        was = tuple(finding.as_finding() for finding in entry.findings)
        unknown = _unknown(was, outcome.findings)
        reasons = tuple(dict.fromkeys(unknown.values()))
        before = _answer(was, unknown, recorded.documents.object if entry.endpoint == "validate" else None)
        change = compare(before, _answer(outcome.findings, unknown, stored))
        return Replayed(entry, change, () if change is None else self._doubts(recorded, change, unknown), reasons)

    def _doubts(self, recorded: Recorded, change: Change, unknown: Mapping[str, str]) -> tuple[str, ...]:
        doubts = [f"{doubt} was not kept" for doubt in recorded.entry.doubts]
        reading = [rule.rule for rule in change.rules if rule.rule in self._readers]
        if reading and _MARK in orjson.dumps(recorded.documents.object):
            doubts.append(f"values were not kept that {', '.join(reading)} may read")
        if unknown and change.fields:
            doubts.append("what is injected may hang on what is not known here")
        return tuple(doubts)


def judge_again(setup: Setup, recorded: Recorded, now: datetime) -> tuple[Outcome, JsonObject] | str:
    """The answer to a recorded request and what would be stored; in words, why there is none."""
    entry, obj = recorded.entry, recorded.documents.object
    kind = setup.kinds.get((entry.group, entry.kind))
    if obj is None:
        return next(iter(entry.doubts), "its object was not kept")
    if kind is None:
        return f"{entry.kind}{f'.{entry.group}' if entry.group else ''} is no kind that is known here"
    asked = as_asked(obj, kind) if entry.endpoint == "validate" else obj
    mutation = mutate(setup, recorded.request(asked), now)
    if not mutation.response.allowed or mutation.errors:
        return mutation, asked
    stored = asked if mutation.mutated is None else mutation.mutated
    return validate(setup, recorded.request(stored), now), stored


def as_asked(obj: JsonObject, kind: WorkloadKind) -> JsonObject:
    """An object as it was before injectors of ours saw it, by its own note of what they wrote."""
    record = only_injectable(read_record(obj), _ANY_NAME, kind.suspend)
    recorder = PatchRecorder(without_ours(obj, still_ours(record, obj)))
    recorder.remove(("metadata", "annotations", INJECTED))
    return recorder.object


def _answer(findings: Sequence[Finding], unknown: dict[str, str], stored: JsonObject | None) -> Answer:
    known = tuple(finding for finding in findings if finding.rule not in unknown)
    return Answer(not any(finding.refuses for finding in known), known, stored)


def _unknown(was: Sequence[Finding], now: Sequence[Finding]) -> dict[str, str]:
    """The rules that cannot be judged here though they could be then, and what is not known."""
    not_judged = {finding.rule for finding in was if finding.result is Result.NOT_JUDGED}
    return {
        finding.rule: finding.message
        for finding in now
        if finding.result is Result.NOT_JUDGED and finding.rule not in not_judged
    }


def _readers_of_objects(setup: Setup) -> frozenset[str]:
    """The rules whose expressions read fields of the object, and not only what is known of the workload."""
    return frozenset(
        rule.id
        for policy in setup.policies.policies
        for rule in policy.rules
        if rule.expression is not None and any(path[0] in ("object", "oldObject") for path in rule.expression.syntax.paths)
    )


@dataclass(slots=True)
class ReplaySummary:
    """A replay summed up.

    ``estimated``: like ``kinds``, but what was sampled counts as often as it stands for. ``allowed``: how many had found
    nothing; where there are none, such requests are not recorded. ``unknown``, ``unusable`` and ``doubts`` count by reason.
    """

    judged: int = 0
    allowed: int = 0
    kinds: Counter[Kind] = field(default_factory=Counter)
    estimated: Counter[Kind] = field(default_factory=Counter)
    doubtful: Counter[Kind] = field(default_factory=Counter)
    doubts: Counter[str] = field(default_factory=Counter)
    unknown: Counter[str] = field(default_factory=Counter)
    unusable: Counter[str] = field(default_factory=Counter)
    first: datetime | None = None
    last: datetime | None = None

    def add(self, one: Replayed) -> None:
        """Count an entry."""
        at = one.entry.at
        # Clocks go back now and then: the first that was written need not be the earliest.
        self.first = at if self.first is None else min(self.first, at)
        self.last = at if self.last is None else max(self.last, at)
        if one.unusable:
            self.unusable[one.unusable] += 1
            return
        self.judged += 1
        self.allowed += one.entry.decision == "allowed"
        self.unknown.update(one.unknown)
        if one.change is None:
            return
        kind = one.change.kind
        self.kinds[kind] += 1
        self.estimated[kind] += round(one.entry.weight)
        if one.doubts:
            self.doubtful[kind] += 1
            self.doubts.update(one.doubts)

    @property
    def newly_refused(self) -> int:
        """How many requests that were let in would not be."""
        return self.kinds[Kind.NEWLY_REFUSED]

    @property
    def as_before(self) -> int:
        """How many are answered as they were."""
        return self.judged - sum(self.kinds.values())
