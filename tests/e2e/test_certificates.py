"""Certificates while people apply: renewed, replaced, expired, taken out by hand. The figures are printed."""

from __future__ import annotations

import base64
import os
import ssl
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509

from signalbox.certs.authority import Authority, issue_server, signed_by
from signalbox.controller.certificates.state import read_authority

from .api import Api, ApiError
from .conftest import shown
from .installed_controller import NAMESPACE
from .objects import deployment, gpu_mismatch, job, template
from .progress import say
from .waiting import eventually
from .webhook import SIGNALBOX, Manifest, Webhook

CONFIGURATIONS = {"mutatingwebhookconfigurations": "00-signalbox", "validatingwebhookconfigurations": "signalbox"}
DEVIATIONS = "signalbox_webhook_configuration_deviations"
APPLIERS = 4


def served(webhook: Webhook) -> x509.Certificate:
    """The certificate that `signalbox serve` shows now."""
    pem = ssl.get_server_certificate(("127.0.0.1", webhook.port), timeout=5)
    return x509.load_pem_x509_certificate(pem.encode())


def authority(webhook: Webhook) -> Authority:
    found = read_authority(webhook.cluster.api.get("secrets", NAMESPACE, "signalbox-ca"), datetime.now(UTC)).authority
    assert found is not None
    return found


def bundles(webhook: Webhook) -> set[str]:
    """Every caBundle there is."""
    return {
        one["clientConfig"].get("caBundle", "")
        for resource, name in CONFIGURATIONS.items()
        for one in (webhook.cluster.api.get(resource, "", name) or {"webhooks": []})["webhooks"]
    }


def patch_all(webhook: Webhook, resource: str, field_path: str, value: str) -> None:
    found = webhook.cluster.api.get(resource, "", CONFIGURATIONS[resource])
    assert found is not None
    patch = [
        {"op": "replace", "path": f"/webhooks/{index}/{field_path}", "value": value} for index in range(len(found["webhooks"]))
    ]
    path = f"/apis/admissionregistration.k8s.io/v1/{resource}/{CONFIGURATIONS[resource]}"
    webhook.cluster.api.call("PATCH", path, patch, "application/json-patch+json")


@dataclass
class Load:
    """People who apply without a pause: each write must be answered by us, or it counts as failed."""

    webhook: Webhook
    answered: int = 0
    failed: list[str] = field(default_factory=list)
    slowest: float = 0.0
    _stopping: threading.Event = field(default_factory=threading.Event)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def apply(self, api: Api) -> None:
        trainer = deployment("trainer", "default", template(1, restart=None))
        trainer["metadata"]["labels"] = {"workload.ai/type": "training"}
        asked: tuple[tuple[str, Manifest, str], ...] = (
            ("batch/v1/namespaces/default/jobs", gpu_mismatch(), "mutate"),
            ("apps/v1/namespaces/default/deployments", trainer, "validate"),
        )
        while not self._stopping.is_set():
            for path, obj, endpoint in asked:
                began = time.monotonic()
                try:
                    api.call("POST", f"/apis/{path}?dryRun=All", obj)
                    told = "let in"
                except ApiError as error:
                    told = error.message
                with self._lock:
                    self.slowest = max(self.slowest, time.monotonic() - began)
                    if f'admission webhook "{endpoint}.policy.workload.ai" denied' in told:
                        self.answered += 1
                    else:
                        self.failed.append(told)


@contextmanager
def load(webhook: Webhook) -> Iterator[Load]:
    running = Load(webhook)
    connections = [webhook.cluster.connect() for _ in range(APPLIERS)]
    threads = [threading.Thread(target=running.apply, args=(one,), daemon=True) for one in connections]
    for thread in threads:
        thread.start()
    try:
        eventually(lambda: running.answered > 20, "the load runs")
        yield running
    finally:
        running._stopping.set()
        for thread in threads:
            thread.join(30)


def status(webhook: Webhook) -> subprocess.CompletedProcess[str]:
    """`signalbox certs status`."""
    return subprocess.run(
        [SIGNALBOX, "certs", "status", "--server", f"127.0.0.1:{webhook.port}"],
        env={**os.environ, "KUBECONFIG": str(webhook.cluster.kubeconfig)},
        capture_output=True,
        text=True,
        timeout=60,
    )


