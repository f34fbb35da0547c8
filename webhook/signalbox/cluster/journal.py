"""What a watch saw, handed from the one process that watches to all that judge: a file that only grows.

The watching process appends an entry for each change; every other reads on from where it was. A worker that is made later, or
a reader that missed nothing but the time, reads the same file from its start. When much of the file has been overtaken, or the
watching process was started again, a new file takes its place by a rename. What a reader knew stays in force until the new
file has told the whole of a kind: a watch that is lost takes nothing away.
"""

import contextlib
import os
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import orjson

from signalbox.cluster.reading import UNREAD
from signalbox.cluster.resources import Room
from signalbox.review import JsonObject

Key = tuple[str, str, str, str]
"""Group, kind, namespace, name."""

_PUT, _DROP, _SYNCED, _ABSENT = "put", "drop", "synced", "absent"
_LEAST_BYTES = 4 * 1024 * 1024
# The private directory is small, and while a file is written anew the old one is still there.
_OVERTAKEN = 2
# Each file begins with a word of its own: an inode may be used again.
_HEADER = 33


class Tables(Protocol):
    """What a journal is read into."""

    def put(self, group: str, kind: str, obj: JsonObject) -> object:
        """There is this object, or it is now like this."""
        ...

    def drop(self, group: str, kind: str, namespace: str, name: str) -> None:
        """That object is gone."""
        ...

    def synced(self, group: str, kind: str) -> None:
        """All objects of the kind have been told."""
        ...

    def absent(self, group: str, kind: str) -> None:
        """The cluster does not know that kind."""
        ...


