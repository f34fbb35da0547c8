"""The Flask app: an AdmissionReview in, an answer out, and a clear word for everything that is no AdmissionReview."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from time import monotonic, perf_counter
from typing import TYPE_CHECKING, Any

import orjson
from flask import Flask, request
from flask import Response as HttpResponse
from werkzeug.exceptions import HTTPException

from signalbox.finding import Finding
from signalbox.process.logs import Log, crash_fields
from signalbox.process.repeats import Repeats
from signalbox.review import API_VERSION, Request, Response, ReviewError, parse_review
from signalbox.server.body import BodyError, SlowBodies, discard_body, read_body
from signalbox.server.health import add_health
from signalbox.server.lifecycle import Lifecycle
from signalbox.server.live import LiveCluster
from signalbox.server.metrics import Decision, Endpoint, Meters
from signalbox.server.notice import NoticeBoard
from signalbox.server.options import BODY_LIMIT
from signalbox.server.policy_judge import PolicyJudge
from signalbox.server.source import SetupSource

if TYPE_CHECKING:
    from signalbox.audit.ledger.recorder import Recorder
    from signalbox.engine import Outcome, Setup

    Judge = Callable[[Setup, Request, datetime], Outcome]

_JSON = "application/json"
_BODY_METHODS = frozenset({"POST", "PUT", "PATCH", "DELETE"})


@dataclass(frozen=True, slots=True)
class Context:
    """What the app works with; made before the fork, used in the worker."""

    source: SetupSource
    meters: Meters
    log: Log
    lifecycle: Lifecycle
    slow: SlowBodies
    board: NoticeBoard
    body_limit: int = BODY_LIMIT
    live: LiveCluster | None = None
    repeats: Repeats = field(default_factory=Repeats)
    ledger: "Recorder | None" = None


def create_app(context: Context, mutate: "Judge | None" = None, validate: "Judge | None" = None) -> Flask:
    """The app; the judges are the engine's unless a test brings its own."""
    if mutate is None or validate is None:
        from signalbox import engine

        mutate, validate = mutate or engine.mutate, validate or engine.validate
    judge_policies = PolicyJudge(context.source, context.live)
    app = Flask("signalbox", static_folder=None)

    def answer_mutate() -> HttpResponse:
        return _review(context, "mutate", mutate)

    def answer_validate() -> HttpResponse:
        return _review(context, "validate", validate)

    def answer_policies() -> HttpResponse:
        return _review(context, "policies", judge_policies)

    def close_at_the_end(response: HttpResponse) -> HttpResponse:
        if context.lifecycle.closing:
            response.headers["Connection"] = "close"
        return response

    def http_error(error: HTTPException) -> HttpResponse:
        return _refuse_http(context, error.code or 500, error.name, error.get_headers())

    app.add_url_rule("/mutate", view_func=answer_mutate, methods=["POST"])
    app.add_url_rule("/validate", view_func=answer_validate, methods=["POST"])
    app.add_url_rule("/policies", view_func=answer_policies, methods=["POST"])
    app.after_request(close_at_the_end)
    app.register_error_handler(HTTPException, http_error)
    add_health(app, context.source, context.lifecycle, context.board, context.live)
    return app


def _review(context: Context, endpoint: Endpoint, judge: "Judge") -> HttpResponse:
    started = perf_counter()
    if request.mimetype != _JSON:
        return _bad_request(context, endpoint, 415, f"Content-Type is {request.mimetype or 'missing'!r}, not {_JSON}")
    try:
        received = read_body(request.environ, context.body_limit, context.slow)
        document = orjson.loads(received)
    except BodyError as error:
        return _bad_request(context, endpoint, error.status, error.text)
    except orjson.JSONDecodeError as error:
        return _bad_request(context, endpoint, 400, f"the body is no JSON that can be read: {error}")
    try:
        asked = parse_review(document)
    except ReviewError as error:
        return _bad_review(context, endpoint, document, str(error))
    try:
        setup, now = context.source.current(), datetime.now(UTC)
        outcome = judge(setup, asked, now)
        body = orjson.dumps(outcome.response.as_review(orjson.dumps))
    except Exception as error:  # noqa: BLE001 - the last line of defence: logged, counted, and answered
        return _crashed(context, endpoint, asked, error, started)
    for caught in outcome.errors:
        context.meters.error("engine")
        _log_crash(context, endpoint, asked, caught.error, caught.where)
    response = outcome.response
    decision: Decision = "refused" if not response.allowed else "patched" if response.patch else "allowed"
    if decision == "refused":
        _log_refusal(context, endpoint, asked, outcome.findings)
    if outcome.findings:
        context.meters.findings(outcome.findings)
    if context.ledger is not None:
        context.ledger.offer(endpoint, received, asked, setup, outcome, now)
    context.meters.review(endpoint, asked.operation, (asked.group, asked.kind), decision, perf_counter() - started)
    return HttpResponse(body, mimetype=_JSON)


