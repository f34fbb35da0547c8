"""`signalbox audit` and the controller's scan over a real API server: children, pages, refusals of RBAC, report objects."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from signalbox.audit.background import ScanSettings

from .kubectl import Kubectl, Printed
from .objects import SPOT, Manifest, deployment, job, job_set, pod_template, template
from .outage import before_signalbox
from .report_kinds import define_reports, remove_reports
from .waiting import eventually
from .webhook import NAMESPACE, SIGNALBOX, Webhook

DURABLE = "torchrun train.py --output_dir=s3://bucket/llm"
UNSAFE = "torchrun train.py --output_dir=/tmp/out"
RULE = "interruptible/checkpoint"
OPEN = ("openreports.io", "v1alpha1", "Report")
OLDER = ("wgpolicyk8s.io", "v1alpha2", "PolicyReport")
MANY = 1200


def audit(webhook: Webhook, *words: str, command: str = "audit", kubeconfig: Path | None = None) -> Printed:
    """`signalbox audit` as a person runs it, by the installed policies."""
    told = ("--kubeconfig", str(kubeconfig or webhook.cluster.kubeconfig))
    by = ("--policies", str(webhook.policies)) if command == "audit" else ()
    done = subprocess.run([SIGNALBOX, command, *words, *told, *by], capture_output=True, text=True, timeout=120)
    return Printed(done.returncode, done.stdout, done.stderr)


def scanned(webhook: Webhook, *words: str) -> tuple[list[Manifest], Manifest]:
    """The workloads and the sums of `-o json`."""
    printed = audit(webhook, *words, "-o", "json", "--all")
    *workloads, last = [json.loads(line) for line in printed.out.splitlines()]
    return workloads, last["summary"]


def background(webhook: Webhook) -> Manifest:
    """A run of the controller's scan, as the controller starts it and under its account."""
    settings = ScanSettings(
        NAMESPACE, kubeconfig=str(webhook.controller.kubeconfig), policies=(str(webhook.policies),), per_second=1000
    )
    command = [sys.executable, "-m", "signalbox.audit.background", settings.argument()]
    done = subprocess.run(command, capture_output=True, timeout=300)
    assert done.returncode == 0, done.stderr.decode()
    answer: Manifest = json.loads(done.stdout)
    return answer


@pytest.fixture
def unsafe(webhook: Webhook, kubectl: Kubectl, namespace: str) -> Manifest:
    """A Job from before Signalbox that would be refused today, with its Pod."""
    with before_signalbox(webhook):
        assert kubectl.apply(job("old", namespace, template(2, UNSAFE, nodeSelector=SPOT))).code == 0
    eventually(lambda: webhook.cluster.api.list("pods", namespace), "its Pod is made")
    return kubectl.read("job", "old", namespace)


def test_children_of_every_kind_are_counted_under_what_made_them(
    webhook: Webhook, jobset: object, kubectl: Kubectl, namespace: str
) -> None:
    made = (
        job("run", namespace, template(1, DURABLE)),
        deployment("web", namespace, replicas=2),
        job_set("set", namespace, template(1, DURABLE)),
    )
    printed = kubectl.apply(*made)
    assert printed.code == 0, printed.text
    api = webhook.cluster.api
    eventually(lambda: len(api.list("pods", namespace)) == 4, "all Pods are made")
    workloads, summary = scanned(webhook, "-n", namespace)
    assert {(one["kind"], one["name"], one["accelerators"]["total"]) for one in workloads} == {
        ("Deployment", "web", 0),
        ("Job", "run", 1),
        ("JobSet.jobset.x-k8s.io", "set", 1),
    }
    assert summary["objects"]["children"] == {"Job": 1, "Pod": 4, "ReplicaSet": 1}
    assert summary["errorCount"] == 0
    assert not [one for one in workloads if one["refused"]]


def test_what_was_there_before_signalbox_is_found_and_named(webhook: Webhook, unsafe: Manifest, namespace: str) -> None:
    printed = audit(webhook, "-n", namespace)
    assert printed.code == 1
    assert printed.err == ""
    assert "would be refused today: 1 of 1 workload, with 2 of 2 accelerators" in printed.out
    assert f"Job {namespace}/old (distributed-training, 2 accelerators, 1 child)" in " ".join(printed.out.split())
    assert f"[{RULE}] enforce: Spot work is interrupted without notice" in " ".join(printed.out.split())
    (workload,), _ = scanned(webhook, "-n", namespace, "--rule", RULE)
    assert workload["uid"] == unsafe["metadata"]["uid"]
    assert [finding["rule"] for finding in workload["findings"]] == [RULE]


def test_what_the_webhook_let_in_is_refused_nowhere_by_the_scan(webhook: Webhook, kubectl: Kubectl, research: str) -> None:
    for name, command in (("a", DURABLE), ("b", "torchrun sft.py --output_dir=s3://bucket/b")):
        assert kubectl.apply(job(name, research, template(8, command, nodeSelector=SPOT))).code == 0
    printed = audit(webhook, "-n", research)
    assert printed.code == 0, printed.text
    workloads, _ = scanned(webhook, "-n", research)
    assert len(workloads) == 2
    assert not [finding for one in workloads for finding in one["findings"] if finding["fixedBy"]]


