"""/livez and /readyz. Readiness fails while draining, so that a Service sends no new connection."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime

import orjson
from flask import Flask, request
from flask import Response as HttpResponse

from signalbox.server.certificate import EXPIRED_ADVICE, REJECTED_ADVICE
from signalbox.server.cluster_health import cluster_health
from signalbox.server.lifecycle import Lifecycle
from signalbox.server.live import LiveCluster
from signalbox.server.notice import Notice, NoticeBoard
from signalbox.server.source import LoadResult, SetupSource

_MOST = 50
_CLUSTER_ADVICE = "the cluster is not known as it is now: see what stands in cluster, and the log of the watch"
_LEFT_OUT_ADVICE = "mend the documents in leftOut: nothing in them is in force"
_RESTORED_ADVICE = "the last good set of an earlier process is in force: mend the documents in rejectedDocuments"
_REJECTED_ADVICE = "mend the documents in rejectedDocuments: until then the set shown here stays in force"


def add_health(app: Flask, source: SetupSource, lifecycle: Lifecycle, board: NoticeBoard, live: LiveCluster | None) -> None:
    """Give the app its two health endpoints."""

    def livez() -> HttpResponse:
        return HttpResponse("ok\n", mimetype="text/plain")

    def readyz() -> HttpResponse:
        draining = lifecycle.draining
        status = 503 if draining else 200
        if "verbose" not in request.args:
            return HttpResponse("draining\n" if draining else "ok\n", status=status, mimetype="text/plain")
        cluster = None if live is None else cluster_health(live)
        judged = _state(source.in_force, board.current, cluster, datetime.now(UTC))
        state = {"ready": not draining, "draining": draining, **judged}
        body = orjson.dumps(state, option=orjson.OPT_INDENT_2) + b"\n"
        return HttpResponse(body, status=status, mimetype="application/json")

    app.add_url_rule("/livez", view_func=livez)
    app.add_url_rule("/readyz", view_func=readyz)


def _state(in_force: LoadResult, notice: Notice, cluster: Mapping[str, object] | None, now: datetime) -> dict[str, object]:
    """What this worker judges by, what is wrong with that, and what with the newer files that it does not judge by."""
    expired = notice.not_after is not None and notice.not_after <= now
    return {
        "policies": in_force.policies,
        "digest": in_force.digest,
        "signs": in_force.signs,
        # Two pairs of lists: what the set in force lacks, and what keeps a newer one out.
        "problems": in_force.problems[:_MOST],
        "leftOut": in_force.left_out[:_MOST],
        "restored": in_force.restored,
        "rejected": notice.rejected.problems[:_MOST],
        "rejectedDocuments": notice.rejected.documents[:_MOST],
        "warnings": in_force.warnings[:_MOST],
        "certificate": {
            "notAfter": notice.not_after.isoformat() if notice.not_after else None,
            "expired": expired,
            "rejected": notice.certificate_rejected or None,
        },
        "cluster": cluster,
        "advice": [*_advice(in_force, notice, expired), *([_CLUSTER_ADVICE] if cluster and any(cluster.values()) else ())],
    }


def _advice(in_force: LoadResult, notice: Notice, expired: bool) -> Iterator[str]:
    if in_force.restored:
        yield _RESTORED_ADVICE
    if in_force.problems:
        yield _LEFT_OUT_ADVICE
    if notice.rejected.problems:
        yield _REJECTED_ADVICE
    if expired:
        yield EXPIRED_ADVICE
    if notice.certificate_rejected:
        yield REJECTED_ADVICE
