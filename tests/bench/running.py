"""Servers to measure, as processes."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.bench.load import http_request, run_load
from tests.bench.manifests import MANIFESTS, review


@dataclass(frozen=True, slots=True)
class Server:
    """A running server process, and how long it took until it answered."""

    port: int
    pid: int
    seconds_to_ready: float


@contextmanager
def running(which: str, folder: Path) -> Iterator[Server]:
    """The process of tests.bench.server, ended afterwards."""
    started = time.perf_counter()
    command = [sys.executable, "-m", "tests.bench.server", which, str(folder)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry)}
    log = folder / f"{which}.log"
    with log.open("wb") as stderr:
        process = subprocess.Popen(command, stderr=stderr, env=environment)
    try:
        port = _port(log, process)
        # The listening socket queues a connection until the worker is there: the answer is what says ready.
        probe = http_request("/nothing" if which == "nothing" else "/mutate", review(MANIFESTS["bare Pod"], 0))
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


def children_rss(parent: int) -> list[float]:
    """The memory of each child of a process, in MiB."""
    found = []
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            fields = dict(line.split(":", 1) for line in status.read_text().splitlines() if ":" in line)
        except OSError:
            continue
        if int(fields["PPid"]) == parent:
            found.append(int(fields["VmRSS"].split()[0]) / 1024)
    return found
