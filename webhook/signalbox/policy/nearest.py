"""``did you mean …?``: the nearest of the words there are."""

from collections.abc import Iterable
from difflib import get_close_matches

_MOST_SHOWN = 40


def nearest(word: str, words: Iterable[str]) -> str:
    """``, did you mean "…"?`` with the nearest of ``words``, else what there is to choose from, to hang on a sentence."""
    known = list(words)
    close = get_close_matches(word, known, n=1, cutoff=0.6)
    if not close:
        # Case is what people get wrong most, and difflib counts each letter of it.
        close = [candidate for candidate in known if candidate.lower() == word.lower()]
    if close:
        return f', did you mean "{close[0]}"?'
    return f" (known: {', '.join(known)})" if 0 < len(known) <= _MOST_SHOWN else ""
