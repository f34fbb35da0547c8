"""One scan: everything that a source yields, each workload judged once, and nothing left out in silence."""

from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator
from datetime import datetime
from time import monotonic

from signalbox.audit.family import Family, Key, Relation
from signalbox.audit.finished import is_finished
from signalbox.audit.judging import Judging
from signalbox.audit.listing import Found, Item, Listed
from signalbox.audit.result import ScanError, ScanSummary, Subject
from signalbox.engine import Setup
from signalbox.plain_text import clean
from signalbox.review import JsonObject
from signalbox.workload.kinds.kind import mapping

_MOST_ERRORS = 200
# Only StatefulSets owned by Pods wait. Who makes up more of them has theirs judged at once.
_MOST_WAITING = 1000


class Scan:
    """Hands on each workload as soon as it is judged and keeps none of them.

    ``excluded`` are kinds that nobody asked for: what they own belongs to them all the same. ``now`` is the moment as of
    which everything is judged.
    """

    def __init__(
        self,
        setup: Setup,
        now: datetime,
        *,
        excluded: Container[Key] = (),
        passes: bool = False,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._digest = setup.policies.digest
        self._judging = Judging(setup, now, passes)
        self._family = Family(setup.kinds, excluded, now)
        self._now = now
        self._clock = clock
        self._began = clock()
        self._judged: Counter[str] = Counter()
        self._children: Counter[str] = Counter()
        self._finished: Counter[str] = Counter()
        self._errors: list[ScanError] = []
        self._error_count = 0
        self._incomplete: set[str] = set()

    def subjects(self, items: Iterable[Item]) -> Iterator[Subject]:
        """Every workload of the source, judged."""
        for item in self.workloads(items):
            try:
                subject = self._judging.judge(item)
            except Exception as error:  # noqa: BLE001 a fault of ours over one object: told, counted, and the others are judged
                self.fault(item, error)
                continue
            self._judged[item.kind.text] += 1
            yield subject

    def workloads(self, items: Iterable[Item]) -> Iterator[Found]:
        """What of a source is to be judged: nobody's child, and not at its end."""
        waiting: list[Found] = []
        for item in items:
            if isinstance(item, ScanError):
                self.note(item)
            elif isinstance(item, Listed):
                self._family.finish((item.kind.group, item.kind.kind))
            else:
                relation = self._family.meet((item.kind.group, item.kind.kind), item.obj)
                if relation is Relation.WAITS and len(waiting) < _MOST_WAITING:
                    waiting.append(item)
                elif self._counts(item, relation):
                    yield item
        yield from (item for item in waiting if self._counts(item, self._family.settle(item.obj)))

    def fault(self, item: Found, error: Exception) -> None:
        """A fault of ours over one object."""
        self.note(ScanError(_name(item), f"fault of Signalbox: {type(error).__name__}: {clean(error, 200)}"))

    def note(self, error: ScanError) -> None:
        """Something could not be read or judged."""
        self._error_count += 1
        if error.kind:
            self._incomplete.add(error.kind)
        if len(self._errors) < _MOST_ERRORS:
            self._errors.append(error)

    def children_of(self, uid: str) -> int:
        """How many objects were counted under a workload."""
        return self._family.children_of(uid)

    def summary(self) -> ScanSummary:
        """What has come of it so far."""
        return ScanSummary(
            started=self._now,
            seconds=self._clock() - self._began,
            digest=self._digest,
            judged=dict(sorted(self._judged.items())),
            children=dict(sorted(self._children.items())),
            finished=dict(sorted(self._finished.items())),
            errors=tuple(self._errors),
            error_count=self._error_count,
            incomplete=frozenset(self._incomplete),
        )

    def _counts(self, item: Found, relation: Relation) -> bool:
        """Whether it is to be judged; else it is counted for what it is."""
        if relation is Relation.CHILD:
            self._children[item.kind.text] += 1
            return False
        if item.stored and is_finished(item.obj, item.kind):
            self._finished[item.kind.text] += 1
            return False
        return True


def _name(item: Found) -> str:
    metadata: JsonObject = mapping(item.obj.get("metadata"))
    name = clean(metadata.get("name") or metadata.get("generateName") or "without a name")
    where = f" ({item.place})" if item.place else ""
    return f"{item.kind.text} {clean(item.namespace)}/{name}{where}"
