"""Watching a cluster: list, then follow, for each kind; everything seen goes into the journal.

A watch that ends or fails is taken up again where it was; one whose place the API server has forgotten (410) begins with a
list. Until then what was known stays known. A kind whose definition is not installed is looked for again now and then.
"""

import random
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import orjson

from signalbox.apiserver.connection import ApiServer
from signalbox.apiserver.error import ApiError
from signalbox.cluster.journal import JournalWriter, Key
from signalbox.cluster.resources import WatchedKind
from signalbox.review import JsonObject

WATCH_SECONDS = 60
"""How long one watch lasts. Its end proves that the API server still answers, so staleness is known within that time."""

_ABSENT_SECONDS = 15.0
_FORBIDDEN_SECONDS = 60.0
_FIRST_WAIT = 0.5
_LONGEST_WAIT = 30.0


class WatchLog(Protocol):
    """Where a watch says what happens."""

    def info(self, event: str, **fields: object) -> None:
        """Normal."""
        ...

    def warning(self, event: str, **fields: object) -> None:
        """To be looked at."""
        ...


@dataclass(slots=True)
class KindStatus:
    """How the watch of one kind stands. ``contact``: when the API server last answered, in seconds since the epoch."""

    state: str = "unknown"
    contact: float = 0.0
    objects: int = 0
    failures: dict[str, int] = field(default_factory=dict)
    fault: str = ""


class ClusterWatch:
    """Watches some kinds into one journal. ``wait`` sleeps, and returns True when everything is to end."""

    def __init__(
        self,
        api: ApiServer,
        kinds: Iterable[WatchedKind],
        journal: JournalWriter,
        log: WatchLog,
        wait: Callable[[float], bool],
        clock: Callable[[], float] = time.time,
        watch_seconds: int = WATCH_SECONDS,
    ) -> None:
        self._api = api
        self._kinds = tuple(kinds)
        self._journal = journal
        self._log = log
        self._wait = wait
        self._clock = clock
        self._watch_seconds = watch_seconds
        self._writing = threading.Lock()
        self.status: dict[str, KindStatus] = {kind.text: KindStatus() for kind in self._kinds}

    def start(self) -> list[threading.Thread]:
        """A thread a kind."""
        threads = [threading.Thread(target=self._follow, args=(kind,), name=kind.text, daemon=True) for kind in self._kinds]
        for thread in threads:
            thread.start()
        return threads

    def write_status(self, file: Path) -> None:
        """Put down how every watch stands, for the process that shows it."""
        shown = {
            name: {
                "state": one.state,
                "contact": one.contact,
                "objects": one.objects,
                "failures": dict(one.failures),
                "fault": one.fault,
            }
            for name, one in self.status.items()
        }
        new = file.with_suffix(".new")
        new.write_bytes(orjson.dumps(shown))
        new.replace(file)

    def _follow(self, kind: WatchedKind) -> None:
        status, wait = self.status[kind.text], _FIRST_WAIT
        while True:
            try:
                place = self._list(kind, status)
            except ApiError as error:
                self._failed(kind, status, error)
                if self._wait(_FORBIDDEN_SECONDS if error.status in (401, 403) else _some_of(wait)):
                    return
                wait = min(wait * 2, _LONGEST_WAIT)
                continue
            wait = _FIRST_WAIT
            ended = self._wait(_ABSENT_SECONDS) if place is None else self._watch(kind, status, *place)
            if ended:
                return

    def _list(self, kind: WatchedKind, status: KindStatus) -> tuple[str, str] | None:
        """Take over all there is; path and resourceVersion to watch from. None where the cluster does not know the kind."""
        for path in kind.paths:
            seen: set[Key] = set()
            version = ""
            try:
                for items, at, _ in self._api.pages(path):
                    version = at
                    seen.update(filter(None, (self._put(kind, item) for item in items)))
            except ApiError as error:
                if error.not_found:
                    continue
                raise
            with self._writing:
                for key in self._journal.known(kind.group, kind.kind) - seen:
                    self._journal.drop(key)
                self._journal.synced(kind.group, kind.kind)
            self._answered(kind, status, "synced")
            return path, version
        with self._writing:
            self._journal.absent(kind.group, kind.kind)
        self._answered(kind, status, "absent")
        return None

    def _watch(self, kind: WatchedKind, status: KindStatus, path: str, version: str) -> bool:
        """Follow what happens, over as many watches as it takes. False: list again; True: everything is to end."""
        wait = _FIRST_WAIT
        while True:
            began, heard = self._clock(), False
            try:
                for what, found in self._api.watch(path, version, self._watch_seconds):
                    heard = True
                    version = _version_of(found) or version
                    if what == "DELETED":
                        self._drop(kind, found)
                    elif what != "BOOKMARK":
                        self._put(kind, found)
                    self._answered(kind, status, "synced")
                self._answered(kind, status, "synced")
                # A server that ends every watch at once must not be asked without end.
                if heard or self._clock() - began >= _FIRST_WAIT:
                    wait = _FIRST_WAIT
                    continue
            except ApiError as error:
                if error.expired or error.not_found:
                    status.failures["expired"] = status.failures.get("expired", 0) + 1
                    return False
                self._failed(kind, status, error)
                if heard:
                    wait = _FIRST_WAIT
            if self._wait(_some_of(wait)):
                return True
            wait = min(wait * 2, _LONGEST_WAIT)

    def _put(self, kind: WatchedKind, found: JsonObject) -> Key | None:
        key = _key(kind, found)
        if key is not None:
            with self._writing:
                self._journal.put(kind.group, kind.kind, key[2], key[3], kind.slim(found))
        return key

    def _drop(self, kind: WatchedKind, found: JsonObject) -> None:
        key = _key(kind, found)
        if key is not None:
            with self._writing:
                self._journal.drop(key)

    def _answered(self, kind: WatchedKind, status: KindStatus, state: str) -> None:
        status.contact = self._clock()
        status.objects = self._journal.count(kind.group, kind.kind)
        if status.state != state or status.fault:
            self._log.info("cluster watch", kind=kind.text, state=state, objects=status.objects)
        status.state, status.fault = state, ""

    def _failed(self, kind: WatchedKind, status: KindStatus, error: ApiError) -> None:
        reason = error.reason or str(error.status)
        status.failures[reason] = status.failures.get(reason, 0) + 1
        # Once a fault: an API server that is away for an hour is no reason for an hour of lines.
        if status.fault != error.message:
            status.fault = error.message
            text = "what was known of it stays in force" if status.state != "unknown" else "nothing is known of it yet"
            self._log.warning("cluster watch failed", kind=kind.text, status=error.status, text=error.message, meanwhile=text)


def _key(kind: WatchedKind, found: JsonObject) -> Key | None:
    metadata = found.get("metadata")
    if not isinstance(metadata, dict) or not isinstance(metadata.get("name"), str):
        return None
    return kind.group, kind.kind, str(metadata.get("namespace") or ""), metadata["name"]


def _version_of(found: JsonObject) -> str:
    metadata = found.get("metadata")
    return str(metadata.get("resourceVersion") or "") if isinstance(metadata, dict) else ""


def _some_of(seconds: float) -> float:
    """Many replicas that lost the same API server must not come back in the same moment."""
    return seconds * random.uniform(0.5, 1.0)  # noqa: S311 - nothing secret about it
