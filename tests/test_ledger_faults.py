"""Faults of the ledger's database: admission goes on, what is lost is counted, and it goes on by itself."""

import json
import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from signalbox.audit.ledger.database import LedgerError
from signalbox.audit.ledger.reading import Ledger
from tests.ledgers import Recording, prepare_file, recording, rows
from tests.manifests import gpu_job
from tests.server_process import wait_for


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "ledger.db"


def logged(capfd: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capfd.readouterr().err.splitlines() if line.startswith("{")]


def failing(ledger: Recording, capfd: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """Offer one entry and wait until it is known that it cannot be written."""
    ledger.offer(gpu_job("first"))
    found = wait_for(lambda: [line for line in logged(capfd) if line["event"].startswith("ledger cannot be written")])
    line: dict[str, Any] = found[0]
    assert ledger.recorder._writer.trouble == line["trouble"]
    return line


def test_a_locked_ledger_is_waited_for(file: Path, capfd: pytest.CaptureFixture[str]) -> None:
    prepare_file(file)
    with closing(sqlite3.connect(file, isolation_level=None)) as other, recording(file) as ledger:
        other.execute("BEGIN IMMEDIATE")
        assert failing(ledger, capfd)["trouble"] == "locked"
        other.execute("ROLLBACK")
        ledger.settled(1)
        assert wait_for(lambda: [line for line in logged(capfd) if line["event"] == "ledger is written again"])
    assert [entry.name for entry in ledger.read().entries()] == ["first"]
    assert not ledger.watch.losses


def test_a_ledger_that_cannot_be_opened_is_tried_again(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "later" / "ledger.db"
    with recording(file) as ledger:
        assert failing(ledger, capfd)["trouble"] == "unreachable"
        file.parent.mkdir()
        ledger.settled(1)
    assert len(list(ledger.read().entries())) == 1


def test_what_finds_no_room_while_the_database_is_away_is_counted_under_that(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with recording(tmp_path / "missing" / "ledger.db", queue=3, stop_seconds=0.1) as ledger:
        failing(ledger, capfd)
        for _ in range(10):
            ledger.offer(gpu_job())
        # How many found room is up to when the writer tries again.
        assert set(ledger.watch.losses) == {"unreachable"}
    assert ledger.watch.losses.total() == 11
    assert set(ledger.watch.losses) == {"unreachable", "stopped"}


def test_a_full_disk_loses_nothing_that_was_written(file: Path, capfd: pytest.CaptureFixture[str]) -> None:
    prepare_file(file)
    with recording(file) as ledger:
        ledger.offer(gpu_job("before"))
        ledger.settled(1)
        engine = ledger.recorder._writer._open()
        with engine.begin() as connection:
            pages = connection.exec_driver_sql("PRAGMA page_count").scalar_one()
            connection.exec_driver_sql(f"PRAGMA max_page_count = {pages}")
        big = gpu_job("first")
        big["metadata"]["annotations"] = {f"note/{number}": "x" * 2000 for number in range(40)}
        ledger.offer(big)
        wait_for(lambda: ledger.recorder._writer.trouble == "full")
        # Space is there again: a new connection knows no such bound.
        ledger.settled(2)
        names = [entry.name for entry in ledger.read().entries()]
    assert names == ["before", "first"]
    assert rows(file, "PRAGMA integrity_check") == [("ok",)]


def test_a_read_only_ledger_is_told(file: Path, capfd: pytest.CaptureFixture[str]) -> None:
    prepare_file(file)
    with recording(f"sqlite:///file:{file}?mode=ro&uri=true", stop_seconds=0.1) as ledger:
        assert failing(ledger, capfd)["trouble"] == "read-only"


def test_a_file_that_is_no_database_is_told_and_left_alone(file: Path, capfd: pytest.CaptureFixture[str]) -> None:
    file.write_text("my notes " * 200)
    with recording(file, stop_seconds=0.1) as ledger:
        assert failing(ledger, capfd)["trouble"] == "damaged"
    assert file.read_text() == "my notes " * 200


def test_a_ledger_that_was_deleted_under_the_writer_is_made_anew(file: Path) -> None:
    with recording(file) as ledger:
        ledger.offer(gpu_job("gone"))
        ledger.settled(1)
        for side in ("", "-wal", "-shm"):
            Path(f"{file}{side}").unlink(missing_ok=True)
        ledger.offer(gpu_job("new"))
        ledger.settled(2)
        assert [entry.name for entry in ledger.read().entries()] == ["new"]


def test_an_entry_that_the_database_refuses_is_left_out_and_its_batch_is_written(file: Path) -> None:
    prepare_file(file)
    with closing(sqlite3.connect(file)) as connection:
        refuse = "CREATE TRIGGER t BEFORE INSERT ON entries WHEN NEW.name = 'bad' BEGIN SELECT RAISE(ABORT, 'no'); END"
        connection.execute(refuse)
        connection.commit()
    ledger = Recording(file)
    for name in ("a", "bad", "b"):
        ledger.offer(gpu_job(name))
    ledger.recorder.start()
    ledger.settled(3)
    ledger.recorder.stop()
    assert [entry.name for entry in ledger.read().entries()] == ["a", "b"]
    assert ledger.watch.losses == {"refused-by-database": 1}


def test_a_writer_that_is_killed_leaves_whole_entries(file: Path) -> None:
    prepare_file(file)
    pid = os.fork()
    if pid == 0:
        ledger = Recording(file, flush_seconds=0.0)
        ledger.recorder.start()
        number = 0
        while True:
            ledger.offer(gpu_job(f"job-{number}"))
            number += 1
    try:
        wait_for(lambda: rows(file, "SELECT count(*) FROM entries")[0][0] > 50)
    finally:
        os.kill(pid, 9)
        os.waitpid(pid, 0)
    assert rows(file, "PRAGMA integrity_check") == [("ok",)]
    with_findings = rows(file, "SELECT count(*) FROM entries e WHERE (SELECT count(*) FROM findings WHERE entry_id = e.id) = 3")
    assert with_findings == rows(file, "SELECT count(*) FROM entries") == rows(file, "SELECT count(*) FROM documents")


def test_two_processes_may_write_one_file(file: Path) -> None:
    with recording(file) as one, recording(file) as other:
        for number in range(40):
            one.offer(gpu_job(f"one-{number}"))
            other.offer(gpu_job(f"other-{number}"))
        one.settled(40)
        other.settled(40)
    assert not one.watch.losses
    assert not other.watch.losses
    assert len(list(one.read().entries())) == 80


def test_a_newer_ledger_is_not_written_and_admission_goes_on(file: Path, capfd: pytest.CaptureFixture[str]) -> None:
    prepare_file(file)
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
        connection.commit()
    with recording(file, stop_seconds=0.1) as ledger:
        line = failing(ledger, capfd)
    assert line["trouble"] == "schema"
    assert "9999" in line["text"]
    assert "update it" in line["text"]
    assert rows(file, "SELECT count(*) FROM entries") == [(0,)]
    with pytest.raises(LedgerError, match="9999"):
        Ledger.open(str(file))
