"""Two answers to one request, under two policy sets: who is refused now, who no longer, what is injected otherwise.

``diff`` compares over files or a live cluster, ``replay`` over recorded requests; both hand their answers here.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any

from signalbox.admission import Admission
from signalbox.fieldpath import Path, format_path
from signalbox.finding import Finding, Result
from signalbox.review import JsonObject
from signalbox.workload.labels import INJECTED, INJECTED_LABELS


class Effect(Enum):
    """What a finding does to whoever asks, the mildest first."""

    NONE = "passes"
    SKIPS = "excepted"
    RECORDS = "recorded"
    WARNS = "warns"
    REFUSES = "refuses"


_ORDER = tuple(Effect)


class Kind(Enum):
    """In which way two answers differ; the first that fits, from the top."""

    NEWLY_REFUSED = "newly refused"
    NEWLY_ALLOWED = "newly allowed"
    NEWLY_WARNED = "newly warned"
    NO_LONGER_WARNED = "no longer warned"
    OTHER_PATCH = "injected otherwise"
    OTHER_REASONS = "for other reasons"


@dataclass(frozen=True, slots=True)
class Answer:
    """What one policy set answers. ``object`` is what would be stored, where that is known.

    ``faults``: what Signalbox itself could not do, in words.
    """

    allowed: bool
    findings: tuple[Finding, ...]
    object: JsonObject | None = None
    faults: tuple[str, ...] = ()

    @property
    def effect(self) -> Effect:
        """The worst that whoever asks is told."""
        if not self.allowed:
            return Effect.REFUSES
        return max((effect_of(finding) for finding in self.findings), key=_ORDER.index, default=Effect.NONE)


@dataclass(frozen=True, slots=True)
class RuleChange:
    """A rule whose worst effect on the request is another now; ``message`` is that of the harder of the two."""

    rule: str
    before: Effect
    after: Effect
    message: str


@dataclass(frozen=True, slots=True)
class FieldChange:
    """A field that would be stored otherwise; None: it would not be there."""

    path: str
    before: Any
    after: Any


@dataclass(frozen=True, slots=True)
class Change:
    """How the answers to one request differ."""

    kind: Kind
    before: Effect
    after: Effect
    rules: tuple[RuleChange, ...] = ()
    fields: tuple[FieldChange, ...] = ()


@dataclass(frozen=True, slots=True)
class Difference:
    """A request that is answered otherwise: ``title`` says what it is about, ``place`` where it stands or when it came."""

    title: str
    place: str
    change: Change


def answer_of(admission: Admission) -> Answer:
    """The answer to a request that went through /mutate and /validate."""
    outcomes = (admission.mutation, admission.decided)
    faults = tuple(f"{error.where}: {type(error.error).__name__}" for outcome in outcomes for error in outcome.errors)
    return Answer(admission.allowed, admission.decided.findings, admission.after, tuple(dict.fromkeys(faults)))


def compare(before: Answer, after: Answer) -> Change | None:
    """How the answers differ; None where whoever asks would notice nothing and nothing is recorded otherwise."""
    rules = tuple(_rule_changes(before.findings, after.findings))
    fields: tuple[FieldChange, ...] = ()
    if before.allowed and after.allowed and before.object is not None and after.object is not None:
        fields = tuple(field_changes(before.object, after.object))
    if not rules and not fields and before.allowed is after.allowed:
        return None
    was, now = before.effect, after.effect
    return Change(_kind(before, after, fields), was, now, rules, fields)


def effect_of(finding: Finding) -> Effect:
    """What one finding does."""
    if finding.refuses:
        return Effect.REFUSES
    if finding.warns:
        return Effect.WARNS
    if finding.result is Result.UNCHANGED:
        return Effect.NONE
    return Effect.SKIPS if finding.result is Result.SKIP else Effect.RECORDS


def _kind(before: Answer, after: Answer, fields: tuple[FieldChange, ...]) -> Kind:
    if before.allowed is not after.allowed:
        return Kind.NEWLY_ALLOWED if after.allowed else Kind.NEWLY_REFUSED
    warned, warns = before.effect is Effect.WARNS, after.effect is Effect.WARNS
    if warned is not warns:
        return Kind.NEWLY_WARNED if warns else Kind.NO_LONGER_WARNED
    return Kind.OTHER_PATCH if fields else Kind.OTHER_REASONS


def _rule_changes(before: Iterable[Finding], after: Iterable[Finding]) -> Iterator[RuleChange]:
    was, now = _worst(before), _worst(after)
    for rule in dict.fromkeys((*now, *was)):
        (old, old_message), (new, new_message) = was.get(rule, _NOTHING), now.get(rule, _NOTHING)
        if old is not new:
            harder = _ORDER.index(new) > _ORDER.index(old)
            yield RuleChange(rule, old, new, new_message if harder else old_message)


_NOTHING = (Effect.NONE, "")


def _worst(findings: Iterable[Finding]) -> dict[str, tuple[Effect, str]]:
    worst: dict[str, tuple[Effect, str]] = {}
    for finding in findings:
        effect = effect_of(finding)
        if effect is not Effect.NONE and _ORDER.index(effect) > _ORDER.index(worst.get(finding.rule, _NOTHING)[0]):
            worst[finding.rule] = (effect, finding.message)
    return worst


_NOTES = (INJECTED, INJECTED_LABELS)


def field_changes(before: JsonObject, after: JsonObject) -> Iterator[FieldChange]:
    """The fields in which two results of one object differ; Signalbox's own notes are left out."""
    yield from _differences(before, after, (), before, after)


def _differences(old: Any, new: Any, path: Path, before: JsonObject, after: JsonObject) -> Iterator[FieldChange]:
    # Both came from one object, so most of it is the very same thing in memory.
    if old is new or (path and path[-1] in _NOTES):
        return
    if isinstance(old, dict | None) and isinstance(new, dict | None):
        # Where a mapping stands on one side only, its fields say more than the whole of it.
        old, new = old or {}, new or {}
        for key in (*old, *(key for key in new if key not in old)):
            yield from _differences(old.get(key), new.get(key), (*path, key), before, after)
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for index, (one, other) in enumerate(zip(old, new, strict=True)):
            yield from _differences(one, other, (*path, index), before, after)
    elif isinstance(old, list | None) and isinstance(new, list | None):
        old, new, name = old or [], new or [], format_path(path, before)
        yield from (FieldChange(name, member, None) for member in old if member not in new)
        yield from (FieldChange(name, None, member) for member in new if member not in old)
    elif old != new:
        yield FieldChange(format_path(path, before if new is None else after), old, new)
