"""Watching a cluster: list, then follow, for each kind; everything seen goes into the journal.

A watch that ends or fails is taken up again where it was; one whose place the API server has forgotten (410) begins with a
list. Until then what was known stays known. A kind whose definition is not installed is looked for again now and then.
"""

import random
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Protocol

import orjson

from signalbox.apiserver.connection import ApiServer
from signalbox.apiserver.error import ApiError
from signalbox.cluster.journal import JournalWriter, Key
from signalbox.cluster.resources import WatchedKind
from signalbox.cluster.watch_status import KindStatus
from signalbox.process.logs import crash_fields
from signalbox.process.repeats import Repeats
from signalbox.review import JsonObject

WATCH_SECONDS = 60
"""How long one watch lasts. Its end proves that the API server still answers, so staleness is known within that time."""

_ABSENT_SECONDS = 15.0
_FORBIDDEN_SECONDS = 60.0
_FIRST_WAIT = 0.5
_LONGEST_WAIT = 30.0
_CRASH = "Crash"


class WatchLog(Protocol):
    """Where a watch says what happens."""

    def info(self, event: str, **fields: object) -> None:
        """Normal."""
        ...

    def warning(self, event: str, **fields: object) -> None:
        """To be looked at."""
        ...

    def error(self, event: str, **fields: object) -> None:
        """A fault of our own."""
        ...


