"""What happens in the cluster is known soon, and what was known stays known while the API server is away."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from signalbox.cluster.journal import JournalReader, JournalWriter
from signalbox.cluster.resources import WATCHED_BY_KIND, WatchedKind
from signalbox.cluster.state import ClusterState
from signalbox.cluster.view import UNKNOWN
from signalbox.cluster.watch import ClusterWatch

from .fake_api_server import FakeApiServer

NAMESPACES = WATCHED_BY_KIND["", "Namespace"]
QUEUES = WATCHED_BY_KIND["kueue.x-k8s.io", "LocalQueue"]


class Lines:
    """What was logged."""

    def __init__(self) -> None:
        self.failures: list[dict[str, object]] = []

    def info(self, event: str, **fields: object) -> None:
        pass

    def warning(self, event: str, **fields: object) -> None:
        self.failures.append(fields)


class Watching:
    """A watch of some kinds, and what a reader of its journal knows."""

    def __init__(self, fake: FakeApiServer, folder: Path, *kinds: WatchedKind) -> None:
        self.ended = threading.Event()
        self.log = Lines()
        self.waits: list[float] = []
        self.watch = ClusterWatch(fake.api(), kinds, JournalWriter(folder / "journal"), self.log, self._wait)
        self.state = ClusterState()
        self.reader = JournalReader(folder / "journal", [self.state])
        self.threads = self.watch.start()

    def _wait(self, seconds: float) -> bool:
        self.waits.append(seconds)
        return self.ended.wait(0.005)

    def until(self, holds: Callable[[], bool], what: str) -> None:
        """Read the journal until something holds."""
        end = time.monotonic() + 10
        while True:
            self.reader.poll()
            if holds():
                return
            assert time.monotonic() < end, f"never: {what}"
            threading.Event().wait(0.002)

    def labels(self, name: str) -> Any:
        found = self.state.namespace_labels(name)
        return found if found is UNKNOWN else dict(found)  # type: ignore[arg-type]


def namespace(name: str, **labels: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}


def queue(name: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "research"}
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "LocalQueue",
        "metadata": metadata,
        "spec": {"clusterQueue": "gpus"},
    }


@pytest.fixture
def fake() -> Iterator[FakeApiServer]:
    with FakeApiServer() as started:
        yield started


@pytest.fixture
def watching(fake: FakeApiServer, tmp_path: Path) -> Iterator[Callable[..., Watching]]:
    started: list[Watching] = []

    def start(*kinds: WatchedKind) -> Watching:
        started.append(Watching(fake, tmp_path, *kinds))
        return started[-1]

    yield start
    for one in started:
        one.ended.set()
    fake.drop_watches()


def team_of(one: Watching, name: str = "research") -> object:
    found = one.labels(name)
    return found.get("team") if isinstance(found, dict) else None


def test_a_namespace_that_is_relabelled_is_known_by_its_new_label(fake: FakeApiServer, watching: Any) -> None:
    fake.put(namespace("research", team="a"))
    one = watching(NAMESPACES)
    one.until(lambda: team_of(one) == "a", "the first list")
    fake.put(namespace("research", team="b"))
    one.until(lambda: team_of(one) == "b", "the new label")
    assert fake.count("GET", "watch=true") == 1


def test_a_queue_that_is_deleted_is_known_to_be_gone(fake: FakeApiServer, watching: Any) -> None:
    fake.install("kueue.x-k8s.io", "v1beta2", "localqueues", "LocalQueue")
    fake.put(queue("training"))
    one = watching(QUEUES)
    one.until(lambda: one.state.has_local_queue("research", "training") is True, "the queue")
    fake.remove("LocalQueue", "training", "research")
    one.until(lambda: one.state.has_local_queue("research", "training") is False, "its end")


def test_without_kueue_no_queue_is_known_to_exist_and_later_it_is(fake: FakeApiServer, watching: Any) -> None:
    one = watching(QUEUES)
    one.until(lambda: one.state.has_local_queue("research", "training") is not UNKNOWN, "Kueue is known to be missing")
    fake.install("kueue.x-k8s.io", "v1beta2", "localqueues", "LocalQueue")
    fake.put(queue("training"))
    one.until(lambda: one.state.has_local_queue("research", "training") is True, "Kueue, installed later")


def test_an_older_kueue_is_read_in_its_own_version(fake: FakeApiServer, watching: Any) -> None:
    fake.install("kueue.x-k8s.io", "v1beta1", "localqueues", "LocalQueue")
    fake.put({**queue("training"), "apiVersion": "kueue.x-k8s.io/v1beta1"})
    one = watching(QUEUES)
    one.until(lambda: one.state.has_local_queue("research", "training") is True, "the queue")


@pytest.mark.parametrize("status", [429, 500, 503])
def test_while_watches_are_refused_what_was_known_stays_known(fake: FakeApiServer, watching: Any, status: int) -> None:
    fake.put(namespace("research", team="a"))
    one = watching(NAMESPACES)
    one.until(lambda: team_of(one) == "a", "the first list")
    fake.fail(status, times=8)
    fake.drop_watches()
    one.until(lambda: sum(one.watch.status["namespaces"].failures.values()) >= 5, "failures")
    assert team_of(one) == "a"
    fake.put(namespace("research", team="b"))
    one.until(lambda: team_of(one) == "b", "the watch is back")


def test_a_watch_whose_place_is_forgotten_begins_with_a_list(fake: FakeApiServer, watching: Any) -> None:
    fake.put(namespace("research", team="a"))
    fake.put(namespace("old"))
    one = watching(NAMESPACES)
    one.until(lambda: team_of(one) == "a", "the first list")
    with fake.paused():
        fake.drop_watches()
        fake.remove("Namespace", "old")
        fake.put(namespace("research", team="b"))
        fake.forget_history()
    one.until(lambda: team_of(one) == "b" and one.labels("old") in (UNKNOWN, None), "a new list")
    assert one.watch.status["namespaces"].failures["expired"] >= 1


def test_failures_wait_longer_each_time_and_are_told_once(fake: FakeApiServer, watching: Any) -> None:
    fake.fail(503, times=30)
    one = watching(NAMESPACES)
    fake.put(namespace("research", team="a"))
    one.until(lambda: team_of(one) == "a", "the list, in the end")
    assert len(one.log.failures) == 1
    assert one.waits[3] > one.waits[0]


def test_what_may_not_be_listed_stays_unknown(fake: FakeApiServer, watching: Any) -> None:
    fake.put(namespace("research"))
    fake.fail(403, times=10_000, path="namespaces")
    one = watching(NAMESPACES)
    one.until(lambda: one.watch.status["namespaces"].failures.get("Fault", 0) > 1, "refusals")
    assert one.labels("research") is UNKNOWN
    assert one.watch.status["namespaces"].state == "unknown"


def test_a_long_list_comes_in_pages(fake: FakeApiServer, watching: Any) -> None:
    for number in range(1203):
        fake.put(namespace(f"ns-{number}", team=str(number)))
    one = watching(NAMESPACES)
    one.until(lambda: team_of(one, "ns-999") == "999", "all pages")
    assert fake.count("GET", "limit=500") == 3
