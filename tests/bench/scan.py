"""`python -m tests.bench.scan [OBJECTS]`: how many objects of a live cluster a scan judges a second, and what memory it takes.

The server of the generated objects is a process of its own: what is measured is the scan's own processor time.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from datetime import UTC, datetime

from kubernetes.client import Configuration

from signalbox.apiserver.connection import ApiServer
from signalbox.audit.live import live_items
from signalbox.audit.scan import Scan
from signalbox.audit.tally import Tally
from signalbox.configuration import load_setup

OBJECTS = 100_000


def main(arguments: list[str]) -> None:
    objects = int(arguments[0]) if arguments else OBJECTS
    with subprocess.Popen(
        [sys.executable, "-m", "tests.bench.scan_server", str(objects)], stdout=subprocess.PIPE, text=True
    ) as server:
        try:
            assert server.stdout is not None
            _scan(f"http://127.0.0.1:{int(server.stdout.readline())}")
        finally:
            server.terminate()


def _scan(url: str) -> None:
    setup = load_setup().setup
    began, busy = time.perf_counter(), time.process_time()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    scan, tally = Scan(setup, datetime.now(UTC)), Tally()
    api = ApiServer(Configuration(host=url))
    for subject in scan.subjects(live_items(api, setup)):
        tally.add(subject)
    summary = scan.summary()
    busy, wall = time.process_time() - busy, time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    assert not summary.error_count, summary.errors
    judged = sum(summary.judged.values())
    print(f"scan of {summary.objects:,} objects, {judged:,} of them judged, {len(setup.policies.policies)} policies")
    print(f"  {busy:.1f} s of a core, {wall:.1f} s by the clock: {summary.objects / busy:,.0f} objects a second and core")
    print(f"  {peak:.0f} MiB at the most, {before:.0f} MiB before it began")


if __name__ == "__main__":
    main(sys.argv[1:])
