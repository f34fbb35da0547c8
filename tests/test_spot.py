"""Spot in its four states, with the field that says so."""

from typing import Any

import pytest

from signalbox.fieldpath import format_path
from tests.judgement_cases import cases, manifest_of, view_of


@pytest.mark.parametrize("case", cases("spot"), ids=lambda case: case["case"])
def test_spot_is_read_from_placement(case: dict[str, Any]) -> None:
    view = view_of(manifest_of(case))
    assert view.spot.state == case["spot"]
    assert bool(view.spot.evidence) is (case["spot"] != "no")
    if "note" in case:
        assert view.spot.evidence[0].note == case["note"]


def test_strongest_of_several_templates_counts() -> None:
    def replicated(name: str, pod: dict[str, Any]) -> dict[str, Any]:
        return {"name": name, "template": {"spec": {"template": {"spec": pod}}}}

    manifest = {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "spec": {
            "replicatedJobs": [
                replicated("driver", {"tolerations": [{"operator": "Exists"}]}),
                replicated("workers", {"nodeSelector": {"karpenter.sh/capacity-type": "spot"}}),
            ]
        },
    }
    spot = view_of(manifest).spot
    assert spot.state == "demanded"
    assert format_path(spot.evidence[0].path, manifest) == (
        "spec.replicatedJobs[workers].template.spec.template.spec.nodeSelector[karpenter.sh/capacity-type]"
    )
