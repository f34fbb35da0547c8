"""JSON that somebody packed with gzip, unpacked within bounds: a few kilobytes can be made to fill any memory.

The bytes are bounded, and so is the number of values: an empty list takes three bytes of text and sixty of memory.
"""

import json
import re
import zlib
from itertools import islice
from typing import Any

# Each value is a text, or begins with or behind one of these.
_VALUES = re.compile(rb'"(?:[^"\\]|\\.)*+"|[\[{,]', re.DOTALL)


class PackedError(ValueError):
    """What was packed cannot be used; the text says why, and begins in the middle of a sentence."""


def unpacked(data: bytes, most_bytes: int, most_values: int) -> Any:
    """The value that was packed. Raises PackedError."""
    inflating = zlib.decompressobj(wbits=31)
    try:
        text = inflating.decompress(data, most_bytes)
        if not inflating.eof:
            raise PackedError("is cut off, or too large to be one of ours")
        if next(islice(_VALUES.finditer(text), most_values, None), None) is not None:
            raise PackedError("holds more values than one of ours")
        return json.loads(text)
    except (zlib.error, UnicodeError, RecursionError, json.JSONDecodeError) as error:
        raise PackedError(f"cannot be read: {type(error).__name__}: {error}") from None


def size_unpacked(data: bytes) -> int:
    """How many bytes it takes when it is unpacked, by what gzip noted at its end."""
    return int.from_bytes(data[-4:], "little")
