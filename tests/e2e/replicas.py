"""Several replicas of `signalbox serve` behind one address, as a Service has them, and people who apply all the time."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import os
import signal
import ssl
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .api import Api, ApiError
from .objects import Manifest, job, template
from .processes import Process, free_ports
from .waiting import eventually
from .webhook import EXAMPLE, ROOT, SIGNALBOX, Webhook

_PROBE_SECONDS = 0.2
_PIECE = 64 * 1024
_CONFIGURATIONS = {"mutatingwebhookconfigurations": "00-signalbox", "validatingwebhookconfigurations": "signalbox"}
_APPLY = "application/apply-patch+yaml"


class Replica:
    """One `signalbox serve`, or the same with a fault put in (see faulty.py)."""

    def __init__(self, webhook: Webhook, name: str, *, policies: Path | None = None, fault: str = "") -> None:
        self._webhook, self._name, self._fault = webhook, name, fault
        self._policies = policies or webhook.policies
        self._flag = webhook.cluster.folder / f"{name}.broken"
        self.port, self.metrics_port = free_ports(2)
        self._process: Process | None = None

    def start(self) -> None:
        """Start it and wait until it is ready."""
        program: list[str | Path] = [SIGNALBOX]
        if self._fault:
            program = [sys.executable, "-m", "tests.e2e.faulty", self._fault, self._flag]
        command = [
            *program,
            "serve",
            *("--cert", self._webhook.certificates / "tls.crt"),
            *("--key", self._webhook.certificates / "tls.key"),
            *("--policies", self._policies),
            *("--cluster", self._webhook.tree / "manifests" / EXAMPLE),
            *("--address", "127.0.0.1", "--port", str(self.port), "--metrics-port", str(self.metrics_port)),
            *("--drain-seconds", "1"),
        ]
        path = os.pathsep.join([*filter(None, [os.environ.get("PYTHONPATH")]), str(ROOT)])
        processes = self._webhook.cluster.processes
        self._process = processes.start(self._name, command, {"PYTHONPATH": path}, orphaned=signal.SIGTERM)
        eventually(lambda: self._checked() and is_ready(self.port), f"{self._name} is ready")

    def _checked(self) -> bool:
        assert self._process is not None
        self._process.check()
        return True

    @property
    def pid(self) -> int:
        """Its main process."""
        assert self._process is not None
        return self._process.pid

    @property
    def log(self) -> Path:
        """What it wrote."""
        assert self._process is not None
        return self._process.log

    def break_now(self) -> None:
        """From here on its fault shows."""
        self._flag.touch()

    def terminate(self) -> None:
        """SIGTERM, and wait for its end."""
        assert self._process is not None
        self._process.stop(30.0)

    def kill(self) -> None:
        """SIGKILL to all its processes, as when a node goes."""
        assert self._process is not None
        # A worker left alone would see that within a second and end in order; a node takes all of them at once.
        workers = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()
        for pid in (self.pid, *map(int, workers)):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._process.stop()

    def metrics(self) -> str:
        """The text of /metrics."""
        connection = http.client.HTTPConnection("127.0.0.1", self.metrics_port, timeout=10)
        connection.request("GET", "/metrics")
        return connection.getresponse().read().decode()


def is_ready(port: int) -> bool:
    """Whether /readyz says so."""
    connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=2, context=ssl._create_unverified_context())
    try:
        connection.request("GET", "/readyz")
        return connection.getresponse().status == http.client.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


class Proxy:
    """Hands TCP connections to those replicas that are ready, in turn; to another where one refuses.

    A replica that is not ready gets no new connections; what it has stays until one side ends it, as with a Service.
    """

    def __init__(self, *replicas: Replica) -> None:
        [self.port] = free_ports(1)
        self._ports = [replica.port for replica in replicas]
        self._ready: list[int] = []
        self._turn = 0
        self._stopping = threading.Event()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._prober = threading.Thread(target=self._probe, daemon=True)

    def start(self) -> None:
        """Listen, and look which replicas are ready."""
        self._thread.start()
        self._prober.start()
        eventually(lambda: len(self._ready) == len(self._ports), "the proxy sees every replica ready")

    def stop(self) -> None:
        """Close everything."""
        self._stopping.set()
        self._prober.join()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def sees(self, count: int) -> bool:
        """Whether so many replicas are ready."""
        return len(self._ready) == count

    def _probe(self) -> None:
        while not self._stopping.wait(_PROBE_SECONDS):
            self._ready = [port for port in self._ports if is_ready(port)]

    def _run(self) -> None:
        self._loop.run_until_complete(asyncio.start_server(self._serve, "127.0.0.1", self.port))
        self._loop.run_forever()
        for task in asyncio.all_tasks(self._loop):
            task.cancel()
        self._loop.run_until_complete(asyncio.sleep(0))
        self._loop.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        backend = await self._connect()
        if backend is None:
            writer.transport.abort()
            return
        try:
            await asyncio.gather(_pump(reader, backend[1]), _pump(backend[0], writer))
        finally:
            backend[1].close()
            writer.close()

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter] | None:
        ready = self._ready
        for _ in ready:
            self._turn += 1
            with contextlib.suppress(OSError):
                return await asyncio.open_connection("127.0.0.1", ready[self._turn % len(ready)])
        return None


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while piece := await reader.read(_PIECE):
            writer.write(piece)
            await writer.drain()
        writer.write_eof()
    except OSError:
        # A reset on one side is one on the other.
        writer.transport.abort()


@contextmanager
def in_place_of(webhook: Webhook, port: int) -> Iterator[None]:
    """The API server calls that port instead of the installed webhook's."""
    _call(webhook, port)
    webhook.stop()
    try:
        # Nobody else is there any more: what is answered is answered there.
        webhook.wait_until_called()
        yield
    finally:
        webhook.start()
        _call(webhook, webhook.port)
        webhook.wait_until_called()


