"""A few hundred cases of `make fuzz`, and that it sees a fault where there is one."""

from typing import Any

import orjson
import pytest

from signalbox import engine
from signalbox.engine import Outcome
from signalbox.review import Response
from tests.fuzz.app import App
from tests.fuzz.case import Case, make_case
from tests.fuzz.corpus import Corpus, Place
from tests.fuzz.invariants import FAULT, run_case
from tests.fuzz.run import Prepared, fuzz, prepare

SEED = 20261129
# A JSON text of more than 1024 levels is not read; some are the review's own.
DEEPEST = 1012


@pytest.fixture(scope="module")
def prepared() -> Prepared:
    return prepare()


def test_odd_reviews_are_answered_without_a_fault(prepared: Prepared) -> None:
    tally = fuzz(prepared, SEED, 800)
    assert tally.found == {}
    assert min(tally.patched, tally.refused, tally.rejected) > 10


def test_what_is_as_deep_as_a_body_may_be_is_a_fault_nowhere(prepared: Prepared) -> None:
    """Under every key that a manifest of ours has, wherever it stands first."""
    app, seen = App(prepared.worlds), set()
    try:
        for index, places in enumerate(prepared.corpus.places):
            for place in places:
                if place[-1] in seen or not isinstance(place[-1], str) or len(place) == 1:
                    continue
                seen.add(place[-1])
                run_case(app, deep_case(prepared.corpus, index, place))
    finally:
        app.close()
    assert len(seen) > 100


def deep_case(corpus: Corpus, index: int, place: Place) -> Case:
    obj = orjson.loads(corpus.manifests[index])
    parent = obj
    for step in place[:-1]:
        parent = parent[step]
    value: Any = []
    for _ in range(DEEPEST - len(place)):
        value = [value]
    parent[place[-1]] = value
    group, _, version = obj["apiVersion"].rpartition("/")
    kind = {"group": group, "version": version, "kind": obj["kind"]}
    user = {"username": "ann", "groups": ["research"]}
    envelope = {"uid": "deep", "kind": kind, "operation": "CREATE", "namespace": "team-research", "userInfo": user}
    # The world in which every check and injector is at work.
    return Case(0, 1, obj, None, envelope)


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
