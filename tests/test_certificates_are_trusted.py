"""Whatever happens to Secrets, configurations, leaders and time: no moment at which a served certificate is not trusted."""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from cryptography import x509
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from signalbox.certs.authority import issue_server, new_authority
from signalbox.controller.certificates.state import certificates_of
from tests.certificate_world import CA_SECRET, NAMES, SHIPPED, TLS_SECRET, World, assert_sound, trusted

SECRETS = [CA_SECRET, TLS_SECRET]
Operation = tuple[str, Any]
OPERATIONS = st.one_of(
    st.tuples(st.just("wait"), st.sampled_from([1, 2, 5, 20, 45, 3600, 86_400, 20 * 86_400])),
    st.tuples(st.just("wait"), st.just(45)),
    st.tuples(st.just("delete"), st.sampled_from(SECRETS)),
    st.tuples(
        st.just("mangle"), st.tuples(st.sampled_from([CA_SECRET, TLS_SECRET]), st.sampled_from(["crt", "key", "bundle"]))
    ),
    st.tuples(st.just("leader"), st.none()),
    st.tuples(st.just("reinstall"), st.sampled_from([0, 1])),
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


# A CA that signed what some replica serves still, and many after it.
@example([*[("delete", CA_SECRET)] * 4, ("wait", 45), *[("delete", CA_SECRET)] * 10], False)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(OPERATIONS, max_size=15), st.booleans())
def test_whatever_happens_what_is_served_is_trusted_by_every_api_server(operations: list[Operation], is_due: bool) -> None:
    world = World()
    watched = Watched(world)
    if is_due:
        _install_old(world)
    else:
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


def _install_old(world: World) -> None:
    """An installation of four years ago: its CA is due."""
    old = new_authority("old", world.now - timedelta(days=4 * 365 + 1), timedelta(days=5 * 365))
    certificate, key = issue_server(old, NAMES, world.now - timedelta(days=1), timedelta(days=90))
    world.put_pair(CA_SECRET, "ca", old.certificate_pem, old.key_pem, bundle_crt=old.certificate_pem)
    world.set_bundles(old.certificate_pem)
    world.put_pair(TLS_SECRET, "tls", certificate, key)
