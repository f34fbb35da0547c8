"""``did you mean …?``: the nearest of the words there are."""

from collections.abc import Iterable
from difflib import get_close_matches

_A_WORD = 4
_MOST_SHOWN = 12
_FEW = 5


def nearest(word: str, words: Iterable[str]) -> str:
    """``, did you mean "…"?`` with the nearest of ``words``, else what there is to choose from, to hang on a sentence.

    Of many words only the nearest few are named.
    """
    known = list(words)
    # Of a long key people write the part they remember: ``grace`` for ``terminationGracePeriodSeconds``.
    holding = [candidate for candidate in known if len(word) >= _A_WORD and word.lower() in candidate.lower()]
    close = holding if len(holding) == 1 else get_close_matches(word, known, n=1, cutoff=0.6)
    if not close:
        # Case is what people get wrong most, and difflib counts each letter of it.
        close = [candidate for candidate in known if candidate.lower() == word.lower()]
    if close:
        return f', did you mean "{close[0]}"?'
    if len(known) > _MOST_SHOWN:
        few = get_close_matches(word, known, n=_FEW, cutoff=0.0)
        return f" (the nearest of {len(known)}: {', '.join(few)})"
    return f" (known: {', '.join(known)})" if known else ""
