"""Plain YAML scalars as kubectl reads them: sigs.k8s.io/yaml, that is go-yaml v2 and then JSON.

YAML 1.1 with go-yaml's own turns: ``yes`` and ``on`` are booleans, ``0755`` is octal, ``1_000`` a number; but dates and
``1:30`` stay strings. What becomes JSON has no NaN and no infinity, and a whole float is written without a dot.
"""

import base64
import binascii
import re
import struct
from typing import Any

_TAG = "tag:yaml.org,2002:"
_WORDS: dict[str, Any] = {
    "": None,
    **dict.fromkeys(("~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), float("nan")),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), float("inf")),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), float("-inf")),
}
# Only what starts like this can be anything but a string.
_FIRST = frozenset("0123456789+-.")
_INTEGER = re.compile(r"([-+]?)(?:0[xX]([0-9a-fA-F]+)|0[bB]([01]+)|0[oO]?([0-7]+)|(0|[1-9][0-9]*))\Z")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?\Z")
_UINT64 = re.compile(r"\+?[0-9_]+\Z|\+?0[xX]")
_INT64 = 2**63


class ScalarError(ValueError):
    """A scalar whose tag it does not fit, or that JSON has no value for."""


def resolve_plain(text: str) -> Any:
    """The value of an untagged, unquoted scalar. May be NaN or infinite: ``resolve`` refuses that."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in _FIRST:
        return text
    plain = text.replace("_", "") if text[0] != "." else text
    match = _INTEGER.match(plain)
    if match is not None:
        sign, hexadecimal, binary, octal, decimal = match.groups()
        if hexadecimal or binary or octal:
            magnitude = int(hexadecimal or binary or octal, 16 if hexadecimal else 2 if binary else 8)
        else:
            # Python refuses to read endless digits; from here on a float holds the number anyway.
            magnitude = int(decimal) if len(decimal) < 25 else 2 * _INT64
        value = -magnitude if sign == "-" else magnitude
        if -_INT64 <= value < _INT64:
            return value
        if not sign and value < _INT64 * 2:
            return float(value)
    if _FLOAT.match(plain):
        number = float(plain)
        # Go's ParseFloat reports a range error, and the scalar stays a string.
        return text if number in (float("inf"), float("-inf")) else number
    return text


def resolve(text: str, tag: str) -> Any:
    """The JSON value of a scalar. ``tag`` is empty for an untagged, unquoted one, else the full tag.

    Raises ScalarError where kubectl would refuse it.
    """
    if not tag:
        return _as_json(resolve_plain(text), text)
    kind = tag.removeprefix(_TAG) if tag.startswith(_TAG) else ""
    if kind == "binary":
        try:
            return base64.b64decode("".join(text.split()), validate=True).decode("utf-8", "replace")
        except (binascii.Error, ValueError):
            raise ScalarError("!!binary value contains invalid base64 data") from None
    if kind not in ("int", "float", "bool", "null"):
        return text
    value = resolve_plain(text)
    if kind == "float" and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    found = {bool: "bool", int: "int", float: "float", type(None): "null"}.get(type(value), "str")
    if found != kind:
        raise ScalarError(f"cannot read {text[:40]!r} as a !!{kind}")
    return _as_json(value, text)


def key_text(text: str, tag: str) -> str:
    """A mapping's key as JSON has it: a number or boolean as text. Raises ScalarError where kubectl would refuse it."""
    value = resolve_plain(text) if not tag else resolve(text, tag)
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    # What is above int64 is no float but a uint64 to go-yaml, which sigs.k8s.io/yaml has no key for.
    if isinstance(value, float) and value == value and abs(value) != float("inf") and not _UINT64.match(text):
        return _float_key(value)
    raise ScalarError(f"{text or 'an empty value'} cannot be a key: put it in quotes")


def _as_json(value: Any, text: str) -> Any:
    if not isinstance(value, float):
        return value
    if value != value or value in (float("inf"), float("-inf")):
        raise ScalarError(f"{text} has no value in JSON")
    if value.is_integer() and -_INT64 <= value < _INT64:
        return int(value)
    return value


def _float_key(value: float) -> str:
    """Go's FormatFloat(value, 'g', -1, 32), which sigs.k8s.io/yaml uses for keys."""
    try:
        single = struct.pack("<f", value)
    except OverflowError:
        return "-.inf" if value < 0 else ".inf"
    shortest = next(text for digits in range(17) if struct.pack("<f", float(text := f"{value:.{digits}e}")) == single)
    mantissa, _, exponent = shortest.partition("e")
    if -4 <= int(exponent) < 6:
        places = max(len(mantissa.partition(".")[2]) - int(exponent), 0)
        return f"{float(shortest):.{places}f}"
    return shortest
