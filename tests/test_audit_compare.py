"""Two answers to one request: what counts as a difference, and in which words."""

from __future__ import annotations

from typing import Any

import pytest

from signalbox.audit.compare import Answer, Effect, FieldChange, Kind, compare, field_changes
from signalbox.finding import Finding, Result
from signalbox.policy.mode import Mode


def finding(rule: str = "p/r", mode: Mode = Mode.ENFORCE, result: Result = Result.FAIL, key: str = "") -> Finding:
    return Finding(rule, "check", mode, result, f"{rule} says no", key=key)


def answer(*findings: Finding, stored: dict[str, Any] | None = None) -> Answer:
    return Answer(not any(one.refuses for one in findings), findings, stored)


REFUSES, WARNS, RECORDS = finding(), finding(mode=Mode.WARN), finding(mode=Mode.AUDIT)
EXCEPTED, SAME = finding(result=Result.SKIP), finding(result=Result.UNCHANGED)


@pytest.mark.parametrize(
    ("before", "after", "kind"),
    [
        ((), (REFUSES,), Kind.NEWLY_REFUSED),
        ((WARNS,), (REFUSES,), Kind.NEWLY_REFUSED),
        ((EXCEPTED,), (REFUSES,), Kind.NEWLY_REFUSED),
        ((SAME,), (REFUSES,), Kind.NEWLY_REFUSED),
        ((REFUSES,), (), Kind.NEWLY_ALLOWED),
        ((REFUSES,), (EXCEPTED,), Kind.NEWLY_ALLOWED),
        ((), (WARNS,), Kind.NEWLY_WARNED),
        ((RECORDS,), (WARNS,), Kind.NEWLY_WARNED),
        ((WARNS,), (), Kind.NO_LONGER_WARNED),
        ((REFUSES,), (finding("p/other"),), Kind.OTHER_REASONS),
        ((), (RECORDS,), Kind.OTHER_REASONS),
        ((), (SAME,), None),
        ((REFUSES,), (REFUSES,), None),
        # The rule refuses all the same, if for another container.
        ((finding(key="a"),), (finding(key="b"),), None),
        ((WARNS, REFUSES), (REFUSES, WARNS), None),
    ],
)
def test_what_kind_of_difference_it_is(before: tuple[Finding, ...], after: tuple[Finding, ...], kind: Kind | None) -> None:
    change = compare(answer(*before), answer(*after))
    assert (change.kind if change else None) is kind


def test_the_message_is_that_of_the_harder_answer() -> None:
    change = compare(answer(REFUSES), answer())
    assert change is not None
    (rule,) = change.rules
    assert (rule.before, rule.after, rule.message) == (Effect.REFUSES, Effect.NONE, "p/r says no")


def test_what_would_be_stored_is_compared_where_both_let_it_in() -> None:
    one, two = {"spec": {"a": 1}}, {"spec": {"a": 2}}
    change = compare(answer(stored=one), answer(stored=two))
    assert change is not None
    assert (change.kind, change.fields) == (Kind.OTHER_PATCH, (FieldChange("spec.a", 1, 2),))
    refused = compare(answer(REFUSES, stored=one), answer(REFUSES, stored=two))
    assert refused is None


@pytest.mark.parametrize(
    ("old", "new", "changes"),
    [
        ({"a": {"b": 1}}, {"a": {"b": 1}}, []),
        ({}, {"a": {"b": 1, "c": None}}, [("a.b", None, 1)]),
        ({"a": {"b": 1}}, {}, [("a.b", 1, None)]),
        ({"a": [1, 2]}, {"a": [1, 3]}, [("a[1]", 2, 3)]),
        ({"a": [1]}, {"a": [1, 2]}, [("a", None, 2)]),
        ({"a": [{"name": "x", "v": 1}]}, {"a": [{"name": "x", "v": 2}]}, [("a[x].v", 1, 2)]),
        ({}, {"a": ["x"]}, [("a", None, "x")]),
        ({"a": "text"}, {"a": {"b": 1}}, [("a", "text", {"b": 1})]),
        ({"metadata": {"annotations": {"workload.ai/injected": "{}"}}}, {}, []),
    ],
)
def test_fields_are_told_where_they_differ(old: Any, new: Any, changes: list[tuple[str, Any, Any]]) -> None:
    assert list(field_changes(old, new)) == [FieldChange(*change) for change in changes]
