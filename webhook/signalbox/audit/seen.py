"""How much a ledger has seen of the time that is asked about."""

from datetime import datetime, timedelta

from signalbox.audit.ledger.reading import Ledger, Wanted
from signalbox.audit.readiness import Seen


def seen_in(ledger: Ledger, now: datetime, days: float) -> Seen:
    """The requests of so many days, and how many of these days are covered. Raises LedgerError."""
    start = now - timedelta(days=days)
    counts = ledger.counts("decision", Wanted(since=start))
    first = ledger.extent().first
    covered = timedelta() if first is None else now - max(first, start)
    return Seen(
        requests=sum(count.requests for count in counts),
        covered_days=max(0.0, covered.total_seconds() / 86_400),
        allowed_recorded=any(count.key == "allowed" for count in counts),
    )
