"""`signalbox certs status`: what it says of an installation, and how it ends."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from signalbox.certs.authority import issue_server, new_authority
from signalbox.cli.certs import command
from signalbox.controller.options import service_names
from tests.fake_api_server import FakeApiServer

NAMESPACE = "signalbox-system"
NAMES = service_names(NAMESPACE)
SHIPPED = Path(__file__).parents[1] / "manifests" / "base" / "webhooks.yaml"


class Installation:
    """What the fake API server holds: everything as it should be, until a test changes it."""

    def __init__(self, fake: FakeApiServer, folder: Path) -> None:
        self.fake, self.folder = fake, folder
        self.now = datetime.now(UTC)
        self.authority = new_authority("Signalbox CA", self.now, timedelta(days=1825))
        self.put_authority()
        self.put_serving(*issue_server(self.authority, NAMES, self.now - timedelta(days=29, hours=1), timedelta(days=90)))
        self.webhooks = [one for one in yaml.safe_load_all(SHIPPED.read_text()) if one]
        self.put_webhooks()
        self.put_lease(self.now)

    def put_authority(self) -> None:
        pem = self.authority.certificate_pem
        self._secret("signalbox-ca", {"ca.crt": pem, "ca.key": self.authority.key_pem, "bundle.crt": pem})

    def put_serving(self, certificate: bytes, key: bytes) -> None:
        self._secret("signalbox-tls", {"tls.crt": certificate, "tls.key": key, "ca.crt": self.authority.certificate_pem})

    def put_webhooks(self, bundle: bytes | None = None) -> None:
        text = base64.b64encode(self.authority.certificate_pem if bundle is None else bundle).decode()
        for configuration in self.webhooks:
            for webhook in configuration["webhooks"]:
                webhook["clientConfig"]["caBundle"] = text
            self.fake.put(configuration)

    def put_lease(self, renewed: datetime, holder: str = "one") -> None:
        spec = {"holderIdentity": holder, "leaseDurationSeconds": 15, "renewTime": renewed.isoformat()}
        metadata = {"name": "signalbox-controller", "namespace": NAMESPACE}
        self.fake.put({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec})

    def _secret(self, name: str, data: dict[str, bytes]) -> None:
        encoded = {key: base64.b64encode(value).decode() for key, value in data.items()}
        metadata = {"name": name, "namespace": NAMESPACE}
        self.fake.put({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": encoded})

    def status(self, *arguments: str) -> Result:
        kubeconfig = self.folder / "kubeconfig"
        named = {"name": "x", "cluster": {"server": self.fake.url}}
        kubeconfig.write_text(
            yaml.safe_dump(
                {
                    "apiVersion": "v1",
                    "kind": "Config",
                    "current-context": "x",
                    "clusters": [named],
                    "users": [{"name": "x", "user": {"token": "t"}}],
                    "contexts": [{"name": "x", "context": {"cluster": "x", "user": "x"}}],
                }
            )
        )
        return CliRunner().invoke(command, ["status", "--kubeconfig", str(kubeconfig), *arguments], standalone_mode=False)


@pytest.fixture
def installation(tmp_path: Path) -> Iterator[Installation]:
    with FakeApiServer() as fake:
        yield Installation(fake, tmp_path)


def test_an_installation_as_it_should_be(installation: Installation) -> None:
    result = installation.status()
    assert (result.exception, result.return_value) == (None, 0)
    assert result.output.splitlines() == [
        f"signalbox-system at {installation.fake.url}",
        "  ✓ the serving certificate ends in 60 days, renewed in 30 days",
        "  ✓ the CA ends in 1824 days, replaced in 1459 days",
        "  ! what is served was not looked at: no Pod of ours is there to be asked",
        "  ✓ the controller one leads, it was heard of 0 seconds ago",
        "  ✓ the webhook configurations are as shipped",
    ]


def test_it_reads_and_never_writes(installation: Installation) -> None:
    installation.status()
    assert {verb for verb, _ in installation.fake.requests} == {"GET"}


def test_json_says_the_same(installation: Installation) -> None:
    told = json.loads(installation.status("-o", "json").output)
    assert told["wrong"] is False
    assert told["remarks"][0] == {
        "text": "the serving certificate ends in 60 days, renewed in 30 days",
        "wrong": False,
        "unknown": False,
    }


def _expired(one: Installation) -> None:
    one.put_serving(*issue_server(one.authority, NAMES, one.now - timedelta(days=93), timedelta(days=90)))


def _late(one: Installation) -> None:
    one.put_serving(*issue_server(one.authority, NAMES, one.now - timedelta(days=80), timedelta(days=90)))


def _early(one: Installation) -> None:
    one.put_serving(*issue_server(one.authority, NAMES, one.now + timedelta(days=3, hours=1), timedelta(days=90)))


def _other_names(one: Installation) -> None:
    one.put_serving(*issue_server(one.authority, ["localhost"], one.now, timedelta(days=90)))


def _other_authority(one: Installation) -> None:
    stranger = new_authority("stranger", one.now, timedelta(days=900))
    one.put_serving(*issue_server(stranger, NAMES, one.now, timedelta(days=90)))


def _old_authority(one: Installation) -> None:
    one.authority = new_authority("old", one.now - timedelta(days=1700), timedelta(days=1825))
    one.put_authority()


def _loosened(one: Installation) -> None:
    one.webhooks[1]["webhooks"][0]["failurePolicy"] = "Ignore"
    one.put_webhooks()


def _no_lease(one: Installation) -> None:
    one.fake.remove("Lease", "signalbox-controller", NAMESPACE)


Change = Callable[[Installation], Any]
WRONG: list[tuple[Change, str]] = [
    (_expired, "✗ the serving certificate ended 3 days ago: the API server does not call us"),
    (_late, "✗ the serving certificate ends in 9 days and should have been renewed 20 days ago"),
    (_early, "✗ the serving certificate begins only in 3 days: the API server does not call us"),
    (_other_names, "✗ the serving certificate is not for signalbox.signalbox-system, signalbox.signalbox-system.svc, "),
    (
        _other_authority,
        "✗ the caBundle of mutate.policy.workload.ai in 00-signalbox does not hold the CA that signed the serving "
        "certificate: the API server will refuse to call it",
    ),
    (_old_authority, "✗ the CA ends in 124 days and should have been replaced 240 days ago"),
    (_loosened, "✗ validate.policy.workload.ai: failurePolicy is Ignore, shipped: Fail"),
    (
        lambda one: one.put_webhooks(b""),
        "✗ the caBundle of validate-open.policy.workload.ai in signalbox is empty: the API server refuses to call it",
    ),
    (
        lambda one: one.put_webhooks(b"junk"),
        "✗ the caBundle of validate.policy.workload.ai in signalbox cannot be read: the API server refuses to call it",
    ),
    (
        lambda one: one.fake.remove("MutatingWebhookConfiguration", "00-signalbox"),
        "✗ MutatingWebhookConfiguration 00-signalbox is not there: nothing of it is asked of us",
    ),
    (
        lambda one: one.fake.remove("Secret", "signalbox-tls", NAMESPACE),
        "✗ the serving certificate: there is no Secret signalbox-tls",
    ),
    (lambda one: one.fake.remove("Secret", "signalbox-ca", NAMESPACE), "✗ the CA: there is no Secret signalbox-ca"),
    (_no_lease, "✗ no controller leads: nothing is renewed and nothing is put right"),
    (
        lambda one: one.put_lease(one.now - timedelta(minutes=5)),
        "✗ the controller one leads, it fell silent 5 minutes ago",
    ),
]


@pytest.mark.parametrize(("change", "text"), WRONG, ids=[text[2:50] for _, text in WRONG])
def test_what_is_wrong_is_said_in_words_and_days(installation: Installation, change: Change, text: str) -> None:
    change(installation)
    result = installation.status()
    assert (result.exception, result.return_value) == (None, 1)
    assert text in result.output


def test_while_one_ca_replaces_another_nothing_is_wrong(installation: Installation) -> None:
    old = installation.authority
    installation.authority = new_authority("new", installation.now, timedelta(days=1825))
    both = installation.authority.certificate_pem + old.certificate_pem
    data = {"ca.crt": installation.authority.certificate_pem, "ca.key": installation.authority.key_pem, "bundle.crt": both}
    installation._secret("signalbox-ca", data)
    installation.put_webhooks(both)
    result = installation.status()
    assert result.return_value == 0
    assert "✓ one CA replaces another: 1 older one is still trusted" in result.output
    assert "✓ the serving certificate is not yet signed by the present CA" in result.output


def test_with_cert_manager_only_what_matters_is_looked_at(installation: Installation) -> None:
    installation.webhooks[0]["metadata"]["annotations"] = {"cert-manager.io/inject-ca-from": "x/y"}
    installation.put_webhooks()
    installation.fake.remove("Secret", "signalbox-ca", NAMESPACE)
    result = installation.status()
    assert result.return_value == 0
    assert "✓ the serving certificate ends in 60 days\n" in result.output
    assert "cert-manager takes care of certificates" in result.output


def test_the_overlay_audit_only_is_no_fault_where_it_is_named(installation: Installation) -> None:
    installation.fake.remove("MutatingWebhookConfiguration", "00-signalbox")
    _loosened(installation)
    installation.fake.remove("MutatingWebhookConfiguration", "00-signalbox")
    assert installation.status().return_value == 1
    assert installation.status("--audit-only").return_value == 0


def test_replicas_are_asked_what_they_serve(installation: Installation) -> None:
    for name in ("signalbox-a", "signalbox-b"):
        metadata = {"name": name, "namespace": NAMESPACE}
        installation.fake.put({"apiVersion": "v1", "kind": "Pod", "metadata": metadata})
    result = installation.status()
    assert result.return_value == 0
    assert "! what signalbox-a serves was not looked at: " in result.output


def test_a_server_that_does_not_answer_is_told(installation: Installation) -> None:
    result = installation.status("--server", "127.0.0.1:1")
    assert result.return_value == 1
    assert "✗ what is served: 127.0.0.1:1 does not answer: " in result.output


@pytest.mark.parametrize("server", ["x", ":1", "localhost:x", "localhost:99999999"])
def test_a_server_that_is_no_address_is_told(installation: Installation, server: str) -> None:
    assert "✗ what is served: " in installation.status("--server", server).output


@pytest.mark.parametrize("path", ["secrets", "leases", "webhookconfigurations"])
def test_who_may_not_look_is_told_so_and_nothing_is_said(installation: Installation, path: str) -> None:
    installation.fake.fail(403, times=50, path=path)
    result = installation.status()
    assert "as the test wants it" in str(result.exception)
    assert getattr(result.exception, "exit_code", None) == 2


def test_a_file_that_holds_no_configurations_is_told(installation: Installation, tmp_path: Path) -> None:
    for text, told in (("a: [", "expected"), ("a: 1", "no webhook configuration in it"), ("- 1", "no webhook configuration")):
        (tmp_path / "x.yaml").write_text(text)
        result = installation.status("--expected", str(tmp_path / "x.yaml"))
        assert told in str(result.exception)
        assert getattr(result.exception, "exit_code", None) == 2
