"""What the main process tells its workers at once: three bytes of shared memory, made before the fork.

A server that closes an idle connection may do so just as a request arrives on it, and a POST is not sent twice. So
before a worker ends, it first says ``Connection: close`` in its answers: connections in use are then given up by the
client, at a moment when no request is under way.
"""

import mmap

_DRAINING, _GENERATION, _NOTICES = 0, 1, 2


class Lifecycle:
    """``draining``: the whole server ends, readiness fails. ``closing``: this worker ends, its connections should too.

    ``notices`` changes whenever there is something new to read on the notice board.
    """

    __slots__ = ("_generation", "_page")

    def __init__(self) -> None:
        self._page = mmap.mmap(-1, 3)
        self._generation = 0

    def drain(self) -> None:
        """The server is about to end."""
        self._page[_DRAINING] = 1

    def retire_workers(self) -> None:
        """The workers there are now are about to be replaced."""
        self._page[_GENERATION] = (self._page[_GENERATION] + 1) % 256

    def announce(self) -> int:
        """There is a new notice; what ``notices`` is from now on."""
        self._page[_NOTICES] = (self._page[_NOTICES] + 1) % 256
        return self._page[_NOTICES]

    def join(self) -> None:
        """In a worker, after the fork: this process belongs to the newest generation."""
        self._generation = self._page[_GENERATION]

    @property
    def notices(self) -> int:
        """The number of notices so far, modulo 256."""
        return self._page[_NOTICES]

    @property
    def draining(self) -> bool:
        """Whether the server is about to end."""
        return self._page[_DRAINING] == 1

    @property
    def closing(self) -> bool:
        """Whether this process is about to end."""
        return self._page[_DRAINING] == 1 or self._page[_GENERATION] != self._generation
