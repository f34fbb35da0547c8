"""Waiting with a deadline: nothing here sleeps for a guessed time."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

Result = TypeVar("Result")


def eventually(what: Callable[[], Result], saying: str, seconds: float = 60.0, pause: float = 0.05) -> Result:
    """What the callable answers once that is true; AssertionError with what it last answered after the deadline."""
    deadline = time.monotonic() + seconds
    while not (answer := what()):
        assert time.monotonic() < deadline, f"not within {seconds:g} s: {saying}; last seen: {answer!r}"
        time.sleep(pause)
    return answer
