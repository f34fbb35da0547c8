"""AdmissionReview: what is read, what is answered, what is refused as no review."""

import base64
import json
from typing import Any

import pytest

from signalbox.review import Response, ReviewError, parse_review


def encode(value: Any) -> bytes:
    return json.dumps(value).encode()


def body(**request: Any) -> dict[str, Any]:
    given = {"uid": "u", "operation": "CREATE", "kind": {"group": "batch", "version": "v1", "kind": "Job"}, "object": {}}
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {**given, **request}}


def test_a_request_is_read_with_its_user() -> None:
    request = parse_review(
        body(userInfo={"username": "ann", "groups": ["a", 1]}, namespace="ns", dryRun=True, subResource="scale")
    )
    assert request.user is not None
    assert (request.user.username, request.user.groups) == ("ann", ("a",))
    assert (request.namespace, request.dry_run, request.sub_resource) == ("ns", True, "scale")


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ([], "no JSON object"),
        ({}, "kind is missing"),
        ({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1beta1"}, "v1beta1"),
        ({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1"}, "request is missing"),
        (body(uid=""), "request.uid is missing"),
        (body(operation="EAT"), "request.operation is 'EAT'"),
        (body(kind="Job"), "request.kind.kind is missing"),
        (body(object="x"), "request.object is text"),
    ],
)
def test_what_is_no_review_says_what_is_wrong(wrong: Any, said: str) -> None:
    with pytest.raises(ReviewError, match=said):
        parse_review(wrong)


def test_a_refusal_is_403_with_its_whole_message() -> None:
    """422 with causes would make kubectl drop the message."""
    review = Response("u", allowed=False, message="two\nlines").as_review(encode)
    assert review["response"]["status"] == {"status": "Failure", "message": "two\nlines", "reason": "Forbidden", "code": 403}


def test_a_patch_is_sent_with_its_type_and_never_with_a_refusal() -> None:
    patch = ({"op": "add", "path": "/a", "value": 1},)
    allowed = Response("u", patch=patch).as_review(encode)["response"]
    assert allowed["patchType"] == "JSONPatch"
    assert json.loads(base64.b64decode(allowed["patch"])) == list(patch)
    assert "patch" not in Response("u", allowed=False, patch=patch).as_review(encode)["response"]
    assert "patchType" not in Response("u").as_review(encode)["response"]