class ClusterWatch:
    """Watches some kinds into one journal. ``wait`` sleeps, and returns True when everything is to end."""

    def __init__(
        self,
        api: ApiServer,
        kinds: Iterable[WatchedKind],
        journal: JournalWriter,
        log: WatchLog,
        wait: Callable[[float], bool],
        clock: Callable[[], float] = time.monotonic,
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
        self._repeats = Repeats()
        self._unread: set[Key] = set()
        self._journal_fault = ""
        self.status: dict[str, KindStatus] = {kind.text: KindStatus() for kind in self._kinds}

    def start(self) -> list[threading.Thread]:
        """A thread a kind."""
        threads = [threading.Thread(target=self._follow, args=(kind,), name=kind.text, daemon=True) for kind in self._kinds]
        for thread in threads:
            thread.start()
        return threads

    def write_status(self, file: Path) -> None:
        """Put down how every watch stands, for the process that shows it."""
        new = file.with_suffix(".new")
        new.write_bytes(orjson.dumps(self.status))
        new.replace(file)

    def mend(self) -> None:
        """Look after the journal, which nobody writes to for hours; a fault of it is told once."""
        with self._writing:
            self._journal.mend()
            fault = self._journal.fault
        if fault and not self._journal_fault:
            self._log.error("cluster journal cannot be written", text=fault)
        elif self._journal_fault and not fault:
            self._log.info("cluster journal is written again")
        self._journal_fault = fault

    def _follow(self, kind: WatchedKind) -> None:
        status, wait, forgotten = self.status[kind.text], _FIRST_WAIT, False
        while True:
            began = self._clock()
            try:
                place = self._list(kind, status, sure=forgotten)
                ended = self._wait(_ABSENT_SECONDS) if place is None else self._watch(kind, status, *place)
                forgotten = False
            except _NotThere as error:
                # A load balancer in trouble answers so too: only who hears it twice takes everything away.
                self._failed(kind, status, error)
                ended, forgotten = self._wait(_ABSENT_SECONDS), True
            except ApiError as error:
                self._failed(kind, status, error)
                ended = error.status in (401, 403) and self._wait(_FORBIDDEN_SECONDS)
            except Exception as error:  # noqa: BLE001 - a thread that dies unseen would leave its kind as it is for ever
                self._crashed(kind, status, error)
                ended = False
            if self._clock() - began >= _LONGEST_WAIT:
                wait = _FIRST_WAIT
            if ended or self._wait(_some_of(wait)):
                return
            wait = min(wait * 2, _LONGEST_WAIT)

    def _list(self, kind: WatchedKind, status: KindStatus, sure: bool) -> tuple[str, str] | None:
        """Take over all there is; path and resourceVersion to watch from. None where the cluster does not know the kind.

        Where objects of it are known, that has to be said twice: ``sure``.
        """
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
            if self._journal.count(kind.group, kind.kind) and not sure:
                raise _NotThere(404, "NotFound", f"the API server does not know {kind.text} any more")
            self._journal.absent(kind.group, kind.kind)
        self._answered(kind, status, "absent")
        return None

    def _watch(self, kind: WatchedKind, status: KindStatus, path: str, version: str) -> bool:
        """Follow what happens, over as many watches as it takes. False: list again; True: everything is to end."""
        wait = _FIRST_WAIT
        while True:
            began = self._clock()
            try:
                for what, found in self._api.watch(path, version, self._watch_seconds):
                    version = _version_of(found) or version
                    if what == "DELETED":
                        self._drop(kind, found)
                    elif what in ("ADDED", "MODIFIED"):
                        self._put(kind, found)
                    self._answered(kind, status, "synced")
                self._answered(kind, status, "synced")
            except ApiError as error:
                if error.expired or error.not_found:
                    status.failed("expired")
                    return False
                self._failed(kind, status, error)
            # A server that ends every watch at once, or after one event, must not be asked without end.
            if self._clock() - began >= wait:
                wait = _FIRST_WAIT
                if not status.fault:
                    continue
            if self._wait(_some_of(wait)):
                return True
            wait = min(wait * 2, _LONGEST_WAIT)

    def _put(self, kind: WatchedKind, found: JsonObject) -> Key | None:
        key = _key(kind, found)
        if key is None:
            return None
        with self._writing:
            kept = self._journal.put(kind.group, kind.kind, key[2], key[3], kind.slim(found), kind.room)
            self._count_unread(kind, key, unread=not kept)
        if not kept and self._repeats.ask(("unread", kind.text), self._clock()) is not None:
            text = f"what is said of {key[2]}{'/' if key[2] else ''}{key[3]} is too long to be kept: it counts as not known"
            self._log.warning("cluster object not read", kind=kind.text, text=text)
        return key

    def _drop(self, kind: WatchedKind, found: JsonObject) -> None:
        key = _key(kind, found)
        if key is not None:
            with self._writing:
                self._journal.drop(key)
                self._count_unread(kind, key, unread=False)

    def _count_unread(self, kind: WatchedKind, key: Key, unread: bool) -> None:
        if unread is not (key in self._unread):
            (self._unread.add if unread else self._unread.discard)(key)
            self.status[kind.text].unread += 1 if unread else -1

    def _answered(self, kind: WatchedKind, status: KindStatus, state: str) -> None:
        status.contact = self._clock()
        status.objects = self._journal.count(kind.group, kind.kind)
        if (status.state != state or status.fault) and self._repeats.ask((state, kind.text), status.contact) is not None:
            self._log.info("cluster watch", kind=kind.text, state=state, objects=status.objects)
        status.state, status.fault = state, ""

    def _failed(self, kind: WatchedKind, status: KindStatus, error: ApiError) -> None:
        reason = error.reason or str(error.status)
        status.failed(reason)
        # Once a fault: neither a server that is away for an hour nor one that comes and goes is a reason for an hour of lines.
        told, status.fault = status.fault, f"{reason}: {error.message}"
        if told.startswith(f"{reason}:") or self._repeats.ask((reason, kind.text), self._clock()) is None:
            return
        text = "what was known of it stays in force" if status.state != "unknown" else "nothing is known of it yet"
        self._log.warning("cluster watch failed", kind=kind.text, status=error.status, text=error.message, meanwhile=text)

    def _crashed(self, kind: WatchedKind, status: KindStatus, error: Exception) -> None:
        status.failed(_CRASH)
        status.fault = f"{_CRASH}: {type(error).__name__}"
        if self._repeats.ask((_CRASH, kind.text), self._clock()) is not None:
            self._log.error("cluster watch crashed", kind=kind.text, **crash_fields(error))


class _NotThere(ApiError):
    """A kind whose objects are known seems to have been taken away."""


def _key(kind: WatchedKind, found: JsonObject) -> Key | None:
    metadata = found.get("metadata")
    if not isinstance(metadata, dict) or not isinstance(metadata.get("name"), str) or kind.leaves_out(found):
        return None
    namespace = metadata.get("namespace") or ""
    return (kind.group, kind.kind, namespace, metadata["name"]) if isinstance(namespace, str) else None


def _version_of(found: JsonObject) -> str:
    metadata = found.get("metadata")
    version = metadata.get("resourceVersion") if isinstance(metadata, dict) else None
    return version if isinstance(version, str) else ""


def _some_of(seconds: float) -> float:
    """Many replicas that lost the same API server must not come back in the same moment."""
    return seconds * random.uniform(0.5, 1.0)  # noqa: S311 - nothing secret about it
