"""How far a scan has come, on a terminal: one line that is drawn over and over, and gone when the report is written."""

import shutil
import sys
from time import monotonic
from typing import TextIO

_WIDTH = 24
_EVERY_SECONDS = 0.1
_CLEAR = "\r\x1b[K"


class Progress:
    """Draws only where a person sees it; ``stream`` is stderr, so that a report in a pipe stays clean."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._shown = self._stream.isatty()
        self._drawn = 0.0

    def __call__(self, kind: str, done: int, left: int) -> None:
        """``done`` objects of a kind have come, the server says that ``left`` are still to come."""
        now = monotonic()
        if not self._shown or (left and now - self._drawn < _EVERY_SECONDS):
            return
        self._drawn = now
        self._stream.write(f"{_CLEAR}{progress_line(kind, done, left)[: shutil.get_terminal_size().columns - 1]}")
        self._stream.flush()

    def close(self) -> None:
        """Take the line away."""
        if self._shown and self._drawn:
            self._stream.write(_CLEAR)
            self._stream.flush()


def progress_line(kind: str, done: int, left: int) -> str:
    """``[######··················]  12,500 of 50,000  Pod``."""
    total = done + left
    filled = _WIDTH if not total else round(_WIDTH * done / total)
    return f"[{'#' * filled}{'.' * (_WIDTH - filled)}]  {done:,} of {total:,}  {kind}"
