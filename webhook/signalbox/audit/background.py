"""The controller's scan: ``python -m signalbox.audit.background OPTIONS``, started by the controller for each run.

A process of its own, with low priority and bounded memory, so that nothing else waits for it or falls with it. It scans the
whole cluster, writes report objects and the ConfigMap of the last scan, and prints the sums as one JSON object.
"""

import os
import resource
import sys
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson

from signalbox.apiserver.connection import ApiServer, connect
from signalbox.apiserver.error import ApiConfigurationError, ApiError
from signalbox.audit.as_json import scan_json, subject_json
from signalbox.audit.kept_scan import pack_scan, write_scan
from signalbox.audit.largest import Largest
from signalbox.audit.live import live_items, setup_in_force
from signalbox.audit.reports.kinds import report_kinds
from signalbox.audit.reports.writer import ReportLimits, ReportWriter
from signalbox.audit.scan import Scan
from signalbox.audit.tally import Tally
from signalbox.configuration import read_setup_files
from signalbox.plain_text import clean
from signalbox.policy.mode import Mode
from signalbox.process.logs import complain, crash_fields
from signalbox.review import JsonObject

_NICE = 10
_KEPT = 5000


@dataclass(frozen=True, slots=True)
class ScanSettings:
    """What a run is told. ``namespace`` is where the last scan is kept, ``parent`` the process without which it ends."""

    namespace: str
    kubeconfig: str | None = None
    context: str | None = None
    policies: tuple[str, ...] = ()
    signs: tuple[str, ...] = ()
    max_mode: str = "enforce"
    per_second: float = 5.0
    reports: bool = True
    most_reports: int = 10_000
    memory_mib: int = 512
    parent: int = 0

    def argument(self) -> str:
        """The settings as the one argument of the process."""
        return orjson.dumps(asdict(self)).decode()


def main(argument: str) -> int:
    """Scan once; the exit code. What keeps it from doing so is one line on stderr."""
    settings = ScanSettings(**orjson.loads(argument))
    os.nice(_NICE)
    bound = settings.memory_mib * 1024 * 1024
    resource.setrlimit(resource.RLIMIT_DATA, (bound, bound))
    try:
        api = connect(settings.kubeconfig, settings.context, per_second=settings.per_second)
        answer = scan_once(api, settings, datetime.now(UTC))
    except (ApiConfigurationError, ApiError) as error:
        complain(str(error))
        return 1
    except MemoryError:
        complain(f"the scan needs more than {settings.memory_mib} MiB")
        return 1
    except Exception as error:  # noqa: BLE001 - its text may quote a manifest, and this process's last words are logged
        complain(f"a fault of Signalbox: {crash_fields(error)}")
        return 1
    sys.stdout.buffer.write(orjson.dumps(answer))
    return 0


def scan_once(api: ApiServer, settings: ScanSettings, now: datetime) -> JsonObject:
    """One scan of the cluster, with its reports; the sums of both. Raises ApiError where nothing can be asked at all."""
    files = read_setup_files(_paths(settings.policies) or None, _paths(settings.signs))
    setup, errors = setup_in_force(api, files, settings.namespace, now, Mode.parse(settings.max_mode))
    scan, tally, largest = Scan(setup, now, passes=settings.reports), Tally(), Largest(_KEPT)
    for error in errors:
        scan.note(error)
    writer, told = _writer(api, settings, now)

    def carry_on(*_: object) -> None:
        if settings.parent and os.getppid() != settings.parent:
            # Nobody is there to take the answer, and another leader scans by now.
            raise SystemExit(1)

    for subject in scan.subjects(live_items(api, setup, progress=carry_on)):
        tally.add(subject)
        largest.add(subject)
        if writer is not None:
            writer.add(subject)
    summary = scan.summary()
    reports: dict[str, Any] = {"kind": "", "told": told}
    if writer is not None:
        writer.finish(summary.incomplete)
        reports = {"kind": writer.kind, "told": told, **asdict(writer.counts)}
    answer: JsonObject = {**scan_json(scan.summary(), tally), "reports": reports, "kept": True}
    subjects = [{**subject_json(subject), "children": scan.children_of(subject.uid)} for subject in largest]
    try:
        write_scan(api, settings.namespace, pack_scan(answer, subjects))
    except ApiError as error:
        answer |= {"kept": False, "keepError": clean(error, 300)}
    return answer


def _writer(api: ApiServer, settings: ScanSettings, now: datetime) -> tuple[ReportWriter | None, str]:
    """Who writes reports, None where nobody can, and why."""
    if not settings.reports:
        return None, "reports are switched off"
    try:
        kinds = report_kinds(api)
        if not kinds:
            return None, "neither the CustomResourceDefinition of OpenReports nor that of PolicyReports is installed"
        writer = ReportWriter(api, kinds, now, ReportLimits(reports=settings.most_reports))
        writer.read()
    except ApiError as error:
        return None, f"reports cannot be read: {clean(error, 300)}"
    return writer, ""


def _paths(names: tuple[str, ...]) -> list[Path]:
    return [Path(name) for name in names]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
