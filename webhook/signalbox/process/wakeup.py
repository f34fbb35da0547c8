"""An event that a signal handler may set."""

import contextlib
import time
from queue import Empty, SimpleQueue

_LOOK_UP_SECONDS = 0.5


class Wakeup:
    """Like ``threading.Event``, but safe to set in a handler that interrupts the very thread that waits.

    ``Event.set`` takes a lock that ``Event.wait`` of the same thread may hold just then: the process hangs and never ends.
    A ``SimpleQueue`` is made for this. Waiting looks up now and then, as a signal that comes in the instant before a wait
    begins does not end it.
    """

    def __init__(self) -> None:
        self._set = False
        self._wakes: SimpleQueue[None] = SimpleQueue()

    def is_set(self) -> bool:
        """Whether it was set since it was cleared."""
        return self._set

    def set(self) -> None:
        """Wake whoever waits."""
        self._set = True
        self._wakes.put(None)

    def clear(self) -> None:
        """Make the next wait a wait again."""
        self._set = False

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until it is set, or for so many seconds; whether it is set."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while not self._set:
            left = _LOOK_UP_SECONDS if deadline is None else min(_LOOK_UP_SECONDS, deadline - time.monotonic())
            if left <= 0:
                return False
            with contextlib.suppress(Empty):
                self._wakes.get(timeout=left)
        return True
