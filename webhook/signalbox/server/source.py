"""Where the server takes its policies from, and how it notices that their files changed.

Files are polled: a few ``stat`` calls a second, no dependency, and right on every kind of mount. A set with a problem
never replaces one without. The main process alone reads and judges the files; a worker is handed the very bytes.
"""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from signalbox.engine import Setup
    from signalbox.server.live import LiveCluster

_DEEPEST_FOLDER = 8

Fingerprint = tuple[tuple[str, int, int, int], ...]
Files = Any
"""What ``PolicyFiles.read`` gives: plain data that can be handed to another process."""


@dataclass(frozen=True, slots=True)
class LoadResult:
    """One attempt to load everything. ``setup`` lacks what ``problems`` name; None where nothing usable was found.

    ``policies`` and ``signs`` are the names of what is in the setup, ``left_out`` the documents that are not, ``digest``
    names the policies' very content.
    """

    setup: "Setup | None"
    problems: tuple[str, ...] = ()
    policies: tuple[str, ...] = ()
    signs: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    digest: str = ""
    restored: bool = False
    """Whether it is the last good set of an earlier process, since what is there now is not good."""

    @property
    def good(self) -> bool:
        """Whether all of it was loaded."""
        return self.setup is not None and not self.problems


class PolicyFiles(Protocol):
    """The two steps from files to a setup: reading is done in one process, loading in each."""

    def read(self) -> Files:
        """What the files hold now."""
        ...

    def load(self, files: Files) -> LoadResult:
        """What that amounts to; the same for the same files, in whatever process."""
        ...

    def last_good(self) -> Files | None:
        """The last set that was whole, kept from an earlier process; None where there is none."""
        ...

    def beside(self, live: "LiveCluster") -> "PolicyFiles":
        """The same, with what a watched cluster holds."""
        ...


class Watcher(Protocol):
    """Tells when to read again."""

    def changed(self) -> bool:
        """Whether something changed since the last time this was asked."""
        ...


class SetupSource(Protocol):
    """What the app asks for the setup in force."""

    def current(self) -> "Setup":
        """The setup to judge by, now."""
        ...

    @property
    def in_force(self) -> LoadResult:
        """The load that ``current`` comes from."""
        ...

    @property
    def files(self) -> Files:
        """What was read for it."""
        ...


class FileWatcher:
    """Tells whether files changed, by name, size, time and inode (a ConfigMap's symlink swap changes the inode).

    A change counts once it has settled, that is, looked the same twice: so a file that is being written is left alone.
    """

    def __init__(self, paths: Sequence[Path]) -> None:
        self._paths = tuple(paths)
        self._known = self.fingerprint()
        self._seen = self._known

    def changed(self) -> bool:
        """Whether there is a settled change since the last one told of."""
        seen, self._seen = self._seen, self.fingerprint()
        if self._seen == self._known or self._seen != seen:
            return False
        self._known = self._seen
        return True

    def fingerprint(self) -> Fingerprint:
        """What the files look like now, without reading them."""
        return tuple(entry for path in self._paths for entry in _look(str(path), 0))


class ReloadingSource:
    """The set in force in this process. Made before the fork, so that a new worker starts with the main process's.

    ``number`` counts the sets that were in force, and ``files`` are those of the present one. ``latest`` is the newest
    attempt of the main process: not the one in force where it was bad.
    """

    def __init__(self, policies: PolicyFiles, *watchers: Watcher) -> None:
        self._policies = policies
        self._watchers = watchers
        self.files = policies.read()
        self.latest = policies.load(self.files)
        self.in_force = self.latest
        self.number = 0
        if not self.latest.good:
            self._restore()

    def current(self) -> "Setup":
        """The setup in force."""
        setup = self.in_force.setup
        if setup is None:
            raise LookupError("no usable setup was loaded")
        return setup

    def poll(self) -> LoadResult | None:
        """In the main process: load if the files changed; the attempt, or None where nothing changed."""
        # All are asked: each keeps what it has told.
        changed = [watcher.changed() for watcher in self._watchers]
        if not any(changed):
            return None
        files = self._policies.read()
        self.latest = self._policies.load(files)
        # Where the first load was bad already, what can be read of a later one is no worse.
        if self.latest.setup is not None and (self.latest.good or not self.in_force.good):
            self.in_force, self.files = self.latest, files
            self.number += 1
        return self.latest

    def take_over(self, number: int, files: Files) -> bool:
        """In a worker: load what the main process has put in force. False where that is in force here already."""
        if number == self.number:
            return False
        self.in_force, self.files = self._policies.load(files), files
        self.number = number
        return True

    def _restore(self) -> None:
        """A bad set and a restart must not be a way to have no policies: what was good before goes on."""
        kept = self._policies.last_good()
        if kept is None:
            return
        loaded = self._policies.load(kept)
        if loaded.good:
            self.in_force, self.files = replace(loaded, restored=True), kept


def _look(path: str, depth: int) -> Iterator[tuple[str, int, int, int]]:
    try:
        state = os.stat(path)
    except OSError:
        yield path, -1, -1, -1
        return
    if not os.path.isdir(path):
        yield path, state.st_size, state.st_mtime_ns, state.st_ino
        return
    if depth > _DEEPEST_FOLDER:
        return
    try:
        # "..data" and "..2026_…" hold a ConfigMap's files a second time.
        names = sorted(name for name in os.listdir(path) if not name.startswith(".."))
    except OSError:
        yield path, -1, -1, -1
        return
    for name in names:
        yield from _look(os.path.join(path, name), depth + 1)
