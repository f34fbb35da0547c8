"""What controllers make from a parent that was judged is neither refused nor changed; a forger gets no free pass."""

from __future__ import annotations

from typing import Any

from .cron import make_due
from .kubectl import Kubectl
from .kubelet import play_kubelet, wait_until_complete
from .objects import GPU, SPOT, Manifest, cron_job, deployment, gpu_mismatch, job, pod, stateful_set, template
from .outage import before_signalbox
from .stricter import RULE, stricter_policy
from .waiting import eventually
from .webhook import PEOPLE, Webhook

DURABLE = "torchrun train.py --output_dir=s3://bucket/llm"
UNSAFE = "torchrun train.py --output_dir=/tmp/out"
JOB_CONTROLLER = "system:serviceaccount:kube-system:job-controller"


def children(webhook: Webhook, resource: str, namespace: str, owner: str) -> list[Any]:
    """The objects that name this owner, once there is one."""

    def found() -> list[Any]:
        return [
            one
            for one in webhook.cluster.api.list(resource, namespace)
            if any(reference["name"].startswith(owner) for reference in one["metadata"].get("ownerReferences", ()))
        ]

    return eventually(found, f"{resource} of {owner}")


def _shape(pod_object: Manifest) -> tuple[Any, Any]:
    spec = pod_object["spec"]
    return spec["terminationGracePeriodSeconds"], [one for one in spec["tolerations"] if one["key"] == GPU]


def test_pods_of_a_job_are_made_as_its_template_says(webhook: Webhook, kubectl: Kubectl, namespace: str) -> None:
    assert kubectl.apply(job("llm", namespace, template(2, DURABLE))).code == 0
    parent = kubectl.read("job", "llm", namespace)["spec"]["template"]["spec"]
    made = children(webhook, "pods", namespace, "llm")[0]
    assert _shape(made) == (parent["terminationGracePeriodSeconds"], parent["tolerations"])
    assert "workload.ai/injected" not in made["metadata"].get("annotations", {})


def test_replica_sets_and_pods_of_a_deployment_are_made_once(webhook: Webhook, kubectl: Kubectl, namespace: str) -> None:
    assert kubectl.apply(deployment("llm", namespace, template(1, "vllm serve llama", restart=None), replicas=2)).code == 0
    eventually(lambda: len(children(webhook, "pods", namespace, "llm")) == 2, "both Pods are there")
    sets = children(webhook, "replicasets", namespace, "llm")
    assert len(sets) == 1
    parent = kubectl.read("deployment", "llm", namespace)
    assert parent["status"]["replicas"] == 2
    assert parent["metadata"]["generation"] == 1


def test_pods_of_a_stateful_set_are_made(webhook: Webhook, kubectl: Kubectl, namespace: str) -> None:
    assert kubectl.apply(stateful_set("llm", namespace, template(1, "vllm serve llama", restart=None))).code == 0
    assert children(webhook, "pods", namespace, "llm")[0]["metadata"]["name"] == "llm-0"


