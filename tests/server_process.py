"""A real webhook process for tests, with judges a test can steer. Run as a script it *is* that process."""

import http.client
import json
import os
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from signalbox.certs.issue import issue_development


def wait_for(what: Callable[[], Any], seconds: float = 30.0) -> Any:
    """What the callable says once it says something true; an AssertionError after the deadline."""
    deadline = time.monotonic() + seconds
    while not (result := what()):
        assert time.monotonic() < deadline, f"not within {seconds} s"
        time.sleep(0.01)
    return result


def review(uid: str = "u-1", operation: str = "CREATE", **annotations: str) -> dict[str, Any]:
    """An AdmissionReview of a Job; the annotations tell the judges below what to do."""
    return {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": uid,
            "operation": operation,
            "kind": {"group": "batch", "version": "v1", "kind": "Job"},
            "namespace": "team-a",
            "userInfo": {"username": "ann", "groups": ["system:authenticated"]},
            "object": {
                "metadata": {"name": "train", "annotations": annotations},
                "spec": {"env": "s3cr3t-value"},
            },
        },
    }


class Webhook:
    """The running process: how to reach it and what it logged."""

    def __init__(self, process: "subprocess.Popen[bytes]", folder: Path) -> None:
        self.process = process
        self.folder = folder
        self.takes_any_certificate = False
        self.lines: list[dict[str, Any]] = []
        self.raw: list[str] = []
        threading.Thread(target=self._read, daemon=True).start()
        started = wait_for(lambda: self.logged("serving") or (process.poll() is not None and [{}]))[0]
        assert started, "".join(self.raw)
        self.port: int = started["port"]
        self.metrics_port: int = started["metricsPort"]

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.raw.append(line.decode())
            if line.startswith(b"{"):
                self.lines.append(json.loads(line))

    def logged(self, event: str) -> list[dict[str, Any]]:
        """The log lines of one event so far."""
        return [line for line in self.lines if line["event"] == event]

    def context(self) -> ssl.SSLContext:
        """TLS that trusts the CA of this process's folder."""
        context = ssl.create_default_context(cafile=str(self.folder / "ca.crt"))
        if self.takes_any_certificate:
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        return context

    def connect(self) -> http.client.HTTPSConnection:
        """A connection of one's own."""
        return http.client.HTTPSConnection("localhost", self.port, timeout=10, context=self.context())

    def raw_connection(self) -> ssl.SSLSocket:
        """A TLS socket, for what no HTTP library would send."""
        plain = socket.create_connection(("127.0.0.1", self.port), timeout=10)
        return self.context().wrap_socket(plain, server_hostname="localhost")

    def request(
        self, method: str, path: str, body: bytes | None = None, **headers: str
    ) -> tuple[http.client.HTTPResponse, bytes]:
        """One request on a new connection."""
        connection = self.connect()
        try:
            connection.request(method, path, body, {key.replace("_", "-"): value for key, value in headers.items()})
            response = connection.getresponse()
            return response, response.read()
        finally:
            connection.close()

    def post(self, path: str, body: Any) -> tuple[int, bytes]:
        """POST a body (bytes as they are, anything else as JSON) as the API server would."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        response, text = self.request("POST", path, data, Content_Type="application/json")
        return response.status, text

    def judge(self, path: str = "/validate", **annotations: str) -> dict[str, Any]:
        """The response to a review."""
        status, text = self.post(path, review(**annotations))
        assert status == 200, text
        answer: dict[str, Any] = json.loads(text)["response"]
        return answer

    def readyz(self) -> dict[str, Any]:
        """The verbose readiness."""
        state: dict[str, Any] = json.loads(self.request("GET", "/readyz?verbose")[1])
        return state

    def metrics(self) -> str:
        """The text of /metrics."""
        connection = http.client.HTTPConnection("127.0.0.1", self.metrics_port, timeout=10)
        connection.request("GET", "/metrics")
        return connection.getresponse().read().decode()


def command(folder: Path, **options: Any) -> list[str]:
    """The command line of this script."""
    return [sys.executable, __file__, str(folder), json.dumps(options)]


def environment(folder: Path) -> dict[str, str]:
    """The child imports what we import, installed or not, and leaves nothing outside its folder."""
    path = os.pathsep.join(entry for entry in sys.path if entry)
    return {**os.environ, "PYTHONPATH": path, "TMPDIR": str(folder)}


@contextmanager
def running(folder: Path, **options: Any) -> Iterator[Webhook]:
    """A webhook whose certificates and policies are in a folder; ended afterwards."""
    (folder / "policies").mkdir(exist_ok=True)
    if not (folder / "tls.crt").exists():
        issue_development(folder, ["localhost", "127.0.0.1"], 30, datetime.now(UTC))
    with ended_afterwards(folder, command(folder, **options), environment(folder)) as webhook:
        yield webhook


@contextmanager
def ended_afterwards(folder: Path, command: list[str], variables: dict[str, str]) -> Iterator[Webhook]:
    """A webhook that is started by this command."""
    process = subprocess.Popen(command, stderr=subprocess.PIPE, env=variables)
    try:
        yield Webhook(process, folder)
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        assert process.stderr is not None
        process.stderr.close()


def main() -> int:
    """Serve with policies that are one word a file; the word ``bad`` is a problem, ``old`` is warned of."""
    from signalbox.finding import Finding, Result
    from signalbox.policy.mode import Mode
    from signalbox.review import Response
    from signalbox.server.options import ServerOptions
    from signalbox.server.serve import run_server
    from signalbox.server.source import LoadResult

    folder = Path(sys.argv[1])
    policies = folder / "policies"

    class Outcome:
        def __init__(self, response: Response, findings: tuple[Finding, ...] = ()) -> None:
            self.response, self.findings, self.errors = response, findings, ()

    class Words:
        def last_good(self) -> None:
            return None

        def beside(self, live: object) -> "Words":
            return self

        def read(self) -> dict[str, str]:
            return {path.name: path.read_text().strip() for path in sorted(policies.glob("*.txt"))}

        def load(self, files: dict[str, str]) -> LoadResult:
            good = tuple(word for word in files.values() if word != "bad")
            problems = tuple(f"{name}:1:1: bad word" for name, word in files.items() if word == "bad")
            warnings = tuple(f"{name}:1:1: warning: old" for name, word in files.items() if word == "old")
            left_out = tuple(name for name, word in files.items() if word == "bad")
            return LoadResult(good, problems, good, (), warnings, left_out, "+".join(good))  # type: ignore[arg-type]

    def judge(setup: Any, request: Any, now: datetime) -> Outcome:
        wish = request.object["metadata"]["annotations"]
        if "crash" in wish:
            raise KeyError("s3cr3t-value")
        if "hold" in wish:
            (folder / f"held-{request.uid}").touch()
            wait_for((folder / "release").exists)
        if "refuse" in wish:
            finding = Finding("research/restartable", "checkpoint", Mode.ENFORCE, Result.FAIL, "no checkpoint")
            return Outcome(Response(request.uid, allowed=False, message="no checkpoint"), (finding,))
        if "deep" in wish:
            deep: list[Any] = []
            for _ in range(400):
                deep = [deep]
            return Outcome(Response(request.uid, patch=({"op": "add", "path": "/x", "value": deep},)))
        return Outcome(Response(request.uid, warnings=(f"pid {os.getpid()}", " ".join(setup))))

    given = {
        "certificate": folder / "tls.crt",
        "key": folder / "tls.key",
        "watch": (policies,),
        "address": "127.0.0.1",
        "port": 0,
        "metrics_port": 0,
        "drain_seconds": 0.0,
        "poll_seconds": 0.05,
        **json.loads(sys.argv[2]),
    }
    given["watch"] = tuple(Path(path) for path in given["watch"])
    return run_server(ServerOptions(**given), Words(), judge, judge)  # type: ignore[arg-type]


if __name__ == "__main__":
    sys.exit(main())
