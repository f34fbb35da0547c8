"""Runs a slow command and says every twenty seconds what it is at, so that a silent quarter of an hour is no riddle."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path

INTERVAL = 20.0
TAIL = 40


class CommandFailed(Exception):
    """A command that ended badly, with the last lines it printed."""


def say(text: str) -> None:
    """One line of progress, on standard error so that it never mixes with a table."""
    print(f"e2e: {text}", file=sys.stderr, flush=True)


def elapsed(since: float) -> str:
    """Time since then for people: `45 s`, `3 min 05 s`."""
    minutes, seconds = divmod(int(time.monotonic() - since), 60)
    return f"{minutes} min {seconds:02} s" if minutes else f"{seconds} s"


def run(what: str, command: Sequence[str], *, folder: Path, environment: Mapping[str, str]) -> str:
    """Run a command to its end and return what it printed; `CommandFailed` with its last lines when it fails."""
    began = said = time.monotonic()
    with subprocess.Popen(
        command,
        cwd=folder,
        env=dict(environment),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        # A group of its own: a compiler's children are ended with it.
        start_new_session=True,
    ) as process:
        lines: deque[str] = deque(maxlen=TAIL)
        count = [0]

        def read() -> None:
            assert process.stdout is not None
            for line in process.stdout:
                lines.append(line.rstrip())
                count[0] += 1

        reader = threading.Thread(target=read, daemon=True)
        reader.start()
        try:
            while True:
                try:
                    process.wait(timeout=1)
                    break
                except subprocess.TimeoutExpired:
                    if time.monotonic() - said >= INTERVAL:
                        said = time.monotonic()
                        say(f"{what}: {elapsed(began)}, {count[0]} lines so far, now {lines[-1] if lines else 'starting'}")
        except BaseException:
            os.killpg(process.pid, signal.SIGTERM)
            raise
        reader.join(timeout=10)
        if process.returncode:
            raise CommandFailed(f"{what} failed ({' '.join(command)}):\n" + "\n".join(lines))
        return "\n".join(lines)
