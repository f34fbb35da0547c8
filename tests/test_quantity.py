"""Quantities as Kubernetes reads them."""

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signalbox.quantity import format_amount, format_quantity, is_placeholder, parse_quantity


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("0", 0),
        ("1", 1),
        (8, 8),
        ("1000m", 1),
        ("1k", 1000),
        ("3Ki", 3072),
        ("1.0", 1),
        ("2.0", 2),
        ("1e0", 1),
        ("1E2", 100),
        ("1E", 10**18),
        (".5", Fraction(1, 2)),
        ("5.", 5),
        ("+1", 1),
        ("-1", -1),
        ("1500m", Fraction(3, 2)),
        ("500m", Fraction(1, 2)),
        (1.5, Fraction(3, 2)),
        (2.0, 2),
        ("3000m", 3),
    ],
)
def test_quantity(written: Any, value: Any) -> None:
    """kubernetes/website#26037: 3000m and 3Ki are GPU quantities, 0.5 and 1500m are numbers but not whole ones."""
    assert parse_quantity(written) == value


@pytest.mark.parametrize(
    "written", ["", " 1", "abc", "1 ", "1kk", "0x10", "1e", "--1", None, True, False, [], {}, "9" * 2000, "1e9999"]
)
def test_no_quantity(written: Any) -> None:
    assert parse_quantity(written) is None


@given(st.integers(-(10**9), 10**9))
def test_milli_is_a_thousandth(number: int) -> None:
    assert parse_quantity(f"{number}m") == Fraction(number, 1000)


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("1e999", 2**63 - 1),
        ("-1e999", 1 - 2**63),
        ("16Ei", 2**63 - 1),
        ("9" * 100, 2**63 - 1),
        ("0" * 100 + "64", 64),
        ("64e0000", 64),
        (10**30, 2**63 - 1),
        (-(10**30), 1 - 2**63),
        (1e300, 2**63 - 1),
        ("1e-999", Fraction(1, 10**9)),
        ("-0.0000000001", Fraction(-1, 10**9)),
        ("1.0000000001", Fraction(10**9 + 1, 10**9)),
    ],
)
def test_what_is_too_large_or_too_fine_is_the_nearest_that_there_is(written: Any, value: Any) -> None:
    """As in apimachinery: at most 2^63-1, and rounded up to a nano."""
    assert parse_quantity(written) == value


SIZES = st.from_regex(r"[+-]?\d{1,3}(\.\d{1,3})?([eE][+-]?\d{1,3}|[numkMGTPE]|[KMGTPE]i)?", fullmatch=True)


@given(st.lists(SIZES | st.text(max_size=20) | st.floats() | st.integers(), max_size=4), st.integers(0, 2**63))
def test_every_sum_has_a_text_and_a_value_as_a_float(written: list[Any], pods: int) -> None:
    values = [value for one in written if (value := parse_quantity(one)) is not None]
    total = sum(values) * pods
    assert len(format_quantity(total)) < 64
    assert isinstance(float(total), float)


@pytest.mark.parametrize("written", ["${GPUS}", "$GPUS", "{{ .Values.gpus }}", "$(GPUS)", "<GPUS>", "__GPUS__"])
def test_placeholder(written: str) -> None:
    assert is_placeholder(written)


@pytest.mark.parametrize("written", ["1", "500m", "", 1, None, "one"])
def test_no_placeholder(written: Any) -> None:
    assert not is_placeholder(written)


@pytest.mark.parametrize(
    ("resource", "amount", "text"),
    [
        ("nvidia.com/gpu", 64, "64"),
        ("cpu", Fraction(1, 2), "0.5"),
        ("memory", 2**30, "1Gi"),
        ("memory", 1600 * 2**30, "1600Gi"),
        ("requests.memory", 2**41, "2Ti"),
        ("limits.ephemeral-storage", 10**9, "953.674Mi"),
        ("hugepages-2Mi", 2**21, "2Mi"),
        ("memory", 3 * 2**30 + 1, "3Gi"),
        ("memory", 512, "512"),
        ("memory", 0, "0"),
    ],
)
def test_an_amount_is_shown_in_the_unit_of_its_resource(resource: str, amount: Any, text: str) -> None:
    assert format_amount(resource, amount) == text
