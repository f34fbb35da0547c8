"""The cluster as ``signalbox serve`` sees it: the watching process kept alive, and what it wrote read in every process."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import orjson

from signalbox.cluster.journal import JournalReader
from signalbox.cluster.resources import POLICY_OBJECTS, WATCHED
from signalbox.cluster.state import ClusterState
from signalbox.cluster.watch_status import KindStatus
from signalbox.configuration import SetupFiles
from signalbox.last_good import LastGoodError, config_map_path, kept_bytes, unpack
from signalbox.process.ending import end_process
from signalbox.process.logs import Log
from signalbox.review import JsonObject
from signalbox.server.options import ClusterOptions
from signalbox.server.watcher_files import JOURNAL, LAST_GOOD, STATUS

_FIRST_LOOK_SECONDS = 0.02
_RESTART_SECONDS = 2.0
_LONGEST_RESTART_SECONDS = 60.0
_SILENT_SECONDS = 60.0
# A folder of policies is applied in less.
_LONGEST_UNSETTLED_SECONDS = 5.0


class PolicyObjects:
    """The policies that stand in the cluster. ``changes`` counts whatever happened to them."""

    def __init__(self) -> None:
        self._objects: dict[tuple[str, str], JsonObject] = {}
        self._kinds = frozenset((kind.group, kind.kind) for kind in POLICY_OBJECTS)
        self.changes = 0

    def put(self, group: str, kind: str, obj: JsonObject) -> None:
        """There is this object."""
        if (group, kind) not in self._kinds:
            return
        key = kind, obj["metadata"]["name"]
        # The controller's write of a status is no news, nor is a list that was read again.
        if self._objects.get(key) != obj:
            self._objects[key] = obj
            self.changes += 1

    def drop(self, group: str, kind: str, namespace: str, name: str) -> None:
        """It is gone."""
        if (group, kind) in self._kinds and self._objects.pop((kind, name), None) is not None:
            self.changes += 1

    def synced(self, group: str, kind: str) -> None:
        """Nothing to do."""

    def absent(self, group: str, kind: str) -> None:
        """The definition was taken away, and all objects with it."""
        if (group, kind) in self._kinds:
            for key in [key for key in self._objects if key[0] == kind]:
                del self._objects[key]
                self.changes += 1

    def now(self) -> tuple[JsonObject, ...]:
        """All of them."""
        return tuple(self._objects.values())


class PolicyObjectsWatcher:
    """Tells whether policies in the cluster changed, once they have settled: a folder of them is applied one by one.

    Policies that somebody changes without end are told of every few seconds.
    """

    def __init__(self, objects: PolicyObjects, clock: Callable[[], float] = time.monotonic) -> None:
        self._objects = objects
        self._clock = clock
        self._known = self._seen = objects.changes
        self._since: float | None = None

    def changed(self) -> bool:
        """Whether there is a change since the last one told of, and none since the last look."""
        seen, self._seen = self._seen, self._objects.changes
        if self._seen == self._known:
            return False
        now = self._clock()
        self._since = now if self._since is None else self._since
        if self._seen != seen and now - self._since < _LONGEST_UNSETTLED_SECONDS:
            return False
        self._known, self._since = self._seen, None
        return True


class LiveCluster:
    """What is known of the cluster in this process. Made before the fork; each process reads the journal on by itself."""

    def __init__(self, directory: Path, log: Log) -> None:
        self.directory = directory
        self._log = log
        self.state = ClusterState()
        self.policies = PolicyObjects()
        self._reader = JournalReader(directory / JOURNAL, (self.state, self.policies))

    def poll(self) -> None:
        """Take over what was written since the last time. One thread a process calls it."""
        damaged = self._reader.damaged
        self._reader.poll()
        if self._reader.damaged != damaged:
            self._log.error("cluster journal holds entries that cannot be used", entries=self._reader.damaged - damaged)

    def missing(self) -> list[str]:
        """What has not been told of yet."""
        kinds = [kind.text for kind in (*POLICY_OBJECTS, *WATCHED) if (kind.group, kind.kind) not in self._reader.states]
        return kinds if (self.directory / LAST_GOOD).exists() else [*kinds, LAST_GOOD]

    def wait(self, seconds: float) -> list[str]:
        """At the start: read until every kind was told of, or that long; what is still missing."""
        end = time.monotonic() + seconds
        while True:
            self.poll()
            missing = self.missing()
            if not missing or time.monotonic() >= end:
                return missing
            time.sleep(_FIRST_LOOK_SECONDS)

    def last_good(self) -> SetupFiles | None:
        """The set that the controller kept; None where there is none, or nobody could ask for it."""
        try:
            found = orjson.loads((self.directory / LAST_GOOD).read_bytes())
        except FileNotFoundError:
            return None
        if not found:
            return None
        try:
            return unpack(kept_bytes(found))
        except LastGoodError as error:
            self._log.error("last good policies cannot be used", text=str(error))
            return None


def read_status(directory: Path) -> dict[str, KindStatus]:
    """How the watch of each kind stands; empty before the first word of the watching process."""
    try:
        found = orjson.loads((directory / STATUS).read_bytes())
    except (FileNotFoundError, orjson.JSONDecodeError):
        return {}
    return {kind: KindStatus(**one) for kind, one in found.items()}


@dataclass(slots=True)
class WatchProcess:
    """The watching process, and another where it ended. ``arguments`` say which API server."""

    directory: Path
    arguments: tuple[str, ...]
    log: Log
    restarts: int = 0
    _process: "subprocess.Popen[bytes] | None" = None
    _started: float = field(default=0.0)
    _ended: float | None = field(default=None)
    _pause: float = field(default=0.0)
    _status: int = field(default=0)
    _status_seen: float = field(default=0.0)

    def start(self) -> None:
        """Start it."""
        command = [sys.executable, "-m", "signalbox.server.watcher", "--directory", str(self.directory)]
        # Nothing in it comes from a request.
        self._process = subprocess.Popen([*command, "--parent", str(os.getpid()), *self.arguments])  # noqa: S603
        self._started = self._status_seen = time.monotonic()
        self._ended = None

    def tend(self) -> None:
        """Start it again where it has ended or hangs. What it told stays in force meanwhile.

        One that ends again and again is left alone for longer each time.
        """
        process = self._process
        if process is None:
            return
        now = time.monotonic()
        if process.poll() is None:
            self._end_if_silent(process, now)
            return
        if self._ended is None:
            self._ended = now
            if now - self._started >= _LONGEST_RESTART_SECONDS:
                self._pause = 0.0
        if now - self._ended < self._pause or self._process is not process:
            return
        self._pause = min(max(self._pause * 2, _RESTART_SECONDS), _LONGEST_RESTART_SECONDS)
        self.restarts += 1
        self.log.error("cluster watch ended, started again", exitCode=process.returncode, restarts=self.restarts)
        self.start()

    def _end_if_silent(self, process: "subprocess.Popen[bytes]", now: float) -> None:
        """It writes its status every second: one that has not for a minute hangs, or was stopped."""
        try:
            status = os.stat(self.directory / STATUS).st_mtime_ns
        except OSError:
            status = 0
        if status != self._status:
            self._status, self._status_seen = status, now
        elif now - self._status_seen >= _SILENT_SECONDS:
            self.log.error("cluster watch is silent, ended", seconds=int(now - self._status_seen))
            process.kill()

    def stop(self) -> None:
        """End it, for good."""
        process, self._process = self._process, None
        end_process(process)


@dataclass(frozen=True, slots=True)
class Watched:
    """What the main process has of a cluster: what is known, and the process that learns it."""

    cluster: LiveCluster
    process: WatchProcess


def start_watching(directory: Path, options: ClusterOptions, log_level: str, log: Log) -> Watched:
    """Start the watching process. It has its answers in a moment; ``wait`` for them when they are needed."""
    named = {"--kubeconfig": options.kubeconfig, "--context": options.context, "--log-level": log_level}
    given = {**named, "--last-good": config_map_path(options.namespace)}
    arguments = tuple(word for name, value in given.items() if value is not None for word in (name, value))
    watched = Watched(LiveCluster(directory, log), WatchProcess(directory, arguments, log))
    watched.process.start()
    return watched
