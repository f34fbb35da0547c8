"""`python -m tests.e2e [pytest's arguments]`: builds what is missing, then runs the tests in a real API server."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from . import binaries
from .binaries import find
from .programs import ADDED, CLUSTER
from .progress import say

HERE = Path(__file__).parent


def main(arguments: list[str]) -> int:
    """Builds the cluster's programs first, Kueue's and JobSet's beside the tests that do not need them."""
    if {"-h", "--help"}.intersection(arguments):
        # Who only asks waits for no build.
        return int(pytest.main([str(HERE), *arguments]))
    code = binaries.main([program.name for program in CLUSTER])
    if code:
        return code
    missing = [program.name for program in ADDED if find(program) is None]
    building = None
    if missing:
        say(f"building {', '.join(missing)} while the first tests run")
        command = [sys.executable, "-m", "tests.e2e.binaries", *missing]
        # Its progress would come between pytest's lines; the tests that wait for it show it themselves.
        building = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    os.environ["SIGNALBOX_E2E"] = "1"
    try:
        return int(pytest.main([str(HERE), *arguments]))
    finally:
        if building is not None and building.poll() is None:
            building.terminate()
            building.wait()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