def _call(webhook: Webhook, port: int) -> None:
    for resource, name in _CONFIGURATIONS.items():
        found = webhook.cluster.api.get(resource, "", name)
        assert found is not None
        patch = [
            {"op": "replace", "path": f"/webhooks/{index}/clientConfig/service/port", "value": port}
            for index in range(len(found["webhooks"]))
        ]
        path = f"/apis/admissionregistration.k8s.io/v1/{resource}/{name}"
        webhook.cluster.api.call("PATCH", path, patch, "application/json-patch+json")


@dataclass(slots=True)
class Applies:
    """People who apply a training Job so many times a second, each answered or not within his second."""

    webhook: Webhook
    namespace: str
    rate: float = 50.0
    people: int = 10
    done: int = 0
    seconds: list[float] = field(default_factory=list)
    failed: list[tuple[float, str]] = field(default_factory=list)
    _stopping: threading.Event = field(default_factory=threading.Event)
    _threads: list[threading.Thread] = field(default_factory=list)
    _began: float = 0.0

    def __enter__(self) -> Applies:
        self._began = time.monotonic()
        self._threads = [threading.Thread(target=self._apply, args=(number,), daemon=True) for number in range(self.people)]
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        for thread in self._threads:
            thread.join()

    @property
    def reached(self) -> float:
        """How many a second it was."""
        return self.done / (time.monotonic() - self._began)

    def _apply(self, number: int) -> None:
        connection = self.webhook.cluster.connect("ann", "people")
        pause, count = self.people / self.rate, 0
        due = time.monotonic() + pause * number / self.people
        while not self._stopping.wait(max(0.0, due - time.monotonic())):
            due += pause
            count += 1
            apply(connection, trainer(f"drill-{number}-{count}", self.namespace), self)


def apply(connection: Api, manifest: Manifest, told: Applies) -> None:
    """One server-side apply that creates nothing: all of admission is passed."""
    name, namespace = manifest["metadata"]["name"], manifest["metadata"]["namespace"]
    path = f"/apis/batch/v1/namespaces/{namespace}/jobs/{name}?fieldManager=drill&dryRun=All"
    began = time.monotonic()
    try:
        connection.call("PATCH", path, manifest, _APPLY)
    except ApiError as error:
        told.failed.append((time.monotonic(), f"{error.code} {error.message}"))
    told.seconds.append(time.monotonic() - began)
    told.done += 1


def trainer(name: str, namespace: str, **spec: Any) -> Manifest:
    """A Job that nothing is wrong with."""
    return job(name, namespace, template(1, "torchrun train.py --output_dir=s3://bucket/llm"), **spec)
