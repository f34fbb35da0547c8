"""One look at a page: what is asked, and what is known at that moment."""

import time
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import TypeVar

from signalbox.audit.from_json import KnownScan
from signalbox.audit.ledger.database import LedgerError
from signalbox.audit.ledger.reading import Ledger, Wanted
from signalbox.audit.page.filters import BadQueryError, Filters
from signalbox.audit.page.sources import Sources
from signalbox.audit.page.weighing import Weighings, rule_ids
from signalbox.engine import Setup

Value = TypeVar("Value")

_SECONDS = 6.0
_MOST_KNOWN = 500
_LONGEST_NUMBER = 18
_TOO_SLOW = "The ledger did not answer in time, so that nothing waits for this page. Choose a shorter time."


class NotFoundError(Exception):
    """There is no such thing; the text says what to do."""


class Look:
    """Gathers for one answer. What goes wrong on the way stands on the page; nothing of it ends the page."""

    def __init__(
        self, sources: Sources, weighings: Weighings, filters: Filters, query: Mapping[str, str], now: datetime
    ) -> None:
        self.filters = filters
        self.query = query
        self.now = now
        self.weighings = weighings
        self._end = time.monotonic() + _SECONDS
        self._ledger = sources.ledger()
        self._scan = sources.scan()
        self._setup = sources.setup()
        self.ledger_trouble = self._ledger.trouble

    @property
    def scan(self) -> KnownScan | None:
        """The last scan."""
        return self._scan.value

    @property
    def setup(self) -> Setup | None:
        """The policies in force."""
        return self._setup.value

    @property
    def ledger(self) -> Ledger | None:
        """The ledger."""
        return self._ledger.value

    @property
    def wanted(self) -> Wanted:
        """The filters, for the ledger."""
        return self.filters.wanted(self.now, self.setup)

    @property
    def troubles(self) -> tuple[str, ...]:
        """What keeps the page from being whole."""
        troubles = [self._scan.trouble, self._setup.trouble, self.ledger_trouble]
        return tuple(dict.fromkeys(trouble for trouble in troubles if trouble))

    @property
    def known_teams(self) -> list[str]:
        """What may be filtered by, as far as the scan says."""
        return [] if self.scan is None else sorted(self.scan.tally.teams)[:_MOST_KNOWN]

    @property
    def known_namespaces(self) -> list[str]:
        """The namespaces of the workloads that the scan names."""
        return [] if self.scan is None else sorted({one.namespace for one in self.scan.subjects if one.namespace})[:_MOST_KNOWN]

    @property
    def known_kinds(self) -> list[str]:
        """The kinds that the scan met."""
        return [] if self.scan is None else sorted(self.scan.tally.kinds)[:_MOST_KNOWN]

    @property
    def known_rules(self) -> list[str]:
        """The rules of the policies in force and of the scan."""
        return sorted(rule_ids(self.setup, self.scan, ()))[:_MOST_KNOWN]

    def number(self, name: str) -> int | None:
        """A number of the address, None where it is not there. Raises BadQueryError."""
        text = self.query.get(name, "")
        if not text:
            return None
        if not text.isascii() or not text.isdecimal() or len(text) > _LONGEST_NUMBER:
            raise BadQueryError(f"{name}={text!r} is no number")
        return int(text)

    @property
    def scan_advice(self) -> str:
        """Why no scan is known, and what to do."""
        return self._scan.trouble or self._scan.advice

    @property
    def ledger_advice(self) -> str:
        """Why the ledger says nothing, and what to do."""
        return self.ledger_trouble or self._ledger.advice

    def ask_ledger(self, ask: Callable[[Ledger], Value]) -> Value | None:
        """The answer of the ledger; None where there is none, which stands on the page then."""
        if self.ledger is None or self.ledger_trouble:
            return None
        if time.monotonic() > self._end:
            self.ledger_trouble = _TOO_SLOW
            return None
        try:
            return ask(self.ledger)
        except LedgerError as error:
            self.ledger_trouble = _TOO_SLOW if error.trouble == "locked" else str(error)
            return None
