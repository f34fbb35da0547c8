"""How well the cluster is known, as numbers: read from the watching process's own word at each scrape."""

import time
from collections.abc import Iterable
from pathlib import Path

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from signalbox.server.live import WatchProcess, read_status

_KIND = ("kind",)


class ClusterMeters(Collector):
    """One line a watched kind: a dozen and a half."""

    def __init__(self, directory: Path, process: WatchProcess) -> None:
        self._directory = directory
        self._process = process

    def collect(self) -> Iterable[Metric]:
        """Age, size and faults of each watch."""
        now = time.monotonic()
        age = GaugeMetricFamily(
            "signalbox_cluster_view_age_seconds", "Time since the API server last answered a watch.", labels=_KIND
        )
        known = GaugeMetricFamily(
            "signalbox_cluster_view_known", "Whether the whole of a kind is known: 1, or 0 for not yet.", labels=_KIND
        )
        objects = GaugeMetricFamily("signalbox_cluster_view_objects", "Objects known.", labels=_KIND)
        unread = GaugeMetricFamily(
            "signalbox_cluster_view_objects_unread", "Objects of which only the name is kept: too large.", labels=_KIND
        )
        failures = CounterMetricFamily(
            "signalbox_cluster_watch_failures", "Lists and watches that failed, by reason.", labels=("kind", "reason")
        )
        for kind, one in read_status(self._directory).items():
            if one.contact:
                age.add_metric((kind,), max(0.0, now - one.contact))
            known.add_metric((kind,), float(one.state != "unknown"))
            objects.add_metric((kind,), one.objects)
            unread.add_metric((kind,), one.unread)
            for reason, count in one.failures.items():
                failures.add_metric((kind, reason), count)
        yield from (age, known, objects, unread, failures)
        text = "Times the watching process ended and was started again."
        yield CounterMetricFamily("signalbox_cluster_watch_restarts", text, value=self._process.restarts)
