"""When policies are loaded again, and which set is then in force. No process, no clock."""

from pathlib import Path

import pytest

from signalbox.server.body import SlowBodies
from signalbox.server.logs import bounded, crash_fields
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


def source(folder: Path, *results: LoadResult) -> tuple[ReloadingSource, list[LoadResult]]:
    queue = list(results)
    return ReloadingSource(lambda: queue.pop(0), FileWatcher([folder])), queue


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


def test_nothing_is_loaded_while_nothing_changes(tmp_path: Path) -> None:
    made, queue = source(tmp_path, LoadResult(SETUP), LoadResult(SETUP))  # type: ignore[arg-type]
    assert [made.poll(), made.poll(), made.poll()] == [None, None, None]
    assert len(queue) == 1


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
