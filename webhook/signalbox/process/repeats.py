"""Which log lines say what was said a moment ago: a controller that is refused tries again, for ever."""

import threading
from collections.abc import Hashable

_MOST_KEYS = 4096


class Repeats:
    """Lets each kind of line through ``lines`` times in ``seconds``, and then tells how many were left out.

    The counts are in the metrics whatever is left out here.
    """

    def __init__(self, lines: int = 3, seconds: float = 60.0) -> None:
        self._lines = lines
        self._seconds = seconds
        self._lock = threading.Lock()
        # Since when, how many were asked for, how many of these were left out.
        self._seen: dict[Hashable, tuple[float, int, int]] = {}

    def ask(self, key: Hashable, now: float) -> int | None:
        """None where a line about ``key`` is to be left out at ``now`` (seconds of any clock that never goes back).

        Otherwise how many were left out since the last one that was written.
        """
        with self._lock:
            since, count, left_out = self._seen.pop(key, (now, 0, 0))
            if now - since >= self._seconds:
                since, count = now, 0
            written = count < self._lines
            if len(self._seen) >= _MOST_KEYS:
                # What was asked about the longest ago: a pop and a write put a key at the end.
                del self._seen[next(iter(self._seen))]
            self._seen[key] = (since, count + 1, 0 if written else left_out + 1)
            return left_out if written else None
