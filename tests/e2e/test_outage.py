"""Signalbox stopped: AI work waits with a text that says why, and nothing else notices."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import pytest

from . import outage
from .golden import assert_golden
from .kubectl import Kubectl
from .kubelet import play_kubelet
from .objects import (
    GPU,
    QUEUE,
    Manifest,
    cron_job,
    daemon_set,
    deployment,
    job,
    pod,
    pod_template,
    replica_set,
    replication_controller,
    stateful_set,
    template,
)
from .waiting import eventually
from .webhook import Webhook

Cases = dict[str, Callable[[str], Manifest]]


@pytest.fixture
def stopped(webhook: Webhook, namespace: str) -> Iterator[str]:
    """A namespace, while nobody answers."""
    with outage.stopped(webhook):
        yield namespace


def test_gpu_work_is_held_back_with_a_text_that_says_what_happened(kubectl: Kubectl, stopped: str) -> None:
    printed = kubectl.apply(job("llm", stopped, template(8)))
    assert printed.code == 1
    assert_golden("outage-gpu-job", printed.text)


CLOSED: Cases = {
    "gpu-pod": lambda ns: pod("x", ns, template(1)),
    "gpu-in-an-init-container": lambda ns: pod("x", ns, template(initContainers=[_init_container()])),
    "gpu-fraction-by-annotation": lambda ns: _annotated(pod("x", ns)),
    "gpu-fraction-by-template-annotation": lambda ns: _annotated(job("x", ns)),
    "resource-claim": lambda ns: pod("x", ns, template(resourceClaims=[{"name": "gpu", "resourceClaimTemplateName": "gpu"}])),
    "queue": lambda ns: job("x", ns, template(), {QUEUE: "training-large"}),
    "another-schedulers-queue": lambda ns: pod("x", ns, template(), {"kai.scheduler/queue": "team"}),
    "queue-on-a-cron-jobs-template": lambda ns: _queued(cron_job("x", ns)),
    "label-of-ours": lambda ns: job("x", ns, template(), {"workload.ai/type": "training"}),
    "gpu-deployment": lambda ns: deployment("x", ns, template(1, restart=None)),
    "gpu-stateful-set": lambda ns: stateful_set("x", ns, template(1, restart=None)),
    "gpu-daemon-set": lambda ns: daemon_set("x", ns, template(1, restart=None)),
    "gpu-replica-set": lambda ns: replica_set("x", ns, template(1, restart=None)),
    "gpu-replication-controller": lambda ns: replication_controller("x", ns, template(1, restart=None)),
    "gpu-pod-template": lambda ns: pod_template("x", ns, template(1)),
    "gpu-cron-job": lambda ns: cron_job("x", ns, template(1)),
    "mig-slice": lambda ns: pod("x", ns, _limits("nvidia.com/mig-1g.10gb")),
    "tpu": lambda ns: pod("x", ns, _limits("google.com/tpu")),
    "gpu-by-the-name-of-its-model": lambda ns: pod("x", ns, _limits("nvidia.com/a100")),
    "unheard-of-gpu": lambda ns: pod("x", ns, _limits("acme.example/gpu")),
}
OPEN: Cases = {
    "web-deployment": lambda ns: deployment("x", ns),
    "database": lambda ns: stateful_set("x", ns),
    "network-plugin": lambda ns: daemon_set("x", ns),
    "replica-set": lambda ns: replica_set("x", ns),
    "replication-controller": lambda ns: replication_controller("x", ns),
    "pod-template": lambda ns: pod_template("x", ns),
    "backup-job": lambda ns: job("x", ns),
    "backup-cron-job": lambda ns: cron_job("x", ns),
    "pod": lambda ns: pod("x", ns),
    "pod-with-a-network-device": lambda ns: pod("x", ns, _limits("vpc.amazonaws.com/efa")),
    "pod-with-a-network-device-of-nvidias": lambda ns: pod("x", ns, _limits("nvidia.com/rdma_shared")),
}


def _init_container() -> Manifest:
    return {**template(1)["spec"]["containers"][0], "name": "init"}


def _annotated(obj: Manifest) -> Manifest:
    target = obj if obj["kind"] == "Pod" else obj["spec"]["template"]
    target.setdefault("metadata", {}).setdefault("annotations", {})["gpu-fraction"] = "0.5"
    return obj


def _queued(obj: Manifest) -> Manifest:
    obj["spec"]["jobTemplate"]["metadata"] = {"labels": {QUEUE: "training-large"}}
    return obj


def _limits(resource: str) -> Manifest:
    body = template()
    body["spec"]["containers"][0]["resources"] = {"limits": {resource: 1}}
    return body


def test_what_is_ai_work_is_closed_and_everything_else_open(kubectl: Kubectl, stopped: str) -> None:
    for case, make in CLOSED.items():
        printed = kubectl.apply(make(stopped), arguments=("--dry-run=server",))
        assert 'failed calling webhook "validate.policy.workload.ai"' in printed.err, f"{case}: {printed.text}"
    for case, make in OPEN.items():
        printed = kubectl.apply(make(stopped), arguments=("--dry-run=server",))
        assert printed.code == 0, f"{case}: {printed.text}"


def test_a_web_deployment_is_unharmed_down_to_its_pods(webhook: Webhook, kubectl: Kubectl, stopped: str) -> None:
    assert kubectl.apply(deployment("web", stopped)).text == "deployment.apps/web created\n"
    eventually(lambda: webhook.cluster.api.list("pods", stopped), "its Pod is made")
    kubectl("scale", "deployment/web", "--replicas=3", "-n", stopped)
    eventually(lambda: len(webhook.cluster.api.list("pods", stopped)) == 3, "it scales")


def test_kube_system_and_our_own_namespace_are_never_closed(kubectl: Kubectl, stopped: str) -> None:
    for exempt in ("kube-system", "signalbox-system"):
        body = template(1, securityContext={"runAsNonRoot": True, "runAsUser": 1, "seccompProfile": {"type": "RuntimeDefault"}})
        body["spec"]["containers"][0]["securityContext"] = {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
        }
        printed = kubectl.apply(job("x", exempt, body), arguments=("--dry-run=server",))
        assert printed.code == 0, printed.text


def test_pods_that_replace_others_are_made_while_nobody_answers(webhook: Webhook, kubectl: Kubectl, namespace: str) -> None:
    serve = deployment("llm", namespace, template(1, "vllm serve llama", restart=None))
    assert kubectl.apply(serve).code == 0
    first = eventually(lambda: webhook.cluster.api.list("pods", namespace), "its Pod is made")[0]["metadata"]["name"]
    with outage.stopped(webhook):
        kubectl("delete", "pod", first, "-n", namespace, "--wait=false")
        eventually(
            lambda: any(one["metadata"]["name"] != first for one in webhook.cluster.api.list("pods", namespace)),
            "another takes its place",
        )


def test_taking_the_gpu_away_in_an_outage_is_no_way_in(webhook: Webhook, kubectl: Kubectl, namespace: str) -> None:
    """What the old object was counts as much: else its labels and queue could be changed one step later."""
    assert kubectl.apply(deployment("llm", namespace, template(1, "vllm serve llama", restart=None))).code == 0
    patch = json.dumps([{"op": "remove", "path": "/spec/template/spec/containers/0/resources"}])
    with outage.stopped(webhook):
        printed = kubectl.run("patch", "deployment", "llm", "-n", namespace, "--type=json", "-p", patch)
        assert 'failed calling webhook "validate.policy.workload.ai"' in printed.err
    found = kubectl.read("deployment", "llm", namespace)
    assert GPU in found["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"]


def test_a_gpu_job_finishes_while_nobody_answers(webhook: Webhook, kubectl: Kubectl, namespace: str) -> None:
    assert kubectl.apply(job("llm", namespace, template(1, "torchrun train.py --output_dir=s3://bucket/llm"))).code == 0
    made = eventually(lambda: webhook.cluster.api.list("pods", namespace), "its Pod is made")[0]["metadata"]["name"]
    with outage.stopped(webhook):
        play_kubelet(webhook, made, namespace)
        eventually(
            lambda: any(
                one["type"] == "Complete" for one in kubectl.read("job", "llm", namespace)["status"].get("conditions", ())
            ),
            "the Job is complete",
        )
        kubectl("delete", "job", "llm", "-n", namespace, "--cascade=foreground", "--timeout=60s")
