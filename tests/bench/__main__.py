"""``python -m tests.bench``: engine time, throughput against a do-nothing endpoint, start, memory, ledger, scan."""

import statistics
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from signalbox.certs.issue import issue_development
from signalbox.engine import mutate, validate
from tests.bench.kinds import engine_time, print_kinds
from tests.bench.load import LoadResult, http_request, run_load
from tests.bench.manifests import MANIFESTS, review
from tests.bench.running import children_rss, running
from tests.bench.setup import loader

ENGINE_RUNS = 400
REQUESTS = 3000
CONNECTIONS = 8
ROUNDS = 3
SCANNED = 20_000


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
    subprocess.run([sys.executable, "-m", "tests.bench.ledger"], check=True)
    print(flush=True)
    # In a process of its own, whose memory is the scan's alone.
    subprocess.run([sys.executable, "-m", "tests.bench.scan", str(SCANNED)], check=True)


def _servers(folder: Path, bodies: list[dict[str, Any]]) -> None:
    paths = ("/nothing", "/mutate", "/validate")
    requests = {path: [http_request(path, body) for body in bodies] for path in paths}
    results: dict[str, list[LoadResult]] = {path: [] for path in paths}
    with running("nothing", folder) as nothing, running("webhook", folder) as webhook:
        ports = {"/nothing": nothing.port, "/mutate": webhook.port, "/validate": webhook.port}
        for path in paths:
            run_load(ports[path], str(folder / "ca.crt"), requests[path][:400], CONNECTIONS)
        # In turn, so that what else the machine does hits all of them alike.
        for _ in range(ROUNDS):
            for path in paths:
                results[path].append(run_load(ports[path], str(folder / "ca.crt"), requests[path], CONNECTIONS))
        memory = max(children_rss(webhook.pid))
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


if __name__ == "__main__":
    main()
