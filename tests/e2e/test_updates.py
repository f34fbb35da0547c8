"""What changes after admission: each change is judged by what it brings, and nothing else is in its way."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from .golden import assert_golden
from .kubectl import Kubectl
from .kubelet import play_kubelet
from .objects import GPU, QUEUE, SPOT, deployment, job, pod, template
from .stricter import RULE, stricter_policy
from .waiting import eventually
from .webhook import Webhook, assert_unheard

DURABLE = "torchrun train.py --output_dir=s3://bucket/llm"
TWO_GPUS = {"limits": {GPU: "2"}, "requests": {GPU: "2"}}
UNSAFE = "torchrun train.py --output_dir=/tmp/out"


@pytest.fixture
def suspended(kubectl: Kubectl, research: str) -> str:
    """A suspended training Job `llm` in the research team's namespace."""
    assert kubectl.apply(job("llm", research, template(8, DURABLE))).code == 0
    return research


def test_relabelling_into_urgent_release_is_judged(kubectl: Kubectl, suspended: str) -> None:
    printed = kubectl.run("label", "job", "llm", f"{QUEUE}=urgent-release", "--overwrite", "-n", suspended)
    assert printed.code == 1
    assert_golden("refused-relabelled-into-urgent-release", printed.text)


def test_taking_off_the_queue_that_was_injected_leaves_it_there_and_says_so(kubectl: Kubectl, suspended: str) -> None:
    printed = kubectl.run("label", "job", "llm", f"{QUEUE}-", "-n", suspended)
    assert printed.code == 0
    assert_golden("warned-queue-stays", printed.text)
    assert kubectl.read("job", "llm", suspended)["metadata"]["labels"][QUEUE] == "training-large"


def test_taking_off_the_queue_that_the_user_chose_is_judged(kubectl: Kubectl, research: str) -> None:
    assert kubectl.apply(job("llm", research, template(8, DURABLE), {QUEUE: "training-large"}, suspend=True)).code == 0
    printed = kubectl.run("label", "job", "llm", f"{QUEUE}-", "-n", research)
    assert printed.code == 1
    assert_golden("refused-queue-label-taken-off", printed.text)


def test_a_label_of_ours_that_was_judged_does_not_change(kubectl: Kubectl, suspended: str) -> None:
    printed = kubectl.run("label", "job", "llm", "workload.ai/team=platform", "--overwrite", "-n", suspended)
    assert printed.code == 1
    assert_golden("refused-changed-label", printed.text)


def test_growing_a_suspended_job_beyond_the_teams_share_is_judged(kubectl: Kubectl, suspended: str) -> None:
    resources = {"name": "main", "resources": {"limits": {GPU: "64"}, "requests": {GPU: "64"}}}
    patch = json.dumps({"spec": {"template": {"spec": {"containers": [resources]}}}})
    printed = kubectl.run("patch", "job", "llm", "-n", suspended, "-p", patch)
    assert printed.code == 1
    assert_golden("refused-grown-while-suspended", printed.text)


def test_an_annotation_or_a_label_of_nobodys_concern_may_change(kubectl: Kubectl, suspended: str) -> None:
    assert kubectl.run("annotate", "job", "llm", "note=hello", "-n", suspended).code == 0
    assert kubectl.run("label", "job", "llm", "cost-centre=42", "-n", suspended).code == 0


def test_status_and_finalizer_writes_do_not_reach_us(webhook: Webhook, kubectl: Kubectl, suspended: str) -> None:
    api = webhook.cluster.api

    def write(number: int) -> None:
        api.patch("jobs", suspended, "llm", {"metadata": {"finalizers": ["example.com/hold"]}})
        api.patch("jobs", suspended, "llm", {"metadata": {"annotations": {"note": str(number)}}})
        api.patch("jobs", suspended, "llm", {"metadata": {"finalizers": None}})
        api.patch("jobs", suspended, "llm", {"status": {"ready": number}}, "status")

    assert_unheard(webhook, write)


def test_a_job_that_broke_no_rule_when_it_came_can_be_deleted_after_policies_got_stricter(
    webhook: Webhook, kubectl: Kubectl, namespace: str
) -> None:
    assert kubectl.apply(job("llm", namespace, template(2, DURABLE))).code == 0
    made = eventually(lambda: webhook.cluster.api.list("pods", namespace), "its Pod is made")[0]["metadata"]["name"]
    with stricter_policy(webhook):
        play_kubelet(webhook, made, namespace)
        eventually(
            lambda: any(
                one["type"] == "Complete" for one in kubectl.read("job", "llm", namespace)["status"].get("conditions", ())
            ),
            "the Job is complete",
        )
        assert kubectl.run("annotate", "job", "llm", "note=hello", "-n", namespace).code == 0
        kubectl("delete", "job", "llm", "-n", namespace, "--cascade=foreground", "--timeout=60s")


