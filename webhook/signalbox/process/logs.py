"""Logs: one JSON object a line on stderr, bounded in size, never a manifest.

Each line is one ``write`` to the file descriptor: no buffer and no lock of Python's is shared with a forked worker.
"""

import contextlib
import logging
import os
import sys
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from traceback import walk_tb
from types import TracebackType
from typing import Any

import orjson

LEVELS: Mapping[str, int] = {"debug": 10, "info": 20, "warning": 30, "error": 40}

_STDERR = 2
_LONGEST_TEXT = 300
_MOST_ITEMS = 20
_MOST_FRAMES = 6


class Log:
    """Writes the lines of one process. ``level`` is the lowest level that is written."""

    __slots__ = ("threshold",)

    def __init__(self, level: str = "info") -> None:
        self.threshold = LEVELS[level]

    def debug(self, event: str, **fields: object) -> None:
        """What only someone who hunts a fault wants to see."""
        self._write("debug", event, fields)

    def info(self, event: str, **fields: object) -> None:
        """What happens in normal work: start, stop, reload, a refusal."""
        self._write("info", event, fields)

    def warning(self, event: str, **fields: object) -> None:
        """What a person should mend, though the webhook goes on."""
        self._write("warning", event, fields)

    def error(self, event: str, **fields: object) -> None:
        """What went wrong on our side."""
        self._write("error", event, fields)

    def _write(self, level: str, event: str, fields: Mapping[str, object]) -> None:
        if LEVELS[level] < self.threshold:
            return
        line: dict[str, object] = {
            "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "level": level,
            "event": event,
        }
        line.update((name, bounded(value)) for name, value in fields.items())
        data = orjson.dumps(line, default=str) + b"\n"
        # Whoever read our stderr may be gone; that must not end the webhook, least of all while it stops.
        with contextlib.suppress(OSError):
            while data:
                data = data[os.write(_STDERR, data) :]


def bounded(value: object) -> object:
    """The value, cut so that no line grows without end: a name or a list may come from a hostile manifest."""
    if isinstance(value, str):
        # A lone surrogate cannot be written as UTF-8.
        text = value.encode("utf-8", "replace").decode("utf-8")
        return text if len(text) <= _LONGEST_TEXT else text[: _LONGEST_TEXT - 1] + "…"
    if isinstance(value, (list, tuple)):
        shown = [bounded(item) for item in value[:_MOST_ITEMS]]
        return shown if len(value) <= _MOST_ITEMS else [*shown, f"… {len(value) - _MOST_ITEMS} more"]
    return value


def crash_fields(error: BaseException) -> dict[str, object]:
    """Where an exception came from, for one log line.

    Its text is left out: it may quote a manifest, and a manifest may hold a secret.
    """
    return {"exception": type(error).__name__, "frames": list(_last_frames(error.__traceback__))}


def _last_frames(traceback: TracebackType | None) -> Iterator[str]:
    frames = [
        f"{frame.f_code.co_filename.rpartition('site-packages/')[2]}:{line} {frame.f_code.co_name}"
        for frame, line in walk_tb(traceback)
    ]
    yield from frames[-_MOST_FRAMES:]


class JsonHandler(logging.Handler):
    """Brings what libraries say through the standard logging into the same lines."""

    def __init__(self) -> None:
        super().__init__()
        self._log = Log("debug")

    def emit(self, record: logging.LogRecord) -> None:
        """Write one record."""
        write = self._log.error if record.levelno >= logging.ERROR else self._log.warning
        fields: dict[str, Any] = {"logger": record.name, "text": record.getMessage()}
        if record.exc_info and record.exc_info[1] is not None:
            fields |= crash_fields(record.exc_info[1])
        write("library", **fields)


def complain(text: str) -> None:
    """One plain line for the person who started the command and now has to mend something."""
    print(f"signalbox: {text}", file=sys.stderr, flush=True)
