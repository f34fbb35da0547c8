"""Where the pages have their facts from: the ledger, the last scan, and the policies in force.

None of it is asked more often than every few seconds, however many pages are looked at.
"""

import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

import orjson

from signalbox.apiserver.connection import ApiServer, connect
from signalbox.apiserver.error import ApiConfigurationError, ApiError
from signalbox.audit.from_json import KnownScan, ScanJsonError, read_scan_json
from signalbox.audit.kept_scan import CONFIG_MAP, KeptScanError, read_scan
from signalbox.audit.ledger.database import LedgerError
from signalbox.audit.ledger.reading import Ledger
from signalbox.audit.live import live_setup, policies_in_force, setup_in_force
from signalbox.audit.page.known import Known, Refreshed, TroubleError
from signalbox.audit.page.settings import LEDGER_SECONDS, PageSettings
from signalbox.configuration import load_setup, read_setup_files
from signalbox.engine import Setup
from signalbox.plain_text import clean
from signalbox.policy.mode import Mode
from signalbox.process.logs import Log
from signalbox.review import JsonObject

_SCAN_SECONDS = 15.0
_SETUP_SECONDS = 60.0
_LEDGER_SECONDS = 60.0
_SCAN_WAIT = 3.0
_SETUP_WAIT = 5.0
_NO_LEDGER = "No ledger is named. Start with --ledger FILE or --ledger postgresql://… to see what was asked and refused."
_NO_SCAN = (
    "No scan is known. With a cluster the controller scans every ten minutes; on a laptop, "
    "`signalbox audit -o json > scan.json` and then `signalbox audit page --scan scan.json`."
)
_NOT_YET = (
    f"No scan has been kept yet (ConfigMap {CONFIG_MAP}). `signalbox controller` keeps one every ten minutes unless it runs "
    "with --scan-minutes 0; its log says why there is none."
)


class Sources(Protocol):
    """What a page may ask. None of these raises, and none takes longer than a few seconds."""

    def ledger(self) -> Known[Ledger]:
        """The ledger, open; whether a question to it is answered is another matter."""
        ...

    def scan(self) -> Known[KnownScan]:
        """What stands in the cluster, as the last scan found it."""
        ...

    def setup(self) -> Known[Setup]:
        """The policies in force, and what they see of the cluster."""
        ...


class LiveSources:
    """The sources that the settings name."""

    def __init__(self, settings: PageSettings, log: Log) -> None:
        self._settings = settings
        self._api: ApiServer | None = None
        self._scan = Refreshed("the last scan", self._read_scan, _SCAN_SECONDS, _SCAN_WAIT, log)
        self._setup = Refreshed("the policies", self._load_setup, _SETUP_SECONDS, _SETUP_WAIT, log)
        self._ledger = Refreshed("the ledger", _Reopened(settings.ledger), _LEDGER_SECONDS, LEDGER_SECONDS, log)

    def ledger(self) -> Known[Ledger]:
        """The ledger, open."""
        return self._ledger.get()

    def scan(self) -> Known[KnownScan]:
        """The scan of the file, else the last one that the cluster keeps."""
        return self._scan.get()

    def setup(self) -> Known[Setup]:
        """The policies in force."""
        return self._setup.get()

    def _connected(self) -> ApiServer:
        if self._api is None:
            try:
                # Once: the page tells what does not answer, and asks again at the next look.
                self._api = connect(self._settings.kubeconfig, self._settings.context, tries=1)
            except ApiConfigurationError as error:
                raise TroubleError(f"the cluster cannot be asked: {error}") from None
        return self._api

    def _read_scan(self) -> Known[KnownScan]:
        settings = self._settings
        try:
            if settings.scan:
                return Known(read_scan_json(scan_of_file(Path(settings.scan))))
            if not settings.asks_cluster:
                return Known(advice=_NO_SCAN)
            found = read_scan(self._connected(), settings.namespace)
        except (ApiError, KeptScanError, ScanJsonError, OSError) as error:
            raise TroubleError(f"the last scan cannot be read: {clean(error, 300)}") from None
        if found is None:
            return Known(advice=_NOT_YET)
        return Known(_of_scan(found))

    def _load_setup(self) -> Known[Setup]:
        settings, now = self._settings, datetime.now(UTC)
        policies, signs = [Path(path) for path in settings.policies], [Path(path) for path in settings.signs]
        mode = Mode.parse(settings.max_mode)
        if not settings.asks_cluster:
            folder = Path(settings.cluster) if settings.cluster else None
            loaded = load_setup(policies or None, signs, folder, max_mode=mode, now=now)
            return Known(loaded.setup, _first([f"policies: left out: {problem}" for problem in loaded.errors]))
        api = self._connected()
        try:
            kept = None if policies else policies_in_force(api, settings.namespace)
            if kept is None:
                setup, errors = setup_in_force(api, read_setup_files(policies or None, signs), settings.namespace, now, mode)
            else:
                whole, unread = live_setup(api, kept, now, policy_objects=False, max_mode=mode)
                setup, errors = whole.setup, list(unread)
        except ApiError as error:
            raise TroubleError(f"the policies cannot be read: {clean(error, 300)}") from None
        return Known(setup, _first([f"{one.what}: {one.text}" for one in errors]))


class _Reopened:
    """Opens the ledger anew each time: a file may have been replaced, and its older connections would go on reading it."""

    def __init__(self, address: str, opened: Callable[[str, float], Ledger] = Ledger.open) -> None:
        self._address = address
        self._open = opened
        self._older: list[tuple[float, Ledger]] = []

    def __call__(self) -> Known[Ledger]:
        if not self._address:
            return Known(advice=_NO_LEDGER)
        now = time.monotonic()
        # Whoever was given one may still be reading from it.
        while self._older and now - self._older[0][0] > 2 * _LEDGER_SECONDS:
            self._older.pop(0)[1].close()
        try:
            ledger = self._open(self._address, LEDGER_SECONDS)
        except LedgerError as error:
            # Not the older one: what cannot be opened cannot be asked either.
            return Known(trouble=str(error))
        self._older.append((now, ledger))
        return Known(ledger)


def scan_of_file(path: Path) -> JsonObject:
    """The scan that `signalbox audit -o json` wrote: a workload a line, the sums last. Raises OSError, ScanJsonError."""
    workloads: list[JsonObject] = []
    summary: JsonObject | None = None
    for number, line in enumerate(path.read_bytes().splitlines(), 1):
        if not line.strip():
            continue
        try:
            found = orjson.loads(line)
        except orjson.JSONDecodeError:
            raise ScanJsonError(f"{path}:{number}: no JSON, so this is not what `signalbox audit -o json` writes") from None
        if not isinstance(found, dict):
            raise ScanJsonError(f"{path}:{number}: an object is expected on each line, as `signalbox audit -o json` writes it")
        if "summary" in found:
            summary = found["summary"]
        else:
            workloads.append(found)
    if not isinstance(summary, dict):
        raise ScanJsonError(f"{path}: the line with the sums is missing: write it with `signalbox audit -o json`")
    return {**summary, "workloads": [one for one in workloads if one.get("findings")]}


def _of_scan(found: JsonObject) -> KnownScan:
    try:
        return read_scan_json(found)
    except ScanJsonError as error:
        raise TroubleError(str(error)) from None


def _first(errors: list[str]) -> str:
    if not errors:
        return ""
    more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
    return f"{clean(errors[0], 300)}{more}"
