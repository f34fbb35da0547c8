"""An API server for the fast suite: objects in memory behind HTTP on loopback, with paging, watches and faults on demand.

It knows no validation and no admission; what Kubernetes does with an object is shown in tests/e2e, on a real one.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from kubernetes.client import Configuration

from signalbox.apiserver.connection import ApiServer

JsonObject = dict[str, Any]
_PATH = re.compile(
    r"/(?:api/(?P<core>v1)|apis/(?P<group>[^/]+)/(?P<version>[^/]+))(?:/namespaces/(?P<namespace>[^/]+))?/(?P<rest>.+)"
)
# group, version, plural, kind, namespaced
_BUILT_IN = (
    ("", "v1", "namespaces", "Namespace", False),
    ("", "v1", "pods", "Pod", True),
    ("", "v1", "configmaps", "ConfigMap", True),
    ("", "v1", "secrets", "Secret", True),
    ("", "v1", "resourcequotas", "ResourceQuota", True),
    ("apps", "v1", "deployments", "Deployment", True),
    ("apps", "v1", "replicasets", "ReplicaSet", True),
    ("batch", "v1", "jobs", "Job", True),
    ("batch", "v1", "cronjobs", "CronJob", True),
    ("coordination.k8s.io", "v1", "leases", "Lease", True),
    ("scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass", False),
    ("admissionregistration.k8s.io", "v1", "mutatingwebhookconfigurations", "MutatingWebhookConfiguration", False),
    ("admissionregistration.k8s.io", "v1", "validatingwebhookconfigurations", "ValidatingWebhookConfiguration", False),
)


@dataclass
class Fault:
    """An answer given instead of the right one, so many times, to requests whose verb and path (with query) match."""

    status: int
    times: int
    path: str = ""
    verb: str = ""
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Kind:
    group: str
    version: str
    plural: str
    name: str
    namespaced: bool

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version


class FakeApiServer:
    """`with FakeApiServer() as fake:` then `fake.api()` is a connection to it. All attributes may be used from any thread."""

    def __init__(self) -> None:
        self.kinds: dict[tuple[str, str, str], Kind] = {}
        for one in _BUILT_IN:
            self.install(*one)
        self.faults: list[Fault] = []
        self.requests: list[tuple[str, str]] = []
        self.condition = threading.Condition()
        self.version = 100
        # Watches of versions up to this one are told that it is too old.
        self.forgotten = 0
        self.objects: dict[tuple[Kind, str, str], JsonObject] = {}
        self.history: list[tuple[int, str, Kind, JsonObject]] = []
        self.dropped = 0
        self.running = threading.Event()
        self.running.set()
        server = self

        class Handler(_Handler):
            fake = server

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)

    def __enter__(self) -> FakeApiServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.running.set()
        self._server.shutdown()
        self.drop_watches()
        self._server.server_close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def api(self, per_second: float | None = None) -> ApiServer:
        """A connection that does not wait between tries."""
        return ApiServer(Configuration(host=self.url), per_second=per_second, sleep=lambda _: None)

    def install(self, group: str, version: str, plural: str, kind: str, namespaced: bool = True) -> None:
        """Make a kind known, as a CustomResourceDefinition does."""
        self.kinds[group, version, plural] = Kind(group, version, plural, kind, namespaced)

    def uninstall(self, group: str, version: str, plural: str) -> None:
        del self.kinds[group, version, plural]

    def fail(self, status: int, times: int = 1, path: str = "", verb: str = "", **headers: str) -> None:
        """Answer the next matching requests with that status."""
        self.faults.append(Fault(status, times, path, verb, {key.replace("_", "-"): value for key, value in headers.items()}))

    @contextmanager
    def paused(self) -> Iterator[None]:
        """No request is answered meanwhile."""
        self.running.clear()
        try:
            yield
        finally:
            self.running.set()

    def put(self, obj: JsonObject) -> JsonObject:
        """Store an object as it stands, made or replaced, behind the back of everybody."""
        group, _, version = obj["apiVersion"].rpartition("/")
        kind = next(one for one in self.kinds.values() if (one.group, one.version, one.name) == (group, version, obj["kind"]))
        namespace = obj["metadata"].get("namespace") or ("default" if kind.namespaced else "")
        with self.condition:
            return self.store(kind, namespace, obj["metadata"]["name"], obj)

    def remove(self, kind: str, name: str, namespace: str = "") -> None:
        with self.condition:
            found = next(key for key in self.objects if (key[0].name, key[1], key[2]) == (kind, namespace, name))
            self.erase(found)

    def object(self, kind: str, name: str, namespace: str = "") -> JsonObject | None:
        """What is stored now; None where there is nothing."""
        with self.condition:
            found = [value for key, value in self.objects.items() if (key[0].name, key[1], key[2]) == (kind, namespace, name)]
        return found[0] if found else None

    def forget_history(self) -> None:
        """From now on every older resourceVersion is expired, and running watches end with that word."""
        with self.condition:
            self.version += 1
            self.forgotten = self.version
            self.condition.notify_all()

    def drop_watches(self) -> None:
        """Cut every watch off in the middle."""
        with self.condition:
            self.dropped += 1
            self.condition.notify_all()

    def count(self, verb: str, path: str) -> int:
        """How many requests of that verb went to a path that holds this text."""
        return sum(one == verb and path in where for one, where in list(self.requests))

    def store(self, kind: Kind, namespace: str, name: str, obj: JsonObject) -> JsonObject:
        key = (kind, namespace, name)
        self.version += 1
        old = self.objects.get(key)
        metadata = {**obj.get("metadata", {}), "name": name, "resourceVersion": str(self.version)}
        metadata["uid"] = old["metadata"]["uid"] if old else metadata.get("uid") or f"uid-{self.version}"
        if kind.namespaced:
            metadata["namespace"] = namespace
        stored = {**obj, "apiVersion": kind.api_version, "kind": kind.name, "metadata": metadata}
        self.objects[key] = stored
        self._tell("MODIFIED" if old else "ADDED", kind, stored)
        return stored

    def erase(self, key: tuple[Kind, str, str]) -> JsonObject:
        self.version += 1
        gone = self.objects.pop(key)
        self._tell("DELETED", key[0], gone)
        return gone

    def _tell(self, what: str, kind: Kind, obj: JsonObject) -> None:
        self.history.append((self.version, what, kind, obj))
        self.condition.notify_all()


class _Handler(BaseHTTPRequestHandler):
    fake: FakeApiServer
    protocol_version = "HTTP/1.1"
    # Without it an answer waits for the client to acknowledge its headers.
    wbufsize = -1
    disable_nagle_algorithm = True

    def log_message(self, format: str, *args: object) -> None:
        pass

    def do_GET(self) -> None:
        self._answer("GET")

    def do_POST(self) -> None:
        self._answer("POST")

    def do_PUT(self) -> None:
        self._answer("PUT")

    def do_PATCH(self) -> None:
        self._answer("PATCH")

    def do_DELETE(self) -> None:
        self._answer("DELETE")

    def _answer(self, verb: str) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(length)) if length else None
        fake = self.fake
        fake.requests.append((verb, self.path))
        fake.running.wait()
        for fault in fake.faults:
            if fault.times and fault.verb in ("", verb) and fault.path in self.path:
                fault.times -= 1
                self._status(fault.status, "Fault", "as the test wants it", fault.headers)
                return
        url = urlsplit(self.path)
        query = {key: values[0] for key, values in parse_qs(url.query).items()}
        if url.path in ("/api", "/apis") or re.fullmatch(r"/api/v1|/apis/[^/]+/[^/]+", url.path):
            self._discover(url.path)
            return
        found = _PATH.fullmatch(url.path)
        parts = found["rest"].split("/") if found else []
        kind = fake.kinds.get((found["group"] or "", found["version"] or "v1", parts[0])) if found else None
        if found is None or kind is None:
            self._status(404, "NotFound", "the server could not find the requested resource")
            return
        namespace, name = found["namespace"] or "", parts[1] if len(parts) > 1 else ""
        if not name and verb == "GET":
            if query.get("watch") == "true":
                self._watch(kind, namespace, query)
            else:
                self._list(kind, namespace, query)
            return
        with fake.condition:
            self._one(verb, kind, namespace, name, parts[2] if len(parts) > 2 else "", body)

    def _one(self, verb: str, kind: Kind, namespace: str, name: str, part: str, body: Any) -> None:
        fake = self.fake
        if verb == "POST":
            name = body["metadata"].get("name") or f"{body['metadata']['generateName']}{fake.version}"
            if (kind, namespace, name) in fake.objects:
                self._status(409, "AlreadyExists", f'{kind.plural} "{name}" already exists')
                return
            self._send(201, fake.store(kind, namespace, name, body))
            return
        old = fake.objects.get((kind, namespace, name))
        if old is None:
            if verb == "PATCH" and "apply" in (self.headers.get("Content-Type") or ""):
                self._send(201, fake.store(kind, namespace, name, body))
            else:
                self._status(404, "NotFound", f'{kind.plural} "{name}" not found')
        elif verb == "GET":
            self._send(200, old)
        elif verb == "DELETE":
            self._send(200, fake.erase((kind, namespace, name)))
        else:
            changed = body if verb == "PUT" else _merged(old, body, self.headers.get("Content-Type") or "")
            # A JSON patch may set it too, and is then refused like any other write of something older.
            version = (changed.get("metadata") or {}).get("resourceVersion")
            if version and version != old["metadata"]["resourceVersion"]:
                text = f'Operation cannot be fulfilled on {kind.plural} "{name}": the object has been modified'
                self._status(409, "Conflict", text)
                return
            # As with a real one: the main resource keeps its status, the status subresource keeps all else.
            if part == "status":
                changed = {**old, "status": changed.get("status")}
            self._send(200, fake.store(kind, namespace, name, changed))

    def _list(self, kind: Kind, namespace: str, query: dict[str, str]) -> None:
        fake = self.fake
        with fake.condition:
            every = [
                value for key, value in sorted(fake.objects.items(), key=_key) if key[0] is kind and namespace in ("", key[1])
            ]
            version = str(fake.version)
        start = int(query.get("continue") or 0)
        limit = int(query.get("limit") or 0) or len(every) + 1
        metadata: JsonObject = {"resourceVersion": version}
        if len(every) > start + limit:
            metadata |= {"continue": str(start + limit), "remainingItemCount": len(every) - start - limit}
        items = [{key: value for key, value in one.items() if key not in ("apiVersion", "kind")} for one in every]
        listed = {"kind": f"{kind.name}List", "apiVersion": kind.api_version, "metadata": metadata}
        self._send(200, {**listed, "items": items[start : start + limit]})

    def _watch(self, kind: Kind, namespace: str, query: dict[str, str]) -> None:
        fake = self.fake
        seen = int(query.get("resourceVersion") or 0)
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.close_connection = True
        dropped = fake.dropped
        try:
            while True:
                with fake.condition:
                    expired = seen < fake.forgotten
                    events = [] if expired else [one for one in fake.history if one[0] > seen]
                    if not events and not expired:
                        fake.condition.wait(5)
                    if fake.dropped != dropped:
                        return
                if expired:
                    self._event(
                        "ERROR", {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old resource version"}
                    )
                    self.wfile.write(b"0\r\n\r\n")
                    return
                for number, what, one, obj in events:
                    seen = number
                    if one is kind and namespace in ("", obj["metadata"].get("namespace")):
                        self._event(what, obj)
        except (BrokenPipeError, ConnectionResetError):
            return

    def _event(self, what: str, obj: JsonObject) -> None:
        line = json.dumps({"type": what, "object": obj}).encode() + b"\n"
        self.wfile.write(f"{len(line):x}\r\n".encode() + line + b"\r\n")
        self.wfile.flush()

    def _discover(self, path: str) -> None:
        kinds = self.fake.kinds.values()
        if path == "/api":
            self._send(200, {"versions": ["v1"]})
        elif path == "/apis":
            groups: dict[str, list[JsonObject]] = {}
            for one in kinds:
                version = {"groupVersion": one.api_version, "version": one.version}
                if one.group and version not in groups.setdefault(one.group, []):
                    groups[one.group].append(version)
            self._send(200, {"groups": [{"name": name, "versions": found} for name, found in groups.items()]})
        else:
            wanted = path.removeprefix("/apis/").removeprefix("/api/")
            resources = [
                {"name": one.plural, "kind": one.name, "namespaced": one.namespaced, "verbs": ["get", "list", "watch"]}
                for one in kinds
                if one.api_version == wanted
            ]
            if resources:
                self._send(200, {"groupVersion": wanted, "resources": resources})
            else:
                self._status(404, "NotFound", "the server could not find the requested resource")

    def _status(self, code: int, reason: str, message: str, headers: dict[str, str] | None = None) -> None:
        self._send(code, {"kind": "Status", "code": code, "reason": reason, "message": message}, headers)

    def _send(self, code: int, answer: JsonObject, headers: dict[str, str] | None = None) -> None:
        body = json.dumps(answer).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


def _key(item: tuple[tuple[Kind, str, str], JsonObject]) -> tuple[str, str]:
    (_, namespace, name), _ = item
    return namespace, name


def _merged(old: Any, patch: Any, content_type: str) -> Any:
    if "json-patch+json" in content_type:
        import jsonpatch

        return jsonpatch.apply_patch(old, patch)
    if not isinstance(patch, dict):
        return patch
    merged = dict(old) if isinstance(old, dict) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = _merged(merged.get(key), value, "")
    return merged
