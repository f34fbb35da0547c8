"""How well the cluster is known, for /readyz?verbose. Readiness itself does not hang on it: what was known stays in force."""

import time
from collections.abc import Mapping

from signalbox.server.live import LiveCluster, read_status

_STALE_SECONDS = 120
"""Twice as long as a watch lasts: whatever is older was not confirmed by the API server."""


def cluster_health(live: LiveCluster) -> Mapping[str, object]:
    """``unknown``: kinds that nothing was told of; ``stale``: seconds since the API server last answered, and why."""
    now, status = time.monotonic(), read_status(live.directory)
    return {
        "unknown": live.missing(),
        "stale": {
            kind: {"seconds": int(now - one.contact), "fault": one.fault}
            for kind, one in status.items()
            if one.contact and now - one.contact > _STALE_SECONDS
        },
        "faults": {kind: one.fault for kind, one in status.items() if one.fault},
        "unread": {kind: one.unread for kind, one in status.items() if one.unread},
    }
