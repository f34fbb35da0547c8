"""How hard a rule bites: disabled, audit, warn, enforce."""

from enum import IntEnum


class Mode(IntEnum):
    """Ordered, so that the lower of two modes is ``min`` of them."""

    DISABLED = 0
    AUDIT = 1
    WARN = 2
    ENFORCE = 3

    @property
    def text(self) -> str:
        """The word policies use."""
        return self.name.lower()

    @classmethod
    def parse(cls, text: str) -> "Mode":
        """The mode of that word. Raises ValueError, with the words there are, on any other."""
        mode = _BY_WORD.get(text)
        if mode is None:
            raise ValueError(f"{text!r} is no mode, one of {', '.join(MODE_WORDS)} is expected")
        return mode


MODE_WORDS: tuple[str, ...] = tuple(mode.text for mode in Mode)
_BY_WORD = {mode.text: mode for mode in Mode}
