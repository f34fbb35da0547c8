"""Certificates of an installation: whatever happens, nobody serves what an API server does not trust, and all mends itself."""

from __future__ import annotations

import base64
import copy
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from cryptography import x509
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry

from signalbox.certs.authority import Authority, issue_server, new_authority, signed_by
from signalbox.controller.certificates.duty import CertificateDuty, CertificateMeters
from signalbox.controller.certificates.plan import Lifetimes
from signalbox.controller.certificates.state import bundle_of, certificates_of
from signalbox.controller.certificates.store import CertificateStore
from signalbox.controller.duty import DutyError
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
        for _ in range(40):
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


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def installed(world: World) -> World:
    world.run_until_calm()
    return world


def test_an_installation_has_everything_after_the_first_run(world: World) -> None:
    world.run()
    assert_sound(world)
    assert world.bundles() == [world.data(CA_SECRET, "ca.crt")] * 3
    assert world.data(TLS_SECRET, "ca.crt") == world.data(CA_SECRET, "ca.crt")
    assert world.api.get(TLS_SECRET)["type"] == "kubernetes.io/tls"
    written = len(world.api.writes)
    world.run()
    assert len(world.api.writes) == written


def test_the_certificate_is_for_the_name_that_the_api_server_uses(installed: World) -> None:
    names = installed.leaf().extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == [
        "signalbox.signalbox-system.svc",
        "signalbox.signalbox-system.svc.cluster.local",
        "signalbox.signalbox-system",
    ]


def test_a_ca_bundle_emptied_by_hand_is_put_back_by_the_next_run(installed: World) -> None:
    before = installed.bundles()
    installed.set_bundles(b"")
    installed.run()
    assert installed.bundles() == before


