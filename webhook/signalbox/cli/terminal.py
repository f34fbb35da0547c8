"""Writing to a terminal, a file or a pipe: colour only where a person sees it, marks the terminal can show."""

import os
import sys
from dataclasses import dataclass
from typing import TextIO

_CODES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33"}


@dataclass(frozen=True, slots=True)
class Marks:
    """The marks of a report."""

    fine: str
    warned: str
    refused: str
    arrow: str


UNICODE = Marks("✓", "!", "✗", "→")
ASCII = Marks("ok", "!", "x", "->")


class Terminal:
    """One stream to write lines to."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.color = _wants_color(stream)
        self.marks = UNICODE if _can_encode(stream, "✓✗→…") else ASCII
        if hasattr(stream, "reconfigure"):
            # A name from a manifest that the terminal cannot show must not end the report.
            stream.reconfigure(errors="replace")

    def line(self, text: str = "", *styles: str) -> None:
        """Write one line, styled where there is colour."""
        self._stream.write(f"{self.styled(text, *styles)}\n")

    def styled(self, text: str, *styles: str) -> str:
        """The text in the styles ``bold``, ``dim``, ``red``, ``green``, ``yellow``, or as it is."""
        if not self.color or not styles or not text:
            return text
        return f"\x1b[{';'.join(_CODES[style] for style in styles)}m{text}\x1b[0m"


def stdout() -> Terminal:
    """What the command is asked for goes here."""
    return Terminal(sys.stdout)


def stderr() -> Terminal:
    """What went wrong on the way goes here."""
    return Terminal(sys.stderr)


def _wants_color(stream: TextIO) -> bool:
    # https://no-color.org: set and not empty, whatever its value.
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def _can_encode(stream: TextIO, text: str) -> bool:
    try:
        text.encode(stream.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
