"""Definitions of report objects with the fields and words that their own schemas allow: what is not in them is pruned."""

from __future__ import annotations

from .cluster import Cluster
from .custom_kinds import definition
from .objects import Manifest
from .waiting import eventually

TEXT: Manifest = {"type": "string"}
NUMBER: Manifest = {"type": "integer"}
_REFERENCE = {"type": "object", "properties": dict.fromkeys(("apiVersion", "kind", "name", "namespace", "uid"), TEXT)}
_RESULT = {
    "type": "object",
    "required": ["policy"],
    "properties": {
        **dict.fromkeys(("source", "policy", "rule", "category", "message"), TEXT),
        "severity": {**TEXT, "enum": ["critical", "high", "low", "medium", "info"]},
        "result": {**TEXT, "enum": ["pass", "fail", "warn", "error", "skip"]},
        "scored": {"type": "boolean"},
        "timestamp": {"type": "object", "required": ["seconds", "nanos"], "properties": {"seconds": NUMBER, "nanos": NUMBER}},
        "properties": {"type": "object", "additionalProperties": TEXT},
    },
}


def report_definition(group: str, version: str, kind: str) -> Manifest:
    """A strict definition of a report kind."""
    found = definition(group, version, kind)
    properties = {
        "scope": _REFERENCE,
        "summary": {"type": "object", "properties": dict.fromkeys(("pass", "fail", "warn", "error", "skip"), NUMBER)},
        "results": {"type": "array", "items": _RESULT},
        **({"source": TEXT} if kind == "Report" else {}),
    }
    found["spec"]["versions"][0]["schema"] = {"openAPIV3Schema": {"type": "object", "properties": properties}}
    return found


def define_reports(cluster: Cluster, group: str, version: str, kind: str) -> None:
    """Install one and wait until it is served."""
    made = report_definition(group, version, kind)
    assert cluster.kubectl.apply(made).code == 0
    cluster.kubectl("wait", f"crd/{made['metadata']['name']}", "--for=condition=Established", "--timeout=60s")
    path = f"/apis/{group}/{version}/{kind.lower()}s"
    eventually(lambda: cluster.kubectl.run("get", "--raw", path).code == 0, f"{kind} is served")


def remove_reports(cluster: Cluster, group: str, kind: str) -> None:
    """Take it out again, with all reports."""
    cluster.kubectl("delete", "crd", f"{kind.lower()}s.{group}", "--ignore-not-found", "--timeout=60s")
