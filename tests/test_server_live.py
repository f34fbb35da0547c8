"""`signalbox serve` beside a cluster: what changes there counts within seconds, and what is lost takes nothing away."""

from __future__ import annotations

import base64
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from signalbox.certs.issue import issue_development
from signalbox.configuration import SetupFiles
from signalbox.last_good import CONFIG_MAP, KEY, pack
from signalbox.manifests import FileBytes, PathBytes

from .fake_api_server import FakeApiServer
from .server_process import Webhook, ended_afterwards, environment, wait_for

GROUP, VERSION = "policy.workload.ai", "v1alpha1"
_KINDS = {"workloadpolicies": "WorkloadPolicy", "policyexceptions": "PolicyException"}
OF_PILOTS = """
apiVersion: policy.workload.ai/v1alpha1
kind: WorkloadPolicy
metadata: {name: pilots}
spec:
  match: {namespaceSelector: {matchLabels: {pilot: "yes"}}}
  rules:
    - {name: never, cel: "false", message: no pilots here, mode: enforce}
"""


def policy(name: str, message: str, **extra: Any) -> dict[str, Any]:
    """A policy that refuses everything with a message."""
    rule = {"name": "never", "cel": "false", "message": message, "mode": "enforce", **extra}
    return {
        "apiVersion": f"{GROUP}/{VERSION}",
        "kind": "WorkloadPolicy",
        "metadata": {"name": name},
        "spec": {"rules": [rule]},
    }


@pytest.fixture
def fake() -> Iterator[FakeApiServer]:
    with FakeApiServer() as started:
        for plural, kind in _KINDS.items():
            started.install(GROUP, VERSION, plural, kind, namespaced=False)
        started.put({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "research"}})
        yield started


@contextmanager
def serving(fake: FakeApiServer, folder: Path, **variables: str) -> Iterator[Webhook]:
    """The real command, watching the cluster."""
    (folder / "policies").mkdir(exist_ok=True)
    if not (folder / "policies" / "pilots.yaml").exists():
        (folder / "policies" / "pilots.yaml").write_text(OF_PILOTS)
    if not (folder / "tls.crt").exists():
        issue_development(folder, ["localhost", "127.0.0.1"], 30, datetime.now(UTC))
    cluster = {
        "clusters": [{"name": "fake", "cluster": {"server": fake.url}}],
        "users": [{"name": "serve", "user": {"token": "t"}}],
    }
    context = {"contexts": [{"name": "fake", "context": {"cluster": "fake", "user": "serve"}}], "current-context": "fake"}
    (folder / "kubeconfig").write_text(yaml.safe_dump({"apiVersion": "v1", "kind": "Config", **cluster, **context}))
    command = [sys.executable, "-c", "import sys; from signalbox.cli.main import main; sys.exit(main())", "serve"]
    command += ["--cert", str(folder / "tls.crt"), "--key", str(folder / "tls.key"), "--policies", str(folder / "policies")]
    command += [
        "--address",
        "127.0.0.1",
        "--port",
        "0",
        "--metrics-port",
        "0",
        "--drain-seconds",
        "0",
        "--poll-seconds",
        "0.05",
    ]
    command += ["--watch-cluster", "--kubeconfig", str(folder / "kubeconfig")]
    with ended_afterwards(folder, command, {**environment(folder), **variables}) as webhook:
        yield webhook


def answer(webhook: Webhook, namespace: str = "research") -> str:
    """What is said to a Job: the refusal, or nothing."""
    review = {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": "u-1",
            "operation": "CREATE",
            "kind": {"group": "batch", "version": "v1", "kind": "Job"},
            "namespace": namespace,
            "userInfo": {"username": "ann", "groups": ["system:authenticated"]},
            "object": {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "train"}, "spec": {}},
        },
    }
    status, text = webhook.post("/validate", review)
    assert status == 200
    response = json.loads(text)["response"]
    return "" if response["allowed"] else str(response["status"]["message"])


