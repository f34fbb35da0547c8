"""The webhook process as the API server meets it: over TLS, with good and bad input."""

import json
import ssl
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.server_process import Webhook, review, running, wait_for


@pytest.fixture(scope="module")
def webhook(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Webhook]:
    with running(tmp_path_factory.mktemp("webhook"), body_limit=256 * 1024, body_seconds=0.3, threads=4) as process:
        yield process


def test_a_review_is_answered_with_its_uid_and_the_query_string_is_ignored(webhook: Webhook) -> None:
    status, text = webhook.post("/validate?timeout=5s", review("abc"))
    assert status == 200
    assert json.loads(text)["response"]["uid"] == "abc"
    assert json.loads(text)["apiVersion"] == "admission.k8s.io/v1"


def test_a_connection_is_kept_alive(webhook: Webhook) -> None:
    connection = webhook.connect()
    for _ in range(3):
        connection.request("POST", "/mutate", json.dumps(review()), {"Content-Type": "application/json"})
        response = connection.getresponse()
        assert (response.status, response.version, response.headers["Connection"]) == (200, 11, None)
        response.read()
    connection.close()


def test_a_chunked_body_is_read(webhook: Webhook) -> None:
    connection = webhook.connect()
    headers = {"Content-Type": "application/json"}
    connection.request("POST", "/mutate", iter([json.dumps(review()).encode()]), headers, encode_chunked=True)
    assert connection.getresponse().status == 200
    connection.close()


def test_tls_below_1_2_is_refused(webhook: Webhook) -> None:
    context = webhook.context()
    with warnings.catch_warnings():
        # Python warns of exactly what is tried here.
        warnings.simplefilter("ignore", DeprecationWarning)
        context.minimum_version = ssl.TLSVersion.TLSv1
        context.maximum_version = ssl.TLSVersion.TLSv1_1
    context.set_ciphers("ALL:@SECLEVEL=0")
    connection = webhook.connect()
    connection._context = context
    with pytest.raises((ssl.SSLError, ConnectionError)):
        connection.connect()
    connection.close()


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b"", "empty"),
        (b'{"kind": "Admiss', "no JSON"),
        (b'{"kind": "\xe9t\xe9"}', "UTF-8"),
        (b'{"a":' * 10_000 + b"1" + b"}" * 10_000, "depth"),
        (b"[]", "no JSON object"),
        (b"null", "no JSON object"),
        (b'{"kind": "Pod", "apiVersion": "v1"}', "AdmissionReview is expected"),
        (b'{"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1beta1"}', "admission.k8s.io/v1 is expected"),
        (b'{"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1"}', "request is missing"),
        (b'{"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": {}}', "uid is missing"),
        (b'{"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": {"uid": 5}}', "uid is missing"),
    ],
)
@pytest.mark.parametrize("path", ["/mutate", "/validate"])
def test_what_is_no_review_is_a_400_that_says_what_is_wrong(webhook: Webhook, path: str, body: bytes, says: str) -> None:
    status, text = webhook.post(path, body)
    assert status == 400
    assert says in text.decode()
    assert b"Traceback" not in text


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"operation": "PATCH"}, "request.operation is 'PATCH'"),
        ({"kind": "Job"}, "request.kind.kind is missing"),
        ({"object": "x"}, "request.object is text"),
        ({"oldObject": []}, "request.oldObject is a list"),
    ],
)
def test_a_bad_review_with_a_uid_is_refused_with_the_reason(webhook: Webhook, change: dict[str, Any], says: str) -> None:
    body = review("u-9")
    body["request"].update(change)
    status, text = webhook.post("/validate", body)
    response = json.loads(text)["response"]
    assert (status, response["uid"], response["allowed"], response["status"]["code"]) == (200, "u-9", False, 400)
    assert says in response["status"]["message"]


def test_another_content_type_is_a_415(webhook: Webhook) -> None:
    response, text = webhook.request("POST", "/mutate", b"{}", Content_Type="text/yaml")
    assert (response.status, text) == (415, b"Content-Type is 'text/yaml', not application/json\n")
    assert webhook.request("POST", "/mutate", b"{}")[0].status == 415


def test_a_charset_in_the_content_type_is_fine(webhook: Webhook) -> None:
    body = json.dumps(review()).encode()
    assert webhook.request("POST", "/mutate", body, Content_Type="application/json; charset=utf-8")[0].status == 200


def test_a_body_over_the_limit_is_a_413_and_the_connection_is_closed(webhook: Webhook) -> None:
    body = json.dumps(review(padding="x" * 300_000)).encode()
    response, text = webhook.request("POST", "/mutate", body, Content_Type="application/json")
    assert (response.status, response.headers["Connection"]) == (413, "close")
    assert b"at most 262144" in text


def test_a_chunked_body_over_the_limit_is_a_413(webhook: Webhook) -> None:
    connection = webhook.connect()
    body = json.dumps(review(padding="x" * 300_000)).encode()
    connection.request("POST", "/mutate", iter([body]), {"Content-Type": "application/json"}, encode_chunked=True)
    assert connection.getresponse().status == 413
    connection.close()


