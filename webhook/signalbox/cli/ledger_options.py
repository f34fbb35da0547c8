"""The options that say where the ledger is, what comes into it and how long it stays, handed on as one or two values."""

from collections.abc import Callable, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any

import click

from signalbox.audit.ledger.options import (
    ALLOWED,
    DAYS,
    MOST_BYTES,
    QUEUE,
    QUEUE_BYTES,
    RATE,
    LedgerOptions,
    Redaction,
    Retention,
)
from signalbox.cli.environment_option import option

if TYPE_CHECKING:
    from signalbox.audit.ledger.database import Address

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

_MEBIBYTE = 1024 * 1024
_WHERE = option("--ledger", metavar="URL", show_default="none", help="Where decisions are kept: a file or postgresql://…")
_WHICH = option("--ledger", metavar="URL", show_default="none", help="A ledger in PostgreSQL to keep in bounds.")
_RETENTION = (
    option("--ledger-days", type=click.FloatRange(0), default=DAYS, help="How long entries are kept; 0: for ever."),
    option("--ledger-mebibytes", type=click.IntRange(0), default=MOST_BYTES // _MEBIBYTE, help="How much is kept; 0: all."),
)
_WRITING = (
    option("--ledger-allowed", type=click.Choice(ALLOWED), default="sample", help="Requests that found nothing."),
    option("--ledger-rate", type=click.FloatRange(0, 1), default=RATE, help="The share of them that a sample is."),
    option("--ledger-queue", type=click.IntRange(1), default=QUEUE, help="Most entries that wait to be written."),
    option("--ledger-queue-mebibytes", type=click.IntRange(1), default=QUEUE_BYTES // _MEBIBYTE, help="Most memory for them."),
    option("--ledger-keep-env", multiple=True, metavar="GLOB", show_default=False, help="Variables whose values stay."),
    option("--ledger-keep-annotation", multiple=True, metavar="GLOB", show_default=False, help="Annotations that stay whole."),
)


def ledger_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds what ``serve`` must know; ``command`` gets ``ledger``, None where there is to be none."""

    @wraps(command)
    def packed(
        ledger: str | None,
        ledger_allowed: Any,
        ledger_rate: float,
        ledger_queue: int,
        ledger_queue_mebibytes: int,
        ledger_days: float,
        ledger_mebibytes: int,
        ledger_keep_env: tuple[str, ...],
        ledger_keep_annotation: tuple[str, ...],
        **others: Any,
    ) -> Any:
        options = None
        if ledger:
            options = LedgerOptions(
                _address(ledger),
                ledger_allowed,
                ledger_rate,
                ledger_queue,
                ledger_queue_mebibytes * _MEBIBYTE,
                redaction=Redaction(ledger_keep_env, ledger_keep_annotation),
                retention=Retention(ledger_days, ledger_mebibytes * _MEBIBYTE),
            )
        return command(ledger=options, **others)

    return _with(packed, (_WHERE, *_WRITING, *_RETENTION))


def retention_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds what the controller must know; ``command`` gets ``ledger``, empty for none, and ``ledger_retention``."""

    @wraps(command)
    def packed(ledger: str | None, ledger_days: float, ledger_mebibytes: int, **others: Any) -> Any:
        if ledger and _address(ledger).is_sqlite:
            text = "a file is kept in bounds by signalbox serve, which writes it: only postgresql://… can be given here"
            raise click.BadParameter(text, param_hint="--ledger")
        retention = Retention(ledger_days, ledger_mebibytes * _MEBIBYTE)
        return command(ledger=ledger or "", ledger_retention=retention, **others)

    return _with(packed, (_WHICH, *_RETENTION))


def _with(command: Callable[..., Any], options: Sequence[Decorator]) -> Callable[..., Any]:
    # A decorator above another comes first in --help.
    for add in reversed(options):
        command = add(command)
    return command


def _address(text: str) -> "Address":
    from signalbox.audit.ledger.database import Address, LedgerError

    try:
        return Address.parse(text)
    except LedgerError as error:
        raise click.BadParameter(str(error), param_hint="--ledger") from None