@pytest.fixture(autouse=True)
def _fine_before_and_after(webhook: Webhook) -> Iterator[None]:
    # Each replica takes a new certificate up by itself: what one of them said is not what the next one says yet.
    eventually(lambda: status(webhook).returncode == 0, "certs status finds nothing wrong", pause=0.5)
    yield
    eventually(lambda: status(webhook).returncode == 0, "certs status finds nothing wrong", pause=0.5)


@pytest.fixture
def tell(pytestconfig: pytest.Config) -> Callable[[str], None]:
    """Prints a figure past pytest's capturing."""

    def print_figure(text: str) -> None:
        with shown(pytestconfig):
            say(text)

    return print_figure


def test_certs_status_of_an_installation(webhook: Webhook) -> None:
    done = status(webhook)
    lines = done.stdout.splitlines()
    assert (done.returncode, done.stderr) == (0, "")
    assert lines[1:3] == [
        "  ✓ the serving certificate ends in 89 days, renewed in 59 days",
        "  ✓ the CA ends in 1824 days, replaced in 1459 days",
    ]
    assert "  ✓ what is served is the certificate of the Secret" in lines
    assert "  ✓ the webhook configurations are as shipped" in lines


def test_a_ca_bundle_emptied_by_hand_is_put_back(webhook: Webhook, tell: Callable[[str], None]) -> None:
    before = bundles(webhook)
    assert len(before) == 1
    for resource in CONFIGURATIONS:
        patch_all(webhook, resource, "clientConfig/caBundle", "")
    began = time.monotonic()
    eventually(lambda: bundles(webhook) == before, "every caBundle is put back")
    put_back = time.monotonic() - began
    webhook.wait_until_called()
    tell(f"caBundle emptied by hand: put back after {put_back:.1f} s, judged again after {time.monotonic() - began:.1f} s")
    assert put_back < 10


@pytest.mark.parametrize("arguments", [(), ("--server-side", "--force-conflicts")], ids=["client-side", "server-side"])
def test_applying_the_overlay_again_leaves_the_ca_bundle(webhook: Webhook, arguments: tuple[str, ...]) -> None:
    """As Argo CD and Flux do every few minutes: the manifests hold no caBundle, so there is nothing to fight about."""
    before = bundles(webhook)
    webhook.apply_own("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration", arguments=arguments)
    assert bundles(webhook) == before


def test_a_new_certificate_under_load_fails_no_request(webhook: Webhook, tell: Callable[[str], None]) -> None:
    old = served(webhook)
    with load(webhook) as running:
        began = time.monotonic()
        webhook.cluster.api.delete("secrets", NAMESPACE, "signalbox-tls")
        eventually(lambda: served(webhook) != old, "the new certificate is served")
        took = time.monotonic() - began
        after = running.answered
        eventually(lambda: running.answered > after + 200, "the load goes on")
    tell(f"serving certificate made anew: served after {took:.1f} s, {running.answered} requests, {len(running.failed)} failed")
    assert running.failed == []
    assert signed_by(served(webhook), authority(webhook).certificate)


def test_a_new_ca_under_load_fails_no_request(webhook: Webhook, tell: Callable[[str], None]) -> None:
    old = authority(webhook).certificate
    with load(webhook) as running:
        began = time.monotonic()
        webhook.cluster.api.delete("secrets", NAMESPACE, "signalbox-ca")
        eventually(lambda: webhook.cluster.api.get("secrets", NAMESPACE, "signalbox-ca"), "there is a new CA")
        new = authority(webhook).certificate
        eventually(lambda: signed_by(served(webhook), new), "what the new CA signed is served")
        took = time.monotonic() - began
        after = running.answered
        eventually(lambda: running.answered > after + 200, "the load goes on")
    tell(f"CA replaced: signs what is served after {took:.1f} s, {running.answered} requests, {len(running.failed)} failed")
    assert running.failed == []
    assert new != old
    [bundle] = bundles(webhook)
    assert x509.load_pem_x509_certificates(base64.b64decode(bundle))[:2] == [new, old]


