"""The shipped policies on what clusters hold already: an update passes both webhooks as it would without us."""

import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from signalbox.configuration import load_setup
from signalbox.engine import Setup
from tests.manifests import deployment, gpu_job, job_set, pod_spec
from tests.world import judged, mutated, request

ROOT = Path(__file__).parent.parent
LOADED = load_setup(cluster=ROOT / "policies" / "tests" / "cluster")
SHIPPED: Setup = replace(LOADED.setup, verify_patches=True)


def stateful_set() -> dict[str, Any]:
    return {**deployment(namespace="team-serving"), "kind": "StatefulSet"}


def cron_job() -> dict[str, Any]:
    return {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": "nightly", "namespace": "team-research"},
        "spec": {"schedule": "@daily", "jobTemplate": {"spec": gpu_job()["spec"]}},
    }


def gpu_pod() -> dict[str, Any]:
    metadata = {"name": "p", "namespace": "team-research"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": pod_spec(gpu_job())}


FROM_BEFORE_US = [
    deployment(namespace="team-serving"),
    stateful_set(),
    cron_job(),
    gpu_job(namespace="team-research"),
    job_set(namespace="team-research"),
    gpu_pod(),
]


def test_the_shipped_policies_load_without_a_problem() -> None:
    assert LOADED.problems == ()


@pytest.mark.parametrize("old", FROM_BEFORE_US, ids=lambda manifest: manifest["kind"])
@pytest.mark.parametrize("change", ["image", "annotation", "label"])
def test_an_update_of_what_was_there_before_us_is_let_in(old: dict[str, Any], change: str) -> None:
    new = copy.deepcopy(old)
    if change == "image" and old["kind"] != "JobSet":
        pod_spec(new)["containers"][0]["image"] = "registry.example/next:2"
    else:
        new["metadata"].setdefault(f"{change}s", {})["example.com/a"] = "b"
    result = mutated(SHIPPED, request(new, old))
    response = judged(SHIPPED, request(result, old)).response
    assert response.allowed, response.message


@pytest.mark.parametrize("old", FROM_BEFORE_US[:3], ids=lambda manifest: manifest["kind"])
def test_whoever_writes_our_labels_by_hand_is_still_refused(old: dict[str, Any]) -> None:
    new = copy.deepcopy(old)
    new["metadata"]["labels"] = {"workload.ai/team": "platform"}
    response = judged(SHIPPED, request(mutated(SHIPPED, request(new, old)), old)).response
    assert not response.allowed
    assert "labels/protected" in response.message


def test_a_record_that_is_forged_while_mutate_is_out_of_reach_moves_no_label() -> None:
    old = mutated(SHIPPED, request(deployment(namespace="team-serving")))
    new = copy.deepcopy(old)
    new["metadata"]["labels"]["workload.ai/team"] = "research"
    new["metadata"]["annotations"]["workload.ai/injected"] = (
        '{"metadata.labels[workload.ai/team]":{"set":"research","was":null,"by":"team-research"}}'
    )
    assert not judged(SHIPPED, request(new, old)).response.allowed


def test_a_forged_owner_is_no_way_round_rules_about_pods() -> None:
    pod = gpu_pod()
    pod["spec"]["nodeSelector"] = {"cloud.google.com/gke-spot": "true"}
    for owner in ({"apiVersion": "batch/v1", "kind": "CronJob"}, {"apiVersion": "batch/v1", "kind": "Job"}):
        pod["metadata"]["ownerReferences"] = [{**owner, "name": "x", "uid": "1", "controller": True}]
        response = judged(SHIPPED, request(mutated(SHIPPED, request(pod)))).response
        assert not response.allowed
        assert "interruptible/checkpoint" in response.message
