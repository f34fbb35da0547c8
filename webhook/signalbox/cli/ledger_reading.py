"""What the commands that read a ledger share: where it is, and from when on."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeVar

import click

from signalbox.cli.environment_option import option
from signalbox.cli.errors import CommandError

if TYPE_CHECKING:
    from signalbox.audit.ledger.reading import Ledger

Command = TypeVar("Command", bound=Callable[..., Any])

_SPAN = re.compile(r"(\d+)([mhdw])\Z")
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_LONGEST_DAYS = 36_500


class Since(click.ParamType[Any]):
    """``7d``, ``12h``, or a day: from when on."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> timedelta | datetime:
        """A span before now, or a time in UTC."""
        if isinstance(value, timedelta | datetime):
            return value
        found = _SPAN.match(str(value))
        if found is not None:
            amount = int(found[1][:6])
            span = timedelta(**{_UNITS[found[2]]: amount})
            return min(span, timedelta(days=_LONGEST_DAYS))
        try:
            at = datetime.fromisoformat(str(value))
        except ValueError:
            self.fail(f"{value!r} is neither a span (7d, 12h, 30m, 2w) nor a day or time (2026-11-01)", param, ctx)
        return at if at.tzinfo is not None else at.replace(tzinfo=UTC)


def ledger_option(command: Command) -> Command:
    """Adds ``--ledger``, which may stand in the environment: the address may hold a password."""
    return option("--ledger", metavar="URL", show_default="none", help="The ledger, as given to signalbox serve.")(command)


def since(given: timedelta | datetime, now: datetime) -> datetime:
    """The time that an option names."""
    return now - given if isinstance(given, timedelta) else given


def open_ledger(address: str | None) -> "Ledger":
    """The ledger to read. Raises UsageError where none is named, CommandError where it cannot be read."""
    from signalbox.audit.ledger.database import LedgerError
    from signalbox.audit.ledger.reading import Ledger

    if not address:
        raise click.UsageError("which ledger? --ledger URL, or SIGNALBOX_LEDGER in the environment")
    try:
        return Ledger.open(address)
    except LedgerError as error:
        raise CommandError(f"--ledger: {error}") from None