class JournalWriter:
    """The file, and what of it is still true, so that it can be written anew. Not for several threads at once.

    Never raises where the disk is full or the file is gone: ``fault`` says so, and ``mend`` tries again.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._live: dict[tuple[str, str], dict[Key, bytes]] = {}
        self._states: dict[tuple[str, str], bytes] = {}
        self._bytes: dict[tuple[str, str], int] = {}
        self._written = 0
        self.fault = ""
        self._anew()

    def known(self, group: str, kind: str) -> set[Key]:
        """The keys of all objects of a kind."""
        return set(self._live.get((group, kind), ()))

    def count(self, group: str, kind: str) -> int:
        """How many objects of a kind there are."""
        return len(self._live.get((group, kind), ()))

    def put(self, group: str, kind: str, namespace: str, name: str, obj: JsonObject, room: Room) -> bool:
        """An object as it is now; nothing is written where it was like this already.

        False where there is no ``room`` for it: then only that it is there is told, and what it says is unknown.
        """
        key: Key = (group, kind, namespace, name)
        of_kind = self._live.setdefault((group, kind), {})
        old = of_kind.get(key, b"")
        line = _line_of(group, kind, obj, min(room.one, room.all - self._bytes.get((group, kind), 0) + len(old)))
        kept = line is not None
        if line is None:
            line = _line(_PUT, group, kind, _only_named(obj, namespace, name))
        if old != line:
            of_kind[key] = line
            self._bytes[group, kind] = self._bytes.get((group, kind), 0) + len(line) - len(old)
            self._append(line)
        return kept

    def drop(self, key: Key) -> None:
        """An object is gone."""
        if self._forget(key):
            self._append(_line(_DROP, *key))

    def synced(self, group: str, kind: str) -> None:
        """All objects of a kind have been written."""
        self._state(_SYNCED, group, kind)

    def absent(self, group: str, kind: str) -> None:
        """The cluster does not know the kind."""
        for key in self.known(group, kind):
            self._forget(key)
        self._state(_ABSENT, group, kind)

    def _state(self, word: str, group: str, kind: str) -> None:
        line = _line(word, group, kind)
        if self._states.get((group, kind)) != line:
            self._states[group, kind] = line
            self._append(line)

    def _forget(self, key: Key) -> bool:
        line = self._live.get(key[:2], {}).pop(key, None)
        if line is None:
            return False
        self._bytes[key[:2]] -= len(line)
        return True

    def mend(self) -> None:
        """Write the file anew where it is not what was written: cut off on a full disk, or deleted by somebody."""
        try:
            size = self._file.stat().st_size
        except OSError:
            size = -1
        if self.fault or size != self._written:
            self._anew()

    def _append(self, line: bytes) -> None:
        if self.fault:
            # The rest waits for ``mend``, once a second: a disk that is full is not asked for every object.
            return
        if self._written + len(line) > max(_LEAST_BYTES, _OVERTAKEN * sum(self._bytes.values())):
            self._anew()
            return
        try:
            # Never made here: a file without its first line, and without what came before, would say too little.
            with self._file.open("r+b", buffering=0) as file:
                whole = file.seek(0, os.SEEK_END) == self._written and file.write(line) == len(line)
        except OSError:
            whole = False
        if whole:
            self._written += len(line)
        else:
            self._anew()

    def _anew(self) -> None:
        objects = (line for of_kind in self._live.values() for line in of_kind.values())
        lines = b"".join((uuid.uuid4().hex.encode() + b"\n", *objects, *self._states.values()))
        new = self._file.with_suffix(".new")
        try:
            new.write_bytes(lines)
            new.replace(self._file)
        except OSError as error:
            self.fault = f"{self._file}: {error.strerror or error}"
            with contextlib.suppress(OSError):
                # Half a file would keep the disk full.
                new.unlink()
        else:
            self.fault = ""
            self._written = len(lines)


@dataclass(slots=True)
class JournalReader:
    """One process's place in the file. ``poll`` is called by one thread."""

    file: Path
    tables: Sequence[Tables]
    _looks: tuple[int, int, int] = (0, 0, 0)
    _header: bytes = b""
    _offset: int = 0
    _known: dict[tuple[str, str], set[Key]] = field(default_factory=dict)
    _told: dict[tuple[str, str], set[Key]] = field(default_factory=dict)
    states: dict[tuple[str, str], str] = field(default_factory=dict)
    """``synced`` or ``absent`` of each kind whose whole was told at least once."""
    damaged: int = 0
    """Entries that could not be taken over."""

    def poll(self) -> int:
        """Take over what was written since the last time; how many entries that were."""
        try:
            state = os.stat(self.file)
            looks = (state.st_ino, state.st_size, state.st_mtime_ns)
            if looks == self._looks:
                return 0
            with self.file.open("rb") as file:
                header = file.read(_HEADER)
                if header != self._header:
                    if len(header) < _HEADER:
                        return 0
                    self._header, self._offset = header, len(header)
                    self._told = {}
                file.seek(self._offset)
                data = file.read()
        except FileNotFoundError:
            return 0
        self._looks = looks
        # The last line may still be in the writing.
        whole = data[: data.rfind(b"\n") + 1]
        self._offset += len(whole)
        lines = whole.splitlines()
        for line in lines:
            # One entry that nobody can use must not take those behind it along.
            try:
                self._apply(orjson.loads(line))
            except (orjson.JSONDecodeError, LookupError, TypeError, ValueError, AttributeError):
                self.damaged += 1
        return len(lines)

    def _apply(self, entry: list[Any]) -> None:
        word, group, kind = entry[:3]
        of_kind = (group, kind)
        known = self._known.setdefault(of_kind, set())
        if word == _PUT:
            metadata = entry[3]["metadata"]
            key: Key = (group, kind, metadata.get("namespace", ""), metadata["name"])
            known.add(key)
            self._told.setdefault(of_kind, set()).add(key)
            for tables in self.tables:
                tables.put(group, kind, entry[3])
        elif word == _DROP:
            self._drop((group, kind, entry[3], entry[4]))
        elif word == _SYNCED:
            for key in known - self._told.get(of_kind, set()):
                self._drop(key)
            self.states[of_kind] = word
            for tables in self.tables:
                tables.synced(group, kind)
        elif word == _ABSENT:
            known.clear()
            self.states[of_kind] = word
            for tables in self.tables:
                tables.absent(group, kind)

    def _drop(self, key: Key) -> None:
        self._known.get(key[:2], set()).discard(key)
        self._told.get(key[:2], set()).discard(key)
        for tables in self.tables:
            tables.drop(*key)


def _only_named(obj: JsonObject, namespace: str, name: str) -> JsonObject:
    kept: JsonObject = {"metadata": {"namespace": namespace, "name": name}, UNREAD: True}
    # Of a document what kind it is, so that a fault in it can be told.
    kept.update((word, obj[word]) for word in ("apiVersion", "kind") if word in obj)
    return kept


def _line(*words: object) -> bytes:
    return orjson.dumps(words) + b"\n"


def _line_of(group: str, kind: str, obj: JsonObject, most: int) -> bytes | None:
    try:
        line = _line(_PUT, group, kind, obj)
    except orjson.JSONEncodeError:
        # What is nested deeper than can be written.
        return None
    return line if len(line) <= most else None
