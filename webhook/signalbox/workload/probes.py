"""The probe by which a container is asked whether it answers: what serves has one, and what only reports on its work."""

from typing import Any

from signalbox.fieldpath import Path
from signalbox.review import JsonObject
from signalbox.workload.judgement import Evidence
from signalbox.workload.kinds.kind import members, scalar
from signalbox.workload.signs import Signs

PROBES = ("readinessProbe", "livenessProbe", "startupProbe")
METRICS_PORTS = ("metrics", "http-metrics", "prometheus", "prom")
MAX_PORTS = 256
"""Of a container with more ports not all are read."""


def find_probe(body: JsonObject, path: Path, signs: Signs) -> Evidence | None:
    """The probe by which requests of a kind that a service answers are sent to the container at ``path``."""
    for kind in PROBES:
        probe = body.get(kind)
        if type(probe) is not dict:
            continue
        for how in ("httpGet", "grpc"):
            action = probe.get(how)
            if isinstance(action, dict) and not asks_for_metrics(action, body, signs):
                text = f"{scalar(action.get('path'))} on port {scalar(action.get('port'))}".strip()
                return Evidence((*path, kind, how), text)
    return None


def asks_for_metrics(action: dict[str, Any], body: JsonObject, signs: Signs) -> bool:
    """Whether a probe asks what reports on the work, which whatever runs may do."""
    port = action.get("port")
    if action.get("path") == "/metrics":
        return True
    if isinstance(port, int):
        entries = members(body.get("ports"))[:MAX_PORTS]
        named = next((entry for entry in entries if isinstance(entry, dict) and entry.get("containerPort") == port), {})
        return port in signs.ports.rendezvous or named.get("name") in METRICS_PORTS
    return isinstance(port, str) and port in METRICS_PORTS