def test_jobs_of_a_cron_job_are_made_with_its_queue_and_their_pods_too(
    webhook: Webhook, kubectl: Kubectl, namespace: str
) -> None:
    assert kubectl.apply(cron_job("nightly", namespace, template(1, DURABLE))).code == 0
    kubectl("create", "job", "--from=cronjob/nightly", "by-hand", "-n", namespace)
    assert kubectl.read("job", "by-hand", namespace)["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] == 300
    assert children(webhook, "pods", namespace, "by-hand")


def test_the_cron_job_controllers_own_jobs_are_not_refused(webhook: Webhook, kubectl: Kubectl, namespace: str) -> None:
    manifest = cron_job("minutely", namespace, template(1, DURABLE), schedule="* * * * *")
    assert kubectl.apply(manifest).code == 0
    make_due(webhook, "minutely", namespace)
    made = children(webhook, "jobs", namespace, "minutely")
    assert made[0]["spec"]["template"]["spec"]["tolerations"]
    assert children(webhook, "pods", namespace, made[0]["metadata"]["name"])


def test_new_pods_of_a_parent_that_was_there_before_a_rule_are_audited_and_not_refused(
    webhook: Webhook, kubectl: Kubectl, namespace: str
) -> None:
    assert kubectl.apply(job("old", namespace, template(2, DURABLE), suspend=True)).code == 0
    with stricter_policy(webhook):
        kubectl("patch", "job", "old", "-n", namespace, "--type=merge", "-p", '{"spec":{"suspend":false}}')
        assert children(webhook, "pods", namespace, "old")
        found = eventually(lambda: webhook.findings("pods", namespace), "the finding is in the audit log")[0]
    assert RULE in [finding["rule"] for finding in found]
    assert {finding["mode"] for finding in found} == {"audit"}


def test_a_parent_that_was_there_before_signalbox_goes_on(webhook: Webhook, kubectl: Kubectl, namespace: str) -> None:
    with before_signalbox(webhook):
        assert kubectl.apply(job("old", namespace, template(2, UNSAFE, nodeSelector=SPOT), suspend=True)).code == 0
    kubectl("patch", "job", "old", "-n", namespace, "--type=merge", "-p", '{"spec":{"suspend":false}}')
    made = children(webhook, "pods", namespace, "old")[0]
    assert _shape(made) == (30, [])


def test_an_owner_reference_that_a_user_wrote_is_no_free_pass(webhook: Webhook, kubectl: Kubectl, namespace: str) -> None:
    assert kubectl.apply(job("parent", namespace, template(), suspend=True)).code == 0
    parent = kubectl.read("job", "parent", namespace)
    forged = pod("forged", namespace, gpu_mismatch()["spec"]["template"])
    forged["metadata"]["ownerReferences"] = [_owner(parent)]
    printed = kubectl.apply(forged)
    assert printed.code == 1
    assert "[gpus/limits-equal-requests]" in printed.err


def test_a_service_account_of_the_same_name_elsewhere_is_no_controller(webhook: Webhook, namespace: str) -> None:
    impostor = webhook.cluster.kubectl.as_user(
        f"system:serviceaccount:{namespace}:job-controller", PEOPLE, "system:serviceaccounts"
    )
    assert impostor.apply(job("parent", namespace, template(), suspend=True)).code == 0
    parent = impostor.read("job", "parent", namespace)
    child = pod("child", namespace, gpu_mismatch()["spec"]["template"])
    child["metadata"]["ownerReferences"] = [_owner(parent)]
    printed = impostor.apply(child)
    assert printed.code == 1
    assert "[gpus/limits-equal-requests]" in printed.err


def test_the_controllers_account_with_an_owner_it_never_has_is_no_free_pass(webhook: Webhook, namespace: str) -> None:
    controller = webhook.cluster.kubectl.as_user(JOB_CONTROLLER, PEOPLE)
    printed = controller.apply(pod("orphan", namespace, gpu_mismatch()["spec"]["template"]))
    assert printed.code == 1
    assert "[gpus/limits-equal-requests]" in printed.err


def _owner(parent: Manifest) -> Manifest:
    metadata = parent["metadata"]
    return {"apiVersion": "batch/v1", "kind": "Job", "name": metadata["name"], "uid": metadata["uid"], "controller": True}


def test_a_job_finishes_and_is_deleted_in_the_foreground(webhook: Webhook, kubectl: Kubectl, namespace: str) -> None:
    assert kubectl.apply(job("llm", namespace, template(2, DURABLE))).code == 0
    made = children(webhook, "pods", namespace, "llm")[0]["metadata"]["name"]
    play_kubelet(webhook, made, namespace)
    wait_until_complete(webhook, "llm", namespace)
    kubectl("delete", "job", "llm", "-n", namespace, "--cascade=foreground", "--timeout=60s")
    eventually(lambda: webhook.cluster.api.get("pods", namespace, made) is None, "its Pod is gone")
