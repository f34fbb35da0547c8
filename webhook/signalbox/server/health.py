"""/livez and /readyz. Readiness fails while draining, so that a Service sends no new connection."""

from collections.abc import Callable
from datetime import UTC, datetime

import orjson
from flask import Flask, request
from flask import Response as HttpResponse

from signalbox.server.lifecycle import Lifecycle
from signalbox.server.source import SetupSource

_MOST_PROBLEMS = 50


def add_health(
    app: Flask,
    source: SetupSource,
    lifecycle: Lifecycle,
    certificate_not_after: Callable[[], datetime | None],
) -> None:
    """Give the app its two health endpoints."""

    def livez() -> HttpResponse:
        return HttpResponse("ok\n", mimetype="text/plain")

    def readyz() -> HttpResponse:
        draining = lifecycle.draining
        status = 503 if draining else 200
        if "verbose" not in request.args:
            return HttpResponse("draining\n" if draining else "ok\n", status=status, mimetype="text/plain")
        in_force, latest, not_after = source.in_force, source.latest, certificate_not_after()
        state = {
            "ready": not draining,
            "draining": draining,
            "policies": in_force.policies,
            "signs": in_force.signs,
            # Two lists: what the set in force lacks, and what keeps a newer one out.
            "problems": in_force.problems[:_MOST_PROBLEMS],
            "rejected": latest.problems[:_MOST_PROBLEMS] if latest is not in_force else (),
            "certificate": {
                "notAfter": not_after.isoformat() if not_after else None,
                "expired": not_after is not None and not_after <= datetime.now(UTC),
            },
        }
        body = orjson.dumps(state, option=orjson.OPT_INDENT_2) + b"\n"
        return HttpResponse(body, status=status, mimetype="application/json")

    app.add_url_rule("/livez", view_func=livez)
    app.add_url_rule("/readyz", view_func=readyz)
