"""An API server that lists generated objects, each with what a real one carries: managedFields, status, our record."""

from __future__ import annotations

import copy
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import orjson

from tests.bench.manifests import MANIFESTS

WEB, GPU_JOB, JOB_SET = MANIFESTS["web Deployment"], MANIFESTS["GPU Job"], MANIFESTS["JobSet"]
SHARES = {"deployments": 0.05, "replicasets": 0.10, "jobs": 0.20, "jobsets": 0.05, "pods": 0.60}
"""Of all objects of a cluster. Pods and ReplicaSets are children; Jobs and JobSets hold GPUs, Deployments serve the web."""

_SERVED = {
    "/apis/apps/v1": [("deployments", "Deployment"), ("replicasets", "ReplicaSet")],
    "/apis/batch/v1": [("jobs", "Job")],
    "/apis/jobset.x-k8s.io/v1alpha2": [("jobsets", "JobSet")],
    "/api/v1": [("pods", "Pod"), ("namespaces", "Namespace")],
}
_FIELDS = {f"f:{name}": {f"f:{inner}": {} for inner in range(12)} for name in ("metadata", "spec", "template", "status")}
_MANAGED = [
    {"manager": manager, "operation": "Update", "time": "2026-11-01T10:00:00Z", "fieldsV1": _FIELDS}
    for manager in ("kubectl-client-side-apply", "kube-controller-manager")
]


def main() -> None:
    total = int(sys.argv[1])
    counts = {plural: int(total * share) for plural, share in SHARES.items()}

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1
        disable_nagle_algorithm = True

        def log_message(self, format: str, *args: object) -> None:
            pass

        def do_GET(self) -> None:
            url = urlsplit(self.path)
            query = {key: values[0] for key, values in parse_qs(url.query).items()}
            body = orjson.dumps(_answer(url.path, query, counts))
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(server.server_address[1], flush=True)
    server.serve_forever()


def _answer(path: str, query: dict[str, str], counts: dict[str, int]) -> dict[str, Any]:
    if path == "/apis":
        groups = [part.split("/")[2:] for part in _SERVED if part.startswith("/apis/")]
        return {"groups": [{"name": group, "versions": [{"version": version}]} for group, version in groups]}
    if path in _SERVED:
        served = _SERVED[path]
        return {"resources": [{"name": name, "kind": kind, "namespaced": True, "verbs": ["list"]} for name, kind in served]}
    plural, start, limit = path.rpartition("/")[2], int(query.get("continue", 0)), int(query.get("limit", 500))
    count = counts.get(plural, 0)
    end = min(count, start + limit)
    metadata: dict[str, Any] = {"resourceVersion": "1"}
    if end < count:
        metadata |= {"continue": str(end), "remainingItemCount": count - end}
    return {"metadata": metadata, "items": list(_items(plural, start, end, counts))}


def _items(plural: str, start: int, end: int, counts: dict[str, int]) -> Iterator[dict[str, Any]]:
    for number in range(start, end):
        if plural == "deployments":
            yield _stored(WEB, plural, number, {"readyReplicas": 3})
        elif plural == "jobs":
            yield _stored(GPU_JOB, plural, number, {"active": 1})
        elif plural == "jobsets":
            yield _stored(JOB_SET, plural, number, {})
        elif plural == "replicasets":
            yield _stored(WEB, plural, number, {"replicas": 3}, ("apps/v1", "Deployment", "deployments"), counts)
        else:
            pod = {**WEB, **WEB["spec"]["template"]}
            yield _stored(pod, plural, number, {"phase": "Running"}, ("batch/v1", "Job", "jobs"), counts)


def _stored(
    manifest: dict[str, Any],
    plural: str,
    number: int,
    status: dict[str, Any],
    owner: tuple[str, str, str] | None = None,
    counts: dict[str, int] | None = None,
) -> dict[str, Any]:
    stored = copy.copy(manifest)
    stored.pop("apiVersion", None)
    stored.pop("kind", None)
    metadata = {
        **manifest["metadata"],
        "name": f"{plural}-{number}",
        "namespace": manifest["metadata"].get("namespace", f"team-{number % 40}"),
        "uid": f"{plural}-0000-0000-{number:012}",
        "creationTimestamp": "2026-11-01T10:00:00Z",
        "managedFields": _MANAGED,
    }
    if owner is not None and counts is not None:
        api_version, kind, of = owner
        uid = f"{of}-0000-0000-{number % max(1, counts[of]):012}"
        metadata["ownerReferences"] = [{"apiVersion": api_version, "kind": kind, "name": "x", "uid": uid, "controller": True}]
    return {**stored, "metadata": metadata, "status": status}


if __name__ == "__main__":
    main()
