"""The options of ``serve`` that say where the ledger is and what comes into it, handed on as one value."""

from collections.abc import Callable
from functools import wraps
from typing import Any

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

_MEBIBYTE = 1024 * 1024
_OPTIONS = (
    option("--ledger", metavar="URL", show_default="none", help="Where decisions are kept: a file or postgresql://…"),
    option("--ledger-allowed", type=click.Choice(ALLOWED), default="sample", help="Requests that found nothing."),
    option("--ledger-rate", type=click.FloatRange(0, 1), default=RATE, help="The share of them that a sample is."),
    option("--ledger-queue", type=click.IntRange(1), default=QUEUE, help="Most entries that wait to be written."),
    option(
        "--ledger-queue-mebibytes", type=click.IntRange(1), default=QUEUE_BYTES // _MEBIBYTE, help="And most memory for them."
    ),
    option("--ledger-days", type=click.FloatRange(0), default=DAYS, help="How long entries are kept; 0: for ever."),
    option("--ledger-mebibytes", type=click.IntRange(0), default=MOST_BYTES // _MEBIBYTE, help="And how much of them; 0: all."),
    option("--ledger-keep-env", multiple=True, metavar="GLOB", show_default=False, help="Variables whose values stay."),
    option("--ledger-keep-annotation", multiple=True, metavar="GLOB", show_default=False, help="Annotations that stay whole."),
)


def ledger_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the options; ``command`` gets them as its argument ``ledger``, None where there is to be none."""

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

    result: Callable[..., Any] = packed
    for add in reversed(_OPTIONS):
        result = add(result)
    return result


def _address(text: str) -> Any:
    from signalbox.audit.ledger.database import Address, LedgerError

    try:
        return Address.parse(text)
    except LedgerError as error:
        raise click.BadParameter(str(error), param_hint="--ledger") from None
