"""What the main process tells its workers: by which policies to judge, what it turned down, how the certificate stands.

A notice is a file in the private directory of the server, replaced as a whole. That there is a new one is a byte of shared
memory, so a worker looks at nothing else until there is; no request waits for it.
"""

import pickle
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from signalbox.server.lifecycle import Lifecycle
from signalbox.server.source import Files


@dataclass(frozen=True, slots=True)
class Rejected:
    """A newer set that is not used: its problems, and the documents that have them."""

    problems: tuple[str, ...] = ()
    documents: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Notice:
    """``number`` counts the sets that were in force, ``files`` are those of the present one."""

    number: int
    files: Files
    not_after: datetime | None = None
    rejected: Rejected = Rejected()
    certificate_rejected: str = ""


class NoticeBoard:
    """Where the main process puts notices up. ``current`` is the newest that this process knows."""

    def __init__(self, directory: Path, lifecycle: Lifecycle, first: Notice) -> None:
        self._file = directory / "notice"
        self._lifecycle = lifecycle
        self._seen = lifecycle.notices
        self._undelivered = False
        self.current = first
        self.fault = ""

    def publish(self, notice: Notice) -> None:
        """In the main process: put up a notice. A worker that is forked from now on has it by birth."""
        self.current = notice
        self._undelivered = True
        self.deliver()

    def deliver(self) -> None:
        """Write the notice if it is not written yet. ``fault`` says what keeps it from that: a full disk, and then again."""
        if not self._undelivered:
            return
        written = self._file.with_suffix(".new")
        try:
            written.write_bytes(pickle.dumps(self.current))
            written.replace(self._file)
        except OSError as error:
            self.fault = f"{written}: {error.strerror or error}"
            return
        self.fault, self._undelivered = "", False
        self._seen = self._lifecycle.announce()

    def refresh(self) -> None:
        """In a worker: read the newest notice, if there is one since the last."""
        announced = self._lifecycle.notices
        if announced == self._seen:
            return
        # Written by our own main process into a directory that nobody else can open.
        self.current = pickle.loads(self._file.read_bytes())  # noqa: S301
        self._seen = announced
