"""With Kueue: what we label is queued before it can run, is admitted when quota is there, and Kueue is never in our way."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from .cron import A_YEAR, ONCE_A_YEAR, make_due
from .kubectl import Kubectl
from .kubelet import play_kubelet, wait_until_complete
from .objects import QUEUE, cron_job, deployment, job, job_set, pod, template
from .outage import before_signalbox, stopped
from .waiting import eventually
from .webhook import EXAMPLE, Webhook

GATE = "kueue.x-k8s.io/admission"
DURABLE = "torchrun train.py --output_dir=s3://bucket/llm"

pytestmark = pytest.mark.usefixtures("kueue")


@pytest.fixture
def held(webhook: Webhook) -> Iterator[None]:
    """The research team's ClusterQueue admits nothing until the test lets it."""
    _hold(webhook, "Hold")
    yield
    _hold(webhook, "None")


def _hold(webhook: Webhook, policy: str) -> None:
    api = webhook.cluster.api
    api.patch("clusterqueues", "", "team-research", {"spec": {"stopPolicy": policy}})
    active = "True" if policy == "None" else "False"

    def followed() -> bool:
        status = (api.get("clusterqueues", "", "team-research") or {}).get("status", {})
        return ("Active", active) in [(one["type"], one["status"]) for one in status.get("conditions", ())]

    eventually(followed, f"Kueue follows stopPolicy {policy}")


def _body(**spec: Any) -> dict[str, Any]:
    body = template(1, DURABLE, **spec)
    body["spec"]["containers"][0]["resources"]["requests"] = {"cpu": "1", "memory": "1Gi"}
    return body


def _pod_spec(found: dict[str, Any]) -> dict[str, Any]:
    spec: dict[str, Any] = found["spec"]["template"]["spec"]
    return spec


def _started(webhook: Webhook, resource: str, namespace: str, name: str) -> bool:
    found = webhook.cluster.api.get(resource, namespace, name)
    return found is not None and found["spec"].get("suspend") is False


def test_a_job_without_a_queue_gets_one_and_never_runs_before_it_is_admitted(
    webhook: Webhook, kubectl: Kubectl, research: str, held: None
) -> None:
    assert kubectl.apply(job("llm", research, _body())).code == 0
    found = kubectl.read("job", "llm", research)
    assert found["metadata"]["labels"][QUEUE] == "training-large"
    assert found["spec"]["suspend"] is True
    workload = eventually(lambda: webhook.cluster.api.list("workloads", research), "Kueue made its Workload")[0]
    assert workload["spec"]["queueName"] == "training-large"
    assert webhook.cluster.api.list("pods", research) == []
    _hold(webhook, "None")
    eventually(lambda: _started(webhook, "jobs", research, "llm"), "Kueue admits it")
    made = eventually(lambda: webhook.cluster.api.list("pods", research), "its Pod is made")[0]
    assert made["spec"]["nodeSelector"]["karpenter.sh/capacity-type"] == "on-demand"
    assert len(webhook.cluster.api.list("workloads", research)) == 1


def test_a_jobset_is_queued_as_one_and_its_children_carry_no_queue(
    webhook: Webhook, kubectl: Kubectl, research: str, held: None
) -> None:
    assert kubectl.apply(job_set("llm", research, _body())).code == 0
    eventually(lambda: webhook.cluster.api.list("workloads", research), "Kueue made its Workload")
    assert webhook.cluster.api.list("pods", research) == []
    _hold(webhook, "None")
    eventually(lambda: _started(webhook, "jobsets", research, "llm"), "Kueue admits it")
    eventually(lambda: webhook.cluster.api.list("pods", research), "its Pod is made")
    [child] = webhook.cluster.api.list("jobs", research)
    assert QUEUE not in child["metadata"].get("labels", {})
    assert len(webhook.cluster.api.list("workloads", research)) == 1


