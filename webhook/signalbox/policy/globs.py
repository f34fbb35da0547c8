"""Globs of names: ``*``, ``?`` and ``[…]``, and plain words among them."""

import re
from collections.abc import Callable, Iterable

from signalbox.workload.signs import glob


def compile_globs(patterns: Iterable[str]) -> Callable[[str], bool]:
    """A test whether a text fits any of the globs. Plain words are looked up, not matched."""
    words = frozenset(pattern for pattern in patterns if not _is_glob(pattern))
    expressions = tuple(glob(pattern) for pattern in patterns if _is_glob(pattern))
    if not expressions:
        return words.__contains__
    if any(expression is glob("*") for expression in expressions):
        return bool

    def fits(text: str) -> bool:
        # An empty text is "there is none": only the empty word, written as such, stands for it.
        return text in words or (text != "" and any(expression.match(text) for expression in expressions))

    return fits


def any_glob(patterns: Iterable[str], text: str) -> bool:
    """Whether a text fits any of the globs."""
    return any(pattern == text or glob(pattern).match(text) is not None for pattern in patterns)


_GLOB_CHARACTERS = re.compile(r"[*?\[]")


def _is_glob(pattern: str) -> bool:
    return _GLOB_CHARACTERS.search(pattern) is not None