def test_an_expired_certificate_mends_itself(webhook: Webhook, tell: Callable[[str], None]) -> None:
    """The controller was away for months, and the webhook was started with what is left."""
    webhook.controller.stop()
    webhook.stop()
    signer, now = authority(webhook), datetime.now(UTC)
    certificate, key = issue_server(signer, ["signalbox.signalbox-system.svc"], now - timedelta(days=91), timedelta(days=90))
    data = {"tls.crt": certificate, "tls.key": key}
    encoded = {name: base64.b64encode(value).decode() for name, value in data.items()}
    webhook.cluster.api.patch("secrets", NAMESPACE, "signalbox-tls", {"data": encoded})
    eventually(lambda: (webhook.certificates / "tls.crt").read_bytes() == certificate, "it is mounted")
    webhook.start()
    refused = webhook.cluster.kubectl.apply(job("llm", "default", template(8)), arguments=("--dry-run=server",))
    assert "certificate has expired" in refused.text
    told = status(webhook)
    assert told.returncode == 1
    assert "✗ the serving certificate ended 1 day ago: the API server does not call us" in told.stdout
    began = time.monotonic()
    webhook.controller.start()
    webhook.wait_until_called()
    tell(f"serving certificate expired: judged again {time.monotonic() - began:.1f} s after the controller was started")
    # For a second more the worker that is about to end takes connections, too.
    eventually(lambda: served(webhook).not_valid_after_utc > now + timedelta(days=80), "nobody shows the old one any more")


def test_a_loosened_configuration_is_told_and_not_put_back(webhook: Webhook, tell: Callable[[str], None]) -> None:
    resource = "validatingwebhookconfigurations"
    patch_all(webhook, resource, "failurePolicy", "Ignore")
    labels = '{configuration="signalbox",field="failurePolicy",webhook="validate.policy.workload.ai"}'
    began = time.monotonic()
    eventually(lambda: webhook.controller.metrics(DEVIATIONS).get(labels) == 1, "the metric tells it")
    tell(f"failurePolicy loosened by hand: in the metric after {time.monotonic() - began:.1f} s")
    told = status(webhook)
    assert told.returncode == 1
    assert "✗ validate.policy.workload.ai: failurePolicy is Ignore, shipped: Fail" in told.stdout
    _wait_for_runs(webhook, 3)
    found = webhook.cluster.api.get(resource, "", "signalbox")
    assert found is not None
    assert {one["failurePolicy"] for one in found["webhooks"]} == {"Ignore"}
    webhook.apply_own("ValidatingWebhookConfiguration")
    eventually(lambda: set(webhook.controller.metrics(DEVIATIONS).values()) == {0}, "the metric follows")


def test_a_deleted_configuration_is_told_and_not_put_back(webhook: Webhook, tell: Callable[[str], None]) -> None:
    resource = "mutatingwebhookconfigurations"
    webhook.cluster.api.delete(resource, "", "00-signalbox")
    labels = '{configuration="00-signalbox",field="",webhook=""}'
    eventually(lambda: webhook.controller.metrics(DEVIATIONS).get(labels) == 1, "the metric tells it")
    told = status(webhook)
    assert told.returncode == 1
    assert "✗ MutatingWebhookConfiguration 00-signalbox is not there: nothing of it is asked of us" in told.stdout
    _wait_for_runs(webhook, 3)
    assert webhook.cluster.api.get(resource, "", "00-signalbox") is None
    began = time.monotonic()
    webhook.apply_own("MutatingWebhookConfiguration")
    webhook.wait_until_called()
    tell(f"configuration applied again: has its caBundle and is called after {time.monotonic() - began:.1f} s")


def _wait_for_runs(webhook: Webhook, more: int) -> None:
    """The duties that could have put it back have run so many times since."""
    name = "signalbox_duty_runs_total"
    labels = ['{duty="certificates",result="ok"}', '{duty="webhook-configurations",result="ok"}']
    before = webhook.controller.metrics(name)

    def ran() -> bool:
        now = webhook.controller.metrics(name)
        return all(now[one] >= before[one] + more for one in labels)

    eventually(ran, "the duties have run")
