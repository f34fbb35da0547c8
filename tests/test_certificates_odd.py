"""Certificates and keys that can be read but not asked: of unknown curves, with extensions twice, with names that are none."""

from __future__ import annotations

import base64
from datetime import timedelta
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from signalbox.certs.authority import issue_server, new_authority
from signalbox.certs.validity import check_pair
from tests.certificate_world import CA_SECRET, NAMES, NOW, SHIPPED, TLS_SECRET, World, assert_sound

_P256 = bytes.fromhex("06082a8648ce3d030107")
_KEY = bytes.fromhex("06072a8648ce3d0201")
# What is found in the bytes of a good certificate, and what takes its place, of the same length.
CHANGES = {
    "unknown curve": (_P256, bytes.fromhex("06082a8648ce3d03017f")),
    "unknown key": (_KEY, bytes.fromhex("06072a8648ce3d027f")),
    "no point of the curve": (_P256 + bytes.fromhex("03420004"), _P256 + bytes.fromhex("03420005")),
    "extension twice": (bytes.fromhex("0603551d23"), bytes.fromhex("0603551d0e")),
    "constraints twice": (bytes.fromhex("0603551d0e"), bytes.fromhex("0603551d13")),
    "unknown signature": (bytes.fromhex("06082a8648ce3d040302"), bytes.fromhex("06082a8648ce3d04037f")),
    "name that is none": (b"signalbox.", b"signal\xff\xfex."),
}
AUTHORITY = new_authority("odd", NOW, timedelta(days=900))
SERVING, SERVING_KEY = issue_server(AUTHORITY, NAMES, NOW, timedelta(days=90))


def changed(pem: bytes, change: str) -> bytes:
    der = x509.load_pem_x509_certificate(pem).public_bytes(Encoding.DER).replace(*CHANGES[change])
    return _pem("CERTIFICATE", der)


def changed_key(change: str) -> bytes:
    der = base64.b64decode(b"".join(SERVING_KEY.splitlines()[1:-1])).replace(*CHANGES[change])
    return _pem("PRIVATE KEY", der)


def _pem(what: str, der: bytes) -> bytes:
    return b"-----BEGIN %s-----\n%s-----END %s-----\n" % (what.encode(), base64.encodebytes(der), what.encode())


@pytest.fixture
def installed() -> World:
    world = World()
    world.run_until_calm()
    return world


def put(world: World, path: str, key: str, data: bytes) -> None:
    secret: dict[str, Any] = dict(world.api.get(path))
    world.api.put(path, {**secret, "data": {**secret["data"], key: base64.b64encode(data).decode()}})


def mended(world: World) -> None:
    for _ in range(20):
        world.run()
        world.wait(timedelta(seconds=3))
    world.run_until_calm()
    assert world.duty.meters.problems == 0
    assert_sound(world)


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize(
    ("path", "key"),
    [(TLS_SECRET, "tls.crt"), (TLS_SECRET, "ca.crt"), (CA_SECRET, "ca.crt"), (CA_SECRET, "bundle.crt")],
)
def test_a_secret_with_an_odd_certificate_is_mended(installed: World, path: str, key: str, change: str) -> None:
    put(installed, path, key, changed(SERVING if key == "tls.crt" else AUTHORITY.certificate_pem, change))
    mended(installed)


@pytest.mark.parametrize("change", ["unknown curve", "unknown key"])
@pytest.mark.parametrize(("path", "key"), [(TLS_SECRET, "tls.key"), (CA_SECRET, "ca.key")])
def test_a_secret_with_an_odd_key_is_mended(installed: World, path: str, key: str, change: str) -> None:
    put(installed, path, key, changed_key(change))
    mended(installed)


@pytest.mark.parametrize("change", CHANGES)
def test_odd_certificates_in_a_ca_bundle_are_put_right_though_the_ca_is_lost_too(installed: World, change: str) -> None:
    del installed.api.objects[CA_SECRET]
    odd = changed(AUTHORITY.certificate_pem, change)
    for one in SHIPPED:
        configuration = installed.api.get(one.path)
        for webhook in configuration["webhooks"]:
            webhook["clientConfig"]["caBundle"] = base64.b64encode(odd).decode()
        installed.api.put(one.path, configuration)
    mended(installed)


@pytest.mark.parametrize("change", [*CHANGES])
def test_a_server_says_why_it_does_not_serve_with_an_odd_certificate(change: str) -> None:
    problems = check_pair(changed(SERVING, change), SERVING_KEY, NOW)
    # How it is signed is for those who trust it to say.
    assert bool(problems) is (change != "unknown signature")
    assert check_pair(SERVING, changed_key("unknown curve"), NOW)[0].code == "unreadable-key"
