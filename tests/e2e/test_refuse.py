"""Each refusal and warning as kubectl prints it, kept as a file."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from .golden import assert_golden
from .kubectl import Kubectl
from .objects import GPU, QUEUE, SPOT, Manifest, cron_job, deployment, gpu_mismatch, job, pod, stateful_set, template
from .waiting import eventually
from .webhook import Webhook

TRAIN = "torchrun train.py --output_dir=/tmp/out"
CAPACITY = "karpenter.sh/capacity-type"
DURABLE = "torchrun train.py --output_dir=s3://bucket/llm"


def _pod_mismatch(namespace: str) -> Manifest:
    body = gpu_mismatch()["spec"]["template"]
    return pod("mismatch", namespace, body)


CASES: dict[str, Callable[[str], Manifest]] = {
    "spot-without-checkpoint": lambda ns: job("llama-sft", ns, template(8, TRAIN, nodeSelector=SPOT)),
    "job-gpu-mismatch": lambda ns: gpu_mismatch("mismatch", ns),
    "pod-gpu-mismatch": _pod_mismatch,
    "gpu-fraction": lambda ns: job("half", ns, template("500m", DURABLE)),
    "training-in-a-deployment": lambda ns: deployment("trainer", ns, template(8, DURABLE, restart=None)),
    "training-in-a-stateful-set": lambda ns: stateful_set("trainer", ns, template(8, DURABLE, restart=None)),
    "too-large-for-interactive-dev": lambda ns: job("notebook", ns, template(8, DURABLE), {QUEUE: "interactive-dev"}),
    "unknown-queue": lambda ns: job("llama-sft", ns, template(8, DURABLE), {QUEUE: "my-queue"}),
    "urgent-release-for-nobody-named": lambda ns: job("llama-sft", ns, template(8, DURABLE), {QUEUE: "urgent-release"}),
    "foreign-priority": lambda ns: job("llama-sft", ns, template(8, DURABLE, priorityClassName="urgent")),
    "more-than-may-be-borrowed": lambda ns: job("big", ns, template(8, DURABLE), parallelism=8, completions=8),
    "eval-without-retries": lambda ns: job(
        "eval", ns, template(1, "python evaluate.py"), {QUEUE: "eval-batch"}, backoffLimit=0
    ),
    "eval-at-too-high-a-priority": lambda ns: job(
        "eval", ns, template(1, "python evaluate.py", priorityClassName="train-normal"), {QUEUE: "eval-batch"}, backoffLimit=3
    ),
    "cron-job-with-gpu-mismatch": lambda ns: cron_job("nightly", ns, gpu_mismatch()["spec"]["template"]),
    "three-problems": lambda ns: job(
        "llama-sft", ns, template(8, TRAIN, nodeSelector=SPOT, priorityClassName="urgent"), {QUEUE: "interactive-dev"}
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_refused_with_the_text_that_is_kept(kubectl: Kubectl, research: str, case: str) -> None:
    printed = kubectl.apply(CASES[case](research))
    assert printed.code == 1, printed.text
    assert_golden(f"refused-{case}", printed.text)


SERVE = "vllm serve llama"
OF_OTHER_TEAMS: dict[str, tuple[str, Callable[[str], Manifest]]] = {
    "serving-on-spot": (
        "serving",
        lambda ns: deployment("chat", ns, template(1, SERVE, restart=None, nodeSelector=SPOT)),
    ),
    "serving-more-than-may-be-borrowed": (
        "serving",
        lambda ns: deployment("chat", ns, template(8, SERVE, restart=None), replicas=5),
    ),
    "serving-at-a-foreign-priority": (
        "serving",
        lambda ns: deployment("chat", ns, template(1, SERVE, restart=None, priorityClassName="urgent")),
    ),
    "platform-more-than-may-be-borrowed": (
        "platform",
        lambda ns: job("reward", ns, template(8, DURABLE), parallelism=5, completions=5),
    ),
    "platform-at-a-foreign-priority": (
        "platform",
        lambda ns: job("reward", ns, template(8, DURABLE, priorityClassName="train-normal")),
    ),
}


@pytest.mark.parametrize("case", OF_OTHER_TEAMS)
def test_another_team_is_refused_with_the_text_that_is_kept(kubectl: Kubectl, team: Callable[[str], str], case: str) -> None:
    name, make = OF_OTHER_TEAMS[case]
    printed = kubectl.apply(make(team(name)))
    assert printed.code == 1, printed.text
    assert_golden(f"refused-{case}", printed.text)


def _sees_every_gpu() -> Manifest:
    body = template(command="jupyter lab")
    body["spec"]["containers"][0]["env"] = [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}]
    return body


WARNED: dict[str, Callable[[str], Manifest]] = {
    "type-unknown-on-spot": lambda ns: job("thing", ns, template(1, "./run.sh", nodeSelector=SPOT)),
    "bare-training-pod": lambda ns: pod("trainer", ns, template(1, DURABLE)),
    "spot-without-retries": lambda ns: job("llama-sft", ns, template(8, DURABLE, nodeSelector=SPOT), backoffLimit=0),
    "too-many-retries": lambda ns: job("llama-sft", ns, template(8, DURABLE), backoffLimit=100),
    "grace-too-short-for-a-checkpoint": lambda ns: job("probe", ns, template(0, DURABLE), {QUEUE: "training-large"}),
    "label-against-what-it-runs": lambda ns: job("llama-sft", ns, template(8, DURABLE), {"workload.ai/type": "evaluation"}),
    "gpus-seen-without-asking": lambda ns: pod("viewer", ns, _sees_every_gpu()),
    "more-on-spot-than-there-is": lambda ns: job(
        "llama-sft",
        ns,
        template(8, DURABLE, nodeSelector={CAPACITY: "spot"}, tolerations=[{"key": CAPACITY, "operator": "Exists"}]),
        parallelism=4,
        completions=4,
    ),
    "inferred-and-queued": lambda ns: job("llama-sft", ns, template(8, DURABLE)),
}


@pytest.mark.parametrize("case", WARNED)
def test_created_with_the_warning_that_is_kept(kubectl: Kubectl, research: str, case: str) -> None:
    printed = kubectl.apply(WARNED[case](research))
    assert printed.code == 0, printed.text
    assert_golden(f"warned-{case}", printed.text)


def test_training_of_unset_priority_is_warned_of_what_an_eviction_would_cost(kubectl: Kubectl, namespace: str) -> None:
    """Of no team, so that nothing gives it a priority class."""
    printed = kubectl.apply(job("llama-sft", namespace, template(8, TRAIN), suspend=True))
    assert printed.code == 0, printed.text
    assert_golden("warned-priority-unset", printed.text)


NOWHERE: dict[str, Callable[[str], Manifest]] = {
    "queue-that-is-not-there": lambda ns: job("llama-sft", ns, template(8, DURABLE), {QUEUE: "nobodys"}),
    "priority-that-is-not-there": lambda ns: job("llama-sft", ns, template(8, DURABLE, priorityClassName="nobodys")),
}


@pytest.mark.parametrize("case", NOWHERE)
def test_what_the_cluster_does_not_have_is_warned_of(kubectl: Kubectl, namespace: str, case: str) -> None:
    """Of no team: its rules say first which names may be used at all."""
    printed = kubectl.apply(NOWHERE[case](namespace))
    assert printed.code == 0, printed.text
    assert_golden(f"warned-{case}", printed.text)


def test_what_is_only_recorded_is_in_the_audit_log_and_nowhere_else(webhook: Webhook, kubectl: Kubectl, research: str) -> None:
    before = len(webhook.findings("jobs", research))
    cheap = job("eval", research, template(1, "python evaluate.py", priorityClassName="train-low"), {QUEUE: "eval-batch"})
    printed = kubectl.apply(cheap)
    assert printed.text == "job.batch/eval created\n"
    recorded = eventually(lambda: webhook.findings("jobs", research)[before:], "the finding is in the audit log")
    assert_golden("recorded-eval-not-on-spot", json.dumps(recorded[0], indent=2))


def test_a_release_manager_may_use_the_urgent_queue_and_no_more_than_it_has(webhook: Webhook, research: str) -> None:
    release = webhook.cluster.kubectl.as_user("rita", "people", "release-managers")
    printed = release.apply(job("llama-sft", research, template(8, DURABLE), {QUEUE: "urgent-release"}))
    assert printed.code == 0, printed.text
    twice = job("llama-sft-2", research, template(8, DURABLE), {QUEUE: "urgent-release"}, parallelism=2, completions=2)
    printed = release.apply(twice)
    assert printed.code == 1, printed.text
    assert_golden("refused-more-than-the-urgent-queue-has", printed.text)


def test_what_passes_once_its_fix_is_applied(kubectl: Kubectl, research: str) -> None:
    fixed = job("llama-sft", research, template(8, TRAIN, nodeSelector=SPOT))
    fixed["metadata"]["annotations"] = {"workload.ai/checkpoint-uri": "s3://bucket/llama-sft"}
    printed = kubectl.apply(fixed)
    assert printed.code == 0, printed.text


def test_a_quantity_that_is_none_is_refused_by_the_api_server_itself(kubectl: Kubectl, research: str) -> None:
    printed = kubectl.apply(job("llama-sft", research, template("one", DURABLE)))
    assert "quantities must match the regular expression" in printed.err


def test_a_name_that_hides_control_characters_cannot_reach_the_terminal(kubectl: Kubectl, research: str) -> None:
    body = template(8, "torchrun train.py", nodeSelector=SPOT)
    body["spec"]["containers"][0]["args"] = ["--output_dir=/tmp/\x1b[31mred"]
    printed = kubectl.apply(job("llama-sft", research, body))
    assert printed.code == 1
    assert "\x1b" not in printed.text


def test_gpus_on_a_resource_that_no_vendor_has_are_left_alone(kubectl: Kubectl, research: str) -> None:
    body = template()
    body["spec"]["containers"][0]["resources"] = {"limits": {"example.com/fpga": 1}}
    printed = kubectl.apply(job("fpga", research, body))
    assert printed.text == "job.batch/fpga created\n"
    assert GPU not in str(kubectl.read("job", "fpga", research)["spec"])
