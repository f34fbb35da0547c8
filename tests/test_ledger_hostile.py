"""A ledger with anything in it: rows that somebody changed by hand, names that are SQL, numbers beyond all bounds."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from signalbox.audit.ledger.database import LedgerError
from signalbox.audit.ledger.reading import Ledger, Wanted
from tests.ledgers import recording, rows
from tests.manifests import gpu_job, pod_spec


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE documents SET object = '{bro'",
        "UPDATE documents SET object = '[1]'",
        "UPDATE findings SET mode = 'wild'",
        "UPDATE findings SET result = 'odd'",
        "UPDATE entries SET labels = 'x'",
        "UPDATE entries SET accelerators = 'many'",
        "UPDATE entries SET groups = '5'",
    ],
)
def test_a_ledger_that_was_changed_by_hand_is_told_with_the_place(tmp_path: Path, change: str) -> None:
    file = tmp_path / "ledger.db"
    with recording(file) as made:
        made.offer(gpu_job())
        made.settled(1)
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute(change)
    with closing(Ledger.open(str(file))) as read, pytest.raises(LedgerError, match=r"entry 1 of the ledger cannot be read"):
        list(read.replayable())


def test_a_time_that_is_none_breaks_no_report(tmp_path: Path) -> None:
    file = tmp_path / "ledger.db"
    with recording(file) as made:
        made.offer(gpu_job())
        made.settled(1)
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("UPDATE entries SET at = 99999999999999999")
    with closing(Ledger.open(str(file))) as read:
        assert read.extent().last == next(read.entries()).at


def test_names_that_are_sql_or_hold_nul_are_only_names(tmp_path: Path) -> None:
    file = tmp_path / "ledger.db"
    job = gpu_job()
    job["metadata"] |= {"name": "x'; DROP TABLE entries; --", "labels": {"workload.ai/team": "t\x00' OR 1=1"}}
    with recording(file) as made:
        made.offer(job, user="a\x00b", groups=("g\x00",), uid="u\x00")
        made.settled(1)
    (entry,) = made.read().entries(Wanted(name="x'; DROP TABLE entries; --"))
    assert (entry.user, entry.team, entry.uid) == ("a b", "t ' OR 1=1", "u")
    # PostgreSQL takes no text with it.
    assert not any("\x00" in str(row) for row in rows(file, "SELECT * FROM entries"))


@pytest.mark.parametrize("amount", [1e308, "9" * 18 + "E", 10**18])
def test_who_asks_for_more_than_a_float_holds_is_recorded_all_the_same(tmp_path: Path, amount: Any) -> None:
    file = tmp_path / "ledger.db"
    job = gpu_job()
    job["spec"]["parallelism"] = 10**15
    pod_spec(job)["containers"][0]["resources"] = {"limits": {"nvidia.com/gpu": amount}}
    with recording(file) as made:
        made.offer(job)
        made.settled(1)
    assert not made.watch.losses
    (entry,) = made.read().entries()
    assert 0 <= entry.accelerators <= 10**15
