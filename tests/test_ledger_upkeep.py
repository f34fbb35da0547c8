"""The ledger's tables: migrated by whoever finds them older, left alone where they are newer, and kept in bounds."""

import sqlite3
import threading
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from signalbox.audit.ledger.database import Address, LedgerError, open_for_writing
from signalbox.audit.ledger.options import Retention
from signalbox.audit.ledger.reading import Ledger
from signalbox.audit.ledger.retention import keep_house, prune
from signalbox.audit.ledger.schema import HEAD, REVISIONS, check_readable, prepare
from signalbox.audit.ledger.tables import metadata
from signalbox.cli.main import main
from signalbox.controller.ledger_retention import LedgerRetention
from signalbox.process.logs import Log
from tests.ledgers import prepare_file, recording, rows
from tests.manifests import gpu_job
from tests.server_process import wait_for
from tests.world import NOW


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "ledger.db"


def test_the_migrations_make_the_tables_that_the_code_knows(file: Path) -> None:
    from alembic.autogenerate import compare_metadata
    from alembic.config import Config
    from alembic.migration import MigrationContext
    from alembic.script import ScriptDirectory

    engine = open_for_writing(Address.parse(str(file)))
    prepare(engine)
    with engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []
    engine.dispose()
    config = Config()
    import signalbox.audit.ledger as package

    config.set_main_option("script_location", str(Path(package.__path__[0]) / "migrations"))
    script = ScriptDirectory.from_config(config)
    assert tuple(revision.revision for revision in reversed(list(script.walk_revisions()))) == REVISIONS


def test_an_older_ledger_is_migrated_by_one_of_several_who_start_at_once(file: Path) -> None:
    failures: list[LedgerError] = []

    def start() -> None:
        try:
            prepare_file(file)
        except LedgerError as error:
            failures.append(error)

    threads = [threading.Thread(target=start) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert rows(file, "SELECT version_num FROM alembic_version") == [(HEAD,)]


def test_reading_what_is_no_ledger_yet_says_what_to_do(file: Path) -> None:
    with pytest.raises(LedgerError, match="there is no such ledger"):
        Ledger.open(str(file))
    sqlite3.connect(file).close()
    file.touch()
    with pytest.raises(LedgerError, match="signalbox serve --ledger makes it"):
        check_readable(open_for_writing(Address.parse(str(file))))


@pytest.fixture
def month(file: Path) -> Path:
    """An entry a day for thirty days."""
    with recording(file, retention=Retention(0, 0)) as ledger:
        for day in range(30):
            ledger.offer(gpu_job(f"day-{day}"), now=NOW - timedelta(days=29 - day))
        ledger.settled(30)
    return file


def names(file: Path) -> list[str]:
    return [entry.name for entry in Ledger.open(str(file)).entries()]


def test_what_is_older_than_allowed_is_deleted_with_all_that_belongs_to_it(month: Path) -> None:
    assert keep_house(Address.parse(str(month)), Retention(days=9.5, most_bytes=0), now=NOW) == 20
    assert names(month) == [f"day-{day}" for day in range(20, 30)]
    assert rows(month, "SELECT count(*) FROM documents") == [(10,)]
    assert rows(month, "SELECT count(DISTINCT entry_id) FROM findings") == [(10,)]


def test_what_was_deleted_is_given_back_to_the_disk(file: Path) -> None:
    with recording(file, retention=Retention(0, 0)) as ledger:
        ledger.offer(gpu_job(), times=300)
        ledger.settled(300)
    large = rows(file, "PRAGMA page_count")[0][0]
    keep_house(Address.parse(str(file)), Retention(days=1, most_bytes=0), now=NOW + timedelta(days=9))
    assert rows(file, "PRAGMA page_count")[0][0] < large / 2


def test_of_too_much_the_oldest_is_deleted(month: Path) -> None:
    total = rows(month, "SELECT sum(size) + count(*) * 1024 FROM entries")[0][0]
    keep_house(Address.parse(str(month)), Retention(days=0, most_bytes=total // 2), now=NOW)
    assert names(month)[-1] == "day-29"
    assert 13 <= len(names(month)) <= 16


def test_nothing_is_deleted_where_all_is_to_be_kept(month: Path) -> None:
    assert keep_house(Address.parse(str(month)), Retention(0, 0), now=NOW) == 0


def test_retention_goes_in_small_steps_and_can_be_stopped(month: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("signalbox.audit.ledger.retention.STEP", 4)
    stopping = iter([False, False, True])
    assert keep_house(Address.parse(str(month)), Retention(9.5, 0), lambda: next(stopping), NOW) == 8
    engine = open_for_writing(Address.parse(str(month)))
    assert prune(engine, Retention(9.5, 0), NOW, most_steps=2) == 8
    engine.dispose()


@pytest.mark.parametrize(("leads", "left"), [(True, 10), (False, 30)])
def test_the_controllers_duty_deletes_as_long_as_it_leads(month: Path, leads: bool, left: int) -> None:
    context: Any = SimpleNamespace(stopping=threading.Event(), leading=lambda: leads, log=Log("debug"))
    LedgerRetention(context, Address.parse(str(month)), Retention(9.5, 0)).run(NOW)
    assert len(names(month)) == left


def test_the_controller_takes_no_ledger_that_is_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["controller", "--ledger", "ledger.db"]) == 2
    assert "only postgresql" in capsys.readouterr().err


def test_the_writer_keeps_its_own_file_in_bounds(month: Path) -> None:
    with recording(month, retention=Retention(days=9.5, most_bytes=0)) as ledger:
        ledger.offer(gpu_job("new"), now=NOW)
        ledger.settled(1)
        wait_for(lambda: "day-0" not in names(month), 5)


def test_ids_are_never_used_twice(month: Path) -> None:
    newest = rows(month, "SELECT max(id) FROM entries")[0][0]
    keep_house(Address.parse(str(month)), Retention(days=1, most_bytes=0), now=NOW + timedelta(days=900))
    with recording(month, retention=Retention(0, 0)) as ledger:
        ledger.offer(gpu_job("later"))
        ledger.settled(1)
    assert rows(month, "SELECT id FROM entries") == [(newest + 1,)]
