"""What a review of each kind costs the engine: microseconds, and as a multiple of the Job's.

The manifests are those of the kinds' own tests, the first of each kind; a kind of several templates costs more than a Job.
"""

import statistics
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import orjson

from signalbox.engine import Setup, mutate, validate
from signalbox.review import parse_review
from tests.bench.manifests import GPU_JOB, review
from tests.mangled import CASES, key_of

RUNS = 200
_JOB = ("batch", "Job")


def engine_time(judge: Callable[..., Any], setup: Setup, manifest: dict[str, Any], runs: int) -> float:
    """The median time of a review, in microseconds."""
    now = datetime.now(UTC)
    bodies = [orjson.dumps(review(manifest, number)) for number in range(runs)]
    times = []
    for request in [parse_review(orjson.loads(body)) for body in bodies]:
        started = time.perf_counter()
        judge(setup, request, now)
        times.append(time.perf_counter() - started)
    return statistics.median(times) * 1e6


def print_kinds(setup: Setup) -> None:
    """One row a kind."""
    manifests = {_JOB: GPU_JOB}
    for case in CASES:
        manifests.setdefault(key_of(case["manifest"]), case["manifest"])
    rows = []
    for (group, kind), manifest in sorted(manifests.items()):
        times = [engine_time(judge, setup, manifest, RUNS) for judge in (mutate, validate)]
        rows.append((kind if group in ("", "apps", "batch") else f"{kind}.{group}", *times))
    [job] = [row for row in rows if row[0] == "Job"]
    print(f"\nengine, by kind (median of {RUNS}, µs a review, and as a multiple of the Job's)")
    for name, mutating, validating in rows:
        print(f"  {name:<42} mutate {mutating:6.0f} {mutating / job[1]:5.2f}", end="")
        print(f"   validate {validating:6.0f} {validating / job[2]:5.2f}")
