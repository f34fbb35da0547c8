"""The duty that judges what stands in the cluster, again and again, in a process of its own."""

import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from time import monotonic
from typing import Any

import orjson
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from signalbox.audit.background import ScanSettings
from signalbox.controller.duty import DutyContext
from signalbox.plain_text import clean
from signalbox.review import JsonObject

_LOOK_SECONDS = 0.5
_ENDS_SECONDS = 5.0
_RESULTS = ("refused", "told", "mended", "excepted", "notJudged", "faults")
_REPORTS = ("written", "unchanged", "deleted", "over_limit", "postponed", "cut", "failed")


class ScanFailedError(Exception):
    """The scanning process ended badly, or was ended; the text says why."""


class BackgroundScan:
    """Starts the process, waits for it, and shows what it found. ``last`` is the last answer, None before the first."""

    name = "scan"

    def __init__(self, context: DutyContext, settings: ScanSettings, seconds: float, longest: float) -> None:
        self.seconds = seconds
        self._longest = longest
        self._argument = settings.argument()
        self._context = context
        self._told = ""
        self.meters = ScanMeters(context.leading)
        context.registry.register(self.meters)

    @property
    def last(self) -> JsonObject | None:
        """The sums of the last scan."""
        return self.meters.answer

    def run(self, now: datetime) -> None:
        """Scan once. Raises ScanFailedError."""
        answer = self._scan([sys.executable, "-m", "signalbox.audit.background", self._argument])
        if answer is None:
            return
        self.meters.show(answer)
        log = self._context.log
        reports = answer["reports"]
        # What keeps reports from being written is news once, not at every scan.
        if reports["told"] and reports["told"] != self._told:
            log.info("no reports are written", text=reports["told"])
        self._told = reports["told"]
        if reports.get("over_limit") or reports.get("cut") or reports.get("failed"):
            log.warning("reports are not complete", **{name: reports[name] for name in (*_REPORTS, "error") if reports[name]})
        if not answer["kept"]:
            log.warning("scan not kept for the pages", text=answer["keepError"])
        if answer["errorCount"]:
            log.warning(
                "scan could not read everything",
                errors=answer["errorCount"],
                first=[f"{error['what']}: {error['text']}" for error in answer["errors"][:5]],
            )
        total = answer["total"]
        log.info(
            "scanned",
            seconds=answer["seconds"],
            workloads=total["workloads"],
            refused=total["refused"],
            refusedIfEnforced=total["refusedIfEnforced"],
        )

    def _scan(self, command: Sequence[str]) -> JsonObject | None:
        """The process's answer; None where it was ended because this replica stops or leads no longer."""
        deadline = monotonic() + self._longest
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:  # noqa: S603 our own program
            while True:
                try:
                    out, err = process.communicate(timeout=_LOOK_SECONDS)
                    break
                except subprocess.TimeoutExpired:
                    pass
                if self._context.stopping.is_set() or not self._context.leading():
                    _end(process)
                    return None
                if monotonic() > deadline:
                    _end(process)
                    raise self._failed(f"not done after {self._longest:.0f} s, ended")
        if process.returncode:
            said = err.decode(errors="replace").strip().rpartition("\n")[2]
            raise self._failed(f"ended with {process.returncode}: {clean(said, 300) or 'without a word'}")
        try:
            answer: Any = orjson.loads(out)
        except orjson.JSONDecodeError:
            answer = None
        if not isinstance(answer, dict):
            raise self._failed("its answer cannot be read")
        return answer

    def _failed(self, text: str) -> ScanFailedError:
        self._context.log.error("scan failed", text=text)
        return ScanFailedError(text)


def _end(process: "subprocess.Popen[bytes]") -> None:
    process.terminate()
    try:
        process.communicate(timeout=_ENDS_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()


class ScanMeters(Collector):
    """What the leader shows of its last scan."""

    def __init__(self, leading: Callable[[], bool], clock: Callable[[], float] = monotonic) -> None:
        self._leading = leading
        # Its age must not jump with the machine's clock.
        self._clock = clock
        self._shown = 0.0
        self.answer: JsonObject | None = None

    def show(self, answer: JsonObject) -> None:
        """A scan has just ended with this answer."""
        self.answer, self._shown = answer, self._clock()

    def collect(self) -> Iterable[Metric]:
        """Nothing before the first scan, and nothing of a replica that does not lead."""
        answer = self.answer
        if answer is None or not self._leading():
            return
        age = self._clock() - self._shown
        yield GaugeMetricFamily("signalbox_scan_age_seconds", "How long ago the last scan of the cluster ended.", age)
        yield GaugeMetricFamily("signalbox_scan_duration_seconds", "How long the last scan took.", answer["seconds"])
        yield GaugeMetricFamily(
            "signalbox_scan_errors", "What the last scan could not read or judge.", float(answer["errorCount"])
        )
        yield from _objects(answer)
        yield from _rules(answer)
        yield from _reports(answer)


def _objects(answer: JsonObject) -> Iterator[Metric]:
    objects = GaugeMetricFamily(
        "signalbox_scan_objects",
        "Objects that the last scan met: judged, children counted under their workload, and finished ones.",
        labels=("what",),
    )
    for what, counts in answer["objects"].items():
        objects.add_metric((what,), sum(counts.values()))
    yield objects


def _rules(answer: JsonObject) -> Iterator[Metric]:
    labels = ("policy", "rule", "mode")
    findings = GaugeMetricFamily(
        "signalbox_scan_findings",
        "Standing workloads by what a rule says of them; result refused: today, or once the rule is enforced.",
        labels=(*labels, "result"),
    )
    accelerators = GaugeMetricFamily(
        "signalbox_scan_refused_accelerators", "Accelerators of the workloads that a rule refuses or would.", labels=labels
    )
    for rule in answer["rules"]:
        policy, _, name = rule["rule"].partition("/")
        key = (policy, name, rule["mode"])
        for result in _RESULTS:
            if rule[result]:
                findings.add_metric((*key, _RESULT_WORDS.get(result, result)), rule[result])
        if rule["refused"]:
            accelerators.add_metric(key, rule["accelerators"])
    yield findings
    yield accelerators


_RESULT_WORDS = {"notJudged": "not-judged", "faults": "fault"}


def _reports(answer: JsonObject) -> Iterator[Metric]:
    reports = GaugeMetricFamily("signalbox_scan_reports", "Report objects by what the last scan did.", labels=("result",))
    for name in _REPORTS:
        if name in answer["reports"]:
            reports.add_metric((name.replace("_", "-"),), answer["reports"][name])
    yield reports
