"""The framework a workload is written in."""

from typing import Any

import pytest

from signalbox.workload.framework import infer_framework
from tests.judgement_cases import cases, manifest_of, view_of


@pytest.mark.parametrize("case", cases("framework"), ids=lambda case: case["case"])
def test_most_specific_sign_names_the_framework(case: dict[str, Any]) -> None:
    view = view_of(manifest_of(case))
    assert view.framework.state == case["framework"], view.framework.evidence
    assert bool(view.framework.evidence) is (case["framework"] is not None)


def test_the_label_wins_and_the_inferred_framework_stays_within_reach() -> None:
    case = {"labels": {"workload.ai/framework": "mine"}, "container": {"command": ["torchrun", "train.py"]}}
    view = view_of(manifest_of(case))
    assert (view.framework.state, view.framework.declared) == ("mine", True)
    assert infer_framework(view).state == "pytorch"
