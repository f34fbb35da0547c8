"""The webhook beside a real cluster, as its own service account: what changes counts at once, what is lost stays known."""

from __future__ import annotations

import http.client
import json
import os
import signal
import ssl
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from .api import ApiError
from .conftest import shown
from .objects import template
from .processes import free_ports
from .progress import say
from .waiting import eventually
from .webhook import NAMESPACE, SIGNALBOX, Webhook

PAUSED_SECONDS = 20.0
POLICY = """
apiVersion: policy.workload.ai/v1alpha1
kind: WorkloadPolicy
metadata: {name: pilots}
spec:
  match: {namespaceSelector: {matchLabels: {pilot: "yes"}}}
  rules:
    - {name: never, cel: "false", message: no pilots here, mode: enforce}
"""


class Watching:
    """A server of its own that nobody but the test asks, so that what it knows is asked directly."""

    def __init__(self, webhook: Webhook, folder: Path) -> None:
        cluster = webhook.cluster
        token = cluster.kubectl("create", "token", "signalbox", "-n", NAMESPACE, "--duration=8h").strip()
        kubeconfig = cluster.write_kubeconfig("signalbox-serve", token=token)
        (folder / "pilots.yaml").write_text(POLICY)
        self.port, self.metrics_port = free_ports(2)
        certificates = webhook.certificates
        self._trust = ssl.create_default_context(cafile=str(certificates / "ca.crt"))
        command: list[str | Path] = [SIGNALBOX, "serve", "--watch-cluster", "--kubeconfig", kubeconfig, "--policies", folder]
        command += ["--cert", certificates / "tls.crt", "--key", certificates / "tls.key", "--address", "127.0.0.1"]
        command += ["--port", str(self.port), "--metrics-port", str(self.metrics_port), "--drain-seconds", "0"]
        self.process = cluster.processes.start("signalbox-watching", command, orphaned=signal.SIGTERM)
        eventually(self._is_ready, "the watching server is ready")

    def refuses(self, namespace: str) -> bool:
        """Whether a Job of that namespace is refused."""
        obj = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j", "namespace": namespace}, "spec": template(0)}
        request: dict[str, Any] = {
            "uid": "u",
            "operation": "CREATE",
            "kind": {"group": "batch", "version": "v1", "kind": "Job"},
            "namespace": namespace,
            "userInfo": {"username": "ann"},
            "object": obj,
        }
        review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
        answer = self._open("/validate", json.dumps(review).encode())
        return not json.loads(answer)["response"]["allowed"]

    def metric(self, name: str) -> dict[str, float]:
        """A metric by its labels."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.metrics_port}/metrics", timeout=5) as answer:
            lines = [line for line in answer.read().decode().splitlines() if line.startswith(name + "{")]
        return {line[len(name) : line.rindex("}") + 1]: float(line.rsplit(" ", 1)[1]) for line in lines}

    def _is_ready(self) -> bool:
        self.process.check()
        try:
            return self._open("/readyz") == b"ok\n"
        except OSError:
            return False

    def _open(self, path: str, data: bytes | None = None) -> bytes:
        url = urllib.request.Request(f"https://localhost:{self.port}{path}", data, {"Content-Type": "application/json"})
        with urllib.request.urlopen(url, timeout=5, context=self._trust) as answer:
            found: bytes = answer.read()
        return found


@pytest.fixture
def watching(webhook: Webhook, tmp_path: Path) -> Iterator[Watching]:
    started = Watching(webhook, tmp_path)
    yield started
    started.process.stop()


def label(webhook: Webhook, namespace: str, value: str | None) -> None:
    webhook.cluster.api.call(
        "PATCH", f"/api/v1/namespaces/{namespace}", {"metadata": {"labels": {"pilot": value}}}, "application/merge-patch+json"
    )


def test_the_servers_account_may_read_all_it_asks_for(watching: Watching) -> None:
    # The watching process says how it stands once a second.
    eventually(lambda: set(watching.metric("signalbox_cluster_view_known").values()) == {1.0}, "every kind is known", 15)
    assert watching.metric("signalbox_cluster_watch_failures_total") == {}


def test_a_relabelled_namespace_is_known_within_a_second(
    webhook: Webhook, watching: Watching, namespace: str, pytestconfig: pytest.Config
) -> None:
    took = []
    for value in ("yes", None) * 5:
        label(webhook, namespace, value)
        began = time.monotonic()
        while watching.refuses(namespace) is not (value == "yes"):
            assert time.monotonic() - began < 10
        took.append(time.monotonic() - began)
    with shown(pytestconfig):
        say(f"a namespace relabelled is judged by its new label after {max(took) * 1000:.0f} ms at most, of {len(took)}")
    assert max(took) < 1


def test_while_the_api_server_or_etcd_stands_still_answers_come_and_what_was_known_stays_known(
    webhook: Webhook, watching: Watching, namespace: str, pytestconfig: pytest.Config
) -> None:
    label(webhook, namespace, "yes")
    eventually(lambda: watching.refuses(namespace), "the label is known")
    for name in ("etcd", "kube-apiserver"):
        pid = webhook.cluster.processes.named(name).pid
        answers = 0
        os.kill(pid, signal.SIGSTOP)
        try:
            end = time.monotonic() + PAUSED_SECONDS
            while time.monotonic() < end:
                assert watching.refuses(namespace)
                answers += 1
        finally:
            os.kill(pid, signal.SIGCONT)
        began = time.monotonic()
        eventually(lambda: _relabelled(webhook, namespace, None), f"{name} is back")
        eventually(lambda: not watching.refuses(namespace), "the view follows again")
        back = time.monotonic() - began
        eventually(lambda: _relabelled(webhook, namespace, "yes"), f"{name} is back")
        eventually(lambda: watching.refuses(namespace), "the view follows again")
        with shown(pytestconfig):
            say(f"{name} stopped for {PAUSED_SECONDS:.0f} s: {answers} answers, none failed, view back after {back:.1f} s")


def _relabelled(webhook: Webhook, namespace: str, value: str | None) -> bool:
    try:
        label(webhook, namespace, value)
    except (OSError, http.client.HTTPException, ApiError):
        return False
    return True