@pytest.mark.parametrize("junk", [b"junk", b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", bytes(range(256))])
def test_a_ca_bundle_that_cannot_be_read_is_put_right(installed: World, junk: bytes) -> None:
    before = installed.bundles()
    installed.set_bundles(junk)
    installed.run()
    assert installed.bundles() == before


def test_a_ca_that_somebody_adds_is_not_trusted_for_longer_than_a_run(installed: World) -> None:
    stranger = new_authority("stranger", installed.now, timedelta(days=900)).certificate_pem
    before = installed.bundles()
    installed.set_bundles(before[0] + stranger)
    installed.run()
    assert installed.bundles() == before


def test_a_certificate_is_renewed_after_two_thirds_of_its_life(installed: World) -> None:
    first = installed.leaf()
    installed.wait(timedelta(days=59))
    installed.run()
    assert installed.leaf() == first
    installed.wait(timedelta(days=1, hours=1))
    installed.run()
    assert installed.leaf() != first
    assert installed.leaf().not_valid_after_utc == installed.now + timedelta(days=90)
    assert_sound(installed)


def test_a_ca_is_replaced_a_year_ahead_and_the_old_one_leaves_when_nothing_it_signed_is_valid(installed: World) -> None:
    old = installed.authority()
    while installed.authority() == old:
        installed.wait(timedelta(days=20))
        installed.run()
        assert_sound(installed)
    left = old.not_valid_after_utc - installed.now
    assert timedelta(days=340) < left <= timedelta(days=365)
    # Both are trusted before the new one signs.
    assert [certificates_of(one) for one in installed.bundles()] == [(installed.authority(), old)] * 3
    assert signed_by(installed.leaf(), old)
    installed.wait(timedelta(seconds=29))
    installed.run()
    assert signed_by(installed.leaf(), old)
    installed.wait(timedelta(seconds=2))
    installed.run()
    assert signed_by(installed.leaf(), installed.authority())
    for _ in range(9):
        installed.wait(timedelta(days=10))
        installed.run()
        assert certificates_of(installed.bundles()[0]) == (installed.authority(), old)
    installed.wait(timedelta(days=2))
    installed.run()
    assert [certificates_of(one) for one in installed.bundles()] == [(installed.authority(),)] * 3
    assert_sound(installed)


def test_a_new_leader_waits_anew_before_a_new_ca_signs(installed: World) -> None:
    del installed.api.objects[CA_SECRET]
    installed.run()
    old = installed.leaf()
    for _ in range(5):
        installed.wait(timedelta(seconds=20))
        installed.change_leader()
        installed.run()
        assert installed.leaf() == old
    installed.wait(timedelta(seconds=30))
    installed.run()
    assert signed_by(installed.leaf(), installed.authority())


@pytest.mark.parametrize("key", ["ca.key", "ca.crt", "bundle.crt"])
@pytest.mark.parametrize("value", [None, b"", b"junk"])
def test_the_ca_lost_or_mangled_is_made_anew_while_the_old_certificate_stays_trusted(
    installed: World, key: str, value: bytes | None
) -> None:
    secret = installed.api.get(CA_SECRET)
    if value is None:
        del secret["data"][key]
    else:
        secret["data"][key] = base64.b64encode(value).decode()
    installed.api.put(CA_SECRET, secret)
    installed.run()
    assert_sound(installed)
    installed.run_until_calm()
    assert_sound(installed)
    assert signed_by(installed.leaf(), installed.authority())


@pytest.mark.parametrize("data", [None, [], "x", {"tls.crt": 3}, {"tls.crt": "%%%", "tls.key": ""}, {"tls.crt": "eA=="}])
@pytest.mark.parametrize("path", [CA_SECRET, TLS_SECRET])
def test_a_secret_with_anything_in_it_is_mended(installed: World, path: str, data: Any) -> None:
    installed.api.put(path, {**installed.api.get(path), "data": data})
    installed.run_until_calm()
    assert_sound(installed)


@pytest.mark.parametrize("gone", [(CA_SECRET,), (TLS_SECRET,), (CA_SECRET, TLS_SECRET)])
def test_deleted_secrets_are_made_anew(installed: World, gone: tuple[str, ...]) -> None:
    served = installed.leaf()
    for path in gone:
        del installed.api.objects[path]
    installed.run()
    # Replicas serve on with what they had.
    assert all(trusted(served, bundle, installed.now) for bundle in installed.bundles())
    installed.run_until_calm()
    assert_sound(installed)
    assert all(trusted(served, bundle, installed.now) for bundle in installed.bundles())


def test_a_key_of_another_certificate_is_no_pair(installed: World) -> None:
    other = new_authority("other", installed.now, timedelta(days=30))
    secret = installed.api.get(TLS_SECRET)
    secret["data"]["tls.key"] = base64.b64encode(other.key_pem).decode()
    installed.api.put(TLS_SECRET, secret)
    installed.run()
    assert_sound(installed)
    assert installed.data(TLS_SECRET, "tls.key") != other.key_pem


def test_an_expired_certificate_is_renewed_at_once(installed: World) -> None:
    """The controller was away for a hundred days."""
    installed.wait(timedelta(days=100))
    installed.run()
    assert_sound(installed)


def test_everything_expired_is_made_anew_at_once(installed: World) -> None:
    installed.wait(timedelta(days=3000))
    installed.run()
    assert_sound(installed)


def test_a_clock_that_was_ahead_and_is_right_again_does_no_harm(world: World) -> None:
    world.now = NOW + timedelta(days=800)
    world.run_until_calm()
    world.now = NOW
    world.run_until_calm()
    assert_sound(world)


@pytest.mark.parametrize("ahead", [-100_000.0, -250.0, 250.0, 100_000.0])
def test_with_a_clock_that_is_not_the_api_servers_nothing_is_touched(installed: World, ahead: float) -> None:
    installed.wait(timedelta(days=3000))
    installed.api.clock_ahead = ahead
    written = len(installed.api.writes)
    with pytest.raises(DutyError, match="clock"):
        installed.run()
    assert len(installed.api.writes) == written


@pytest.mark.parametrize("ahead", [None, -1.0, 60.0])
def test_a_clock_that_is_a_little_off_is_no_matter(world: World, ahead: float | None) -> None:
    world.api.clock_ahead = ahead
    world.run()
    assert_sound(world)


def test_a_configuration_that_was_deleted_is_not_put_back(installed: World) -> None:
    del installed.api.objects[SHIPPED[0].path]
    installed.wait(timedelta(days=100))
    installed.run_until_calm()
    assert SHIPPED[0].path not in installed.api.objects
    assert_sound(installed)
    installed.install(SHIPPED[0])
    installed.run()
    assert len(set(installed.bundles())) == 1
    assert_sound(installed)


def test_entries_that_lead_elsewhere_are_left_alone(installed: World) -> None:
    obj = installed.api.get(SHIPPED[1].path)
    others = [
        {"name": "other", "clientConfig": {"service": {"name": SERVICE, "namespace": "elsewhere"}}},
        {"name": "url", "clientConfig": {"url": "https://example.internal/x"}},
        {"name": "odd", "clientConfig": 3},
        "text",
        None,
    ]
    obj["webhooks"] = [*others, *obj["webhooks"]]
    for webhook in obj["webhooks"][-2:]:
        del webhook["clientConfig"]["caBundle"]
    installed.api.put(SHIPPED[1].path, obj)
    installed.run()
    found = installed.api.get(SHIPPED[1].path)["webhooks"]
    assert found[:5] == others
    assert {base64.b64decode(one["clientConfig"]["caBundle"]) for one in found[5:]} == {installed.data(CA_SECRET, "ca.crt")}


@pytest.mark.parametrize("webhooks", [None, [], "x", [None], [{"name": None}], [{"clientConfig": {"service": "x"}}]])
def test_a_configuration_with_anything_in_it_is_survived(world: World, webhooks: Any) -> None:
    world.api.put(SHIPPED[0].path, {"metadata": {"name": "00-signalbox"}, "webhooks": webhooks})
    world.run()
    assert world.api.get(SHIPPED[0].path)["webhooks"] == webhooks


@pytest.mark.parametrize(
    ("path", "annotation"),
    [
        (SHIPPED[0].path, "cert-manager.io/inject-ca-from"),
        (SHIPPED[1].path, "cert-manager.io/inject-ca-from-secret"),
        (TLS_SECRET, "cert-manager.io/certificate-name"),
    ],
)
def test_what_cert_manager_takes_care_of_is_left_to_it(installed: World, path: str, annotation: str) -> None:
    obj = installed.api.get(path)
    obj["metadata"]["annotations"] = {annotation: "signalbox-system/signalbox"}
    installed.api.put(path, obj)
    installed.set_bundles(b"") if path == TLS_SECRET else None
    installed.wait(timedelta(days=3000))
    written = len(installed.api.writes)
    installed.run()
    assert len(installed.api.writes) == written


def test_certificates_of_cert_manager_are_taken_over_without_a_gap(world: World) -> None:
    """Its annotations are gone, its Secrets and its caBundle are still there."""
    theirs = new_authority("theirs", NOW, timedelta(days=400))
    certificate, key = issue_server(theirs, NAMES, NOW, timedelta(days=90))
    world.put_pair(CA_SECRET, "tls", theirs.certificate_pem, theirs.key_pem, ca_crt=theirs.certificate_pem)
    world.put_pair(TLS_SECRET, "tls", certificate, key, ca_crt=theirs.certificate_pem)
    world.set_bundles(theirs.certificate_pem)
    world.run()
    assert_sound(world)
    assert world.leaf() == certificates_of(certificate)[0]
    world.run_until_calm()
    assert_sound(world)
    assert signed_by(world.leaf(), world.authority())


def test_keys_and_labels_that_others_put_into_a_secret_stay(installed: World) -> None:
    secret = installed.api.get(TLS_SECRET)
    secret["metadata"]["labels"]["team"] = "x"
    secret["data"]["note"] = "eA=="
    installed.api.put(TLS_SECRET, secret)
    installed.wait(timedelta(days=61))
    installed.run()
    after = installed.api.get(TLS_SECRET)
    assert (after["metadata"]["labels"]["team"], after["data"]["note"]) == ("x", "eA==")


def test_the_secret_of_the_ca_deleted_again_and_again_does_not_fill_the_bundle(installed: World) -> None:
    for _ in range(12):
        del installed.api.objects[CA_SECRET]
        installed.run()
        assert_sound(installed)
    assert {len(certificates_of(one)) for one in installed.bundles()} == {8}
    installed.run_until_calm()
    assert_sound(installed)


class Overtaken(KeptApi):
    """Before the write of that number, another leader runs."""

    other: CertificateDuty
    at = -1
    now = NOW

    def _written(self, verb: str, path: str, body: dict[str, Any]) -> dict[str, Any]:
        if len(self.writes) == self.at:
            self.at = -1
            self.other.run(self.now)
            if verb == "create":
                return self.create(path.rpartition("/")[0], body)
            self._compare(path, body)
        return super()._written(verb, path, body)


@pytest.mark.parametrize("at", range(4))
def test_two_leaders_at_once_do_no_harm(at: int) -> None:
    api = Overtaken()
    first, second = World(api), World(api)
    api.other, api.at = second.duty, at
    first.run()
    first.run()
    assert_sound(first)
    assert first.bundles() == [first.data(CA_SECRET, "ca.crt")] * 3


Operation = tuple[str, Any]
OPERATIONS = st.one_of(
    st.tuples(st.just("wait"), st.sampled_from([1, 2, 5, 20, 45, 3600, 86_400, 20 * 86_400])),
    st.tuples(st.just("wait"), st.just(45)),
    st.tuples(st.just("delete"), st.sampled_from([CA_SECRET, TLS_SECRET])),
    st.tuples(st.just("mangle"), st.tuples(st.sampled_from([CA_SECRET, TLS_SECRET]), st.sampled_from(["crt", "key", "bundle"]))),
    st.tuples(st.just("leader"), st.none()),
    st.tuples(st.just("reinstall"), st.sampled_from([0, 1])),
    st.tuples(st.just("old-authority"), st.none()),
)
API_SERVER_LAG = timedelta(seconds=20)
KUBELET_LAG = timedelta(seconds=150)


@dataclass
class Watched:
    """What may be served, and by what an API server may judge: what was in force lately, and what is now."""

    world: World
    served: list[tuple[datetime, x509.Certificate]] = field(default_factory=list)
    bundles: dict[str, list[tuple[datetime, bytes]]] = field(default_factory=dict)

    def look(self) -> None:
        now = self.world.now
        if TLS_SECRET in self.world.api.objects:
            found = certificates_of(base64.b64decode(self.world.api.get(TLS_SECRET)["data"].get("tls.crt", "")))
            if found and self.world.data(TLS_SECRET, "tls.key").startswith(b"-----BEGIN"):
                _seen(self.served, found[0], now, KUBELET_LAG)
        for one in SHIPPED:
            for webhook in self.world.api.get(one.path)["webhooks"]:
                bundle = base64.b64decode(webhook["clientConfig"].get("caBundle", ""))
                # Emptied is emptied: nothing the controller does can change what that did.
                if bundle:
                    _seen(self.bundles.setdefault(webhook["name"], []), bundle, now, API_SERVER_LAG)

    def check(self) -> None:
        now = self.world.now
        for _, leaf in self.served:
            for bundles in self.bundles.values():
                for _, bundle in bundles:
                    assert trusted(leaf, bundle, now)


def _seen(history: list[tuple[datetime, Any]], value: Any, now: datetime, lag: timedelta) -> None:
    """The history holds when each value was last in force; what has not been for longer than the lag is gone for good."""
    history[:] = [one for one in history if one[1] != value and now - one[0] <= lag]
    history.append((now, value))


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(OPERATIONS, max_size=25))
def test_whatever_happens_what_is_served_is_trusted_by_every_api_server(operations: list[Operation]) -> None:
    world = World()
    watched = Watched(world)
    world.run_until_calm()
    watched.look()
    for what, value in operations:
        if what == "wait":
            _wait(world, watched, value)
        elif what == "delete":
            world.api.objects.pop(value, None)
        elif what == "mangle":
            _mangle(world, *value)
        elif what == "leader":
            world.change_leader()
        elif what == "reinstall":
            world.install(SHIPPED[value])
        elif what == "old-authority" and CA_SECRET in world.api.objects:
            _age(world)
        watched.look()
        world.run()
        watched.look()
        watched.check()
    world.run_until_calm()
    assert_sound(world)


def _wait(world: World, watched: Watched, seconds: int) -> None:
    """The controller runs meanwhile, if not every three seconds."""
    for part in (0.5, 0.5):
        world.wait(timedelta(seconds=seconds * part))
        watched.look()
        world.run()
        watched.look()
        watched.check()


def _mangle(world: World, path: str, part: str) -> None:
    if path not in world.api.objects:
        return
    secret = world.api.get(path)
    key = "bundle.crt" if part == "bundle" else f"{'ca' if path == CA_SECRET else 'tls'}.{part}"
    secret["data"][key] = base64.b64encode(b"junk").decode()
    world.api.put(path, secret)


def _age(world: World) -> None:
    """The CA is due: as if it had been made four years ago, with the same key."""
    secret = world.api.get(CA_SECRET)
    held = certificates_of(base64.b64decode(secret["data"].get("ca.crt", "")))
    if not held or signed_by(world.leaf(), held[0]) is False:
        return
    old: Authority = new_authority("old", world.now - timedelta(days=4 * 365 + 1), timedelta(days=5 * 365))
    certificate, key = issue_server(old, NAMES, world.now - timedelta(days=1), timedelta(days=90))
    world.put_pair(CA_SECRET, "ca", old.certificate_pem, old.key_pem, bundle_crt=bundle_of((old.certificate, held[0])))
    world.set_bundles(bundle_of((old.certificate, held[0])))
    world.put_pair(TLS_SECRET, "tls", certificate, key)
