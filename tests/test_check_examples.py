"""Each check's own examples: the refused one is refused, the passing one passes, and the fix mends what was refused."""

from typing import Any

import pytest

from signalbox.check import cel
from signalbox.check.table import CHECKS
from signalbox.finding import Finding
from signalbox.fix import apply_fixes
from tests.examples import check_example
from tests.mangled import CASES
from tests.world import cluster_of_yaml, judged, policy, request, setup, view

DOCS = {**{name: check.doc for name, check in CHECKS.items()}, "cel": cel.__doc__}


def findings(world: Any, manifest: Any, old: Any) -> tuple[Finding, ...]:
    outcome = judged(world, request(manifest, old))
    return tuple(finding for finding in outcome.findings if finding.refuses)


@pytest.fixture(params=sorted(DOCS))
def example(request: Any) -> Any:
    return check_example(DOCS[request.param] or "")


def world_of(example: Any) -> Any:
    rule = "\n".join(f"    {line}" for line in example.rule.splitlines())
    cluster = cluster_of_yaml(example.cluster) if example.cluster else None
    return setup(policy(f"rules:\n  - name: r\n    mode: enforce\n{rule}"), cluster=cluster)


def test_the_refused_example_is_refused(example: Any) -> None:
    assert findings(world_of(example), example.refused, example.before)


def test_the_passing_example_passes(example: Any) -> None:
    assert not findings(world_of(example), example.passes, example.before)


def test_the_fix_applied_to_the_refused_example_passes(example: Any) -> None:
    world = world_of(example)
    refused = findings(world, example.refused, example.before)
    mended = apply_fixes(example.refused, refused)
    assert mended != example.refused
    assert not findings(world, mended, example.before)


def test_a_refusal_says_what_to_write_instead(example: Any) -> None:
    for finding in findings(world_of(example), example.refused, example.before):
        assert finding.fix.text or finding.fix.edits


def test_a_check_looks_at_what_it_refuses_and_finds_nothing_where_it_does_not_look() -> None:
    for name, check in CHECKS.items():
        example = check_example(check.doc or "")
        world = world_of(example)
        assert check.looks_at(view(example.refused)), name
        for case in CASES:
            manifest = case["manifest"]
            outcome = judged(world, request(manifest))
            assert outcome.view is None or check.looks_at(outcome.view) or not outcome.findings, (name, case["case"])
