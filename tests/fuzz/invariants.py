"""What holds for every answer, whatever was asked."""

from __future__ import annotations

import base64
from typing import Any

import jsonpatch
import orjson

from signalbox.message import LIMIT, WARNING_LIMIT
from tests.fuzz.app import Answer, App
from tests.fuzz.case import Case, dumped

LONGEST_SECONDS = 2.0
"""CPU time. The API server waits five seconds for us."""
FAULT = "a fault of ours"
LONGEST_LOG_LINE = 16 * 1024
_STATUSES = (200, 400, 413, 415)
# Kinds that the API server fills in and checks itself: of these alone /mutate may refuse.
_BUILT_IN = ("", "apps", "batch")


class Violation(Exception):
    """Something that must never be was seen: what, and where exactly."""

    def __init__(self, what: str, detail: str = "") -> None:
        super().__init__(what, detail)
        self.what = what
        self.detail = detail


def run_case(app: App, case: Case) -> list[Answer]:
    """Sends one case through both endpoints, as the API server would. Raises Violation."""
    if case.raw is not None:
        return [_checked(app.post(case.world, path, case.raw)) for path in ("/mutate", "/validate")]
    operation = case.envelope["operation"]
    answers: list[Answer] = []
    stored = _both(app, case, case.object, case.old, operation, answers)
    if case.later is not None and stored is not None:
        _both(app, case, case.later, stored, "UPDATE", answers)
    return answers


def _both(app: App, case: Case, obj: Any, old: Any, operation: Any, answers: list[Answer]) -> Any:
    """One request through both endpoints; the object that would be stored, None where it is refused or no review."""

    def ask(path: str, asked: Any) -> Any:
        answers.append(_checked(app.post(case.world, path, case.body(asked, old, operation))))
        return _response(answers[-1])

    response = ask("/mutate", obj)
    if response is None:
        return None
    _hold(response["uid"] == case.envelope["uid"], "the uid is another", repr(response["uid"])[:80])
    if not response["allowed"] and response["status"]["code"] == 403:
        group = case.envelope["kind"].get("group")
        # What is no text counts as none.
        _hold(not isinstance(group, str) or group in _BUILT_IN, "/mutate refused a custom resource")
    final = _patched(case, response, obj, old, operation)
    if "patch" in response:
        second = ask("/mutate", final)
        _hold(second is not None and "patch" not in second, "a second pass patches again", _ops(second))
    judged = ask("/validate", final)
    _hold(judged is not None and "patch" not in judged, "/validate patches, or is no review where /mutate was one")
    return final if response["allowed"] and judged["allowed"] else None


def _checked(answer: Answer) -> Answer:
    """What every answer keeps to."""
    _hold(not answer.faults and b'"crash"' not in answer.log, FAULT, _fault(answer))
    _hold(answer.status in _STATUSES, "an HTTP status of no kind", str(answer.status))
    _hold(answer.seconds <= LONGEST_SECONDS, "too slow", f"{answer.seconds:.1f} s")
    for line in answer.log.splitlines():
        _hold(len(line) <= LONGEST_LOG_LINE, "a long log line", f"{len(line)} bytes")
        _hold(orjson.loads(line)["event"] in ("refused", "bad request"), "an event of no kind", line.decode()[:300])
    if answer.status == 200:
        _check_response(orjson.loads(answer.body))
    else:
        _hold(answer.body.count(b"\n") == 1 and b"Traceback" not in answer.body, "an error that is no line of text")
    return answer


def _check_response(review: Any) -> None:
    _hold(sorted(review) == ["apiVersion", "kind", "response"], "no AdmissionReview", str(sorted(review)))
    response = review["response"]
    known = {"uid", "allowed", "status", "warnings", "patch", "patchType", "auditAnnotations"}
    _hold(set(response) <= known and isinstance(response["uid"], str), "a response of no kind", str(sorted(response)))
    _hold(isinstance(response["allowed"], bool), "allowed is neither true nor false")
    _hold(response["allowed"] or bool(response["status"]["message"]), "refused without a word")
    if not response["allowed"]:
        message = response["status"]["message"]
        _hold(response["status"]["code"] in (400, 403), "a refusal of no kind", str(response["status"]["code"]))
        _hold(len(message.encode()) <= LIMIT, "a message over the limit", f"{len(message.encode())} bytes")
        _hold(all(line.isprintable() for line in message.split("\n")), "a message with control characters", repr(message)[:400])
        _hold("patch" not in response, "refused and patched")
    for warning in response.get("warnings", ()):
        _hold(warning.isprintable() and bool(warning), "a warning that is no line", repr(warning)[:300])
        _hold(len(warning) <= WARNING_LIMIT, "a warning over the limit", f"{len(warning)} characters")
    for value in response.get("auditAnnotations", {}).values():
        _hold(isinstance(orjson.loads(value), list), "an audit annotation of no kind", value[:200])


def _response(answer: Answer) -> Any:
    return orjson.loads(answer.body)["response"] if answer.status == 200 else None


def _patched(case: Case, response: Any, obj: Any, old: Any, operation: Any) -> Any:
    """The object with the patch applied by somebody else's RFC 6902 library."""
    # As the app read it, with numbers in it that no Python writes.
    before = orjson.loads(case.body(obj, old, operation))["request"]["object"]
    if "patch" not in response:
        return before
    operations = orjson.loads(base64.b64decode(response["patch"]))
    _hold(response["patchType"] == "JSONPatch" and bool(operations), "a patch of no kind")
    kept = {key: before.get(key) for key in ("apiVersion", "kind", "status")}
    identity = _identity(before)
    try:
        after = jsonpatch.JsonPatch(operations).apply(before, in_place=True)
    except (jsonpatch.JsonPatchException, jsonpatch.JsonPointerException, TypeError) as error:
        raise Violation("a patch that does not apply", f"{type(error).__name__}: {error}"[:300]) from error
    _hold(
        {key: after.get(key) for key in kept} == kept and _identity(after) == identity,
        "a patch of what is not ours",
        _ops(response),
    )
    return after


def _fault(answer: Answer) -> str:
    """The exception and its frames, innermost first."""
    for line in answer.log.splitlines():
        if b'"crash"' in line:
            crash = orjson.loads(line)
            return f"{crash.get('where', crash['endpoint'])} {crash['exception']} at {' < '.join(reversed(crash['frames']))}"
    return ", ".join(answer.faults)


def _identity(obj: Any) -> Any:
    metadata = obj.get("metadata")
    if not isinstance(metadata, dict):
        metadata = {}
    return dumped([metadata.get(key) for key in ("name", "namespace", "ownerReferences", "finalizers", "uid")])


def _ops(response: Any) -> str:
    return base64.b64decode(response["patch"]).decode()[:600] if response and "patch" in response else ""


def _hold(holds: bool, what: str, detail: str = "") -> None:
    if not holds:
        raise Violation(what, detail)