def test_a_namespace_of_many_objects_is_read_whole(webhook: Webhook, namespace: str) -> None:
    api = webhook.cluster.api
    for number in range(MANY):
        api.call("POST", f"/api/v1/namespaces/{namespace}/podtemplates", pod_template(f"t-{number:04}", namespace))
    workloads, summary = scanned(webhook, "-n", namespace, "--kind", "PodTemplate")
    assert len({one["name"] for one in workloads}) == MANY
    assert summary["objects"]["judged"] == {"PodTemplate": MANY}
    api.call("DELETE", f"/api/v1/namespaces/{namespace}/podtemplates", {})


def test_who_may_list_jobs_alone_is_told_what_is_missing(webhook: Webhook, unsafe: Manifest, namespace: str) -> None:
    cluster = webhook.cluster
    kubectl = cluster.kubectl
    kubectl("create", "role", "jobs-only", "--verb=list", "--resource=jobs.batch", "-n", namespace)
    kubectl("create", "rolebinding", "jobs-only", "--role=jobs-only", "--user=viewer", "-n", namespace)
    kubeconfig = cluster.write_kubeconfig("viewer", client=cluster.authority.client("viewer", "viewer", []))
    printed = audit(webhook, "-n", namespace, kubeconfig=kubeconfig)
    assert printed.code == 1
    text = " ".join(printed.out.split())
    assert "would be refused today: 1 of 1 workload" in text
    assert "Pod in" in text
    assert 'User "viewer" cannot list resource "pods"' in text
    assert 'User "viewer" cannot list resource "namespaces"' in text


def test_a_changed_policy_is_compared_over_the_live_cluster(
    webhook: Webhook, kubectl: Kubectl, namespace: str, tmp_path: Path
) -> None:
    assert kubectl.apply(job("run", namespace, template(4, DURABLE))).code == 0
    rule = """
apiVersion: policy.workload.ai/v1alpha1
kind: WorkloadPolicy
metadata: {name: limits}
spec: {rules: [{name: small, check: accelerator-limit, with: {maxTotal: %d}, mode: enforce}]}
"""
    old, new = tmp_path / "old.yaml", tmp_path / "new.yaml"
    old.write_text(rule % 8)
    new.write_text(rule % 2)
    words = (str(old), str(new), "--live", "-n", namespace)
    printed = audit(webhook, *words, command="diff")
    assert printed.code == 1, printed.text
    assert "newly refused (1)" in printed.out
    assert f"Job {namespace}/run" in printed.out
    assert audit(webhook, str(new), str(old), *words[2:], command="diff").code == 0


@pytest.fixture
def no_reports(webhook: Webhook) -> Iterator[None]:
    yield
    for group, _, kind in (OPEN, OLDER):
        remove_reports(webhook.cluster, group, kind)


@pytest.mark.usefixtures("no_reports")
def test_reports_come_with_their_definition_and_go_with_their_findings(
    webhook: Webhook, unsafe: Manifest, namespace: str
) -> None:
    cluster = webhook.cluster
    first = background(webhook)
    assert first["errorCount"] == 0, first["errors"]
    assert first["reports"]["told"].startswith("neither the CustomResourceDefinition of OpenReports")
    assert first["kept"], first

    define_reports(cluster, *OLDER)
    assert background(webhook)["reports"]["kind"] == "PolicyReport"
    (older,) = reports(webhook, OLDER, namespace)
    assert older["scope"]["uid"] == unsafe["metadata"]["uid"]

    define_reports(cluster, *OPEN)
    second = background(webhook)["reports"]
    assert (second["kind"], second["failed"]) == ("Report", 0), second
    assert not reports(webhook, OLDER, namespace)
    (report,) = reports(webhook, OPEN, namespace)
    assert report["metadata"]["name"] == f"signalbox-{unsafe['metadata']['uid']}"
    (owner,) = report["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["uid"]) == ("Job", unsafe["metadata"]["uid"])
    result = next(one for one in report["results"] if one["rule"] == "checkpoint")
    assert (result["policy"], result["result"], result["severity"]) == ("interruptible", "fail", "high")
    assert result["properties"]["accelerators"] == "2"
    assert report["summary"]["fail"] >= 1

    third = background(webhook)["reports"]
    assert (third["written"], third["deleted"]) == (0, 0), third
    assert reports(webhook, OPEN, namespace) == [report]

    cluster.kubectl("delete", "job", "old", "-n", namespace, "--timeout=60s")
    background(webhook)
    assert not reports(webhook, OPEN, namespace)


def reports(webhook: Webhook, kind: tuple[str, str, str], namespace: str) -> list[Any]:
    group, version, name = kind
    found: list[Any] = webhook.cluster.api.call("GET", f"/apis/{group}/{version}/namespaces/{namespace}/{name.lower()}s")[
        "items"
    ]
    return found


def test_the_last_scan_is_kept_for_the_pages(webhook: Webhook, unsafe: Manifest) -> None:
    answer = background(webhook)
    assert answer["kept"], answer
    found = webhook.cluster.kubectl.read_json("get", "configmap", "signalbox-last-scan", "-n", NAMESPACE)
    assert set(found["binaryData"]) == {"scan.json.gz"}
