"""Whether rules can be enforced, as far as a page can say: `audit readiness` within bounds, worked out beside the pages."""

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial

from signalbox.audit.from_json import KnownScan
from signalbox.audit.ledger.database import LedgerError
from signalbox.audit.ledger.reading import Ledger, Wanted
from signalbox.audit.page.known import Known, Refreshed, TroubleError
from signalbox.audit.page.sources import Sources
from signalbox.audit.readiness import Evidence, Seen
from signalbox.audit.seen import seen_in
from signalbox.audit.verdict import Verdict, notes_on, verdict_on
from signalbox.engine import Setup
from signalbox.process.logs import Log

_EACH = 300
_ALL_SECONDS = 20.0
_FRESH_SECONDS = 120.0
_WAIT_SECONDS = 1.5
_ONE = 1000
_ONE_SECONDS = 3.0
_MOST_KEPT = 8


@dataclass(frozen=True, slots=True)
class Weighed:
    """The verdict on a rule and what it rests on. ``looked_at`` of ``recorded`` requests were judged again, the newest."""

    evidence: Evidence
    verdict: Verdict
    reasons: tuple[str, ...]
    notes: tuple[str, ...]
    looked_at: int
    recorded: int


class Weighings:
    """The verdicts on all rules, for each time that is asked about; a few of them are kept."""

    def __init__(self, sources: Sources, now: Callable[[], datetime], log: Log) -> None:
        self._sources = sources
        self._now = now
        self._log = log
        self._kept: dict[tuple[str, timedelta], Refreshed[dict[str, Verdict]]] = {}

    def verdicts(self, span: timedelta) -> Mapping[str, Verdict]:
        """By rule; those that are not weighed yet, or could not be, are left out."""
        setup = self._sources.setup().value
        if setup is None:
            return {}
        key = (setup.policies.digest, span)
        kept = self._kept.get(key)
        if kept is None:
            while len(self._kept) >= _MOST_KEPT:
                # Several threads may be here: whoever comes second finds it gone.
                self._kept.pop(next(iter(self._kept)), None)
            kept = self._kept[key] = Refreshed(
                "readiness", partial(self._ask, setup, span), _FRESH_SECONDS, _WAIT_SECONDS, self._log
            )
        return kept.get().value or {}

    def _ask(self, setup: Setup, span: timedelta) -> Known[dict[str, Verdict]]:
        ledger, scan = self._sources.ledger().value, self._sources.scan().value
        if ledger is None and scan is None:
            return Known({})
        try:
            return Known(_all(setup, ledger, scan, self._now(), span / timedelta(days=1)))
        except LedgerError as error:
            raise TroubleError(str(error)) from None


def _all(setup: Setup, ledger: Ledger | None, scan: KnownScan | None, now: datetime, days: float) -> dict[str, Verdict]:
    end = time.monotonic() + _ALL_SECONDS
    seen = _seen(ledger, now, days)
    verdicts: dict[str, Verdict] = {}
    for policy in setup.policies.policies:
        for rule in policy.rules:
            if time.monotonic() > end:
                return verdicts
            verdicts[rule.id] = weigh(setup, rule.id, ledger, scan, now, days, seen, _EACH).verdict
    return verdicts


def weigh(
    setup: Setup,
    rule: str,
    ledger: Ledger | None,
    scan: KnownScan | None,
    now: datetime,
    days: float,
    seen: Seen | None = None,
    most: int = _ONE,
) -> Weighed:
    """The verdict on one rule, from the newest requests that it found something in. Raises LedgerError."""
    evidence = Evidence(setup, rule, now, days, seen or _seen(ledger, now, days))
    looked_at = recorded = 0
    if ledger is not None:
        wanted = Wanted(since=now - timedelta(days=days), rule=rule)
        recorded = ledger.extent(wanted).entries
        looked_at = _add(evidence, ledger, wanted, most) if recorded else 0
    if scan is not None:
        evidence.add_scan(scan.tally.rules.values(), scan.tally.total.workloads, scan.subjects)
        evidence.unread = scan.summary.error_count
    verdict, reasons = verdict_on(evidence)
    weighed = Weighed(evidence, verdict, reasons, notes_on(evidence), looked_at, recorded)
    return weighed if looked_at == recorded else _of_a_part(weighed)


def _seen(ledger: Ledger | None, now: datetime, days: float) -> Seen:
    return Seen(0.0, 0.0, False) if ledger is None else seen_in(ledger, now, days)


def _add(evidence: Evidence, ledger: Ledger, wanted: Wanted, most: int) -> int:
    end, count = time.monotonic() + _ONE_SECONDS, 0
    for recorded in ledger.replayable(wanted, most, newest_first=True):
        evidence.add_request(recorded)
        count += 1
        if time.monotonic() > end:
            break
    return count


def _of_a_part(weighed: Weighed) -> Weighed:
    """What was not looked at may hold what is in the way: nothing is ready for want of time."""
    part = f"only the newest {weighed.looked_at:,} of {weighed.recorded:,} recorded requests were judged again here"
    if weighed.verdict is Verdict.READY:
        return replace(weighed, verdict=Verdict.TOO_LITTLE, reasons=(part,))
    return replace(weighed, notes=(part, *weighed.notes))


def rule_ids(setup: Setup | None, scan: KnownScan | None, recorded: Iterable[str]) -> list[str]:
    """Every rule that is known from anywhere."""
    known = [rule.id for policy in setup.policies.policies for rule in policy.rules] if setup is not None else []
    scanned = [rule for rule, _ in scan.tally.rules] if scan is not None else []
    return list(dict.fromkeys((*known, *scanned, *recorded)))
