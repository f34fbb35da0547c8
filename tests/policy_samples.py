"""Policies as objects of a cluster, small, and varied by a test in what it is about."""

from __future__ import annotations

from typing import Any

from signalbox.configuration import SetupFiles
from signalbox.manifests import FileBytes, PathBytes
from signalbox.policy.documents import API_VERSION
from signalbox.policy.match_document import MatchDocument
from signalbox.policy.resources import GROUP, PLURALS, VERSION

from .fake_api_server import FakeApiServer

JsonObject = dict[str, Any]
# Every key of the match vocabulary, as it is written.
MATCH_KEYS = tuple(field.alias or name for name, field in MatchDocument.model_fields.items())


def policy(name: str = "research", *, rule: str = "small", mode: str = "enforce", **spec: Any) -> JsonObject:
    """A policy of one rule, as `kubectl get -o json` shows it."""
    rules = [{"name": rule, "cel": "workload.pods <= 2", "message": "too many Pods", "mode": mode}]
    return _object("WorkloadPolicy", name, {"rules": rules, **spec})


def exception(name: str = "legacy", *rules: str, until: str = "2027-12-31") -> JsonObject:
    """An exception to some rules."""
    told = {"match": {"namespaces": ["old"]}, "until": until, "reason": "moves soon", "approvedBy": "ann"}
    return _object("PolicyException", name, {"rules": list(rules) or ["research/small"], **told})


def signs(name: str, word: str, kind: str) -> JsonObject:
    """Signs of one word for one type."""
    return _object("WorkloadSigns", name, {"types": [{"type": kind, "reason": "we say so", "commands": [word]}]})


def lab_kind(name: str = "lab-run", kind: str = "LabRun") -> JsonObject:
    """A kind of one's own."""
    return _object("WorkloadKind", name, {"group": "lab.example.com", "kind": kind, "templates": [{"path": "spec.template"}]})


def files(*documents: str, name: str = "policies/all.yaml") -> SetupFiles:
    """A folder of one file with these documents."""
    return SetupFiles((PathBytes("policies", (FileBytes(name, "---\n".join(documents).encode()),)),))


def install(fake: FakeApiServer) -> FakeApiServer:
    """Make the four kinds known."""
    for kind, plural in PLURALS.items():
        fake.install(GROUP, VERSION, plural, kind, namespaced=False)
    return fake


def _object(kind: str, name: str, spec: JsonObject) -> JsonObject:
    added = {"uid": "u-1", "generation": 3, "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}"}}
    return {"apiVersion": API_VERSION, "kind": kind, "metadata": {"name": name, **added}, "spec": spec}
