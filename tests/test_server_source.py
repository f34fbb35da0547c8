"""When policies are loaded again, and which set is then in force. No process, no clock."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from signalbox.process.logs import bounded, crash_fields
from signalbox.process.wakeup import Wakeup
from signalbox.server.body import SlowBodies
from signalbox.server.lifecycle import Lifecycle
from signalbox.server.loading import SetupLoader
from signalbox.server.notice import Notice, NoticeBoard
from signalbox.server.source import FileWatcher, LoadResult, ReloadingSource

SETUP = object()


def test_a_change_counts_once_it_has_settled(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_text("1")
    watcher = FileWatcher([tmp_path])
    assert [watcher.changed(), watcher.changed()] == [False, False]
    file.write_text("12")
    assert watcher.changed() is False
    file.write_text("123")
    assert watcher.changed() is False
    assert [watcher.changed(), watcher.changed()] == [True, False]


def test_new_gone_and_nested_files_are_changes(tmp_path: Path) -> None:
    watcher = FileWatcher([tmp_path, tmp_path / "missing"])
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a.yaml").write_text("x")
    assert [watcher.changed(), watcher.changed()] == [False, True]
    (tmp_path / "sub" / "a.yaml").unlink()
    assert [watcher.changed(), watcher.changed()] == [False, True]
    (tmp_path / "missing").touch()
    assert [watcher.changed(), watcher.changed()] == [False, True]


def test_a_folder_that_links_to_itself_ends(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to(tmp_path)
    assert FileWatcher([tmp_path]).changed() is False


class Queue(list[LoadResult]):
    """Policies whose files are what the next load is to give."""

    kept: LoadResult | None = None

    def last_good(self) -> LoadResult | None:
        return self.kept

    def beside(self, live: object) -> Queue:
        return self

    def read(self) -> LoadResult:
        return self.pop(0)

    def load(self, files: LoadResult) -> LoadResult:
        return files


def source(folder: Path, *results: LoadResult) -> tuple[ReloadingSource, Queue]:
    queue = Queue(results)
    return ReloadingSource(queue, FileWatcher([folder])), queue


def test_a_bad_set_and_a_restart_do_not_end_the_policies(tmp_path: Path) -> None:
    bad, good = LoadResult(SETUP, ("x",)), LoadResult(SETUP, policies=("kept",))  # type: ignore[arg-type]
    queue = Queue([bad])
    queue.kept = good
    made = ReloadingSource(queue, FileWatcher([tmp_path]))
    assert made.in_force.policies == ("kept",)
    assert made.in_force.restored
    assert made.latest is bad


def test_where_what_was_kept_is_bad_as_well_the_present_set_counts(tmp_path: Path) -> None:
    bad = LoadResult(SETUP, ("x",))  # type: ignore[arg-type]
    queue = Queue([bad])
    queue.kept = LoadResult(SETUP, ("y",))  # type: ignore[arg-type]
    made = ReloadingSource(queue, FileWatcher([tmp_path]))
    assert made.in_force is bad


def poll(made: ReloadingSource, folder: Path) -> LoadResult | None:
    """Change a file, let it settle, poll."""
    (folder / f"f{len(list(folder.iterdir()))}").touch()
    made.poll()
    return made.poll()


def test_a_bad_set_never_replaces_a_good_one(tmp_path: Path) -> None:
    good, bad = LoadResult(SETUP), LoadResult(SETUP, ("a.yaml:1:1: no",))  # type: ignore[arg-type]
    made, _ = source(tmp_path, good, bad, good)
    assert poll(made, tmp_path) is bad
    assert made.in_force is good
    assert made.latest is bad
    poll(made, tmp_path)
    assert made.latest is made.in_force is good


def test_where_there_is_no_good_set_the_newest_usable_one_counts(tmp_path: Path) -> None:
    bad, better, gone = LoadResult(SETUP, ("x",)), LoadResult(SETUP, ("y",)), LoadResult(None, ("z",))  # type: ignore[arg-type]
    made, _ = source(tmp_path, bad, better, gone)
    assert made.in_force is bad
    poll(made, tmp_path)
    assert made.in_force is better
    poll(made, tmp_path)
    assert made.in_force is better


POLICY = """apiVersion: policy.workload.ai/v1alpha1
kind: WorkloadPolicy
metadata: {name: NAME}
spec: {inject: {queue: main}}
"""


def test_a_worker_judges_by_what_the_main_process_read_not_by_what_the_files_hold_now(tmp_path: Path) -> None:
    policies, private = tmp_path / "policies", tmp_path / "private"
    policies.mkdir()
    private.mkdir()
    file = policies / "a.yaml"

    def write(name: str) -> None:
        file.write_text(POLICY.replace("NAME", name))
        assert main.poll() is None
        main.poll()
        board.publish(Notice(main.number, main.files))

    file.write_text(POLICY.replace("NAME", "first"))
    loader = SetupLoader([policies])
    main, worker = (ReloadingSource(loader, FileWatcher(loader.paths)) for _ in range(2))
    lifecycle = Lifecycle()
    board, of_worker = (NoticeBoard(private, lifecycle, Notice(0, main.files)) for _ in range(2))

    def look() -> tuple[str, ...]:
        of_worker.refresh()
        worker.take_over(of_worker.current.number, of_worker.current.files)
        return worker.in_force.policies

    assert look() == ("first",)
    # The good set is followed by a bad one before the worker looks for the first time.
    write("second")
    write("no name at all")
    assert main.in_force.policies == ("second",)
    assert not main.latest.good
    assert look() == ("second",)
    assert worker.in_force.digest == main.in_force.digest
    file.unlink()
    assert look() == ("second",)
    write("third")
    assert look() == ("third",)


def test_a_worker_loads_nothing_while_the_set_in_force_is_the_same(tmp_path: Path) -> None:
    made, queue = source(tmp_path, LoadResult(SETUP))  # type: ignore[arg-type]
    assert not made.take_over(0, None)
    assert made.take_over(1, LoadResult(SETUP, digest="new"))  # type: ignore[arg-type]
    assert made.in_force.digest == "new"
    assert queue == []


def test_a_load_names_what_is_left_out_and_what_is_only_warned_of(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(POLICY.replace("NAME", "good") + "---\n" + POLICY.replace("queue", "quue"))
    (tmp_path / "b.yaml").write_text("spec: [\n")
    loader = SetupLoader([tmp_path], cluster=tmp_path)
    found = loader.load(loader.read())
    assert found.policies == ("good",)
    assert found.left_out == (f"{tmp_path}/b.yaml:2", f"WorkloadPolicy NAME ({tmp_path}/a.yaml:6)")
    assert len(found.digest) == 12
    cluster = tmp_path / "cluster"
    cluster.mkdir()
    loader = SetupLoader([tmp_path / "a.yaml"], cluster=cluster)
    assert "nothing is known of the cluster" in loader.load(loader.read()).warnings[0]


def test_nothing_is_loaded_while_nothing_changes(tmp_path: Path) -> None:
    made, queue = source(tmp_path, LoadResult(SETUP), LoadResult(SETUP))  # type: ignore[arg-type]
    assert [made.poll(), made.poll(), made.poll()] == [None, None, None]
    assert len(queue) == 1


def test_a_signal_handler_may_wake_the_thread_that_it_interrupts() -> None:
    wakeup = Wakeup()
    before = signal.signal(signal.SIGALRM, lambda *_: wakeup.set())
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.01)
        assert wakeup.wait()
    finally:
        signal.signal(signal.SIGALRM, before)
    wakeup.clear()
    assert not wakeup.is_set()
    assert not wakeup.wait(0.01)
    wakeup.set()
    assert wakeup.wait(0)


def test_logged_values_are_bounded_and_a_crash_quotes_no_value() -> None:
    assert len(str(bounded("x" * 9999))) == 300
    assert bounded(list(range(50)))[-1] == "… 30 more"  # type: ignore[index]
    assert bounded("a\ud800") == "a?"
    with pytest.raises(ValueError, match="s3cr3t") as caught:
        raise ValueError("s3cr3t")
    assert "s3cr3t" not in str(crash_fields(caught.value))


def test_a_body_that_is_read_in_time_is_left_alone() -> None:
    slow = SlowBodies(port=1, longest_seconds=60)
    with slow.reading("10.0.0.1"):
        assert slow.sweep() == []
    assert SlowBodies(port=1, longest_seconds=-1).sweep() == []