def test_a_body_announced_as_endless_is_refused_before_it_is_sent(webhook: Webhook) -> None:
    with webhook.raw_connection() as connection:
        connection.sendall(
            b"POST /mutate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
            b"Content-Length: 99999999999\r\n\r\n" + b"x" * 300_000
        )
        assert connection.recv(4096).startswith(b"HTTP/1.1 413")


def test_unknown_paths_and_methods_are_404_and_405(webhook: Webhook) -> None:
    response, text = webhook.request("GET", "/mutate")
    assert (response.status, text) == (405, b"method not allowed\n")
    assert "POST" in response.headers["Allow"]
    assert webhook.request("GET", "/metrics")[0].status == 404
    assert webhook.post("/mutate/x", review())[0] == 404


def test_clients_that_send_half_a_body_do_not_hold_the_webhook(webhook: Webhook) -> None:
    stalled = [webhook.raw_connection() for _ in range(8)]
    for connection in stalled:
        connection.sendall(b"POST /mutate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{")
    wait_for(lambda: webhook.logged("slow body, connections closed"))

    def answers() -> bool:
        try:
            return webhook.post("/validate", review())[0] == 200
        except OSError:  # the same peer as the slow ones, so its connections may be closed as well
            return False

    wait_for(answers)
    for connection in stalled:
        connection.close()
    assert 'signalbox_errors_total{where="slow-body"}' in webhook.metrics()


def test_a_crash_of_ours_lets_mutate_pass_and_fails_validate(webhook: Webhook) -> None:
    assert webhook.judge("/mutate", crash="yes") == {"uid": "u-1", "allowed": True}
    status, text = webhook.post("/validate", review(crash="yes"))
    assert (status, text) == (500, b"internal error while judging request u-1, the log has more\n")
    assert 'signalbox_errors_total{where="mutate"}' in webhook.metrics()


def test_a_patch_too_deep_to_write_lets_mutate_pass(webhook: Webhook) -> None:
    assert webhook.judge("/mutate", deep="yes") == {"uid": "u-1", "allowed": True}


def test_a_refusal_is_one_log_line_without_the_manifest(webhook: Webhook) -> None:
    assert not webhook.judge(refuse="yes")["allowed"]
    body = review("u-77", refuse="yes")
    body["request"]["name"] = "train\x1b[31m" + "x" * 5000
    webhook.post("/validate", body)
    line = wait_for(lambda: [line for line in webhook.logged("refused") if line["uid"] == "u-77"])[0]
    assert line["rules"] == ["research/restartable"]
    assert (line["user"], line["namespace"], line["kind"], line["dryRun"]) == ("ann", "team-a", "Job", False)
    assert len(line["name"]) == 300
    raw = "".join(webhook.raw)
    assert "\x1b" not in raw
    assert "s3cr3t-value" not in raw
    assert "Traceback" not in raw


def test_an_allowed_request_logs_nothing(webhook: Webhook) -> None:
    webhook.judge()
    webhook.post("/validate", review("after", refuse="yes"))
    wait_for(lambda: [line for line in webhook.logged("refused") if line["uid"] == "after"])
    assert not [line for line in webhook.lines if line["event"] == "allowed"]


def test_health_says_what_is_loaded(webhook: Webhook) -> None:
    assert webhook.request("GET", "/livez")[1] == b"ok\n"
    assert webhook.request("GET", "/readyz")[1] == b"ok\n"
    state = webhook.readyz()
    assert state["ready"] is True
    assert state["certificate"]["expired"] is False


def test_metrics_count_answers_findings_and_the_certificate(webhook: Webhook) -> None:
    webhook.judge(refuse="yes")
    body = review()
    body["request"]["kind"] = {"group": "evil.example", "version": "v1", "kind": "X" * 50}
    webhook.post("/mutate", body)
    text = webhook.metrics()
    labels = 'decision="refused",endpoint="validate",kind="Job",operation="CREATE"'
    assert f"signalbox_reviews_total{{{labels}}}" in text
    assert 'kind="other"' in text
    assert "XXX" not in text
    assert 'signalbox_findings_total{mode="enforce",result="fail",rule="research/restartable"}' in text
    assert "signalbox_certificate_not_after_timestamp_seconds 1." in text
    assert "signalbox_review_duration_seconds_bucket" in text


def test_what_is_no_review_is_counted_but_not_timed(webhook: Webhook) -> None:
    def timed() -> str:
        name = 'signalbox_review_duration_seconds_count{endpoint="mutate"}'
        return next(line for line in webhook.metrics().splitlines() if line.startswith(name))

    webhook.judge("/mutate")
    before = timed()
    webhook.post("/mutate", b"{}")
    assert 'signalbox_reviews_total{decision="bad-request",endpoint="mutate",kind="other",operation=""}' in webhook.metrics()
    assert timed() == before
    webhook.judge("/mutate")
    assert timed() != before


def test_an_object_of_3_mib_with_its_old_object_is_judged(tmp_path: Path) -> None:
    body = review(operation="UPDATE", big="x" * (3 * 1024 * 1024))
    body["request"]["oldObject"] = body["request"]["object"]
    with running(tmp_path) as process:
        assert process.post("/validate", body)[0] == 200
