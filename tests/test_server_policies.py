"""/policies: a write of a policy object, answered by the running server beside its files and what it watches."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from signalbox.policy_objects import with_objects
from signalbox.review import Request
from signalbox.server.policy_judge import PolicyJudge

from .fake_api_server import FakeApiServer
from .policy_samples import exception, files, install, policy
from .server_process import Webhook, wait_for
from .test_server_live import serving

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)


def ask(webhook: Webhook, operation: str, obj: dict[str, Any]) -> dict[str, Any]:
    asked = {
        "uid": "u-1",
        "operation": operation,
        "kind": {"group": "policy.workload.ai", "version": "v1alpha1", "kind": obj["kind"]},
        "name": obj["metadata"]["name"],
        "userInfo": {"username": "ann"},
        ("oldObject" if operation == "DELETE" else "object"): obj,
    }
    review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": asked}
    status, text = webhook.post("/policies", review)
    assert status == 200
    answer: dict[str, Any] = json.loads(text)["response"]
    return answer


@pytest.fixture
def fake() -> Iterator[FakeApiServer]:
    with FakeApiServer() as started:
        yield install(started)


def test_a_write_is_judged_beside_files_and_objects(fake: FakeApiServer, tmp_path: Path) -> None:
    fake.put(policy())
    with serving(fake, tmp_path) as webhook:
        assert ask(webhook, "CREATE", policy("other"))["allowed"]
        assert ask(webhook, "CREATE", exception())["allowed"]
        assert ask(webhook, "CREATE", exception("of-files", "pilots/never"))["allowed"]
        refused = ask(webhook, "CREATE", policy("other", mode="enforced"))["status"]
        assert (refused["code"], refused["reason"]) == (403, "Forbidden")
        assert refused["message"].splitlines()[0] == "1 problem with WorkloadPolicy other"
        assert "unknown mode 'enforced', did you mean \"enforce\"?" in refused["message"]
        fake.put(exception())
        wait_for(lambda: not ask(webhook, "DELETE", policy())["allowed"])
        assert "PolicyException legacy:12:5" in ask(webhook, "DELETE", policy())["status"]["message"]
        shown = webhook.metrics()
        assert 'endpoint="policies"' in shown
        assert webhook.logged("refused")


class Source:
    """A server's files; one whose set in force is older than what is in the cluster."""

    files = files("kind: x")

    def current(self) -> Any:
        raise AssertionError("no policy is asked for")

    @property
    def in_force(self) -> Any:
        raise AssertionError("no policy is asked for")


class Live:
    """What is watched."""

    def __init__(self) -> None:
        self.objects: list[Any] = []
        self.policies = self

    def now(self) -> Any:
        return tuple(self.objects)


def test_a_policy_and_an_exception_to_it_may_come_in_one_apply() -> None:
    """The exception comes milliseconds behind the policy, before the watch has told of it."""
    live, waited = Live(), []

    def sleep(seconds: float) -> None:
        waited.append(seconds)
        live.objects.append(policy())

    judge = PolicyJudge(Source(), live, sleep)  # type: ignore[arg-type]
    obj = exception()
    asked = Request("u", "CREATE", "policy.workload.ai", "v1alpha1", obj["kind"], object=obj)
    assert judge(None, asked, NOW).response.allowed  # type: ignore[arg-type]
    assert len(waited) == 1


def test_what_is_right_waits_for_nothing_and_what_is_wrong_stays_wrong() -> None:
    live, waited = Live(), []
    judge = PolicyJudge(Source(), live, waited.append)  # type: ignore[arg-type]
    good, bad = policy(), policy(mode="enforced")
    for obj, allowed in ((good, True), (bad, False)):
        asked = Request("u", "CREATE", "policy.workload.ai", "v1alpha1", obj["kind"], object=obj)
        assert judge(None, asked, NOW).response.allowed is allowed  # type: ignore[arg-type]
    assert len(waited) == 1


def test_without_a_cluster_the_objects_of_the_set_in_force_are_known() -> None:
    source, obj = Source(), exception()
    source.files = with_objects(files("kind: x"), [policy()])
    asked = Request("u", "CREATE", "policy.workload.ai", "v1alpha1", obj["kind"], object=obj)
    judge = PolicyJudge(source, None, lambda _: threading.Event().wait())  # type: ignore[arg-type]
    assert judge(None, asked, NOW).response.allowed  # type: ignore[arg-type]
