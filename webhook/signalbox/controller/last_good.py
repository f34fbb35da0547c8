"""Keeps the last set of policies without a fault in a ConfigMap, for servers that start while the present one has faults."""

import base64
from collections.abc import Callable, Iterable
from datetime import datetime

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from signalbox.configuration import SetupFiles, load_setup_files
from signalbox.controller.duty import DutyContext
from signalbox.controller.policies import PresentPolicies
from signalbox.last_good import CONFIG_MAP, KEY, LIMIT, LastGoodError, config_map_path, is_too_large, kept_bytes, pack
from signalbox.policy.resources import GROUP
from signalbox.process.logs import Log
from signalbox.review import JsonObject

_DIGITS = 12
_DIGEST, _TIME = f"{GROUP}/digest", f"{GROUP}/kept-at"


class LastGoodDuty:
    """Loads what a server would load, and keeps it if it is good and another than what is kept."""

    name = "last-good-policies"
    seconds = 10.0

    def __init__(self, context: DutyContext, present: PresentPolicies) -> None:
        self._api = context.api
        self._path = config_map_path(context.options.namespace)
        self._log: Log = context.log
        self._present = present
        self._judged: tuple[SetupFiles, str] | None = None
        self.state = LastGoodState(context.leading)
        context.registry.register(self.state)

    def run(self, now: datetime) -> None:
        """Do it once. Raises ApiError."""
        files, _ = self._present.read()
        digest = self._digest(files, now)
        packed = pack(files)
        if digest and is_too_large(packed):
            self._log.error(
                "last good policies not kept, they are too large for a ConfigMap",
                bytes=len(packed),
                limit=LIMIT,
                advice="split off what is no policy, or put fewer policies here; until then a restart finds an older set",
            )
            self.state.shown(False, len(packed))
            return
        if digest:
            self._keep(packed, digest, now)
        self.state.shown(bool(digest), len(packed))

    def _digest(self, files: SetupFiles, now: datetime) -> str:
        """Names the policies if they are good, else empty; said once for each set."""
        if self._judged is not None and self._judged[0] == files:
            return self._judged[1]
        loaded = load_setup_files(files, now=now)
        good = not loaded.errors and bool(loaded.setup.policies.policies)
        digest = loaded.setup.policies.digest[:_DIGITS] if good else ""
        if not good:
            self._log.warning(
                "policies have problems, the last good ones stay kept",
                leftOut=loaded.left_out,
                problems=[*map(str, loaded.errors)],
            )
        self._judged = files, digest
        return digest

    def _keep(self, packed: bytes, digest: str, now: datetime) -> None:
        found = self._api.find(self._path)
        if found is not None and _holds(found, packed):
            return
        written = _config_map(found, packed, digest, now)
        if found is None:
            self._api.create(self._path.rpartition("/")[0], written)
        else:
            self._api.replace(self._path, written)
        self._log.info("last good policies kept", digest=digest, bytes=len(packed))


class LastGoodState(Collector):
    """What the leader shows of the set that is kept."""

    def __init__(self, leading: Callable[[], bool]) -> None:
        self._leading = leading
        self._current: bool | None = None
        self._bytes = 0

    def shown(self, current: bool, size: int) -> None:
        """After a run: whether the present set is the one that is kept, and its size when packed."""
        self._current, self._bytes = current, size

    def collect(self) -> Iterable[Metric]:
        """The gauges, from the leader alone."""
        if self._current is None or not self._leading():
            return
        yield GaugeMetricFamily(
            "signalbox_last_good_policies_current",
            "1 while the policies that are there are good and kept for a restart, 0 while an older set is.",
            value=float(self._current),
        )
        yield GaugeMetricFamily(
            "signalbox_last_good_policies_bytes", "Size of the present policies when they are packed.", value=self._bytes
        )


def _holds(config_map: JsonObject, packed: bytes) -> bool:
    try:
        return kept_bytes(config_map) == packed
    except LastGoodError:
        return False


def _config_map(found: JsonObject | None, packed: bytes, digest: str, now: datetime) -> JsonObject:
    metadata = dict((found or {}).get("metadata") or {"name": CONFIG_MAP})
    metadata["labels"] = {**(metadata.get("labels") or {}), "app.kubernetes.io/part-of": "signalbox"}
    told = {_DIGEST: digest, _TIME: now.isoformat(timespec="seconds")}
    metadata["annotations"] = {**(metadata.get("annotations") or {}), **told}
    data = {KEY: base64.b64encode(packed).decode("ascii")}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "binaryData": data}
