"""What waits to be written: the bodies of requests as they came in, bounded in number and in bytes.

Bytes, not objects: their size is known exactly, and the garbage collector does not walk them while admission works.
"""

import threading
from collections import deque
from datetime import datetime
from typing import NamedTuple

from signalbox.engine import Setup
from signalbox.finding import Finding

# A decision without its body: findings and the place in the queue.
_OVERHEAD = 2048


class Waiting(NamedTuple):
    """One decision. ``setup`` is what it was made by, ``weight`` how many requests it stands for."""

    body: bytes
    endpoint: str
    at: datetime
    setup: Setup
    findings: tuple[Finding, ...]
    allowed: bool
    faulty: bool
    weight: float

    @property
    def size(self) -> int:
        """What it is counted as."""
        return len(self.body) + _OVERHEAD


class WaitingQueue:
    """First in, first out, for many threads that put and one that takes."""

    __slots__ = ("_bytes", "_items", "_lock", "_most", "_most_bytes")

    def __init__(self, most: int, most_bytes: int) -> None:
        self._items: deque[Waiting] = deque()
        self._lock = threading.Lock()
        self._most, self._most_bytes = most, most_bytes
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._items)

    def put(self, item: Waiting) -> bool:
        """Append one; False where there is no room. Never waits for the one who takes."""
        size = item.size
        with self._lock:
            if len(self._items) >= self._most or self._bytes + size > self._most_bytes:
                return False
            self._items.append(item)
            self._bytes += size
        return True

    def take(self) -> Waiting | None:
        """The oldest one."""
        with self._lock:
            if not self._items:
                return None
            item = self._items.popleft()
            self._bytes -= item.size
        return item
