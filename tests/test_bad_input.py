"""Input that no API server would send, or that somebody sends on purpose: an answer, never a fault."""

import copy
from typing import Any

import pytest

from signalbox.engine import mutate, validate
from tests.manifests import gpu_job, job_set, pod_spec
from tests.world import NOW, policy, request, setup

WORLD = setup(
    policy(
        """
inject: {queue: q, priorityClassName: train-low, terminationGracePeriodSeconds: 300, labels: {a: b}}
rules:
  - {name: checkpoint, check: checkpoint, mode: enforce}
  - {name: gpus, check: gpu-requests, mode: enforce}
  - {name: budget, check: restart-budget, with: {min: 1}, mode: enforce}
  - {name: limit, check: accelerator-limit, with: {maxTotal: 1}, mode: enforce}
"""
    )
)
WRONG = [None, "x", 1, 1.5, True, [], ["x"], [None], {}, {"a": None}]


def answered(manifest: Any, old: Any = None) -> str:
    """The text of the refusal, if it is refused; both webhooks answer without a fault of ours."""
    asked = request(manifest, old)
    mutation = mutate(WORLD, asked, NOW)
    assert not mutation.errors, mutation.errors
    outcome = validate(WORLD, asked, NOW)
    assert not outcome.errors, outcome.errors
    return outcome.response.message


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("field", ["metadata", "spec"])
def test_a_top_level_field_of_any_shape(field: str, wrong: Any) -> None:
    answered({**gpu_job(), field: wrong})
    answered({**gpu_job(), field: wrong}, gpu_job())
    answered(gpu_job(), {**gpu_job(), field: wrong})


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("field", ["containers", "initContainers", "tolerations", "volumes", "nodeSelector", "affinity"])
def test_a_field_of_the_pod_of_any_shape(field: str, wrong: Any) -> None:
    job = gpu_job()
    pod_spec(job)[field] = wrong
    answered(job)


@pytest.mark.parametrize(
    "wrong", [*WRONG, ["a", "b"], [{"template": "x"}], [{"name": 1, "template": {"spec": {"template": []}}}]]
)
def test_replicated_jobs_of_any_shape(wrong: Any) -> None:
    jobs = job_set()
    jobs["spec"]["replicatedJobs"] = wrong
    answered(jobs)
    answered(jobs, job_set())


@pytest.mark.parametrize(
    ("quantity", "why"),
    [
        ("", "not a quantity"),
        ("abc", "not a quantity"),
        (True, "not a quantity"),
        (["1"], "not a quantity"),
        ("1.5", "not a whole number"),
        (1.5, "not a whole number"),
        ("-1", "negative"),
        (None, ""),
    ],
)
def test_a_quantity_that_is_none_is_told_and_null_is_left_alone(quantity: Any, why: str) -> None:
    jobs = job_set()
    container = jobs["spec"]["replicatedJobs"][1]["template"]["spec"]["template"]["spec"]["containers"][0]
    container["resources"]["limits"]["nvidia.com/gpu"] = quantity
    message = " ".join(answered(jobs).split())
    assert why in message
    assert ("p/gpus" in message) is bool(why)


def test_a_quantity_larger_than_any_number_of_json_is_told() -> None:
    jobs = job_set()
    container = jobs["spec"]["replicatedJobs"][1]["template"]["spec"]["template"]["spec"]["containers"][0]
    container["resources"] = {"limits": {"nvidia.com/gpu": 1e300}, "requests": {"nvidia.com/gpu": -1}}
    assert "[p/gpus]" in answered(jobs)


def test_labels_that_are_numbers() -> None:
    job = gpu_job()
    job["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": 1, "workload.ai/type": 2, "a": True}
    job["metadata"]["annotations"] = {"workload.ai/injected": 3, "workload.ai/checkpoint-uri": 4}
    answered(job)


def test_html_and_escapes_in_names_are_text() -> None:
    job = gpu_job()
    job["metadata"]["name"] = "<script>alert(1)</script>\x1b[2J"
    message = answered(job)
    assert "<script>alert(1)</script> [2J" in message
    assert "\x1b" not in message


@pytest.mark.parametrize("depth", [50, 900, 20_000])
def test_an_object_nested_deep(depth: int) -> None:
    value: Any = {}
    for _ in range(depth):
        value = {"a": [value]}
    job = gpu_job()
    job["spec"]["deep"] = value
    # Objects that are one and the same are equal without a comparison; these are not.
    other = gpu_job()
    other["spec"]["deep"] = copy.copy(value)
    assert mutate(WORLD, request(job), NOW).response.allowed
    assert validate(WORLD, request(job), NOW).response is not None
    assert validate(WORLD, request(job, other), NOW).response is not None
