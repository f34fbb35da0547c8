"""Names of ``WorkloadSigns`` documents in the form in which they are looked up."""

import re

from signalbox.workload.vocabulary import name_words

_SEPARATORS = re.compile(r"[^A-Za-z0-9]+")


def as_words(name: str) -> str:
    """A word or several in the form in which the words of a name are compared: ``gpt2`` is gpt and 2 there too."""
    return "_".join(name_words(name.lower()))


def phrase(name: str) -> str:
    """A name whose words are compared as they are written: ``nvcr.io/nim`` is nvcr_io_nim."""
    return _SEPARATORS.sub("_", name).lower()
