"""The server's own files and processes in trouble: a full disk, a watch that hangs, a kill, a storm of changes."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from signalbox.process.logs import Log
from signalbox.server.lifecycle import Lifecycle
from signalbox.server.live import PolicyObjects, PolicyObjectsWatcher, WatchProcess
from signalbox.server.notice import Notice, NoticeBoard
from signalbox.server.private_directory import make_private_directory

from .fake_api_server import FakeApiServer
from .server_process import environment, wait_for
from .test_server_live import serving

GROUP = "policy.workload.ai"


def test_policies_that_change_without_end_are_loaded_every_few_seconds() -> None:
    objects, now = PolicyObjects(), 0.0
    watcher = PolicyObjectsWatcher(objects, lambda: now)
    told = []
    for step in range(300):
        now = step * 0.1
        objects.put(GROUP, "WorkloadPolicy", {"metadata": {"name": f"p{step}"}})
        if watcher.changed():
            told.append(now)
    assert 4 <= len(told) <= 7
    assert watcher.changed(), "the last of them, once they have settled"
    assert not watcher.changed()


def test_a_policy_that_is_told_of_again_as_it_was_is_not_loaded_again() -> None:
    objects = PolicyObjects()
    watcher = PolicyObjectsWatcher(objects, lambda: 0.0)
    for mode in ("warn", "warn", "enforce"):
        objects.put(GROUP, "WorkloadPolicy", {"metadata": {"name": "p"}, "spec": {"mode": mode}})
    assert objects.changes == 2, "our own write of a status comes back through the watch like any other"
    assert watcher.changed() is False
    assert watcher.changed() is True


def test_on_a_full_disk_workers_hear_of_new_policies_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lifecycle = Lifecycle()
    board, worker = (NoticeBoard(tmp_path, lifecycle, Notice(0, "old")) for _ in range(2))

    def full(*_: Any) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(Path, "write_bytes", full)
        board.publish(Notice(1, "new"))
        board.deliver()
    assert "No space left on device" in board.fault
    worker.refresh()
    assert worker.current.files == "old"
    board.deliver()
    assert board.fault == ""
    worker.refresh()
    assert worker.current.files == "new"


def test_what_a_killed_server_left_is_cleared_away_and_what_is_in_use_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (tmp_path / "signalbox-of-somebody").mkdir()
    killed = tmp_path / "signalbox-killed"
    killed.mkdir()
    (killed / "lock").touch()
    (killed / "journal").write_bytes(b"x")
    used = tmp_path / "signalbox-used"
    used.mkdir()
    with (used / "lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        made = make_private_directory()
        again = make_private_directory()
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {"signalbox-of-somebody", "signalbox-used", made.name, again.name}
    assert made.stat().st_mode & 0o777 == 0o700


class Child:
    """A process that is alive until it is killed."""

    def __init__(self) -> None:
        self.returncode: int | None = None

    def poll(self) -> int | None:
        return self.returncode

    def kill(self) -> None:
        self.returncode = -9

    def terminate(self) -> None:
        self.returncode = 0

    def wait(self, seconds: float = 0) -> None:
        pass


def tended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[WatchProcess, list[Child], list[float]]:
    children: list[Child] = []
    now = [100.0]

    def start(*_: Any, **__: Any) -> Child:
        children.append(Child())
        return children[-1]

    monkeypatch.setattr("subprocess.Popen", start)
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    process = WatchProcess(tmp_path, (), Log("error"))
    process.start()
    return process, children, now


def test_a_watch_that_ends_at_once_is_started_ever_more_seldom(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    process, children, now = tended(tmp_path, monkeypatch)
    for _ in range(3600):
        now[0] += 1
        children[-1].returncode = 1
        process.tend()
    assert 50 < process.restarts < 70


def test_a_watch_that_was_told_to_end_is_not_started_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    process, children, now = tended(tmp_path, monkeypatch)
    process.stop()
    now[0] += 100
    process.tend()
    assert len(children) == 1


def test_a_watch_that_is_silent_is_ended_and_one_that_speaks_is_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    process, children, now = tended(tmp_path, monkeypatch)
    status = tmp_path / "status"
    for second in range(200):
        now[0] += 1
        status.touch()
        os.utime(status, (second, second))
        process.tend()
    assert len(children) == 1
    for _ in range(70):
        now[0] += 1
        process.tend()
    assert (children[0].returncode, len(children)) == (-9, 2)


def test_a_server_that_is_told_to_end_while_it_waits_for_the_cluster_ends(tmp_path: Path) -> None:
    with FakeApiServer() as fake:
        with serving(fake, tmp_path):
            pass
        fake.fail(503, times=100_000)
        # Its own, for the server that wrote the files may have left its status, ended at its start as it was.
        own = tmp_path / "own"
        own.mkdir()
        started = [sys.executable, "-c", "import sys; from signalbox.cli.main import main; sys.exit(main())", "serve"]
        files = ["--cert", tmp_path / "tls.crt", "--key", tmp_path / "tls.key", "--kubeconfig", tmp_path / "kubeconfig"]
        ports = ["--port", "0", "--metrics-port", "0", "--watch-cluster", "--cluster-wait", "60"]
        command = [*started, *map(str, files), *ports, "--policies", str(tmp_path / "policies")]
        process = subprocess.Popen(command, env=environment(own), stderr=subprocess.DEVNULL)
        try:
            wait_for(lambda: list(own.glob("signalbox-*/status")))
            process.send_signal(signal.SIGTERM)
            assert process.wait(10) == 0
        finally:
            process.kill()
    assert not list(own.glob("signalbox-*"))


def test_what_is_not_known_of_the_cluster_is_told_where_readiness_is_asked(tmp_path: Path) -> None:
    with FakeApiServer() as fake:
        fake.fail(403, times=100_000, path="resourcequotas")
        with serving(fake, tmp_path, SIGNALBOX_CLUSTER_WAIT="1") as webhook:
            # The other kinds may still be on their way when the first fault is told, and that one when they are here.
            wait_for(lambda: webhook.readyz()["cluster"]["unknown"] == ["resourcequotas"])
            told = wait_for(lambda: (state := webhook.readyz())["cluster"]["faults"] and state)
        assert told["ready"]
        assert told["cluster"]["unknown"] == ["resourcequotas"]
        assert "as the test wants it" in told["cluster"]["faults"]["resourcequotas"]
        assert any("cluster" in advice for advice in told["advice"])
