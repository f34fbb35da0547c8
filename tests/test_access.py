"""What the roles let us do is what the code asks for: requests as they are really sent, beside the rules of the manifests."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from signalbox.audit.background import ScanSettings, scan_once
from signalbox.audit.kept_scan import read_scan
from signalbox.audit.reports.kinds import OPEN_REPORT, POLICY_REPORT, ReportKind
from signalbox.cluster.journal import JournalWriter
from signalbox.cluster.resources import POLICY_OBJECTS, WATCHED
from signalbox.cluster.watch import ClusterWatch
from signalbox.controller.duties import duties
from signalbox.controller.duty import DutyContext
from signalbox.controller.lease import Election
from signalbox.controller.options import LEASE, NAMESPACE, ControllerOptions
from signalbox.controller.webhooks.shipped import read_shipped
from signalbox.last_good import read_last_good
from signalbox.process.logs import Log
from signalbox.workload.kinds.table import KINDS
from tests.audit_world import SMALL, job
from tests.fake_api_server import FakeApiServer
from tests.policy_samples import exception, install, lab_kind, policy, signs
from tests.world import NOW
from tests.yaml_files import read_all

BASE = Path(__file__).parents[1] / "manifests" / "base"
_PATH = re.compile(
    r"/(?:api/v1|apis/(?P<group>[^/?]+)/[^/?]+)(?:/namespaces/(?P<namespace>[^/?]+))?/(?P<plural>[^/?]+)"
    r"(?:/(?P<name>[^/?]+))?(?:/(?P<part>[^/?]+))?(?:\?(?P<query>.*))?"
)
_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


@dataclass(frozen=True)
class Rule:
    """One verb on one resource; ``namespace`` and ``name`` empty for any."""

    verb: str
    group: str
    resource: str
    namespace: str = ""
    name: str = ""

    def covers(self, asked: Rule) -> bool:
        """As the API server decides it: who makes an object has no name yet."""
        same = (self.verb, self.group, self.resource) == (asked.verb, asked.group, asked.resource)
        named = not self.name or (self.name == asked.name and asked.verb != "create")
        return same and self.namespace in ("", asked.namespace) and named


def granted(account: str) -> set[Rule]:
    """Everything that the base gives a ServiceAccount."""
    documents = [one for file in sorted(BASE.glob("*.yaml")) for one in read_all(file)]
    roles = {(one["kind"], one["metadata"]["name"]): one for one in documents if one["kind"] in ("Role", "ClusterRole")}
    found = set()
    for binding in documents:
        if binding["kind"] not in ("RoleBinding", "ClusterRoleBinding"):
            continue
        if all(subject["name"] != account for subject in binding["subjects"]):
            continue
        namespace = binding["metadata"]["namespace"] if binding["kind"] == "RoleBinding" else ""
        for rule in roles[binding["roleRef"]["kind"], binding["roleRef"]["name"]]["rules"]:
            for group in rule["apiGroups"]:
                for resource in rule["resources"]:
                    for verb in rule["verbs"]:
                        found |= {
                            Rule(verb, group, resource, namespace, name) for name in rule.get("resourceNames", [""]) or [""]
                        }
    return found


def asked(fake: FakeApiServer) -> set[Rule]:
    """Everything that was asked of the API server."""
    return {rule for verb, path in fake.requests if (rule := _rule_of(verb, path)) is not None}


def _rule_of(verb: str, path: str) -> Rule | None:
    found = _PATH.fullmatch(path)
    if found is None:
        # Which groups and kinds there are: everybody may ask.
        assert re.fullmatch(r"/apis?|/api/v1|/apis/[^/]+/[^/]+|/version", path), path
        return None
    word = _VERBS.get(verb) or ("get" if found["name"] else "watch" if "watch=" in (found["query"] or "") else "list")
    resource = found["plural"] + (f"/{found['part']}" if found["part"] else "")
    return Rule(word, found["group"] or "", resource, found["namespace"] or "", found["name"] or "")


def install_everything(fake: FakeApiServer) -> None:
    install(fake)
    for one in WATCHED:
        fake.install(one.group, one.versions[0], one.plural, one.kind, one.namespaced)
    for kind in KINDS.values():
        if not any((one.group, one.name) == (kind.group, kind.kind) for one in fake.kinds.values()):
            fake.install(kind.group, "v1", f"{kind.kind.lower()}s", kind.kind)


@pytest.fixture
def fake() -> Iterator[FakeApiServer]:
    with FakeApiServer() as started:
        install_everything(started)
        for one in read_shipped():
            body: dict[str, Any] = {"metadata": {"name": one.name}, "webhooks": list(one.webhooks)}
            started.put({"apiVersion": "admissionregistration.k8s.io/v1", "kind": one.kind, **body})
        yield started


def run_the_controller(fake: FakeApiServer, tmp_path: Path) -> None:
    """Everything it ever does: installed, at work, mending what was deleted, handing over."""
    options = ControllerOptions(scan_minutes=0, settle_seconds=0)
    context = DutyContext(fake.api(), options, Log("error"), CollectorRegistry(), lambda: True, threading.Event())
    every = duties(context)
    fake.put(policy())
    seconds = 0.0
    election = Election(fake.api(), NAMESPACE, LEASE, "one", 15.0, monotonic=lambda: seconds)
    for _ in range(2):
        election.tick()
        for duty in every:
            duty.run(NOW)
    fake.remove("Secret", "signalbox-tls", NAMESPACE)
    fake.remove("Secret", "signalbox-ca", NAMESPACE)
    for obj in (policy("other"), exception(), signs("mine", "spell", "training"), lab_kind()):
        fake.put(obj)
    # Later, the serving certificate ends, and then the CA.
    for days in (0, 70, 5 * 365):
        for duty in every:
            duty.run(NOW + timedelta(days=days))
    election.release()
    file = tmp_path / "policies.yaml"
    file.write_text(SMALL)
    settings = ScanSettings(NAMESPACE, policies=(str(file),))
    for kind in (OPEN_REPORT, POLICY_REPORT):
        _scan_thrice(fake, kind, settings)
    # What its pages show.
    assert read_scan(fake.api(), NAMESPACE)
    file.write_text("kind: [")
    scan_once(fake.api(), settings, NOW)


def _scan_thrice(fake: FakeApiServer, kind: ReportKind, settings: ScanSettings) -> None:
    """A finding is new, is another one, and is gone."""
    fake.install(kind.group, kind.version, kind.plural, kind.kind)
    fake.put(job("big"))
    scan_once(fake.api(), settings, NOW)
    fake.put(job("big", 32))
    scan_once(fake.api(), settings, NOW)
    fake.remove("Job", "big", "research")
    scan_once(fake.api(), settings, NOW)
    fake.uninstall(kind.group, kind.version, kind.plural)


def run_the_server(fake: FakeApiServer, tmp_path: Path) -> None:
    """What the watching process and the pages ask; the serving process itself asks nothing."""
    read_last_good(fake.api(), NAMESPACE)
    read_scan(fake.api(), NAMESPACE)
    ended = threading.Event()
    journal = JournalWriter(tmp_path / "journal")
    watch = ClusterWatch(fake.api(), (*POLICY_OBJECTS, *WATCHED), journal, Log("error"), ended.wait)
    watch.start()
    wanted = len(POLICY_OBJECTS) + len(WATCHED)
    for _ in range(500):
        if sum(rule.verb == "watch" for rule in asked(fake)) >= wanted:
            break
        ended.wait(0.02)
    ended.set()


@pytest.mark.parametrize(
    ("account", "run"),
    [("signalbox-controller", run_the_controller), ("signalbox", run_the_server)],
    ids=["controller", "server"],
)
def test_the_roles_allow_what_is_asked_and_nothing_else(
    fake: FakeApiServer, tmp_path: Path, account: str, run: Callable[[FakeApiServer, Path], None]
) -> None:
    run(fake, tmp_path)
    rules, sent = granted(account), asked(fake)
    missing = [one for one in sent if not any(rule.covers(one) for rule in rules)]
    assert missing == [], "asked, but not allowed"
    unused = [rule for rule in rules if not any(rule.covers(one) for one in sent)]
    assert unused == [], "allowed, but never asked"
