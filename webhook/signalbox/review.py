"""AdmissionReview ``admission.k8s.io/v1`` as typed values: what the API server asks and what it is answered.

Nothing here judges. ``parse_review`` reads one decoded body, ``Response.as_review`` writes the answer.
Raw manifests stay plain dicts: custom resources reach a mutating webhook before schema validation, so any JSON type may
stand anywhere in them.
"""

import base64
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

JsonObject = dict[str, Any]
Operation = Literal["CREATE", "UPDATE", "DELETE", "CONNECT"]
OPERATIONS: tuple[Operation, ...] = ("CREATE", "UPDATE", "DELETE", "CONNECT")

API_VERSION = "admission.k8s.io/v1"


class ReviewError(ValueError):
    """A body that is no AdmissionReview v1; its text says what is wrong and where."""


@dataclass(frozen=True, slots=True)
class UserInfo:
    """Who asks. ``groups`` as the API server resolved them."""

    username: str = ""
    groups: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Request:
    """One admission request.

    ``namespace`` is authoritative (``object.metadata.namespace`` may be empty); ``name`` is empty on a CREATE with
    generateName; ``object`` is None on DELETE.
    """

    uid: str
    operation: Operation
    group: str
    version: str
    kind: str
    namespace: str = ""
    name: str = ""
    sub_resource: str = ""
    dry_run: bool = False
    user: UserInfo | None = None
    object: JsonObject | None = None
    old_object: JsonObject | None = None


@dataclass(frozen=True, slots=True)
class Response:
    """One admission response. ``patch`` is a list of RFC 6902 operations; ``audit`` becomes audit annotations."""

    uid: str
    allowed: bool = True
    message: str = ""
    code: int = 403
    reason: str = "Forbidden"
    warnings: tuple[str, ...] = ()
    patch: tuple[JsonObject, ...] = ()
    audit: Mapping[str, str] = field(default_factory=dict)

    def as_review(self, encode: Callable[[Any], bytes]) -> JsonObject:
        """The AdmissionReview to send; ``encode`` turns the patch into JSON bytes (the caller's JSON library)."""
        response: JsonObject = {"uid": self.uid, "allowed": self.allowed}
        if not self.allowed:
            # 422 with details.causes makes kubectl print the causes and drop the message: 403 keeps every line.
            response["status"] = {
                "status": "Failure",
                "message": self.message,
                "reason": self.reason,
                "code": self.code,
            }
        if self.warnings:
            response["warnings"] = list(self.warnings)
        if self.allowed and self.patch:
            response["patchType"] = "JSONPatch"
            response["patch"] = base64.b64encode(encode(list(self.patch))).decode("ascii")
        if self.audit:
            response["auditAnnotations"] = dict(self.audit)
        return {"apiVersion": API_VERSION, "kind": "AdmissionReview", "response": response}


def parse_review(body: Any) -> Request:
    """The request in a decoded AdmissionReview. Raises ReviewError with a field path where it is not one."""
    if not isinstance(body, dict):
        raise ReviewError("the body is no JSON object, an AdmissionReview is expected")
    if body.get("kind") != "AdmissionReview":
        raise ReviewError(f"kind is {_shown(body.get('kind'))}, AdmissionReview is expected")
    if body.get("apiVersion") != API_VERSION:
        raise ReviewError(f"apiVersion is {_shown(body.get('apiVersion'))}, {API_VERSION} is expected")
    request = body.get("request")
    if not isinstance(request, dict):
        raise ReviewError("request is missing or no object")
    uid = request.get("uid")
    if not isinstance(uid, str) or not uid:
        raise ReviewError("request.uid is missing")
    operation = request.get("operation")
    if operation not in OPERATIONS:
        raise ReviewError(f"request.operation is {_shown(operation)}, one of {', '.join(OPERATIONS)} is expected")
    kind = request.get("kind")
    if not isinstance(kind, dict) or not isinstance(kind.get("kind"), str):
        raise ReviewError("request.kind.kind is missing")
    return Request(
        uid=uid,
        operation=operation,
        group=_text(kind.get("group")),
        version=_text(kind.get("version")),
        kind=kind["kind"],
        namespace=_text(request.get("namespace")),
        name=_text(request.get("name")),
        sub_resource=_text(request.get("subResource")),
        dry_run=request.get("dryRun") is True,
        user=_user(request.get("userInfo")),
        object=_manifest(request.get("object"), "object"),
        old_object=_manifest(request.get("oldObject"), "oldObject"),
    )


def _user(info: Any) -> UserInfo:
    if not isinstance(info, dict):
        return UserInfo()
    groups = info.get("groups")
    return UserInfo(
        _text(info.get("username")),
        tuple(group for group in groups if isinstance(group, str)) if isinstance(groups, list) else (),
    )


def _manifest(value: Any, field_name: str) -> JsonObject | None:
    if value is None or isinstance(value, dict):
        return value
    raise ReviewError(f"request.{field_name} is {json_name(value)}, an object is expected")


def json_name(value: Any) -> str:
    """What kind of JSON value it is, in words."""
    return _JSON_NAMES.get(type(value), "something else")


_JSON_NAMES: dict[type, str] = {
    dict: "an object",
    list: "a list",
    str: "text",
    bool: "true or false",
    int: "a number",
    float: "a number",
    type(None): "nothing",
}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _shown(value: Any) -> str:
    return "missing" if value is None else repr(value)[:80]
