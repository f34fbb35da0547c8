"""How many accelerators a workload asks for."""

from fractions import Fraction
from typing import Any

import pytest

from tests.judgement_cases import cases, manifest_of, view_of


@pytest.mark.parametrize("case", cases("accelerators"), ids=lambda case: case["case"])
def test_accelerators_are_counted(case: dict[str, Any]) -> None:
    found = view_of(manifest_of(case)).accelerators
    assert found.per_pod == Fraction(str(case["perPod"]))
    assert found.total == Fraction(str(case["total"]))
    assert found.placeholder is case.get("placeholder", False)
    if "vendors" in case:
        assert list(found.vendors) == case["vendors"]


def test_mig_and_neuron_nodes_have_the_taint_of_their_vendor() -> None:
    signs = view_of(manifest_of({"pod": {}})).signs
    taints = {
        resource: sign.toleration
        for resource in (
            "nvidia.com/gpu",
            "nvidia.com/mig-1g.5gb",
            "aws.amazon.com/neuroncore",
            "google.com/tpu",
            "amd.com/gpu",
        )
        if (sign := signs.accelerator(resource))
    }
    assert taints == {
        "nvidia.com/gpu": "nvidia.com/gpu",
        "nvidia.com/mig-1g.5gb": "nvidia.com/gpu",
        "aws.amazon.com/neuroncore": "aws.amazon.com/neuron",
        "google.com/tpu": "google.com/tpu",
        "amd.com/gpu": "amd.com/gpu",
    }
