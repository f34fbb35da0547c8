"""Who leads: one replica holds a Lease of coordination.k8s.io and renews it; when it falls silent, another takes it.

As in client-go, nobody's clock is believed but one's own: a Lease has run out when it has not changed for its duration *as
seen from here*. Every write carries the resourceVersion that was read, so that of two who take it at once one is refused.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from signalbox.apiserver.connection import ApiServer
from signalbox.apiserver.error import ApiError
from signalbox.review import JsonObject
from signalbox.workload.kinds.kind import mapping

_API_VERSION = "coordination.k8s.io/v1"
# Of the Lease's duration: who cannot renew for two thirds of it no longer leads, so that it has ended before another begins.
_DEADLINE = 2 / 3
# Whoever may edit Leases could else write a duration of years and be gone: nobody would ever lead again.
_LONGEST = 300.0
_MOST_CHANGES = 2**31 - 2


@dataclass(slots=True)
class Election:
    """One candidate. ``tick`` is called every few seconds from one thread; ``leading`` may be asked from any."""

    api: ApiServer
    namespace: str
    name: str
    identity: str
    seconds: float
    monotonic: Callable[[], float] = time.monotonic
    now: Callable[[], datetime] = field(default=lambda: datetime.now(UTC))
    _leading_until: float = field(default=float("-inf"), init=False)
    _seen: tuple[str, float] = field(default=("", float("-inf")), init=False)
    _leader: str = field(default="", init=False)
    _reached: float = field(default=float("-inf"), init=False)

    @property
    def leading(self) -> bool:
        """Whether this candidate leads: it ends by itself when the Lease can no longer be renewed."""
        return self.monotonic() < self._leading_until

    @property
    def leader(self) -> str:
        """Who held the Lease when it was last seen; empty for nobody."""
        return self._leader

    @property
    def reached(self) -> bool:
        """Whether the Lease could be read or written not long ago."""
        return self.monotonic() - self._reached < 2 * self.seconds

    def tick(self) -> None:
        """Renew, take or watch the Lease. Raises ApiError; a conflict is none: somebody else was faster."""
        asked = self.monotonic()
        try:
            found = self._read()
            self._reached = asked
            if found is None:
                self.api.create(self._collection, self._lease({}, {}))
            elif not self._may_take(found, asked):
                # Somebody else's name stands there: whatever ours was good for, it is over.
                self._leading_until = float("-inf")
                return
            else:
                self.api.replace(self._path, self._lease(mapping(found.get("metadata")), mapping(found.get("spec"))))
        except ApiError as error:
            if not error.conflict:
                raise
            return
        # From before the request: what it took on the way is not ours to lead in.
        self._leading_until = asked + self.seconds * _DEADLINE
        self._leader = self.identity

    def release(self) -> None:
        """Give the Lease up, so that another need not wait for its end. Raises ApiError, except a conflict."""
        if not self.leading:
            return
        self._leading_until = float("-inf")
        try:
            found = self._read()
            if found is None or mapping(found.get("spec")).get("holderIdentity") != self.identity:
                return
            lease = self._lease(mapping(found.get("metadata")), mapping(found.get("spec")))
            lease["spec"] |= {"holderIdentity": "", "leaseDurationSeconds": 1}
            self.api.replace(self._path, lease)
        except ApiError as error:
            if not error.conflict:
                raise

    @property
    def _collection(self) -> str:
        return f"/apis/{_API_VERSION}/namespaces/{self.namespace}/leases"

    @property
    def _path(self) -> str:
        return f"{self._collection}/{self.name}"

    def _read(self) -> JsonObject | None:
        try:
            # Once: ``get`` would try for longer than a Lease lasts.
            return self.api.send("GET", self._path, None)
        except ApiError as error:
            if error.not_found:
                return None
            raise

    def _may_take(self, found: JsonObject, now: float) -> bool:
        version = str(mapping(found.get("metadata")).get("resourceVersion"))
        if version != self._seen[0]:
            self._seen = version, now
        spec = mapping(found.get("spec"))
        self._leader = str(spec.get("holderIdentity") or "")
        if self._leader in ("", self.identity):
            return True
        duration = spec.get("leaseDurationSeconds")
        lasts = float(duration) if isinstance(duration, int) else self.seconds
        return now - self._seen[1] > min(lasts, max(_LONGEST, self.seconds))

    def _lease(self, metadata: JsonObject, before: JsonObject) -> JsonObject:
        written = self.now().isoformat(timespec="microseconds").replace("+00:00", "Z")
        ours = before.get("holderIdentity") == self.identity
        counted = before.get("leaseTransitions")
        # The API server takes no number beyond 32 bits.
        changes = min(counted, _MOST_CHANGES) if isinstance(counted, int) else 0
        return {
            "apiVersion": _API_VERSION,
            "kind": "Lease",
            "metadata": {**metadata, "name": self.name, "namespace": self.namespace},
            "spec": {
                "holderIdentity": self.identity,
                "leaseDurationSeconds": max(1, round(self.seconds)),
                "acquireTime": before.get("acquireTime") if ours else written,
                "renewTime": written,
                "leaseTransitions": changes + (0 if ours or not before else 1),
            },
        }