def _crashed(context: Context, endpoint: Endpoint, asked: Request, error: Exception, started: float) -> HttpResponse:
    context.meters.error(endpoint)
    context.meters.review(endpoint, asked.operation, (asked.group, asked.kind), "error", perf_counter() - started)
    _log_crash(context, endpoint, asked, error, "answer")
    if endpoint == "mutate":
        # A fault of ours never fails a request here: the object passes as it came, /validate still judges it.
        return HttpResponse(orjson.dumps(Response(asked.uid).as_review(orjson.dumps)), mimetype=_JSON)
    return _text(500, f"internal error while judging request {asked.uid}, the log has more")


def _bad_review(context: Context, endpoint: Endpoint, document: Any, text: str) -> HttpResponse:
    """Not a review we can judge. With a uid it can be answered as a review, which shows the reason to the user."""
    asked = document.get("request") if isinstance(document, dict) else None
    uid = asked.get("uid") if isinstance(asked, dict) else None
    if not isinstance(uid, str) or not uid or document.get("apiVersion") != API_VERSION:
        return _bad_request(context, endpoint, 400, text)
    _count_bad(context, endpoint, 400, text)
    refusal = Response(uid, allowed=False, message=f"signalbox: {text}", code=400, reason="BadRequest")
    return HttpResponse(orjson.dumps(refusal.as_review(orjson.dumps)), mimetype=_JSON)


def _bad_request(context: Context, endpoint: Endpoint, status: int, text: str) -> HttpResponse:
    _count_bad(context, endpoint, status, text)
    discard_body(request.environ, context.body_limit, context.slow)
    response = _text(status, text)
    if status == 413:
        response.headers["Connection"] = "close"
    return response


def _count_bad(context: Context, endpoint: Endpoint, status: int, text: str) -> None:
    context.meters.bad_request(endpoint)
    # Of one peer: the texts quote what it sent.
    repeats = context.repeats.ask(("bad request", endpoint, status, request.remote_addr), monotonic())
    if repeats is not None:
        fields = {"endpoint": endpoint, "status": status, "text": text, "peer": request.remote_addr}
        context.log.warning("bad request", **fields, **_also(repeats))


def _refuse_http(context: Context, status: int, name: str, headers: list[tuple[str, str]]) -> HttpResponse:
    """404, 405 and their like as one line of text; ``headers`` may hold an Allow that belongs to it."""
    if request.method in _BODY_METHODS:
        discard_body(request.environ, context.body_limit, context.slow)
    response = _text(status, name.lower())
    response.headers.extend((key, value) for key, value in headers if key == "Allow")
    return response


def _log_crash(context: Context, endpoint: Endpoint, asked: Request, error: BaseException, where: str) -> None:
    fields = crash_fields(error)
    repeats = context.repeats.ask(("crash", endpoint, where, *map(str, fields.values())), monotonic())
    if repeats is not None:
        context.log.error("crash", endpoint=endpoint, uid=asked.uid, where=where, **fields, **_also(repeats))


def _log_refusal(context: Context, endpoint: Endpoint, asked: Request, findings: tuple[Finding, ...]) -> None:
    name, stem = asked.name, _generate_name(asked)
    user = asked.user.username if asked.user else ""
    # Who is refused the same again and again is a controller: the names that it makes up differ, what they begin with does not.
    repeats = context.repeats.ask(("refused", endpoint, user, asked.kind, asked.namespace, stem or name), monotonic())
    if repeats is None:
        return
    context.log.info(
        "refused",
        endpoint=endpoint,
        uid=asked.uid,
        operation=asked.operation,
        kind=asked.kind,
        group=asked.group,
        namespace=asked.namespace,
        name=name or stem,
        user=user,
        rules=sorted({finding.rule for finding in findings if finding.refuses}),
        dryRun=asked.dry_run,
        **_also(repeats),
    )


def _also(repeats: int) -> dict[str, int]:
    """How many lines of the kind were left out since the last one."""
    return {"repeats": repeats} if repeats else {}


def _generate_name(asked: Request) -> str:
    metadata = (asked.object or {}).get("metadata")
    name = metadata.get("generateName") if isinstance(metadata, dict) else None
    return f"{name}*" if isinstance(name, str) else ""


def _text(status: int, text: str) -> HttpResponse:
    return HttpResponse(text + "\n", status=status, mimetype="text/plain")