def test_what_changes_in_the_cluster_counts(fake: FakeApiServer, tmp_path: Path) -> None:
    with serving(fake, tmp_path) as webhook:
        assert answer(webhook) == ""
        fake.put({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "research", "labels": {"pilot": "yes"}}})
        wait_for(lambda: "no pilots here" in answer(webhook))
        fake.put(policy("all", "nothing gets in"))
        wait_for(lambda: "nothing gets in" in answer(webhook, "other"))
        bad = policy("all", "nothing gets in", mode="never-heard-of")
        fake.put(bad)
        wait_for(lambda: webhook.readyz()["rejected"])
        assert "WorkloadPolicy all" in webhook.readyz()["rejected"][0]
        assert "nothing gets in" in answer(webhook, "other")
        fake.remove("WorkloadPolicy", "all")
        wait_for(lambda: answer(webhook, "other") == "")
        assert webhook.readyz()["rejected"] == []
        # The watching process tells once a second how it stands.
        wait_for(lambda: 'signalbox_cluster_view_known{kind="namespaces"} 1.0' in webhook.metrics())
        assert 'signalbox_cluster_view_objects{kind="namespaces"} 1.0' in webhook.metrics()


def test_a_bad_set_and_a_restart_leave_the_last_good_set_in_force(fake: FakeApiServer, tmp_path: Path) -> None:
    good = SetupFiles(
        (PathBytes("policies", (FileBytes("all.yaml", json.dumps(policy("all", "kept from before")).encode()),)),)
    )
    kept = {
        "metadata": {"name": CONFIG_MAP, "namespace": "signalbox-system"},
        "binaryData": {KEY: base64.b64encode(pack(good)).decode()},
    }
    fake.put({"apiVersion": "v1", "kind": "ConfigMap", **kept})
    fake.put(policy("all", "kept from before", mode="never-heard-of"))
    with serving(fake, tmp_path) as webhook:
        assert "kept from before" in answer(webhook)
        assert webhook.readyz()["restored"]
        assert "WorkloadPolicy all" in webhook.readyz()["rejected"][0]
        assert webhook.logged("last good policies in force, the present ones cannot be used")
        assert "signalbox_policies_restored 1.0" in webhook.metrics()
        fake.put(policy("all", "mended"))
        wait_for(lambda: "mended" in answer(webhook))
        assert not webhook.readyz()["restored"]
        assert "signalbox_policies_restored 0.0" in webhook.metrics()


def test_the_watching_process_may_die(fake: FakeApiServer, tmp_path: Path) -> None:
    fake.put(policy("all", "nothing gets in"))
    with serving(fake, tmp_path) as webhook:
        assert "nothing gets in" in answer(webhook)
        for watcher in _children_of(webhook.process.pid, "signalbox.server.watcher"):
            os.kill(watcher, signal.SIGKILL)
        assert "nothing gets in" in answer(webhook)
        wait_for(lambda: webhook.logged("cluster watch ended, started again"))
        fake.put(policy("all", "another word"))
        wait_for(lambda: "another word" in answer(webhook))


def test_without_an_api_server_the_files_count_and_the_fault_is_told(fake: FakeApiServer, tmp_path: Path) -> None:
    fake.fail(503, times=10_000)
    (tmp_path / "policies").mkdir()
    (tmp_path / "policies" / "all.yaml").write_text(json.dumps(policy("all", "from a file")))
    with serving(fake, tmp_path, SIGNALBOX_CLUSTER_WAIT="0.5") as webhook:
        assert "from a file" in answer(webhook)
        assert webhook.logged("cluster not known in time, rules that need it are not judged until it is")
        wait_for(lambda: webhook.logged("cluster watch failed"))


def test_the_watching_process_ends_with_the_server(fake: FakeApiServer, tmp_path: Path) -> None:
    with serving(fake, tmp_path) as webhook:
        (watcher,) = _children_of(webhook.process.pid, "signalbox.server.watcher")
    wait_for(lambda: not os.path.exists(f"/proc/{watcher}"))


def _children_of(parent: int, named: str) -> list[int]:
    found = subprocess.run(["ps", "-o", "pid=,args=", "--ppid", str(parent)], capture_output=True, text=True, check=True)
    return [int(line.split()[0]) for line in found.stdout.splitlines() if named in line]