def test_the_jobs_of_cron_jobs_are_queued_be_they_older_than_signalbox(
    webhook: Webhook, kubectl: Kubectl, research: str, held: None
) -> None:
    with before_signalbox(webhook):
        assert kubectl.apply(cron_job("older", research, _body(), schedule=ONCE_A_YEAR)).code == 0
    assert kubectl.apply(cron_job("newer", research, _body(), schedule=ONCE_A_YEAR)).code == 0
    for name in ("older", "newer"):
        make_due(webhook, name, research, A_YEAR)
    made = eventually(lambda: _both(webhook.cluster.api.list("jobs", research)), "both CronJobs made a Job")
    for one in made:
        assert one["metadata"]["labels"][QUEUE] == "training-large"
        assert one["spec"]["suspend"] is True
    eventually(lambda: len(webhook.cluster.api.list("workloads", research)) >= 2, "Kueue made their Workloads")
    assert webhook.cluster.api.list("pods", research) == []


def _both(jobs: list[Any]) -> list[Any]:
    return jobs if {one["metadata"]["name"].partition("-")[0] for one in jobs} == {"older", "newer"} else []


def test_kueue_admits_while_signalbox_is_down(webhook: Webhook, kubectl: Kubectl, research: str, held: None) -> None:
    assert kubectl.apply(job("llm", research, _body())).code == 0
    eventually(lambda: webhook.cluster.api.list("workloads", research), "Kueue made its Workload")
    with stopped(webhook):
        _hold(webhook, "None")
        eventually(lambda: _started(webhook, "jobs", research, "llm"), "Kueue admits it")
        eventually(lambda: webhook.cluster.api.list("pods", research), "its Pod is made")


def test_the_example_is_applied_without_a_warning_and_changes_nothing_the_second_time(webhook: Webhook) -> None:
    folder = webhook.tree / "manifests" / EXAMPLE
    kubectl = webhook.cluster.kubectl
    kubectl("apply", "-k", folder)
    again = kubectl.run("apply", "-k", folder)
    assert (again.code, again.err) == (0, "")
    assert " configured" not in again.out
    server_side = kubectl.run("apply", "--server-side", "--force-conflicts", "-k", folder)
    assert (server_side.code, server_side.err) == (0, "")


def test_a_queued_pod_is_gated_and_admitted(webhook: Webhook, kubectl: Kubectl, research: str, held: None) -> None:
    notebook = _body()
    notebook["spec"]["containers"][0]["command"] = ["jupyter", "lab"]
    assert kubectl.apply(pod("notebook", research, notebook)).code == 0
    found = kubectl.read("pod", "notebook", research)
    assert found["metadata"]["labels"][QUEUE] == "interactive-dev"
    assert GATE in _gates(found)
    _hold(webhook, "None")
    eventually(lambda: not _gates(kubectl.read("pod", "notebook", research)), "its gate is taken off")


def test_the_pods_of_a_queued_deployment_are_gated_and_admitted(
    webhook: Webhook, kubectl: Kubectl, research: str, held: None
) -> None:
    """The user's own queue; what Kueue adds to the template is its business, and the Deployment is no other for it."""
    body = _body()
    body["spec"]["containers"][0]["command"] = ["vllm", "serve", "llama"]
    del body["spec"]["restartPolicy"]
    chat = deployment("chat", research, body, replicas=2)
    chat["metadata"]["labels"] = {QUEUE: "interactive-dev"}
    printed = kubectl.apply(chat)
    assert printed.code == 0, printed.text

    def pods() -> list[Any]:
        return [one for one in webhook.cluster.api.list("pods", research) if one["metadata"]["name"].startswith("chat-")]

    made = eventually(lambda: pods() if len(pods()) == 2 else [], "both Pods are made")
    assert [(one["metadata"]["labels"][QUEUE], GATE in _gates(one)) for one in made] == [("interactive-dev", True)] * 2
    # An unchanged manifest is no rollout, although Kueue has written to the template as well.
    generation = kubectl.read("deployment", "chat", research)["metadata"]["generation"]
    assert kubectl.apply(chat).code == 0
    assert kubectl.read("deployment", "chat", research)["metadata"]["generation"] == generation
    _hold(webhook, "None")
    eventually(lambda: [_gates(one) for one in pods()] == [[], []], "their gates are taken off")
    kubectl("scale", "deployment/chat", "--replicas=1", "-n", research)
    eventually(lambda: len(pods()) == 1, "it scales")
    assert len(webhook.cluster.api.list("replicasets", research)) == 1


