"""Whether anything says that progress is read back, and what is said where nothing does."""

from typing import Any

import pytest

from signalbox.fieldpath import format_path
from signalbox.finding import Finding
from signalbox.policy.mode import Mode
from signalbox.workload.judgement import RESUME_STATES
from tests.judgement_cases import cases, manifest_of, view_of
from tests.world import judged, policy, request, setup

SPOT = {"nodeSelector": {"cloud.google.com/gke-spot": "true"}}


@pytest.mark.parametrize("case", cases("resume"), ids=lambda case: case["case"])
def test_resume_is_read_from_options_variables_and_scripts(case: dict[str, Any]) -> None:
    found = view_of(manifest_of(case)).resume
    assert found.state == case["resume"], found.evidence
    assert bool(found.evidence) is (found.state != "unsaid")


def test_each_state_has_a_case() -> None:
    assert {case["resume"] for case in cases("resume")} == set(RESUME_STATES)


def test_evidence_leads_to_the_driver_of_a_rayjob_and_to_the_variables_of_its_head() -> None:
    head = {"containers": [{"name": "head", "env": [{"name": "A", "value": "1"}, {"name": "AUTO_RESUME", "value": "true"}]}]}
    spec = {"entrypoint": "python train.py", "rayClusterSpec": {"headGroupSpec": {"template": {"spec": head}}}}
    manifest = {"apiVersion": "ray.io/v1", "kind": "RayJob", "metadata": {"name": "x"}, "spec": spec}
    found = view_of(manifest).resume
    assert found.state == "resumes"
    assert [format_path(one.path, manifest) for one in found.evidence] == [
        "spec.rayClusterSpec.headGroupSpec.template.spec.containers[head].env[AUTO_RESUME]"
    ]


def findings(args: list[str], unread: str = "") -> tuple[Finding, ...]:
    parameters = f", unread: {unread}" if unread else ""
    rule = f"rules: [{{name: r, check: checkpoint, with: {{accept: [durable]{parameters}}}, mode: enforce}}]"
    manifest = manifest_of({"container": {"command": ["python", "train.py", *args]}, "with": SPOT})
    outcome = judged(setup(policy(rule)), request(manifest))
    assert outcome.response.allowed
    return outcome.findings


def test_a_durable_checkpoint_that_nothing_reads_back_is_noted_and_never_refused() -> None:
    (found,) = findings(["--output_dir=s3://b/x"])
    assert found.mode is Mode.AUDIT
    assert "nothing in the manifest reads its checkpoint back; its program may do so by itself" in found.message
    (found,) = findings(["--output_dir=s3://b/x", "--resume=false"], "warn")
    assert found.mode is Mode.WARN
    assert "it is told not to read it back" in found.message
    assert found.evidence[-1].value == "--resume=false"


@pytest.mark.parametrize("more", [["--resume"], ["--config=x.yaml"]])
def test_nothing_is_noted_where_something_reads_it_back_or_may(more: list[str]) -> None:
    assert findings(["--output_dir=s3://b/x", *more]) == ()


def test_a_policy_may_leave_it_alone() -> None:
    assert findings(["--output_dir=s3://b/x"], "pass") == ()


def test_policies_match_and_expressions_read_it() -> None:
    manifest = manifest_of({"container": {"command": ["python", "train.py", "--resume"]}})
    rules = """
match: {resume: [resumes]}
rules: [{name: r, cel: "workload.resume != 'resumes'", message: "it is {workload.resume}", mode: enforce}]
"""
    assert "it is resumes" in judged(setup(policy(rules)), request(manifest)).response.message
