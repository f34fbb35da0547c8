"""`kubectl apply -k` of each overlay: clean, client-side and server-side, and the same when it is applied again."""

from __future__ import annotations

import pytest

from signalbox.controllers import KUEUE_CONTROLLER

from .cluster import Cluster
from .kubectl import Kubectl
from .objects import deployment, pod, template
from .webhook import PEOPLE, Webhook, assert_unheard

OVERLAYS = ("self-signed", "audit-only", "network-policy", "ledger", "cert-manager")
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
    # Each has something that the other has not.
    for overlay in ("cert-manager", "self-signed"):
        kubectl.uninstall(webhook.tree / "manifests" / "overlays" / overlay)


# Controllers make these in every namespace, some time after it.
_NOT_OURS = ("ConfigMap/kube-root-ca.crt", "ServiceAccount/default")
_KINDS = (
    "mutatingwebhookconfigurations,validatingwebhookconfigurations,configmaps,secrets,services,serviceaccounts,"
    "deployments,poddisruptionbudgets,roles,rolebindings,clusterroles,clusterrolebindings"
)


def _versions(cluster: Cluster) -> dict[str, str]:
    """What of ours is in the cluster, and in which version."""
    found = cluster.kubectl.read_json("get", _KINDS, "-n", "signalbox-system")["items"]
    # A resourceVersion moves with the status, which controllers write; a generation with the spec alone.
    versions = {
        f"{one['kind']}/{one['metadata']['name']}": str(one["metadata"].get("generation") or one["metadata"]["resourceVersion"])
        for one in found
    }
    return {name: version for name, version in versions.items() if name not in _NOT_OURS}


def test_our_own_pods_are_made_while_nobody_answers_yet(webhook: Webhook, fresh: Cluster) -> None:
    fresh.kubectl("apply", "-k", webhook.tree / "manifests" / "overlays" / "self-signed")
    fresh.kubectl(
        "wait", "deployment/signalbox", "-n", "signalbox-system", "--for=jsonpath={.status.replicas}=2", "--timeout=60s"
    )
    deployment = fresh.kubectl.read("deployment", "signalbox", "signalbox-system")
    assert not [one for one in deployment["status"]["conditions"] if one["type"] == "ReplicaFailure"]


@pytest.mark.parametrize("name", ["signalbox", "signalbox-controller"])
def test_pods_of_the_deployments_pass_the_restricted_level(webhook: Webhook, name: str) -> None:
    rendered = [one for one in webhook.render("overlays/self-signed") if one["kind"] == "Deployment"]
    deployment = next(one for one in rendered if one["metadata"]["name"] == name)
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


MAY: list[tuple[str, list[str]]] = [
    ("yes", ["get", "secret/signalbox-ca", "-n", "signalbox-system"]),
    ("yes", ["update", "secret/signalbox-tls", "-n", "signalbox-system"]),
    ("yes", ["patch", "validatingwebhookconfiguration/signalbox"]),
    ("no", ["get", "secret/another", "-n", "signalbox-system"]),
    ("no", ["list", "secrets", "-n", "signalbox-system"]),
    ("no", ["create", "secrets", "-n", "default"]),
    ("no", ["patch", "validatingwebhookconfiguration/another"]),
    ("no", ["create", "mutatingwebhookconfigurations"]),
    ("no", ["delete", "mutatingwebhookconfiguration/00-signalbox"]),
    ("no", ["create", "jobs", "-A"]),
]


@pytest.mark.parametrize(("answer", "what"), MAY, ids=[" ".join(what[:2]) for _, what in MAY])
def test_the_controllers_account_may_do_what_its_duties_need(webhook: Webhook, answer: str, what: list[str]) -> None:
    account = "system:serviceaccount:signalbox-system:signalbox-controller"
    may = webhook.cluster.kubectl.run("auth", "can-i", *what, "--as", account)
    assert may.out == f"{answer}\n"


def test_what_signalbox_does_not_judge_never_reaches_it(webhook: Webhook, namespace: str) -> None:
    """Services and ConfigMaps have no rule; what is not ours to judge costs nobody a call."""
    kubectl = webhook.cluster.kubectl

    def create(number: int) -> None:
        kubectl("create", "configmap", f"x-{number}", "--from-literal=a=b", "-n", namespace)
        kubectl("create", "service", "clusterip", f"x-{number}", "--tcp=80", "-n", namespace)

    assert_unheard(webhook, create)


def test_a_pod_of_no_concern_never_reaches_mutate(webhook: Webhook, kubectl: Kubectl, namespace: str) -> None:
    assert_unheard(webhook, lambda number: kubectl.apply(pod(f"web-{number}", namespace)), endpoint="mutate", kind="Pod")


def test_what_kueue_writes_reaches_neither_mutate_nor_validate(webhook: Webhook, namespace: str) -> None:
    """Not even what anyone else would be refused."""
    kueue = webhook.cluster.kubectl.as_user(KUEUE_CONTROLLER, PEOPLE)
    trainer = template(1, "torchrun train.py --output_dir=s3://bucket/llm", restart=None)

    def create(number: int) -> None:
        printed = kueue.apply(deployment(f"trainer-{number}", namespace, trainer))
        assert printed.text == f"deployment.apps/trainer-{number} created\n"

    assert_unheard(webhook, create, kind="Deployment")
    assert webhook.cluster.kubectl.apply(deployment("trainer", namespace, trainer)).code == 1
