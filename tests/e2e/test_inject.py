"""What each injector does, read back with `kubectl get -o yaml`."""

from __future__ import annotations

import json
from collections.abc import Callable

import yaml

from .kubectl import Kubectl
from .objects import GPU, QUEUE, cron_job, deployment, job, pod, template

TOLERATION = {"key": GPU, "operator": "Exists", "effect": "NoSchedule"}
TRAINING = template(8, "torchrun train.py --output_dir=s3://bucket/llm")


def test_a_training_job_gets_queue_suspend_tolerations_grace_labels_and_priority(kubectl: Kubectl, research: str) -> None:
    printed = kubectl.apply(job("llama-sft", research, TRAINING))
    assert printed.code == 0, printed.text
    found = kubectl.read("job", "llama-sft", research)
    labels, spec = found["metadata"]["labels"], found["spec"]["template"]["spec"]
    assert labels[QUEUE] == "training-large"
    assert labels["workload.ai/team"] == "research"
    assert labels["workload.ai/type"]
    assert found["spec"]["suspend"] is True
    assert spec["tolerations"] == [TOLERATION]
    assert spec["terminationGracePeriodSeconds"] == 300
    assert spec["priorityClassName"] == "train-normal"
    assert found["spec"]["template"]["metadata"]["labels"]["workload.ai/team"] == "research"


def test_the_user_is_told_that_the_job_waits_in_a_queue(kubectl: Kubectl, research: str) -> None:
    printed = kubectl.apply(job("llama-sft", research, TRAINING))
    assert "Warning: queued in training-large, it starts when quota is free" in printed.err
    assert printed.out == "job.batch/llama-sft created\n"


def test_the_record_says_what_was_injected_and_by_which_policy(kubectl: Kubectl, research: str) -> None:
    kubectl.apply(job("llama-sft", research, TRAINING))
    found = kubectl.read("job", "llama-sft", research)
    record = json.loads(found["metadata"]["annotations"]["workload.ai/injected"])
    assert record["spec.template.spec.terminationGracePeriodSeconds"] == {"set": 300, "was": 30, "by": "save-before-exit"}
    assert record["spec.template.spec.tolerations"]["by"] == "nvidia-nodes"


def test_a_cron_jobs_queue_stands_on_its_job_template_and_the_schedule_goes_on(kubectl: Kubectl, research: str) -> None:
    assert kubectl.apply(cron_job("nightly-eval", research, template(1, "python evaluate.py"), backoffLimit=3)).code == 0
    found = kubectl.read("cronjob", "nightly-eval", research)
    inner = found["spec"]["jobTemplate"]
    assert inner["metadata"]["labels"][QUEUE] == "eval-batch"
    assert inner["spec"]["suspend"] is True
    assert found["spec"]["suspend"] is False


def test_a_bare_pod_with_an_injected_priority_class_is_not_caught_in_the_priority_trap(kubectl: Kubectl, research: str) -> None:
    printed = kubectl.apply(pod("notebook", research, template(1, "jupyter lab", restart="Always")))
    assert printed.code == 0, printed.text
    found = kubectl.read("pod", "notebook", research)["spec"]
    assert found["priorityClassName"] == "train-normal"
    assert found["priority"] == 10000
    assert TOLERATION in found["tolerations"]


def test_a_priority_class_that_never_preempts_is_injected_into_a_pod(kubectl: Kubectl, team: Callable[[str], str]) -> None:
    namespace = team("platform")
    printed = kubectl.apply(pod("notebook", namespace, template(1, "jupyter lab", restart="Always")))
    assert printed.code == 0, printed.text
    found = kubectl.read("pod", "notebook", namespace)["spec"]
    assert (found["priorityClassName"], found["priority"], found["preemptionPolicy"]) == ("train-low", 1000, "Never")


def test_a_web_server_is_left_as_it_is(kubectl: Kubectl, research: str) -> None:
    printed = kubectl.apply(deployment("web", research))
    assert printed.text == "deployment.apps/web created\n"
    found = kubectl.read("deployment", "web", research)
    assert "labels" not in found["metadata"]
    assert "workload.ai/injected" not in found["metadata"]["annotations"]
    assert "tolerations" not in found["spec"]["template"]["spec"]


def test_generate_name_works(kubectl: Kubectl, research: str) -> None:
    printed = kubectl.apply(job("sweep-", research, TRAINING), verb="create")
    assert printed.code == 0, printed.text
    name = printed.out.split()[0].removeprefix("job.batch/")
    assert kubectl.read("job", name, research)["metadata"]["labels"][QUEUE] == "training-large"


def test_dry_run_and_diff_show_what_would_be_injected_and_store_nothing(kubectl: Kubectl, research: str) -> None:
    manifest = job("llama-sft", research, TRAINING)
    printed = kubectl.apply(manifest, arguments=("--dry-run=server", "-o", "yaml"))
    assert yaml.safe_load(printed.out)["metadata"]["labels"][QUEUE] == "training-large"
    shown = kubectl.run("diff", "-f", "-", stdin=yaml.safe_dump(manifest))
    assert shown.code == 1
    assert "+      terminationGracePeriodSeconds: 300" in shown.out
    assert kubectl.run("get", "job", "llama-sft", "-n", research).code == 1
