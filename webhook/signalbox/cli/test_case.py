"""One case of a PolicyTest: run as ``check`` would, and compared with what was expected."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from signalbox.admission import Admission, Asked, admit
from signalbox.cli.changes import shown
from signalbox.cli.policy_test import Case, Expectation
from signalbox.cli.setup_options import asker
from signalbox.engine import Setup
from signalbox.fieldpath import FieldPathError, parse_path, resolve_path, value_at
from signalbox.finding import Finding, Result
from signalbox.plain_text import clean
from signalbox.policy.mode import Mode
from signalbox.policy.nearest import nearest
from signalbox.review import JsonObject

_ABSENT: Any = object()
_TOLD_LIMIT = 600
_BREAKS = (Result.FAIL, Result.SKIP, Result.UNCHANGED)


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that was not as expected."""

    what: str
    expected: str
    got: str


@dataclass(frozen=True, slots=True)
class CaseResult:
    """``broken`` names the rules that the case breaks, in whatever mode they are."""

    index: int
    name: str
    differences: tuple[Difference, ...]
    broken: frozenset[str]

    @property
    def passed(self) -> bool:
        """Whether all was as expected."""
        return not self.differences


def run_case(index: int, case: Case, obj: JsonObject, setup: Setup, now: datetime) -> CaseResult:
    """Judges the case's object at the time ``now``."""
    user = asker(case.user, tuple(case.groups))
    asked = Asked(case.namespace, user, case.operation, case.oldObject, case.subResource)
    admission = admit(setup, obj, asked, now)
    broken = frozenset(finding.rule for finding in admission.decided.findings if finding.result in _BREAKS)
    return CaseResult(index, case.name, tuple(_differences(case.expect, admission)), broken)


def unknown_rules(case: Case, setup: Setup) -> str:
    """Which rule that a case names there is not; empty where all are there."""
    known = sorted(rule.id for policy in setup.policies.policies for rule in policy.rules)
    expect = case.expect
    for named in (expect.refusedBy, expect.warnedBy, expect.audited, expect.notJudged):
        for rule in named or ():
            if rule not in known:
                return f"case {case.name!r}: no rule is named {rule!r}{nearest(rule, known)}"
    return ""


def _differences(expect: Expectation, admission: Admission) -> Iterator[Difference]:
    refusal = admission.refusal("FILE")
    if admission.allowed != expect.is_allowed:
        got = "allowed" if admission.allowed else f"refused by {', '.join(_rules(admission, _refuses))}"
        yield Difference("the decision", "allowed" if expect.is_allowed else "refused", got)
    lists: tuple[tuple[str, list[str] | None, Callable[[Finding], bool]], ...] = (
        ("refusedBy", expect.refusedBy, _refuses),
        ("warnedBy", expect.warnedBy, lambda finding: finding.result is not Result.NOT_JUDGED and finding.warns),
        ("audited", expect.audited, lambda finding: finding.result is Result.FAIL and finding.mode is Mode.AUDIT),
        ("notJudged", expect.notJudged, lambda finding: finding.result is Result.NOT_JUDGED),
    )
    for what, wanted, counts in lists:
        got_rules = _rules(admission, counts)
        if wanted is not None and sorted(set(wanted)) != got_rules:
            yield Difference(what, ", ".join(sorted(set(wanted))) or "none", ", ".join(got_rules) or "none")
    mutated = admission.mutation.mutated if admission.mutation.mutated is not None else admission.before
    for field, wanted_value in expect.injected.items():
        got = _at(mutated, field)
        if got is _ABSENT or got != wanted_value or isinstance(got, bool) != isinstance(wanted_value, bool):
            yield Difference(f"injected {field}", shown(wanted_value), "nothing" if got is _ABSENT else shown(got))
    for field in expect.notInjected:
        before, after = _at(admission.before, field), _at(mutated, field)
        if before is not after and before != after:
            was = "nothing" if before is _ABSENT else shown(before)
            yield Difference(f"not injected {field}", was, "removed" if after is _ABSENT else shown(after))
    # Lines are broken at a width nobody should have to count with.
    told = " ".join("\n".join((refusal, *admission.warnings)).split())
    for text in expect.message:
        if " ".join(text.split()) not in told:
            yield Difference("message", text, clean(told, _TOLD_LIMIT) or "no message")


def _refuses(finding: Finding) -> bool:
    return finding.refuses


def _rules(admission: Admission, counts: Callable[[Finding], bool]) -> list[str]:
    return sorted({finding.rule for finding in admission.decided.findings if counts(finding)})


def _at(root: JsonObject, field: str) -> Any:
    try:
        path = resolve_path(parse_path(field), root)
    except FieldPathError:
        return _ABSENT
    parent = value_at(root, path[:-1])
    if isinstance(parent, dict):
        return parent.get(path[-1], _ABSENT)
    return value_at(root, path) if isinstance(parent, list) else _ABSENT