def test_debug_eviction_and_deletion_of_a_gpu_pod_work(webhook: Webhook, kubectl: Kubectl, namespace: str) -> None:
    assert kubectl.apply(pod("gpu", namespace, template(1, "jupyter lab", restart="Always"))).code == 0
    debug = kubectl.run("debug", "gpu", "--image=busybox", "-n", namespace, "--attach=false", "-c", "debugger")
    assert debug.code == 0, debug.text
    assert kubectl.read("pod", "gpu", namespace)["spec"]["ephemeralContainers"]
    path = f"/api/v1/namespaces/{namespace}/pods/gpu/eviction"
    webhook.cluster.api.call(
        "POST", path, {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "gpu", "namespace": namespace}}
    )
    eventually(lambda: webhook.cluster.api.get("pods", namespace, "gpu") is None, "the Pod is evicted")


def test_a_running_job_keeps_what_the_api_server_lets_change(kubectl: Kubectl, namespace: str) -> None:
    assert kubectl.apply(job("llm", namespace, template(2, DURABLE), parallelism=1, completions=4)).code == 0
    kubectl("patch", "job", "llm", "-n", namespace, "--type=merge", "-p", '{"spec":{"parallelism":2}}')
    kubectl("patch", "job", "llm", "-n", namespace, "--type=merge", "-p", '{"spec":{"suspend":true}}')
    kubectl("patch", "job", "llm", "-n", namespace, "--type=merge", "-p", '{"spec":{"suspend":false}}')


def test_an_old_fault_stays_and_a_new_one_is_refused(webhook: Webhook, kubectl: Kubectl, namespace: str) -> None:
    """Ratcheting: a Deployment that was there before a rule can still be scaled and restarted."""
    assert kubectl.apply(deployment("web", namespace, template(1, "vllm serve llama", restart=None))).code == 0
    with stricter_policy(webhook):
        kubectl("set", "image", "deployment/web", "main=registry.example/llm:2", "-n", namespace)
        kubectl("rollout", "restart", "deployment/web", "-n", namespace)
        kubectl("scale", "deployment/web", "--replicas=2", "-n", namespace)
        more = json.dumps({"spec": {"template": {"spec": {"containers": [{"name": "main", "resources": TWO_GPUS}]}}}})
        printed = kubectl.run("patch", "deployment", "web", "-n", namespace, "-p", more)
        assert RULE in printed.err


def test_scaling_asks_the_quota_of_the_namespace_and_not_us(
    webhook: Webhook, kubectl: Kubectl, team: Callable[[str], str]
) -> None:
    """A Scale holds a number and no template: what it costs is counted in Pods."""
    serving = team("serving")
    assert kubectl.apply(deployment("chat", serving, template(8, "vllm serve llama", restart=None))).code == 0

    def scale(number: int) -> None:
        kubectl("scale", "deployment/chat", f"--replicas={10 + number}", "-n", serving)

    assert_unheard(webhook, scale, kind="Deployment")

    def refused() -> list[str]:
        conditions = kubectl.read("deployment", "chat", serving)["status"].get("conditions", ())
        return [one["message"] for one in conditions if one["type"] == "ReplicaFailure"]

    [text] = eventually(refused, "the quota stops it")
    assert "exceeded quota: gpus" in text
    # 40 GPUs are the team's.
    assert len(webhook.cluster.api.list("pods", serving)) == 5


def test_an_object_of_1_4_mebibytes_is_judged_and_updated(kubectl: Kubectl, namespace: str) -> None:
    body = template(1, DURABLE)
    env = [{"name": f"V{number}", "value": "x" * 1000} for number in range(1_440)]
    body["spec"]["containers"][0]["env"] = env
    large = job("large", namespace, body, suspend=True)
    printed = kubectl.apply(large, verb="create")
    assert printed.code == 0, printed.text[:2000]
    kubectl("patch", "job", "large", "-n", namespace, "--type=merge", "-p", '{"spec":{"suspend":false}}')


def test_a_global_default_priority_class_is_judged_as_the_api_server_fills_it_in(
    webhook: Webhook, kubectl: Kubectl, namespace: str
) -> None:
    api = webhook.cluster.api
    default = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "gd"}, "value": 7}
    api.create("priorityclasses", "", {**default, "globalDefault": True})
    try:
        unsafe = pod("unsafe", namespace, template(1, UNSAFE))
        eventually(
            lambda: "[interruptible/checkpoint]" in kubectl.apply(unsafe, arguments=("--dry-run=server",)).err, "it is refused"
        )
    finally:
        api.delete("priorityclasses", "", "gd")
    spot = pod("spot", namespace, template(1, DURABLE, nodeSelector=SPOT))
    assert kubectl.apply(spot, arguments=("--dry-run=server",)).code == 0
