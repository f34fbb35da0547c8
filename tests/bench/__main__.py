"""``python -m tests.bench``: engine time, throughput against a do-nothing endpoint, start, memory and a scan, in one run."""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from signalbox.certs.issue import issue_development
from signalbox.engine import mutate, validate
from tests.bench.kinds import engine_time, print_kinds
from tests.bench.load import LoadResult, http_request, run_load
from tests.bench.manifests import MANIFESTS, review
from tests.bench.setup import loader

ENGINE_RUNS = 400
REQUESTS = 3000
CONNECTIONS = 8
ROUNDS = 3
SCANNED = 20_000


@dataclass(frozen=True, slots=True)
class Server:
    """A running server process, and how long it took until it answered."""

    port: int
    pid: int
    seconds_to_ready: float


def main() -> None:
    """Print everything."""
    loaded = loader.load(loader.read())
    setup = loaded.setup
    assert setup is not None
    print(f"engine, {len(loaded.policies)} policies (median of {ENGINE_RUNS}, µs a review)")
    for name, manifest in MANIFESTS.items():
        print(f"  {name:<16} mutate {engine_time(mutate, setup, manifest, ENGINE_RUNS):6.0f}", end="")
        print(f"   validate {engine_time(validate, setup, manifest, ENGINE_RUNS):6.0f}")
    print_kinds(setup)
    bodies = [review(list(MANIFESTS.values())[number % len(MANIFESTS)], number) for number in range(REQUESTS)]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        issue_development(folder, ["localhost", "127.0.0.1"], 1, datetime.now(UTC))
        _servers(folder, bodies)
    print(flush=True)
    # In a process of its own, whose memory is the scan's alone.
    subprocess.run([sys.executable, "-m", "tests.bench.scan", str(SCANNED)], check=True)


def _servers(folder: Path, bodies: list[dict[str, Any]]) -> None:
    paths = ("/nothing", "/mutate", "/validate")
    requests = {path: [http_request(path, body) for body in bodies] for path in paths}
    results: dict[str, list[LoadResult]] = {path: [] for path in paths}
    with _running("nothing", folder) as nothing, _running("webhook", folder) as webhook:
        ports = {"/nothing": nothing.port, "/mutate": webhook.port, "/validate": webhook.port}
        for path in paths:
            run_load(ports[path], str(folder / "ca.crt"), requests[path][:400], CONNECTIONS)
        # In turn, so that what else the machine does hits all of them alike.
        for _ in range(ROUNDS):
            for path in paths:
                results[path].append(run_load(ports[path], str(folder / "ca.crt"), requests[path], CONNECTIONS))
        memory = max(_children_rss(webhook.pid))
    base = statistics.median(result.throughput for result in results["/nothing"])
    print(f"\nserver, {CONNECTIONS} kept-alive TLS connections, {REQUESTS} distinct objects, median of {ROUNDS} rounds")
    for path in paths:
        chosen = sorted(results[path], key=lambda result: result.throughput)[ROUNDS // 2]
        failed = sum(result.failed for result in results[path])
        print(
            f"  {path:<10} {chosen.throughput:6.0f}/s  ratio {chosen.throughput / base:4.2f}"
            f"  p50 {chosen.p50 * 1e3:5.2f} ms  p99 {chosen.p99 * 1e3:5.2f} ms"
            f"  failed {failed}  load process {chosen.client_cpu:.0%} of a core"
        )
    print(f"\nstart to ready {webhook.seconds_to_ready:.2f} s (do-nothing endpoint {nothing.seconds_to_ready:.2f} s)")
    print(f"memory of a worker {memory:.0f} MiB")


@contextmanager
def _running(which: str, folder: Path) -> Iterator[Server]:
    started = time.perf_counter()
    command = [sys.executable, "-m", "tests.bench.server", which, str(folder)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry)}
    log = folder / f"{which}.log"
    with log.open("wb") as stderr:
        process = subprocess.Popen(command, stderr=stderr, env=environment)
    try:
        port = _port(log, process)
        # The listening socket queues a connection until the worker is there: the answer is what says ready.
        probe = http_request("/mutate" if which == "webhook" else "/nothing", review(MANIFESTS["bare Pod"], 0))
        assert run_load(port, str(folder / "ca.crt"), [probe], 1).failed == 0
        yield Server(port, process.pid, time.perf_counter() - started)
    finally:
        process.terminate()
        process.wait()


def _port(log: Path, process: "subprocess.Popen[bytes]") -> int:
    while True:
        for line in log.read_bytes().splitlines():
            if line.startswith(b"{") and (event := json.loads(line))["event"] == "serving":
                return int(event["port"])
        assert process.poll() is None, log.read_text()
        time.sleep(0.005)


def _children_rss(parent: int) -> list[float]:
    found = []
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            fields = dict(line.split(":", 1) for line in status.read_text().splitlines() if ":" in line)
        except OSError:
            continue
        if int(fields["PPid"]) == parent:
            found.append(int(fields["VmRSS"].split()[0]) / 1024)
    return found


if __name__ == "__main__":
    main()
