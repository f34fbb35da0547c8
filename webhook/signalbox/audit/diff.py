"""Every workload of a source under two policy sets."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime

from signalbox.admission import Admission, Asked, admit
from signalbox.audit.compare import Difference, Kind, answer_of, compare
from signalbox.audit.listing import Found, Item
from signalbox.audit.result import ScanSummary
from signalbox.audit.scan import Scan
from signalbox.engine import Setup
from signalbox.engine.gate import view_of
from signalbox.message import describe
from signalbox.plain_text import clean


class Diff:
    """Compares as it goes and keeps nothing but counts. Both sets see the same cluster at the same moment."""

    def __init__(self, before: Setup, after: Setup, now: datetime, excluded: frozenset[tuple[str, str]] = frozenset()) -> None:
        kinds = {**before.kinds, **after.kinds}
        self.setup = replace(after, kinds=kinds)
        self._before, self._after, self._now = before, after, now
        self._scan = Scan(self.setup, now, excluded=excluded)
        self.compared = 0
        self.counts: Counter[Kind] = Counter()

    def differences(self, items: Iterable[Item]) -> Iterator[Difference]:
        """The workloads that are answered otherwise."""
        for found in self._scan.workloads(items):
            try:
                difference = self._difference(found)
            except Exception as error:  # noqa: BLE001 a fault of ours over one object: told, counted, the others are compared
                self._scan.fault(found, error)
                continue
            self.compared += 1
            if difference is not None:
                self.counts[difference.change.kind] += 1
                yield difference

    def summary(self) -> ScanSummary:
        """What was looked at, and what could not be."""
        return self._scan.summary()

    def _difference(self, found: Found) -> Difference | None:
        asked = Asked(found.namespace, stored=found.stored)
        before, after = (admit(setup, found.obj, asked, self._now) for setup in (self._before, self._after))
        change = compare(answer_of(before), answer_of(after))
        return None if change is None else Difference(self._title(found, after), clean(found.place, 253), change)

    def _title(self, found: Found, admission: Admission) -> str:
        return describe(admission.decided.view or view_of(self.setup, found.obj, found.kind, found.namespace))
