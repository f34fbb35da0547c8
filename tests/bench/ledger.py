"""``python -m tests.bench.ledger``: what the ledger costs admission, side by side, and what a burst does to it."""

import statistics
import tempfile
import time
import tracemalloc
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import orjson

from signalbox.audit.ledger.database import Address, LedgerError
from signalbox.audit.ledger.options import LedgerOptions
from signalbox.audit.ledger.reading import Ledger
from signalbox.audit.ledger.recorder import Recorder
from signalbox.certs.issue import issue_development
from signalbox.engine import validate
from signalbox.process.logs import Log
from signalbox.review import parse_review
from tests.bench.load import LoadResult, http_request, run_load
from tests.bench.manifests import MANIFESTS, review
from tests.bench.running import Server, children_rss, running
from tests.bench.setup import loader

REQUESTS = 2000
ROUNDS = 5
BURST = 10_000
_SERVERS = {"webhook": "without a ledger", "recorded": "with one, all recorded"}


class _Silent:
    """Nobody who is told."""

    def __init__(self) -> None:
        self.count = self.missed = 0

    def queued(self, length: int) -> None:
        pass

    def written(self, count: int, at: datetime) -> None:
        self.count += count

    def lost(self, reason: str, count: int) -> None:
        self.missed += count


def main() -> None:
    """Print everything."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        issue_development(folder, ["localhost", "127.0.0.1"], 1, datetime.now(UTC))
        print(f"ledger, /validate of {REQUESTS} distinct objects, median of {ROUNDS} rounds in turn")
        for connections, words in ((1, "one request at a time"), (8, "8 connections, flat out")):
            print(f"  {words}")
            _side_by_side(folder, connections)
        _burst(folder)


def _side_by_side(folder: Path, connections: int) -> None:
    bodies = [review(list(MANIFESTS.values())[number % len(MANIFESTS)], number) for number in range(REQUESTS)]
    requests = [http_request("/validate", body) for body in bodies]
    results: dict[str, list[LoadResult]] = {which: [] for which in _SERVERS}
    with running("webhook", folder) as plain, running("recorded", folder) as recorded:
        servers = {"webhook": plain, "recorded": recorded}
        for server in servers.values():
            run_load(server.port, str(folder / "ca.crt"), requests[:200], connections)
        for _ in range(ROUNDS):
            for which, server in servers.items():
                results[which].append(run_load(server.port, str(folder / "ca.crt"), requests, connections))
        memory = {which: _memory(server) for which, server in servers.items()}
    for which, words in _SERVERS.items():
        p50, p99 = (statistics.median(getattr(one, name) for one in results[which]) * 1e3 for name in ("p50", "p99"))
        rate = statistics.median(one.throughput for one in results[which])
        failed = sum(one.failed for one in results[which])
        print(
            f"    {words:<22} p50 {p50:5.2f} ms  p99 {p99:5.2f} ms  {rate:6.0f}/s  failed {failed}"
            f"  worker {memory[which]:.0f} MiB"
        )
    written = 0
    with suppress(LedgerError):
        written = Ledger.open(str(folder / "ledger.db")).extent().entries
    print(f"    in the ledger then: {written:,} entries")


def _memory(server: Server) -> float:
    return max(children_rss(server.pid))


def _burst(folder: Path) -> None:
    """Decisions handed over as fast as can be, to a recorder that does not write yet, and then does."""
    setup = loader.load(loader.read()).setup
    assert setup is not None
    now, watch = datetime.now(UTC), _Silent()
    options = LedgerOptions(Address.parse(str(folder / "burst.db")), allowed="all")
    recorder = Recorder(options, watch, Log("error"))
    bodies = [orjson.dumps(review(list(MANIFESTS.values())[number % len(MANIFESTS)], number)) for number in range(BURST)]
    asked = [parse_review(orjson.loads(body)) for body in bodies[: len(MANIFESTS)]]
    outcomes = [validate(setup, one, now) for one in asked]
    tracemalloc.start()
    started = time.perf_counter()
    for number, body in enumerate(bodies):
        at = number % len(asked)
        # A copy: in the server nobody but the queue holds a body.
        recorder.offer("validate", bytes(bytearray(body)), asked[at], setup, outcomes[at], now)
    handed = time.perf_counter() - started
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    lost = watch.missed
    started = time.perf_counter()
    recorder.start()
    while watch.count + lost < BURST:
        time.sleep(0.01)
    seconds = time.perf_counter() - started
    recorder.stop()
    print(
        f"  a burst of {BURST:,}: {handed / BURST * 1e6:.1f} µs to hand one over (memory being traced), {held / 2**20:.0f} MiB"
        f" wait, {lost:,} found no room; written in {seconds:.1f} s, {(BURST - lost) / seconds:,.0f}/s"
    )


if __name__ == "__main__":
    main()
