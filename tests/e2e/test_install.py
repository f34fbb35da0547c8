"""`kubectl apply -k` of each overlay: clean, client-side and server-side, and the same when it is applied again."""

from __future__ import annotations

import pytest

from .cluster import Cluster
from .webhook import Webhook

OVERLAYS = ("self-signed", "audit-only", "network-policy", "cert-manager")
MODES = {"server-side": ("--server-side",), "client-side": ()}


@pytest.mark.parametrize("mode", MODES)
def test_every_overlay_is_applied_without_a_warning_and_changes_nothing_the_second_time(
    webhook: Webhook, fresh: Cluster, mode: str
) -> None:
    kubectl = fresh.kubectl
    for overlay in OVERLAYS:
        folder = webhook.tree / "manifests" / "overlays" / overlay
        first = kubectl.run("apply", *MODES[mode], "-k", folder)
        assert (first.code, first.err) == (0, ""), f"{overlay}: {first.text}"
        versions = _versions(fresh)
        again = kubectl.run("apply", *MODES[mode], "-k", folder)
        assert (again.code, again.err) == (0, ""), f"{overlay}: {again.text}"
        assert _versions(fresh) == versions, f"{overlay}: {again.text}"
    kubectl("delete", "-k", webhook.tree / "manifests" / "overlays" / "cert-manager", "--ignore-not-found")


def _versions(cluster: Cluster) -> dict[str, str]:
    """What of ours is in the cluster, and in which version."""
    kinds = "mutatingwebhookconfigurations,validatingwebhookconfigurations,configmaps,secrets,services,serviceaccounts"
    found = cluster.kubectl.read_json("get", f"{kinds},poddisruptionbudgets", "-n", "signalbox-system")["items"]
    deployments = cluster.kubectl.read_json("get", "deployments", "-n", "signalbox-system")["items"]
    versions = {f"{one['kind']}/{one['metadata']['name']}": one["metadata"]["resourceVersion"] for one in found}
    # A Deployment's resourceVersion moves with its status; its generation with its spec.
    return versions | {f"Deployment/{one['metadata']['name']}": str(one["metadata"]["generation"]) for one in deployments}


def test_our_own_pods_are_made_while_nobody_answers_yet(webhook: Webhook, fresh: Cluster) -> None:
    fresh.kubectl("apply", "-k", webhook.tree / "manifests" / "overlays" / "self-signed")
    fresh.kubectl(
        "wait", "deployment/signalbox", "-n", "signalbox-system", "--for=jsonpath={.status.replicas}=2", "--timeout=30s"
    )
    deployment = fresh.kubectl.read("deployment", "signalbox", "signalbox-system")
    assert not [one for one in deployment["status"]["conditions"] if one["type"] == "ReplicaFailure"]


def test_pods_of_the_deployment_pass_the_restricted_level(webhook: Webhook) -> None:
    deployment = next(one for one in webhook.render("overlays/self-signed") if one["kind"] == "Deployment")
    template = deployment["spec"]["template"]
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "trial", "namespace": "signalbox-system", "labels": template["metadata"]["labels"]},
        "spec": template["spec"],
    }
    printed = webhook.cluster.kubectl.apply(pod, arguments=("--dry-run=server",))
    assert printed.text == "pod/trial created (server dry run)\n"


def test_the_servers_account_may_do_nothing_at_all(webhook: Webhook) -> None:
    account = "system:serviceaccount:signalbox-system:signalbox"
    may = webhook.cluster.kubectl.run("auth", "can-i", "list", "pods", "-A", "--as", account)
    assert may.out == "no\n"


def test_what_signalbox_does_not_judge_never_reaches_it(webhook: Webhook, namespace: str) -> None:
    """Services and ConfigMaps have no rule; what is not ours to judge costs nobody a call."""
    kubectl = webhook.cluster.kubectl
    before = webhook.reviews()
    kubectl("create", "configmap", "x", "--from-literal=a=b", "-n", namespace)
    kubectl("create", "service", "clusterip", "x", "--tcp=80", "-n", namespace)
    assert webhook.reviews() == before
