"""Brings the report objects of a cluster to what a scan found: written when something changed, deleted when it is gone.

Written for every request, such objects have filled etcd elsewhere. Here a workload has one, only while something is found in
it, and there is a bound to how many there are and to how many are written in one run; what a bound left out is counted.
"""

import time
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from datetime import datetime

from signalbox.apiserver.connection import ApiServer
from signalbox.apiserver.error import ApiError
from signalbox.audit.reports.kinds import ReportKind
from signalbox.audit.reports.report import DIGEST, MANAGED_BY, SOURCE, build_report, report_name
from signalbox.audit.result import EVERY_KIND, Subject
from signalbox.plain_text import clean
from signalbox.review import JsonObject
from signalbox.workload.kinds.kind import mapping

_SELECTOR = {"labelSelector": f"{MANAGED_BY}={SOURCE}"}
_MOST_FAILURES = 10
_BEGINNINGS = 3


@dataclass(frozen=True, slots=True)
class ReportLimits:
    """``reports`` in the whole cluster, ``results`` in each, ``writes`` in one run, and writes ``per_second``."""

    reports: int = 10_000
    results: int = 50
    writes: int = 2_000
    per_second: float = 20.0


@dataclass(slots=True)
class ReportCounts:
    """What a run did. ``over_limit``: workloads without a report because there are as many as may be; ``postponed``: writes
    left for the next run; ``cut``: reports that do not hold all of their results. ``error`` is the last failure.
    """

    written: int = 0
    unchanged: int = 0
    deleted: int = 0
    over_limit: int = 0
    postponed: int = 0
    cut: int = 0
    failed: int = 0
    error: str = ""


@dataclass(frozen=True, slots=True)
class _Standing:
    """A report of ours that is there. ``kind`` is that of its workload."""

    namespace: str
    version: str
    digest: str
    kind: str


class ReportWriter:
    """One run over the reports. Of the ``kinds`` that are installed the first is written; of the others ours are deleted."""

    def __init__(
        self,
        api: ApiServer,
        kinds: tuple[ReportKind, ...],
        now: datetime,
        limits: ReportLimits | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._api = api
        self._kind, *self._older = kinds
        self._now = now
        self._limits = limits or ReportLimits()
        self._sleep = sleep
        self._standing: dict[str, _Standing] = {}
        self._seen: set[str] = set()
        self._new = 0
        self._writes = 0
        self._failures = 0
        self.counts = ReportCounts()

    @property
    def kind(self) -> str:
        """The kind that is written."""
        return self._kind.kind

    def read(self) -> None:
        """Takes in what stands there. Raises ApiError."""
        self._standing = self._read(self._kind)

    def add(self, subject: Subject) -> None:
        """Brings the report of a workload to what was found in it."""
        if not subject.findings or not subject.uid or not subject.namespace:
            return
        name = report_name(subject.uid)
        self._seen.add(name)
        standing = self._standing.get(name)
        if standing is None and len(self._standing) + self._new >= self._limits.reports:
            self.counts.over_limit += 1
            return
        report = build_report(subject, self._kind, self._now, self._limits.results)
        metadata = report["metadata"]
        self.counts.cut += len(metadata["annotations"]) > 1
        if standing is not None and standing.digest == metadata["annotations"][DIGEST]:
            self.counts.unchanged += 1
        elif standing is not None:
            metadata["resourceVersion"] = standing.version
            self._write(lambda: self._api.replace(self._kind.path(standing.namespace, name), report))
        else:
            self._new += self._write(lambda: self._api.create(self._kind.path(subject.namespace), report))

    def finish(self, unread: Collection[str]) -> None:
        """Deletes the reports on what nothing is found in any more, and those of ours of an older kind.

        ``unread`` are kinds, as policies name them, of which not everything could be read: their reports stay.
        """
        kept = {kind.partition(".")[0] for kind in unread}
        for name, standing in self._standing.items():
            if name not in self._seen and standing.kind not in kept and EVERY_KIND not in unread:
                self._delete(self._kind, standing.namespace, name)
        for kind in self._older:
            try:
                older = self._read(kind)
            except ApiError as error:
                self._fail(error)
                continue
            for name, standing in older.items():
                self._delete(kind, standing.namespace, name)

    def _read(self, kind: ReportKind) -> dict[str, _Standing]:
        for left in reversed(range(_BEGINNINGS)):
            found: dict[str, _Standing] = {}
            try:
                for items, _, _ in self._api.pages(kind.path(), query=_SELECTOR):
                    found.update(_standing(items))
            except ApiError as error:
                if not error.expired or not left:
                    raise
            else:
                return found
        raise AssertionError("the last beginning returns or raises")

    def _delete(self, kind: ReportKind, namespace: str, name: str) -> None:
        if self._write(lambda: self._api.delete(kind.path(namespace, name)), "deleted"):
            self.counts.deleted += 1

    def _write(self, send: Callable[[], JsonObject | None], what: str = "written") -> bool:
        """One write, if there is room for it; whether it was done."""
        if self._writes >= self._limits.writes or self._failures >= _MOST_FAILURES:
            self.counts.postponed += 1
            return False
        self._writes += 1
        try:
            send()
        except ApiError as error:
            # Another leader was quicker, or somebody has touched it: the next run reads it as it is then.
            if error.conflict:
                self.counts.postponed += 1
            elif not error.not_found:
                self._fail(error)
            return False
        finally:
            self._sleep(1 / self._limits.per_second)
        self._failures = 0
        if what == "written":
            self.counts.written += 1
        return True

    def _fail(self, error: ApiError) -> None:
        self._failures += 1
        self.counts.failed += 1
        self.counts.error = clean(error, 300)


def _standing(items: Iterable[JsonObject]) -> dict[str, _Standing]:
    found = {}
    for item in items:
        metadata = mapping(item.get("metadata"))
        if mapping(metadata.get("labels")).get(MANAGED_BY) != SOURCE:
            # The selector asks for ours alone; what would be deleted is looked at twice.
            continue
        digest = mapping(metadata.get("annotations")).get(DIGEST)
        kind = mapping(item.get("scope")).get("kind")
        found[str(metadata.get("name"))] = _Standing(
            str(metadata.get("namespace", "")),
            str(metadata.get("resourceVersion", "")),
            digest if isinstance(digest, str) else "",
            kind if isinstance(kind, str) else "",
        )
    return found
