"""`signalbox serve` with a fault put into it: `python -m tests.e2e.faulty FAULT FLAG serve …`.

It serves as it should until the file FLAG is there. Nothing of this is in the product.
"""

from __future__ import annotations

import dataclasses
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from signalbox import engine
from signalbox.check.table import CHECKS
from signalbox.cli.main import main

HANG_SECONDS = 8.0
"""The API server gives up after five."""
CRASHING = "gpu-requests"


def _hang_in_mutate(broken: Callable[[], bool]) -> None:
    engine.mutate = _hanging(engine.mutate, broken)


def _hang_in_validate(broken: Callable[[], bool]) -> None:
    engine.validate = _hanging(engine.validate, broken)


def _hanging(judge: Callable[..., Any], broken: Callable[[], bool]) -> Callable[..., Any]:
    def hang(*arguments: Any) -> Any:
        if broken():
            time.sleep(HANG_SECONDS)
        return judge(*arguments)

    return hang


def _crash_in_a_check(broken: Callable[[], bool]) -> None:
    check = CHECKS[CRASHING]

    def crash(*arguments: Any) -> Any:
        if broken():
            raise ZeroDivisionError("put in by a drill")
        return check.run(*arguments)

    CHECKS[CRASHING] = dataclasses.replace(check, run=crash)


FAULTS: dict[str, Callable[[Callable[[], bool]], None]] = {
    "hang-in-mutate": _hang_in_mutate,
    "hang-in-validate": _hang_in_validate,
    "crash-in-a-check": _crash_in_a_check,
}

if __name__ == "__main__":
    FAULTS[sys.argv[1]](Path(sys.argv[2]).exists)
    sys.exit(main(sys.argv[3:]))
