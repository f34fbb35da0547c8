"""Whatever an API server, a proxy before it or a full disk does: the watch goes on, forgets nothing, and says what is wrong."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import orjson
import pytest
from kubernetes.client import Configuration

from signalbox.apiserver.connection import ApiServer
from signalbox.cluster.journal import JournalReader, JournalWriter
from signalbox.cluster.resources import WATCHED_BY_KIND, Room, WatchedKind
from signalbox.cluster.state import ClusterState
from signalbox.cluster.view import UNKNOWN
from signalbox.cluster.watch import ClusterWatch

NAMESPACES = WATCHED_BY_KIND["", "Namespace"]
RUNTIMES = WATCHED_BY_KIND["trainer.kubeflow.org", "TrainingRuntime"]


def listed(*items: Any, **metadata: Any) -> bytes:
    return orjson.dumps(
        {"kind": "List", "apiVersion": "v1", "metadata": {"resourceVersion": "7", **metadata}, "items": list(items)}
    )


def research(**labels: str) -> dict[str, Any]:
    return {"metadata": {"name": "research", "resourceVersion": "8", "labels": labels}}


def event(what: str, obj: Any) -> bytes:
    return orjson.dumps({"type": what, "object": obj}) + b"\n"


class OddServer:
    """An API server that answers what a test wants: lists in turn, the last one again and again, and so for watches."""

    def __init__(self) -> None:
        self.lists: list[tuple[int, bytes]] = [(200, listed(research(team="a")))]
        self.watches: list[tuple[int, bytes]] = []
        self.asked = {"list": 0, "watch": 0}
        self.ended = threading.Event()
        server = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, format: str, *args: object) -> None:
                pass

            def do_GET(self) -> None:
                watching = "watch=true" in self.path
                answers = server.watches if watching else server.lists
                server.asked["watch" if watching else "list"] += 1
                if not answers:
                    # A watch in which nothing happens.
                    server.ended.wait(30)
                    return
                status, body = answers.pop(0) if len(answers) > 1 else answers[0]
                self.send_response(status)
                self.end_headers()
                self.wfile.write(body)

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    def api(self) -> ApiServer:
        address = f"http://127.0.0.1:{self._server.server_address[1]}"
        return ApiServer(Configuration(host=address), tries=1, sleep=lambda _: None)

    def end(self) -> None:
        self.ended.set()
        self._server.shutdown()
        self._server.server_close()


class Lines:
    def __init__(self) -> None:
        self.all: list[tuple[str, str, dict[str, object]]] = []

    def info(self, event: str, **fields: object) -> None:
        self.all.append(("info", event, fields))

    def warning(self, event: str, **fields: object) -> None:
        self.all.append(("warning", event, fields))

    def error(self, event: str, **fields: object) -> None:
        self.all.append(("error", event, fields))


class Watching:
    def __init__(self, server: OddServer, folder: Path, kind: WatchedKind = NAMESPACES) -> None:
        self.ended, self.log, self.waits = server.ended, Lines(), [0.0]
        self.journal = JournalWriter(folder / "journal")
        self.watch = ClusterWatch(server.api(), [kind], self.journal, self.log, self._wait)
        self.state, self.status = ClusterState(), self.watch.status[kind.text]
        self.reader = JournalReader(folder / "journal", [self.state])
        self.watch.start()

    def _wait(self, seconds: float) -> bool:
        self.waits.append(seconds)
        return self.ended.wait(0.002)

    def until(self, holds: Callable[[], bool]) -> None:
        end = time.monotonic() + 10
        while not holds():
            assert time.monotonic() < end, (self.status, self.log.all[-3:])
            self.reader.poll()
            threading.Event().wait(0.002)

    @property
    def team(self) -> object:
        labels = self.state.namespace_labels("research")
        return labels if labels is UNKNOWN else labels.get("team")


@pytest.fixture
def server() -> Iterator[OddServer]:
    started = OddServer()
    yield started
    started.end()


@pytest.mark.parametrize(
    "answer",
    [
        b"<html>502 of some proxy</html>",
        b"",
        b"{}",
        b"[]",
        b'"a text"',
        b"null",
        b'{"metadata": [], "items": []}',
        b'{"metadata": {"resourceVersion": "9"}}',
        b'{"metadata": {}, "items": {"a": 1}}',
        b'{"metadata": {"resourceVersion": "9"}, "items": [',
        b"\xff\xfe\x00",
        listed(**{"continue": "again"}),
    ],
)
def test_an_answer_that_is_no_list_does_not_count_as_an_empty_one(server: OddServer, tmp_path: Path, answer: bytes) -> None:
    server.watches = [(410, b"{}")]
    server.lists = [(200, listed(research(team="a"))), (200, answer), (200, answer), (200, listed(research(team="b")))]
    one = Watching(server, tmp_path)
    one.until(lambda: one.team == "a")
    one.until(lambda: one.status.failures.get("Garbled", 0) >= 2 or one.team != "a")
    one.until(lambda: one.team == "b")


@pytest.mark.parametrize(
    "lines",
    [
        b"garbage\n",
        b'{"type": "MODIFIED", "object": {"metadata": {"name": "rese',
        b"[1, 2]\n",
        b"null\n",
        b'{"type": "ADDED"}\n',
        b'{"type": "ADDED", "object": [1]}\n',
        b'{"type": {"a": 1}, "object": {}}\n',
        b'{"type": "NEVER-HEARD-OF", "object": {"metadata": {"name": "research", "labels": {"team": "z"}}}}\n',
        event("ERROR", {"code": "many", "reason": ["x"], "message": {}}),
        event("ERROR", {}),
        event("BOOKMARK", {"metadata": {"resourceVersion": 12}}),
        event("BOOKMARK", {"metadata": []}),
        event("BOOKMARK", {}),
        event("MODIFIED", {"metadata": {"name": 7}}),
        event("MODIFIED", {"metadata": {"name": "research", "namespace": ["x"]}}),
        event("MODIFIED", {"metadata": {"name": "x\ny", "labels": [1]}}),
        event("DELETED", {"metadata": {"name": "research", "namespace": {}}}),
        event("DELETED", {"metadata": "research"}),
    ],
)
def test_garbage_in_a_watch_ends_neither_the_watch_nor_what_is_known(server: OddServer, tmp_path: Path, lines: bytes) -> None:
    server.watches = [(200, lines), (200, lines), (200, event("MODIFIED", research(team="b")))]
    one = Watching(server, tmp_path)
    one.until(lambda: one.team == "b")
    assert one.reader.damaged == 0
    assert not [line for line in one.log.all if line[1] == "cluster watch crashed"]


def test_a_server_that_forgets_every_place_at_once_is_asked_less_and_less(server: OddServer, tmp_path: Path) -> None:
    server.watches = [(410, b'{"kind": "Status", "code": 410, "reason": "Expired"}')]
    one = Watching(server, tmp_path)
    one.until(lambda: one.status.failures.get("expired", 0) >= 9)
    assert max(one.waits[:10]) > 10
    assert len(one.log.all) <= 3


@pytest.mark.parametrize("sent", [b"", event("BOOKMARK", {"metadata": {"resourceVersion": "9"}})])
def test_a_server_that_ends_every_watch_at_once_is_asked_less_and_less(server: OddServer, tmp_path: Path, sent: bytes) -> None:
    server.watches = [(200, sent)]
    one = Watching(server, tmp_path)
    one.until(lambda: server.asked["watch"] >= 9)
    assert max(one.waits) > 10


def test_a_server_that_comes_and_goes_does_not_fill_the_log(server: OddServer, tmp_path: Path) -> None:
    server.watches = [(200, event("BOOKMARK", {}) + b"garbage\n"), (503, b"x"), (200, b""), (429, b"y")] * 60
    one = Watching(server, tmp_path)
    one.until(lambda: server.asked["watch"] >= 200)
    assert len(one.log.all) <= 15


def test_reasons_without_end_are_not_labels_without_end(server: OddServer, tmp_path: Path) -> None:
    server.watches = [(200, event("ERROR", {"code": 500, "reason": f"R{number}"})) for number in range(100)]
    one = Watching(server, tmp_path)
    one.until(lambda: sum(one.status.failures.values()) >= 90)
    assert len(one.status.failures) <= 21


def test_one_404_takes_no_objects_away_and_a_second_does(server: OddServer, tmp_path: Path) -> None:
    server.watches = [(410, b"{}")]
    server.lists = [(200, listed(research(team="a"))), (404, b"default backend"), (200, listed(research(team="b")))]
    server.lists += [(404, b"gone")]
    one = Watching(server, tmp_path)
    one.until(lambda: one.team == "b")
    one.until(lambda: one.status.state == "absent")
    one.until(lambda: one.team is UNKNOWN)


def test_a_fault_of_ours_in_one_kind_is_told_and_tried_again(
    server: OddServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(self: WatchedKind, obj: Any) -> Any:
        raise ZeroDivisionError

    monkeypatch.setattr(WatchedKind, "slim", broken)
    one = Watching(server, tmp_path)
    one.until(lambda: one.status.failures.get("Crash", 0) >= 5)
    monkeypatch.undo()
    one.until(lambda: one.team == "a")
    assert len([line for line in one.log.all if line[1] == "cluster watch crashed"]) <= 3


def runtime(name: str, spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": "research"}, "spec": spec}


def test_an_object_too_large_to_keep_is_unknown_and_told(server: OddServer, tmp_path: Path) -> None:
    deep: Any = {}
    for _ in range(400):
        deep = {"a": deep}
    items = [runtime("small", {"template": {}}), runtime("large", {"template": {"x": "y" * 1_000_000}})]
    # orjson reads deeper than it writes.
    body = listed(*items)[:-2] + b"," + b'{"metadata": {"name": "deep", "namespace": "research"}, "spec": {"template": '
    server.lists = [(200, body + b'{"a":' * 400 + b"1" + b"}" * 400 + b"}}]}")]
    one = Watching(server, tmp_path, RUNTIMES)
    one.until(lambda: one.status.state == "synced")
    one.reader.poll()
    found = {name: one.state.training_runtime("TrainingRuntime", "research", name) for name in ("small", "large", "deep", "no")}
    assert found["large"] is found["deep"] is UNKNOWN
    assert found["no"] is None
    assert getattr(found["small"], "name", "") == "small"
    assert one.status.unread == 2
    assert (tmp_path / "journal").stat().st_size < 2000
    assert [event for _, event, _ in one.log.all if event == "cluster object not read"]


def test_all_objects_of_a_kind_are_bounded_and_take_no_room_of_another(tmp_path: Path) -> None:
    writer, state = JournalWriter(tmp_path / "journal"), ClusterState()
    kept = [
        writer.put(RUNTIMES.group, RUNTIMES.kind, "research", name, runtime(name, {"template": "x" * 900}), Room(2000, 10_000))
        for name in (f"r{number}" for number in range(20))
    ]
    assert kept.count(True) == 9
    writer.synced(RUNTIMES.group, RUNTIMES.kind)
    JournalReader(tmp_path / "journal", [state]).poll()
    assert state.training_runtime("TrainingRuntime", "research", "r19") is UNKNOWN
    assert state.training_runtime("TrainingRuntime", "research", "r20") is None
    assert writer.put("", "Namespace", "", "a", {"metadata": {"name": "a"}}, Room(2000, 10_000))


def put(writer: JournalWriter, name: str, **labels: str) -> None:
    writer.put("", "Namespace", "", name, {"metadata": {"name": name, "labels": labels}}, NAMESPACES.room)


@pytest.mark.parametrize("harm", ["deleted", "truncated", "emptied", "replaced", "cut"])
def test_a_journal_that_somebody_harms_is_written_anew(tmp_path: Path, harm: str) -> None:
    file, state = tmp_path / "journal", ClusterState()
    writer, reader = JournalWriter(file), JournalReader(file, [state])
    put(writer, "a", team="a")
    reader.poll()
    if harm == "deleted":
        file.unlink()
    elif harm == "replaced":
        (tmp_path / "other").write_bytes(b"x" * 500)
        (tmp_path / "other").rename(file)
    else:
        file.write_bytes(file.read_bytes()[: {"truncated": 40, "emptied": 0, "cut": -3}[harm]])
    reader.poll()
    assert state.namespace_labels("a") is not UNKNOWN
    put(writer, "b", team="b")
    writer.synced("", "Namespace")
    reader.poll()
    assert [state.namespace_labels(name) is UNKNOWN for name in "ab"] == [False, False]
    late = ClusterState()
    JournalReader(file, [late]).poll()
    assert [late.namespace_labels(name) is UNKNOWN for name in "ab"] == [False, False]


def test_a_journal_that_is_deleted_while_nothing_happens_comes_back(tmp_path: Path) -> None:
    writer = JournalWriter(tmp_path / "journal")
    put(writer, "a")
    (tmp_path / "journal").unlink()
    writer.mend()
    assert b'"a"' in (tmp_path / "journal").read_bytes()


def test_on_a_full_disk_nothing_is_lost_that_fits_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writer, state = JournalWriter(tmp_path / "journal"), ClusterState()
    reader = JournalReader(tmp_path / "journal", [state])
    put(writer, "a")

    def full(*_: Any, **__: Any) -> Any:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(Path, "open", full)
        patched.setattr(Path, "write_bytes", full)
        put(writer, "b")
        put(writer, "c")
        writer.mend()
        assert "No space left" in writer.fault
    reader.poll()
    assert state.namespace_labels("b") is UNKNOWN
    writer.mend()
    assert writer.fault == ""
    reader.poll()
    assert [state.namespace_labels(name) is UNKNOWN for name in "abc"] == [False] * 3


def test_an_entry_nobody_can_use_does_not_take_the_others_along(tmp_path: Path) -> None:
    file, state = tmp_path / "journal", ClusterState()
    writer, reader = JournalWriter(file), JournalReader(file, [state])
    put(writer, "a")
    with file.open("ab") as opened:
        opened.write(b'garbage\n["put"]\n7\n["put", "", "Namespace", {"metadata": {"name": "x", "namespace": ["y"]}}]\n')
        opened.write(b'["put", "", "Namespace", {"metadata": {"name": "b"}}]\n')
    reader.poll()
    assert reader.damaged == 4
    assert [state.namespace_labels(name) is UNKNOWN for name in "ab"] == [False, False]