def _gates(found: dict[str, Any]) -> list[str]:
    return [one["name"] for one in found["spec"].get("schedulingGates", ())]


def test_kueue_stops_and_restores_a_running_job_untouched_by_us(webhook: Webhook, kubectl: Kubectl, research: str) -> None:
    assert kubectl.apply(job("llm", research, _body())).code == 0
    eventually(lambda: _started(webhook, "jobs", research, "llm"), "Kueue admits it")
    before = kubectl.read("job", "llm", research)["metadata"]["annotations"]["workload.ai/injected"]
    _hold(webhook, "HoldAndDrain")
    try:
        eventually(lambda: not _started(webhook, "jobs", research, "llm"), "Kueue evicts it")
        restored = eventually(
            lambda: [one for one in webhook.cluster.api.list("jobs", research) if "nodeSelector" not in _pod_spec(one)],
            "its template is restored",
        )
        assert _pod_spec(restored[0])["tolerations"]
    finally:
        _hold(webhook, "None")
    eventually(lambda: _started(webhook, "jobs", research, "llm"), "Kueue admits it again")
    assert kubectl.read("job", "llm", research)["metadata"]["annotations"]["workload.ai/injected"] == before


def test_our_mutating_configuration_sorts_before_kueues_and_jobsets(webhook: Webhook) -> None:
    names = [one["metadata"]["name"] for one in webhook.cluster.api.list("mutatingwebhookconfigurations")]
    assert len(names) == 3
    assert min(names) == "00-signalbox"


def test_a_queued_job_finishes_and_is_deleted_in_the_foreground(webhook: Webhook, kubectl: Kubectl, research: str) -> None:
    assert kubectl.apply(job("llm", research, _body())).code == 0
    made = eventually(lambda: webhook.cluster.api.list("pods", research), "its Pod is made")[0]["metadata"]["name"]
    play_kubelet(webhook, made, research)
    wait_until_complete(webhook, "llm", research)
    kubectl("delete", "job", "llm", "-n", research, "--cascade=foreground", "--timeout=60s")


def test_an_unchanged_manifest_applied_again_after_admission_changes_nothing(
    webhook: Webhook, kubectl: Kubectl, research: str
) -> None:
    manifest = job("llm", research, _body(terminationGracePeriodSeconds=60))
    assert kubectl.apply(manifest).code == 0
    eventually(lambda: _started(webhook, "jobs", research, "llm"), "Kueue admits it")
    before = kubectl.read("job", "llm", research)["spec"]
    for mode in ((), ("--server-side", "--force-conflicts")):
        again = kubectl.apply(manifest, arguments=mode)
        assert again.code == 0, again.text
        assert kubectl.read("job", "llm", research)["spec"] == before


def test_more_than_the_quota_waits_and_says_so_nowhere_else(webhook: Webhook, kubectl: Kubectl, research: str) -> None:
    assert kubectl.apply(job("large", research, template(8, DURABLE), parallelism=6, completions=6)).code == 0

    def waits() -> bool:
        conditions = [
            (condition["type"], condition["status"])
            for one in webhook.cluster.api.list("workloads", research)
            for condition in one.get("status", {}).get("conditions", ())
        ]
        return ("QuotaReserved", "False") in conditions

    eventually(waits, "Kueue looked at it and found no quota")
    assert kubectl.read("job", "large", research)["spec"]["suspend"] is True
