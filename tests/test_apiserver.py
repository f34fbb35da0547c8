"""The connection to an API server: pages, watches, and what is made of its refusals."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from signalbox.apiserver.connection import connect
from signalbox.apiserver.error import ApiConfigurationError, ApiError, ApiUnreachable

from .fake_api_server import FakeApiServer

PODS = "/api/v1/pods"
JOBS = "/apis/batch/v1/namespaces/research/jobs"


def job(name: str) -> dict[str, Any]:
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, "namespace": "research"}, "spec": {}}


@pytest.fixture
def fake() -> Iterator[FakeApiServer]:
    with FakeApiServer() as started:
        yield started


def test_an_object_is_made_read_changed_and_deleted(fake: FakeApiServer) -> None:
    api = fake.api()
    api.create(JOBS, job("a"))
    changed = api.patch(f"{JOBS}/a", {"spec": {"suspend": True}})
    assert changed["spec"] == {"suspend": True}
    api.delete(f"{JOBS}/a")
    with pytest.raises(ApiError, match="not found") as refused:
        api.get(f"{JOBS}/a")
    assert refused.value.not_found


def test_deleting_what_is_not_there_is_fine(fake: FakeApiServer) -> None:
    fake.api().delete(f"{JOBS}/never")


def test_a_name_that_is_taken_is_a_conflict(fake: FakeApiServer) -> None:
    api = fake.api()
    api.create(JOBS, job("a"))
    with pytest.raises(ApiError) as refused:
        api.create(JOBS, job("a"))
    assert refused.value.conflict


def test_a_write_on_what_somebody_else_changed_is_a_conflict(fake: FakeApiServer) -> None:
    api = fake.api()
    first = api.create(JOBS, job("a"))
    api.patch(f"{JOBS}/a", {"spec": {"suspend": True}})
    with pytest.raises(ApiError) as refused:
        api.replace(f"{JOBS}/a", first)
    assert refused.value.conflict


def test_a_list_comes_in_pages(fake: FakeApiServer) -> None:
    for number in range(7):
        fake.put(job(f"job-{number}"))
    pages = list(fake.api().pages("/apis/batch/v1/jobs", limit=3))
    assert [[item["metadata"]["name"][-1] for item in items] for items, _, _ in pages] == [
        ["0", "1", "2"],
        ["3", "4", "5"],
        ["6"],
    ]
    assert [left for _, _, left in pages] == [4, 1, 0]


def test_what_may_pass_is_asked_again(fake: FakeApiServer) -> None:
    fake.put(job("a"))
    fake.fail(429, times=2, path=JOBS, Retry_After="1")
    fake.fail(500, times=1, path=JOBS)
    assert fake.api().get(f"{JOBS}/a")["metadata"]["name"] == "a"
    assert fake.count("GET", JOBS) == 4


def test_what_does_not_pass_is_told_in_the_end(fake: FakeApiServer) -> None:
    fake.fail(503, times=99)
    with pytest.raises(ApiError) as refused:
        fake.api().get(PODS)
    assert refused.value.status == 503
    assert refused.value.passing


def test_a_write_is_sent_once(fake: FakeApiServer) -> None:
    fake.fail(500, times=1)
    with pytest.raises(ApiError):
        fake.api().create(JOBS, job("a"))
    assert fake.count("POST", JOBS) == 1


def test_a_watch_tells_what_happens_from_a_version_on(fake: FakeApiServer) -> None:
    api = fake.api()
    fake.put(job("before"))
    (_, version, _) = next(api.pages("/apis/batch/v1/jobs"))
    fake.put(job("after"))
    fake.remove("Job", "before", "research")
    events = api.watch("/apis/batch/v1/jobs", version, 60)
    told = [(what, found["metadata"]["name"]) for what, found in (next(events), next(events))]
    assert told == [("ADDED", "after"), ("DELETED", "before")]


def test_a_watch_from_too_old_a_version_is_expired(fake: FakeApiServer) -> None:
    fake.forget_history()
    with pytest.raises(ApiError) as refused:
        next(fake.api().watch(PODS, "1", 60))
    assert refused.value.expired


def test_a_server_that_is_not_there_is_unreachable() -> None:
    with FakeApiServer() as fake:
        api = fake.api()
    with pytest.raises(ApiUnreachable, match="does not answer"):
        api.get(PODS)


def test_a_missing_kubeconfig_is_told_with_its_path(tmp_path: Path) -> None:
    with pytest.raises(ApiConfigurationError, match="nothing-here"):
        connect(str(tmp_path / "nothing-here"))


def test_a_kubeconfig_that_is_no_yaml_is_told(tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.write_text("{")
    with pytest.raises(ApiConfigurationError, match="broken"):
        connect(str(broken))


def test_lists_keep_to_the_rate_that_was_asked(fake: FakeApiServer) -> None:
    for number in range(4):
        fake.put(job(f"job-{number}"))
    waits: list[float] = []
    api = fake.api(per_second=0.001)
    api._sleep = waits.append
    list(api.pages("/apis/batch/v1/jobs", limit=2))
    assert len(waits) == 1
    assert waits[0] > 900
