"""Certificates of an installation: issued, renewed, replaced, and mended whatever is lost."""

from __future__ import annotations

import base64
from datetime import timedelta
from typing import Any

import pytest
from cryptography import x509

from signalbox.certs.authority import issue_server, new_authority, signed_by
from signalbox.controller.certificates.duty import CertificateDuty
from signalbox.controller.certificates.state import certificates_of
from signalbox.controller.duty import DutyError
from signalbox.controller.webhooks.shipped import SERVICE
from tests.certificate_world import CA_SECRET, NAMES, NOW, SHIPPED, TLS_SECRET, World, assert_sound, trusted
from tests.kept_api import KeptApi


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


@pytest.mark.parametrize(
    "junk", [b"junk", b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", bytes(range(256))]
)
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


def test_a_pair_that_somebody_put_into_the_secret_stays_trusted_while_it_may_be_served(installed: World) -> None:
    theirs = new_authority("theirs", NOW, timedelta(days=400))
    certificate, key = issue_server(theirs, NAMES, NOW, timedelta(days=90))
    installed.put_pair(TLS_SECRET, "tls", certificate, key)
    installed.set_bundles(theirs.certificate_pem)
    installed.run()
    assert_sound(installed)
    installed.run_until_calm()
    assert signed_by(installed.leaf(), installed.authority())
    # Replicas may still show the other one: what they mount comes late.
    assert all(trusted(certificates_of(certificate)[0], bundle, installed.now) for bundle in installed.bundles())


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
    for _ in range(24):
        del installed.api.objects[CA_SECRET]
        installed.run()
        assert_sound(installed)
    assert {len(certificates_of(one)) for one in installed.bundles()} == {20}
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
