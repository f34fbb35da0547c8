"""A cluster with our configurations, a controller that keeps the certificates, and a clock: all in memory."""

from __future__ import annotations

import base64
import copy
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from cryptography import x509
from prometheus_client import CollectorRegistry

from signalbox.certs.authority import signed_by
from signalbox.controller.certificates.duty import CertificateDuty, CertificateMeters
from signalbox.controller.certificates.plan import Lifetimes
from signalbox.controller.certificates.state import certificates_of
from signalbox.controller.certificates.store import CertificateStore
from signalbox.controller.options import service_names
from signalbox.controller.webhooks.shipped import SERVICE, Shipped
from signalbox.process.logs import Log
from tests.kept_api import KeptApi

NOW = datetime(2026, 11, 1, 12, tzinfo=UTC)
NAMESPACE = "signalbox-system"
NAMES = service_names(NAMESPACE)
CA_SECRET = f"/api/v1/namespaces/{NAMESPACE}/secrets/signalbox-ca"
TLS_SECRET = f"/api/v1/namespaces/{NAMESPACE}/secrets/signalbox-tls"


def _webhook(name: str) -> dict[str, Any]:
    return {"name": name, "clientConfig": {"service": {"name": SERVICE, "namespace": NAMESPACE, "path": "/x"}}}


SHIPPED = (
    Shipped("MutatingWebhookConfiguration", "00-signalbox", (_webhook("mutate"),)),
    Shipped("ValidatingWebhookConfiguration", "signalbox", (_webhook("validate"), _webhook("validate-open"))),
)


@dataclass
class World:
    """A cluster with our configurations, a controller, a clock."""

    api: KeptApi = field(default_factory=KeptApi)
    now: datetime = NOW
    seconds: float = 0.0
    lifetimes: Lifetimes = field(default_factory=Lifetimes)
    duty: CertificateDuty = field(init=False)

    def __post_init__(self) -> None:
        for one in SHIPPED:
            self.install(one)
        self.change_leader()

    def install(self, shipped: Shipped) -> None:
        body = {"metadata": {"name": shipped.name}, "webhooks": copy.deepcopy(list(shipped.webhooks))}
        self.api.put(shipped.path, body)

    def change_leader(self) -> None:
        """Another replica leads, which remembers nothing."""
        registry = CollectorRegistry()
        self.duty = CertificateDuty(
            CertificateStore(self.api, NAMESPACE, SHIPPED),
            NAMES,
            self.lifetimes,
            Log("error"),
            CertificateMeters(registry, lambda: True),
            3.0,
            monotonic=lambda: self.seconds,
        )

    def run(self) -> None:
        self.duty.run(self.now)

    def wait(self, span: timedelta) -> None:
        self.now += span
        self.seconds += span.total_seconds()

    def run_until_calm(self) -> int:
        """Run every three seconds until nothing is written any more; how many runs wrote something."""
        runs = 0
        for _ in range(16):
            before = len(self.api.writes)
            self.run()
            runs += len(self.api.writes) > before
            self.wait(timedelta(seconds=3))
        assert len(self.api.writes) == before, "never calm"
        return runs

    def data(self, path: str, key: str) -> bytes:
        return base64.b64decode(self.api.get(path)["data"][key])

    def leaf(self) -> x509.Certificate:
        return certificates_of(self.data(TLS_SECRET, "tls.crt"))[0]

    def authority(self) -> x509.Certificate:
        return certificates_of(self.data(CA_SECRET, "ca.crt"))[0]

    def bundles(self) -> list[bytes]:
        return [
            base64.b64decode(webhook["clientConfig"].get("caBundle", ""))
            for one in SHIPPED
            if one.path in self.api.objects
            for webhook in self.api.get(one.path)["webhooks"]
        ]

    def set_bundles(self, value: bytes) -> None:
        for one in SHIPPED:
            obj = self.api.get(one.path)
            for webhook in obj["webhooks"]:
                webhook["clientConfig"]["caBundle"] = base64.b64encode(value).decode()
            self.api.put(one.path, obj)

    def put_pair(self, path: str, kind: str, certificate: bytes, key: bytes, **more: bytes) -> None:
        data = {f"{kind}.crt": certificate, f"{kind}.key": key, **{name.replace("_", "."): more[name] for name in more}}
        encoded = {name: base64.b64encode(value).decode() for name, value in data.items()}
        self.api.put(path, {"metadata": {"name": path.rpartition("/")[2]}, "data": encoded})


def trusted(leaf: x509.Certificate, bundle: bytes, now: datetime) -> bool:
    """Whether an API server with that caBundle calls a server with that certificate."""
    if not leaf.not_valid_before_utc <= now < leaf.not_valid_after_utc:
        return False
    return any(
        signed_by(leaf, ca) and ca.not_valid_before_utc <= now < ca.not_valid_after_utc for ca in certificates_of(bundle)
    )


def assert_sound(world: World) -> None:
    for bundle in world.bundles():
        assert trusted(world.leaf(), bundle, world.now)
