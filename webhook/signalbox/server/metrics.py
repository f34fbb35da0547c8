"""The numbers. Workers count in shared files (prometheus_client's multiprocess mode), the main process owns the rest.

``PROMETHEUS_MULTIPROC_DIR`` must be set before this module is imported in a process that serves: prometheus_client
decides at import where its values live.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Literal, get_args

from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from signalbox import __version__
from signalbox.finding import Finding
from signalbox.server.source import ReloadingSource
from signalbox.workload.kinds.table import KINDS

Endpoint = Literal["mutate", "validate", "policies"]
Decision = Literal["allowed", "patched", "refused", "error"]

ERROR_PLACES = ("engine", *get_args(Endpoint), "slow-body", "upkeep")

_BUCKETS = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)
_MOST_RULES = 1000
"""Above it, what a new rule finds is counted under ``other``: a policy folder must not be able to fill Prometheus."""

_KIND_LABELS = {key: kind.text for key, kind in KINDS.items()}


class Meters:
    """What one worker counts. Children are bound once and then looked up in a dict: this is on the hot path."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._reviews = Counter(
            "signalbox_reviews",
            "Admission reviews answered.",
            ("endpoint", "operation", "kind", "decision"),
            registry=registry,
        )
        self._duration = Histogram(
            "signalbox_review_duration_seconds",
            "Time from the first byte read by the app to the encoded answer.",
            ("endpoint",),
            buckets=_BUCKETS,
            registry=registry,
        )
        self._findings = Counter(
            "signalbox_findings",
            "Findings by rule, effective mode and result.",
            ("rule", "mode", "result"),
            registry=registry,
        )
        self._errors = Counter(
            "signalbox_errors", "Faults of Signalbox itself, by where they arose.", ("where",), registry=registry
        )
        for place in ERROR_PLACES:
            # There before the first fault: Prometheus sees no increase in a series that begins at 1.
            self._errors.labels(place)
        self._review_children: dict[tuple[str, str, str, str], Callable[[], None]] = {}
        self._finding_children: dict[tuple[str, str, str], Callable[[], None]] = {}
        self._observe = {endpoint: self._duration.labels(endpoint).observe for endpoint in get_args(Endpoint)}

    def review(
        self, endpoint: Endpoint, operation: str, group_kind: tuple[str, str], decision: Decision, seconds: float
    ) -> None:
        """Count one answer, and how long it took."""
        self._count((endpoint, operation, _KIND_LABELS.get(group_kind, "other"), decision))
        self._observe[endpoint](seconds)

    def bad_request(self, endpoint: Endpoint) -> None:
        """Count what was no review; its time says nothing about reviews."""
        self._count((endpoint, "", "other", "bad-request"))

    def _count(self, key: tuple[str, str, str, str]) -> None:
        count = self._review_children.get(key)
        if count is None:
            count = self._review_children[key] = self._reviews.labels(*key).inc
        count()

    def findings(self, found: Iterable[Finding]) -> None:
        """Count what the rules found."""
        for finding in found:
            key = (finding.rule, finding.mode.text, finding.result.value)
            count = self._finding_children.get(key)
            if count is None:
                rule = key[0] if len(self._finding_children) < _MOST_RULES else "other"
                count = self._findings.labels(rule, *key[1:]).inc
                if rule != "other":
                    self._finding_children[key] = count
            count()

    def error(self, where: str) -> None:
        """Count a fault of our own; ``where`` is one of ERROR_PLACES."""
        self._errors.labels(where).inc()


@dataclass(slots=True, eq=False)
class MainState(Collector):
    """What the main process alone knows and shows, so that it stands once however many workers there are."""

    policies: int = 0
    problems: int = 0
    restored: bool = False
    certificate_not_after: float = 0.0
    policy_reloads: dict[str, int] = field(default_factory=lambda: {"ok": 0, "bad": 0})
    certificate_reloads: dict[str, int] = field(default_factory=lambda: {"ok": 0, "bad": 0})

    def loaded(self, source: ReloadingSource) -> None:
        """Take over what a source holds."""
        self.policies, self.problems = len(source.in_force.policies), len(source.latest.problems)
        self.restored = source.in_force.restored

    def collect(self) -> Iterable[Metric]:
        """The gauges and counters of the main process."""
        info = GaugeMetricFamily("signalbox_build_info", "Always 1; the version is in the label.", labels=("version",))
        info.add_metric((__version__,), 1)
        yield info
        yield GaugeMetricFamily("signalbox_policies_loaded", "Policies in force.", value=self.policies)
        yield GaugeMetricFamily(
            "signalbox_policy_problems", "Problems in the policy files as they are now; 0 is good.", value=self.problems
        )
        yield GaugeMetricFamily(
            "signalbox_policies_restored",
            "1 while the last good policies of an earlier process are in force, since the present ones cannot be used.",
            value=float(self.restored),
        )
        yield GaugeMetricFamily(
            "signalbox_certificate_not_after_timestamp_seconds",
            "When the serving certificate ends.",
            value=self.certificate_not_after,
        )
        yield _by_result("signalbox_policy_reloads", "Reloads of changed policy files.", self.policy_reloads)
        yield _by_result("signalbox_certificate_reloads", "Reloads of a changed certificate.", self.certificate_reloads)


def _by_result(name: str, text: str, counts: dict[str, int]) -> Metric:
    family = CounterMetricFamily(name, text, labels=("result",))
    for result, count in counts.items():
        family.add_metric((result,), count)
    return family
