"""``make fuzz``: odd AdmissionReviews through the whole request path, bytes in and bytes out, none of them twice.

python -m tests.fuzz --count 1000000 --seed 7 --jobs 2
python -m tests.fuzz --seed 7 --case 4711       that case alone: what was sent, what came back, and a smaller one
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import resource
import sys
import time
from multiprocessing.connection import Connection, wait
from typing import Any

from tests.fuzz.run import Tally, fuzz, prepare, replay

_SAID_EVERY = 10.0


def main(arguments: list[str]) -> int:
    """The exit code: 0 when nothing was found, 1 when something was."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=1_000_000, help="how many reviews are answered")
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(3), "big"), help="which reviews")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument("--case", type=int, help="only the case of this number")
    given = parser.parse_args(arguments)
    if given.case is not None:
        return replay(given.seed, given.case)
    print(f"fuzzing /mutate and /validate: {given.count:,} reviews, seed {given.seed}, {given.jobs} processes", flush=True)
    began = time.monotonic()
    total = _in_processes(given.count, given.seed, given.jobs)
    _report(total, given.seed, time.monotonic() - began)
    return 1 if total.found else 0


def _in_processes(count: int, seed: int, jobs: int) -> Tally:
    context = multiprocessing.get_context("fork")
    prepared = prepare()
    pipes: list[Connection] = []
    processes = []
    for job in range(jobs):
        ours, theirs = context.Pipe(duplex=False)
        share = count // jobs + (job < count % jobs)
        process = context.Process(target=_work, args=(theirs, prepared, seed, job, jobs, share))
        process.start()
        theirs.close()
        pipes.append(ours)
        processes.append(process)
    latest: dict[Connection, Tally] = {}
    told: set[tuple[str, str]] = set()
    said = time.monotonic()
    while pipes:
        for pipe in wait(pipes, timeout=1.0):
            assert isinstance(pipe, Connection)
            try:
                latest[pipe] = pipe.recv()
            except EOFError:
                pipes.remove(pipe)
                continue
            for (what, detail), (_, number) in latest[pipe].found.items():
                if (what, detail) not in told:
                    told.add((what, detail))
                    print(f"FOUND {what}: {detail}\n  python -m tests.fuzz --seed {seed} --case {number}", flush=True)
        if time.monotonic() - said >= _SAID_EVERY:
            said = time.monotonic()
            print(f"  {Tally.sum(latest.values()).line()}", flush=True)
    for process in processes:
        process.join()
        if process.exitcode:
            raise SystemExit(f"a process of the fuzzer ended with {process.exitcode}")
    return Tally.sum(latest.values())


def _work(pipe: Connection, prepared: Any, seed: int, first: int, step: int, count: int) -> None:
    said = time.monotonic()

    def tell(tally: Tally, *, last: bool = False) -> None:
        nonlocal said
        if last or time.monotonic() - said >= _SAID_EVERY / 2:
            said = time.monotonic()
            tally.memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
            pipe.send(tally)

    tell(fuzz(prepared, seed, count, first, step, tell), last=True)


def _report(total: Tally, seed: int, seconds: float) -> None:
    print(f"{total.line()}, {seconds:.0f} s, {total.reviews / max(seconds, 0.001):.0f} a second")
    body = f"a body of {total.slowest_bytes:,} bytes (case {total.slowest_case})"
    print(f"slowest {total.slowest * 1000:.0f} ms of CPU time, {body}")
    print(f"longest refusal {total.longest_message:,} bytes; memory of a process at most {total.memory} MiB")
    for (what, detail), (times, number) in sorted(total.found.items(), key=lambda item: -item[1][0]):
        print(f"{times} times, first in case {number}: {what}: {detail}")
    print(
        f"\nseed {seed}, {total.reviews:,} reviews, {total.crashes} crashes, {sum(n for n, _ in total.found.values())} findings"
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
