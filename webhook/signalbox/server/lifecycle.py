"""What the main process tells its workers about their end: two bytes of shared memory, made before the fork.

A server that closes an idle connection may do so just as a request arrives on it, and a POST is not sent twice. So
before a worker ends, it first says ``Connection: close`` in its answers: connections in use are then given up by the
client, at a moment when no request is under way.
"""

import mmap

_DRAINING, _GENERATION = 0, 1


class Lifecycle:
    """``draining``: the whole server ends, readiness fails. ``closing``: this worker ends, its connections should too."""

    __slots__ = ("_generation", "_page")

    def __init__(self) -> None:
        self._page = mmap.mmap(-1, 2)
        self._generation = 0

    def drain(self) -> None:
        """The server is about to end."""
        self._page[_DRAINING] = 1

    def retire_workers(self) -> None:
        """The workers there are now are about to be replaced."""
        self._page[_GENERATION] = (self._page[_GENERATION] + 1) % 256

    def join(self) -> None:
        """In a worker, after the fork: this process belongs to the newest generation."""
        self._generation = self._page[_GENERATION]

    @property
    def draining(self) -> bool:
        """Whether the server is about to end."""
        return self._page[_DRAINING] == 1

    @property
    def closing(self) -> bool:
        """Whether this process is about to end."""
        return self._page[_DRAINING] == 1 or self._page[_GENERATION] != self._generation
