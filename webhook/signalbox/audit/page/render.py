"""The templates, and how they say numbers and times. Whatever comes from a manifest is escaped, and hides nothing."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from signalbox.audit.page.chart import share
from signalbox.audit.page.filters import SPANS, Filters, address
from signalbox.audit.words import number, plural

TEMPLATES = Path(__file__).with_name("templates")
_MINUTE, _HOUR, _DAY = 60, 3600, 86_400


def render(template: str, filters: Filters, **values: Any) -> bytes:
    """One page."""
    text = _environment().get_template(template).render(filters=filters, spans=SPANS, **values)
    # A lone surrogate is no UTF-8, and would be the end of the page.
    return text.encode("utf-8", "replace")


def day(at: datetime) -> str:
    """``2026-11-29``."""
    return at.astimezone(UTC).strftime("%Y-%m-%d")


def clock(at: datetime) -> str:
    """``2026-11-29 12:00``."""
    return at.astimezone(UTC).strftime("%Y-%m-%d %H:%M")


def ago(at: datetime, now: datetime) -> str:
    """``4 min ago``; a time to come is told as what it is: a clock went back, here or there."""
    passed = round((now - at).total_seconds())
    if passed < -_MINUTE:
        return f"{_span(-passed)} ahead of this machine's clock"
    return "just now" if passed < _MINUTE else f"{_span(passed)} ago"


def _span(seconds: int) -> str:
    if seconds < _HOUR:
        return f"{seconds // _MINUTE} min"
    if seconds < 2 * _DAY:
        return f"{seconds // _HOUR} h"
    return f"{seconds // _DAY} days"


def days_left(until: Any, now: datetime) -> str:
    """``ends today``, ``ends in 3 days``, ``over since 2 days``."""
    days = (until - now.astimezone(UTC).date()) // timedelta(days=1)
    if days < 0:
        return f"over for {-days} day{'' if days == -1 else 's'}"
    return "ends today" if days == 0 else f"ends in {days} day{'' if days == 1 else 's'}"


def visible(value: Any) -> Any:
    """A text of which no character hides, turns or breaks what stands around it."""
    if type(value) is str and not value.isprintable():
        return "".join(character if character.isprintable() else "\ufffd" for character in value)
    return value


def lines(text: str) -> Markup:
    """A text of several lines, for a place that keeps them; the same is done to each."""
    return Markup("\n").join(visible(line) for line in text.split("\n"))


@lru_cache(maxsize=1)
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=visible,
    )
    environment.filters |= {"number": number, "day": day, "clock": clock, "lines": lines}
    globals_: Mapping[str, Any] = {
        "url": address,
        "ago": ago,
        "plural": plural,
        "share": share,
        "days_left": days_left,
    }
    environment.globals.update(globals_)
    return environment
