"""What one process watches, others read: nothing is missed, and nothing is taken away while the watch is lost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from signalbox.cluster import journal
from signalbox.cluster.journal import JournalReader, JournalWriter
from signalbox.cluster.resources import Room

QUEUES = ("kueue.x-k8s.io", "LocalQueue")


class Table:
    """What is known, as a reader is told it."""

    def __init__(self) -> None:
        self.objects: dict[tuple[str, str, str, str], dict[str, Any]] = {}
        self.states: list[str] = []

    def put(self, group: str, kind: str, obj: dict[str, Any]) -> None:
        self.objects[group, kind, obj["metadata"].get("namespace", ""), obj["metadata"]["name"]] = obj

    def drop(self, group: str, kind: str, namespace: str, name: str) -> None:
        del self.objects[group, kind, namespace, name]

    def synced(self, group: str, kind: str) -> None:
        self.states.append("synced")

    def absent(self, group: str, kind: str) -> None:
        self.objects.clear()
        self.states.append("absent")

    @property
    def names(self) -> list[str]:
        return sorted(name for _, _, _, name in self.objects)


def put(writer: JournalWriter, name: str, value: int = 0) -> None:
    obj = {"metadata": {"namespace": "research", "name": name}, "value": value}
    writer.put(*QUEUES, "research", name, obj, Room(1000, 10_000_000))


def test_a_reader_follows_the_writer(tmp_path: Path) -> None:
    writer, table = JournalWriter(tmp_path / "journal"), Table()
    reader = JournalReader(tmp_path / "journal", [table])
    put(writer, "a")
    put(writer, "b")
    writer.synced(*QUEUES)
    reader.poll()
    assert (table.names, table.states) == (["a", "b"], ["synced"])
    writer.drop((*QUEUES, "research", "a"))
    put(writer, "b", 7)
    reader.poll()
    assert table.names == ["b"]
    assert table.objects[(*QUEUES, "research", "b")]["value"] == 7


def test_a_reader_that_comes_later_knows_the_same(tmp_path: Path) -> None:
    writer, table = JournalWriter(tmp_path / "journal"), Table()
    for name in "abc":
        put(writer, name)
    writer.drop((*QUEUES, "research", "b"))
    JournalReader(tmp_path / "journal", [table]).poll()
    assert table.names == ["a", "c"]


def test_before_the_first_list_nothing_is_known(tmp_path: Path) -> None:
    table = Table()
    assert JournalReader(tmp_path / "journal", [table]).poll() == 0
    assert table.states == []


def test_a_watch_that_starts_again_takes_nothing_away_until_its_list_is_whole(tmp_path: Path) -> None:
    writer, table = JournalWriter(tmp_path / "journal"), Table()
    reader = JournalReader(tmp_path / "journal", [table])
    put(writer, "a")
    put(writer, "b")
    writer.synced(*QUEUES)
    reader.poll()
    again = JournalWriter(tmp_path / "journal")
    reader.poll()
    put(again, "b")
    reader.poll()
    assert table.names == ["a", "b"]
    again.synced(*QUEUES)
    reader.poll()
    assert table.names == ["b"]


def test_a_kind_that_is_gone_from_the_cluster_takes_its_objects_along(tmp_path: Path) -> None:
    writer, table = JournalWriter(tmp_path / "journal"), Table()
    reader = JournalReader(tmp_path / "journal", [table])
    put(writer, "a")
    writer.synced(*QUEUES)
    writer.absent(*QUEUES)
    reader.poll()
    assert (table.names, table.states) == ([], ["synced", "absent"])


def test_an_entry_that_is_half_written_waits(tmp_path: Path) -> None:
    writer, table = JournalWriter(tmp_path / "journal"), Table()
    reader = JournalReader(tmp_path / "journal", [table])
    put(writer, "a")
    file = tmp_path / "journal"
    whole = file.read_bytes()
    file.write_bytes(whole[:-10])
    reader.poll()
    assert table.names == []
    with file.open("ab") as opened:
        opened.write(whole[-10:])
    reader.poll()
    assert table.names == ["a"]


def test_what_did_not_change_is_not_written_again(tmp_path: Path) -> None:
    writer = JournalWriter(tmp_path / "journal")
    put(writer, "a")
    size = (tmp_path / "journal").stat().st_size
    put(writer, "a")
    assert (tmp_path / "journal").stat().st_size == size


_STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.sampled_from("abcd"), st.integers(0, 3)),
        st.tuples(st.just("drop"), st.sampled_from("abcd"), st.just(0)),
        st.tuples(st.sampled_from(["synced", "read", "restart", "later"]), st.just(""), st.just(0)),
    ),
    max_size=40,
)


@settings(max_examples=150, deadline=None)
@given(_STEPS)
def test_whatever_happens_every_reader_ends_with_what_is_there(
    tmp_path_factory: Any, steps: list[tuple[str, str, int]]
) -> None:
    """The file is written anew every few entries, so readers meet new files at any point."""
    file = tmp_path_factory.mktemp("journal") / "journal"
    least, journal._LEAST_BYTES = journal._LEAST_BYTES, 300
    try:
        writer, table = JournalWriter(file), Table()
        readers = [(JournalReader(file, [table]), table)]
        for word, name, value in steps:
            if word == "put":
                put(writer, name, value)
            elif word == "drop":
                writer.drop((*QUEUES, "research", name))
            elif word == "synced":
                writer.synced(*QUEUES)
            elif word == "read":
                readers[0][0].poll()
            elif word == "later":
                late = Table()
                readers.append((JournalReader(file, [late]), late))
            else:
                # A new watching process lists everything again.
                live = writer.known(*QUEUES)
                writer = JournalWriter(file)
                for key in live:
                    put(writer, key[3], 9)
        writer.synced(*QUEUES)
        expected = sorted(key[3] for key in writer.known(*QUEUES))
        for reader, read in readers:
            reader.poll()
            assert read.names == expected
    finally:
        journal._LEAST_BYTES = least
