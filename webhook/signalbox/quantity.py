"""Kubernetes quantities: ``"2"``, ``1k``, ``500m``, ``1e0``, ``2.0``, ``3Ki``.

Grammar and suffixes: apimachinery ``pkg/api/resource/quantity.go``. Values are exact fractions, never floats, so that
``1000m`` equals ``1`` and ``0.1`` is not ``0.1000000000000000055``; whole ones are plain integers, which compute faster.
As there, one is at most 2^63-1 in size, and its smallest part is a nano, to which it is rounded up: a sum of them always
has a value as a float.
"""

import re
from fractions import Fraction
from functools import lru_cache
from math import ceil
from typing import Any

Quantity = int | Fraction

_MOST = 2**63 - 1
_NANO = 10**9
# Zeros in front say nothing, however many there are.
_LONGEST = 1024

_NUMBER = re.compile(r"([+-]?)(\d+\.?\d*|\.\d+)(?:([eE][+-]?0*\d{1,3})|([numkMGTPE]|[KMGTPE]i)?)\Z")
_SUFFIX = {
    None: Fraction(1),
    "n": Fraction(1, 10**9),
    "u": Fraction(1, 10**6),
    "m": Fraction(1, 1000),
    "k": Fraction(10**3),
    "M": Fraction(10**6),
    "G": Fraction(10**9),
    "T": Fraction(10**12),
    "P": Fraction(10**15),
    "E": Fraction(10**18),
    "Ki": Fraction(2**10),
    "Mi": Fraction(2**20),
    "Gi": Fraction(2**30),
    "Ti": Fraction(2**40),
    "Pi": Fraction(2**50),
    "Ei": Fraction(2**60),
}
_PLACEHOLDER = re.compile(
    # A piece without an end is searched for it no further than the next beginning: texts may be nothing but beginnings.
    r"\$\{[^$}]*+\}|\$\([^$)]*+\)|\$[A-Za-z_]\w*|\{\{(?!\{)(?:[^{}]++|\{(?!\{)|\}(?!\}))*+\}\}"
    r"|<[A-Za-z][\w .-]*+>|%[A-Z_]{2,}+%|__[A-Z][A-Z0-9_]*__"
    # A whole value in the spelling of a variable: NUM_GPUS.
    r"|\A[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\Z"
)


def parse_quantity(value: Any) -> Quantity | None:
    """The exact value of a quantity, or None for anything that is not one (a bool, null, ``""``, ``abc``)."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return max(-_MOST, min(value, _MOST))
    if isinstance(value, float):
        value = repr(value)
    if not isinstance(value, str) or len(value) > _LONGEST:
        return None
    return _parse(value)


@lru_cache(maxsize=4096)
def _parse(text: str) -> Quantity | None:
    match = _NUMBER.match(text)
    if match is None:
        return None
    sign, digits, exponent, suffix = match.groups()
    number = Fraction(digits.rstrip(".") if digits.endswith(".") else digits)
    number *= Fraction(10) ** int(exponent[1:]) if exponent else _SUFFIX[suffix]
    number = min(number, Fraction(_MOST))
    if _NANO % number.denominator:
        number = Fraction(ceil(number * _NANO), _NANO)
    if sign == "-":
        number = -number
    return number.numerator if number.denominator == 1 else number


def is_placeholder(value: Any) -> bool:
    """Whether a template engine or shell has yet to fill the value in: ``${GPUS}``, ``{{ .Values.gpus }}``, ``<N>``."""
    return isinstance(value, str) and _PLACEHOLDER.search(value) is not None


def format_quantity(value: Quantity) -> str:
    """A count for people: whole numbers as such, others with up to three decimals."""
    if value.denominator == 1:
        return str(value.numerator)
    return f"{float(value):.3f}".rstrip("0").rstrip(".")


_BYTES = ("memory", "ephemeral-storage", "hugepages-", "storage")
_BINARY = ("Ei", "Pi", "Ti", "Gi", "Mi", "Ki")


def format_amount(resource: str, value: Quantity) -> str:
    """An amount of a resource for people: bytes in the largest unit that they are whole in, anything else as a count."""
    name = resource.removeprefix("requests.").removeprefix("limits.")
    fitting = [unit for unit in _BINARY if value >= _SUFFIX[unit]] if name.startswith(_BYTES) else []
    if not fitting:
        return format_quantity(value)
    unit = next((unit for unit in fitting if value % _SUFFIX[unit] == 0), fitting[0])
    return f"{format_quantity(Fraction(value) / _SUFFIX[unit])}{unit}"
