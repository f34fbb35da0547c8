"""A few hundred cases of `make fuzz`, and that it sees a fault where there is one."""

from typing import Any

import pytest

from signalbox import engine
from signalbox.engine import Outcome
from signalbox.review import Response
from tests.fuzz.case import make_case
from tests.fuzz.invariants import FAULT
from tests.fuzz.run import Prepared, fuzz, prepare

SEED = 20261129


@pytest.fixture(scope="module")
def prepared() -> Prepared:
    return prepare()


def test_odd_reviews_are_answered_without_a_fault(prepared: Prepared) -> None:
    tally = fuzz(prepared, SEED, 800)
    assert tally.found == {}
    assert min(tally.patched, tally.refused, tally.rejected) > 10


def test_a_seed_and_a_number_give_the_same_case_again(prepared: Prepared) -> None:
    first, again = (make_case(prepared.corpus, 3, SEED, 17) for _ in range(2))
    assert first == again
    assert first != make_case(prepared.corpus, 3, SEED, 18)


def test_a_crash_is_found(prepared: Prepared, monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(*_: Any) -> Outcome:
        raise KeyError("spec")

    monkeypatch.setattr(engine, "validate", crash)
    tally = fuzz(prepared, SEED, 20)
    assert {what for what, _ in tally.found} == {FAULT}
    assert tally.crashes > 3


@pytest.mark.parametrize(
    ("answer", "what"),
    [
        ({"patch": ({"op": "remove", "path": "/not/there"},)}, "a patch that does not apply"),
        ({"patch": ({"op": "add", "path": "/metadata/labels", "value": {"a": "b"}},)}, "a second pass patches again"),
        ({"patch": ({"op": "add", "path": "/kind", "value": "Pod"},)}, "a patch of what is not ours"),
        ({"warnings": ("two\nlines",)}, "a warning that is no line"),
        ({"allowed": False, "message": "x" * 4001}, "a message over the limit"),
        ({"allowed": False, "message": "\x1b[31mred"}, "a message with control characters"),
        ({"allowed": False, "message": "no", "code": 422}, "a refusal of no kind"),
    ],
)
def test_an_answer_that_breaks_a_promise_is_found(
    prepared: Prepared, monkeypatch: pytest.MonkeyPatch, answer: dict[str, Any], what: str
) -> None:
    monkeypatch.setattr(engine, "mutate", lambda setup, request, now: Outcome(Response(request.uid, **answer)))
    tally = fuzz(prepared, SEED, 20)
    assert what in {found for found, _ in tally.found}
