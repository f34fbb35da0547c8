"""Charts as numbers: where each bar of an SVG stands. What they show stands in a table beneath as well."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor, log10

HEIGHT = 100.0
_STEP = 10.0
_GAP = 1.5
_STEPS = (1, 2, 2.5, 5, 10)


@dataclass(frozen=True, slots=True)
class Part:
    """One colour of a bar. ``kind`` names the colour."""

    kind: str
    y: float
    height: float


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar, of parts from the bottom up; ``title`` is what it says."""

    x: float
    width: float
    parts: tuple[Part, ...]
    title: str


@dataclass(frozen=True, slots=True)
class Chart:
    """Bars side by side in a box of ``width`` and ``HEIGHT``; ``top`` is the value of its upper edge."""

    bars: tuple[Bar, ...]
    width: float
    top: float
    labels: tuple[str, str]


def stacked(labels: Sequence[str], rows: Sequence[Sequence[float]], kinds: Sequence[str], words: Sequence[str]) -> Chart:
    """A bar a row, each a stack of values; ``kinds`` and ``words`` name them, as a colour and to people."""
    top = round_up(max((sum(row) for row in rows), default=0))
    bars = []
    for index, (label, row) in enumerate(zip(labels, rows, strict=True)):
        parts, base = [], HEIGHT
        for kind, value in zip(kinds, row, strict=True):
            if value <= 0:
                continue
            # What is there is seen, however little it is beside the others.
            height = max(value / top * HEIGHT, 1.0)
            base = max(base - height, 0.0)
            parts.append(Part(kind, round(base, 2), round(height, 2)))
        said = ", ".join(f"{value:,.0f} {word}" for word, value in zip(words, row, strict=True) if value)
        bars.append(Bar(index * _STEP + _GAP, _STEP - 2 * _GAP, tuple(parts), f"{label}: {said or 'nothing'}"))
    ends = (labels[0], labels[-1]) if labels else ("", "")
    return Chart(tuple(bars), max(len(bars), 1) * _STEP, top, ends)


def round_up(value: float) -> float:
    """The next round number, so that an axis reads well."""
    if value <= 1:
        return 1
    power = 10.0 ** floor(log10(value))
    return next(ceil(step * power) for step in _STEPS if step * power >= value)


def share(value: float, whole: float) -> float:
    """A part of a bar of 100; what is there is seen."""
    if value <= 0 or whole <= 0:
        return 0
    return max(1.0, round(min(value / whole, 1.0) * 100, 2))
