"""``signalbox replay``: what a changed policy set would have answered to the requests that were recorded."""

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Literal

import click

from signalbox.cli.errors import REFUSED, UNUSABLE, CommandError
from signalbox.cli.ledger_reading import Since, ledger_option, open_ledger, since
from signalbox.cli.progress import Progress
from signalbox.cli.setup_options import CLUSTER, OUTPUT, SIGNS, SetupOptions, load
from signalbox.cli.terminal import stderr, stdout
from signalbox.policy.mode import MODE_WORDS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from signalbox.audit.ledger.entry import Recorded
    from signalbox.audit.ledger.reading import Ledger, Wanted

_HELP = """Judge recorded requests by other policies: who would newly be refused, allowed or warned, and what would be injected
otherwise.

The requests are those that `signalbox serve --ledger` recorded. Each is judged as of the moment it was made, so that only
the policies make a difference; with --as-of now exceptions and overrides that have ended since count no more. What the
ledger did not keep (values of variables, secrets) and what only a cluster knows may leave a difference uncertain: that is
said and counted. Requests that found nothing are in the ledger as --ledger-allowed told it.

\b
Examples:
  signalbox replay --policies policies/ --since 7d --ledger /var/lib/signalbox/ledger.db
  SIGNALBOX_LEDGER=postgresql://… signalbox replay --policies policies/ -o json    in CI, before the merge
  signalbox replay --policies policies/ --cluster cluster/ --as-of now

Exit codes: 0 nobody is newly refused, 1 somebody is, 2 nothing could be judged.
"""


@click.command(help=_HELP, short_help="Judge recorded requests by other policies.")
@click.option(
    "--policies", multiple=True, required=True, type=click.Path(), metavar="PATH", help="The policies to try; repeatable."
)
@click.option("--since", "start", type=Since(), default="7d", help="From when on: 7d, 12h, 2026-11-01.  [default: 7d]")
@click.option("--until", "end", type=Since(), help="And until when.  [default: now]")
@click.option("-n", "--namespace", default="", help="Only requests in this namespace.")
@click.option(
    "--as-of",
    type=click.Choice(["request", "now"]),
    default="request",
    help="When exceptions and overrides are over: as of each request, or as of now.  [default: request]",
)
@ledger_option
@SIGNS
@CLUSTER
@click.option("--max-mode", type=click.Choice(MODE_WORDS), default="enforce", help="No rule bites harder, as in serve.")
@OUTPUT
def command(
    policies: tuple[str, ...],
    start: timedelta | datetime,
    end: timedelta | datetime | None,
    namespace: str,
    as_of: Literal["request", "now"],
    ledger: str | None,
    signs: tuple[str, ...],
    cluster: str | None,
    max_mode: str,
    output: str,
) -> int:
    """Replays; 1 when somebody is newly refused."""
    from signalbox.audit.ledger.database import LedgerError
    from signalbox.audit.ledger.reading import Wanted
    from signalbox.audit.replay import Replay
    from signalbox.cli.replay_report import JsonReport, TextReport

    now, out, err = datetime.now(UTC), stdout(), stderr()
    opened = open_ledger(ledger)
    setup = load(SetupOptions(policies, signs, cluster, max_mode))
    wanted = Wanted(since(start, now), None if end is None else since(end, now), namespace=namespace)
    replay = Replay(setup, now if as_of == "now" else None)
    report = JsonReport(out) if output == "json" else TextReport(out)
    progress = Progress()
    try:
        for recorded in _read(opened, wanted, progress):
            report.add(replay.of(recorded))
    except LedgerError as error:
        raise CommandError(str(error)) from None
    finally:
        progress.close()
        opened.close()
    summary = report.summary
    report.finish(as_of, setup.policies.digest)
    if not summary.judged:
        if not summary.unusable:
            err.line("signalbox: the ledger holds no request of this time: a longer --since, or another --ledger?")
        return UNUSABLE
    return REFUSED if summary.newly_refused else 0


def _read(ledger: "Ledger", wanted: "Wanted", progress: Progress) -> "Iterator[Recorded]":
    total = ledger.extent(wanted).entries
    for done, recorded in enumerate(ledger.replayable(wanted), 1):
        progress("requests", done, max(0, total - done))
        yield recorded
