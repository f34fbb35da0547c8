"""The ledger: what is recorded of a decision, and that admission goes on whatever becomes of the database."""

import json
import os
import sqlite3
import threading
import time
import tracemalloc
from contextlib import closing
from datetime import UTC, timedelta
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
from tests.ledgers import Recording, recording
from tests.manifests import deployment, gpu_job, pod_spec
from tests.server_process import wait_for
from tests.world import NOW, policy, setup

JOB_CONTROLLER = "system:serviceaccount:kube-system:job-controller"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "ledger.db"


def logged(capfd: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capfd.readouterr().err.splitlines() if line.startswith("{")]


def rows(file: Path, query: str) -> list[Any]:
    with closing(sqlite3.connect(file)) as connection:
        return connection.execute(query).fetchall()


def small_job() -> dict[str, Any]:
    """No rule looks at it."""
    return gpu_job(gpus=0)


# What is recorded


def test_a_refusal_is_recorded_with_who_and_what_and_why(file: Path) -> None:
    with recording(file) as ledger:
        ledger.offer(gpu_job("llama", "research"), user="ann", groups=("ml", "system:authenticated"), uid="u-7")
        ledger.settled(1)
        entry = next(ledger.read().entries())
    assert (entry.at, entry.uid, entry.user, entry.groups) == (NOW, "u-7", "ann", ("ml", "system:authenticated"))
    assert (entry.operation, entry.endpoint, entry.decision, entry.type) == ("CREATE", "validate", "refused", "fine-tuning")
    assert (entry.group, entry.version, entry.kind, entry.namespace, entry.name) == ("batch", "v1", "Job", "research", "llama")
    assert (entry.accelerators, entry.by_resource, entry.weight) == (8, {"nvidia.com/gpu": 8}, 1)
    assert entry.digest == ledger.world.policies.digest[:12]
    limit, checkpoint, grace = entry.findings
    assert (limit.rule, limit.mode, limit.result, limit.refused, limit.amount) == ("team/limit", "enforce", "fail", True, 8)
    assert (checkpoint.rule, checkpoint.check, checkpoint.mode, checkpoint.refused) == (
        "team/checkpoint",
        "checkpoint",
        "warn",
        False,
    )
    assert (grace.mode, grace.fixed_by) == ("audit", "termination-grace")
    assert "60" in grace.message


@pytest.mark.parametrize(
    ("mode", "decision"), [("enforce", "refused"), ("warn", "warned"), ("audit", "audited"), ("disabled", "allowed")]
)
def test_the_decision_is_one_word(file: Path, mode: str, decision: str) -> None:
    world = setup(policy(f"rules: [{{name: limit, check: accelerator-limit, with: {{maxTotal: 1}}, mode: {mode}}}]"))
    with recording(file, world) as ledger:
        ledger.offer(gpu_job())
        ledger.settled(1)
        assert [entry.decision for entry in ledger.read().entries()] == [decision]


def test_an_object_without_a_name_yet_is_known_by_its_generate_name(file: Path) -> None:
    job = gpu_job()
    job["metadata"] = {"generateName": "sweep-", "namespace": "research", "labels": {"workload.ai/team": "nlp", "other": "x"}}
    with recording(file) as ledger:
        ledger.offer(job)
        ledger.settled(1)
        entry = next(ledger.read().entries())
    assert (entry.name, entry.generate_name, entry.subject) == ("", "sweep-", "Job research/sweep-*")
    assert (entry.labels, entry.team) == ({"workload.ai/team": "nlp"}, "nlp")


def test_a_dry_run_leaves_no_entry(file: Path) -> None:
    with recording(file) as ledger:
        ledger.offer(gpu_job("dry"), dry_run=True)
        ledger.offer(gpu_job("real"))
        ledger.settled(1)
        assert [entry.name for entry in ledger.read().entries()] == ["real"]


def test_the_two_calls_of_one_request_are_one_entry_and_a_refusal_by_mutate_is_one_too(file: Path) -> None:
    world = setup(policy("rules: [{name: gpus, check: gpu-requests, mode: enforce}]"))
    mismatched = gpu_job("mismatched")
    pod_spec(mismatched)["containers"][0]["resources"]["requests"]["nvidia.com/gpu"] = "4"
    with recording(file, world) as ledger:
        ledger.offer(gpu_job("fine"), "mutate")
        ledger.offer(gpu_job("fine"), "validate")
        ledger.offer(mismatched, "mutate")
        ledger.settled(2)
        found = [(entry.name, entry.endpoint, entry.decision) for entry in ledger.read().entries()]
    assert found == [("fine", "validate", "allowed"), ("mismatched", "mutate", "refused")]


def test_what_a_controller_makes_of_a_judged_parent_is_no_entry_of_its_own(file: Path) -> None:
    pod: dict[str, Any] = {"apiVersion": "v1", "kind": "Pod", "spec": pod_spec(gpu_job())}
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "llama", "controller": True}
    pod["metadata"] = {"name": "llama-x", "namespace": "research", "ownerReferences": [owner]}
    with recording(file) as ledger:
        ledger.offer(pod, user=JOB_CONTROLLER)
        ledger.offer(pod, user="ann")
        ledger.settled(1)
        assert [entry.user for entry in ledger.read().entries()] == ["ann"]


@pytest.mark.parametrize(("allowed", "count"), [("none", 0), ("all", 40)])
def test_what_was_allowed_is_recorded_as_told(file: Path, allowed: str, count: int) -> None:
    with recording(file, allowed=allowed) as ledger:
        for _ in range(40):
            ledger.offer(small_job())
        ledger.offer(gpu_job())
        ledger.settled(count + 1)
        assert len(list(ledger.read().entries())) == count + 1


def test_a_sample_of_what_was_allowed_stands_for_the_rest(file: Path) -> None:
    chances = iter([0.05, 0.5, 0.09, 0.1, 0.99] * 2)
    with recording(file, chance=lambda: next(chances), allowed="sample", rate=0.1) as ledger:
        for _ in range(10):
            ledger.offer(small_job())
        ledger.settled(4)
        assert [entry.weight for entry in ledger.read().entries()] == [10.0] * 4


def test_kinds_that_are_none_of_our_business_leave_nothing(file: Path) -> None:
    with recording(file) as ledger:
        ledger.offer({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}, "data": {"a": "b"}})
        ledger.offer(deployment())
        ledger.settled(1)
        assert [entry.kind for entry in ledger.read().entries()] == ["Deployment"]


def test_an_object_that_is_too_large_is_recorded_without_it(file: Path) -> None:
    with recording(file, largest_object=100) as ledger:
        ledger.offer(gpu_job())
        ledger.settled(1)
        recorded = next(ledger.read().replayable())
    assert recorded.documents.object is None
    assert recorded.entry.doubts == ("the object, which is too large to keep",)


def test_messages_and_labels_carry_no_secret(file: Path) -> None:
    world = setup(policy("rules: [{name: image, check: image-tag, with: {require: digest}, mode: enforce}]"))
    job = gpu_job()
    pod_spec(job)["containers"][0]["image"] = "https://bob:hunter2hunter2@registry/x:latest"
    job["metadata"]["labels"] = {"workload.ai/team": "hf_abcdefghijklmnopqrst"}
    with recording(file, world) as ledger:
        ledger.offer(job)
        ledger.settled(1)
    assert b"hunter2" not in file.read_bytes()
    assert b"hf_abc" not in file.read_bytes()


def test_the_file_is_nobody_elses_to_read(file: Path) -> None:
    with recording(file) as ledger:
        ledger.offer(gpu_job())
        ledger.settled(1)
    assert file.stat().st_mode & 0o777 == 0o600


# Bounds


def test_ten_thousand_decisions_in_a_burst_are_bounded_and_what_finds_no_room_is_counted(file: Path) -> None:
    ledger = Recording(file, queue_bytes=4 * 1024 * 1024)
    tracemalloc.start()
    ledger.offer(gpu_job(), times=10_000)
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    waiting = len(ledger.recorder._queue)
    assert 500 < waiting < 2000
    assert ledger.watch.losses == {"queue-full": 10_000 - waiting}
    assert held < 8 * 1024 * 1024


def test_handing_a_decision_over_takes_microseconds(file: Path) -> None:
    ledger = Recording(file)
    started = time.perf_counter()
    ledger.offer(gpu_job(), times=5_000)
    # A tenth of a review; in truth it is some two microseconds, and the machine may be busy.
    assert (time.perf_counter() - started) / 5_000 < 50e-6
    assert len(ledger.recorder._queue) == 5_000


def test_a_full_queue_loses_the_newest_and_says_so(file: Path, capfd: pytest.CaptureFixture[str]) -> None:
    ledger = Recording(file, queue=2)
    for name in ("a", "b", "c"):
        ledger.offer(gpu_job(name))
    assert ledger.watch.losses == {"queue-full": 1}
    ledger.recorder.start()
    ledger.settled(3)
    ledger.recorder.stop()
    assert [entry.name for entry in ledger.read().entries()] == ["a", "b"]
    assert [line["queue-full"] for line in logged(capfd) if line["event"].startswith("ledger entries lost")] == [1]


def test_the_queue_is_bounded_in_bytes_too(file: Path) -> None:
    ledger = Recording(file, queue_bytes=10_000)
    for _ in range(10):
        ledger.offer(gpu_job())
    assert 0 < len(ledger.recorder._queue) < 10
    assert sum(ledger.watch.losses.values()) == 10 - len(ledger.recorder._queue)


def test_what_waits_is_written_at_the_end(file: Path) -> None:
    with recording(file, flush_seconds=60) as ledger:
        for number in range(300):
            ledger.offer(gpu_job(f"job-{number}"))
    assert ledger.watch.count == 300
    assert ledger.watch.length == 0
    assert len(list(ledger.read().entries())) == 300


def test_the_end_does_not_wait_longer_than_it_may_and_counts_what_it_left(tmp_path: Path) -> None:
    with recording(tmp_path / "missing" / "ledger.db", flush_seconds=60, stop_seconds=0.2) as ledger:
        ledger.offer(gpu_job())
        started = time.monotonic()
        ledger.recorder.stop()
    assert time.monotonic() - started < 2
    assert ledger.watch.losses == {"stopped": 1}


def test_an_entry_that_cannot_be_built_is_counted_and_the_next_is_written(file: Path) -> None:
    with recording(file) as ledger:
        ledger.offer(gpu_job("odd"))
        item = ledger.recorder._queue.take()
        if item is not None:
            ledger.recorder._queue.put(item._replace(body=b"no json"))
        ledger.offer(gpu_job("next"))
        ledger.settled(2)
        names = [entry.name for entry in ledger.read().entries()]
    assert names[-1] == "next"
    assert item is None or ledger.watch.losses == {"fault": 1}


# Faults of the database: admission goes on, what is lost is counted, and it goes on by itself


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
        assert ledger.watch.losses == {"unreachable": 7}


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


# Versions of the tables


def prepare_file(file: Path) -> None:
    engine = open_for_writing(Address.parse(str(file)))
    prepare(engine)
    engine.dispose()


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


def test_reading_what_is_no_ledger_yet_says_what_to_do(file: Path) -> None:
    with pytest.raises(LedgerError, match="there is no such ledger"):
        Ledger.open(str(file))
    sqlite3.connect(file).close()
    file.touch()
    with pytest.raises(LedgerError, match="signalbox serve --ledger makes it"):
        check_readable(open_for_writing(Address.parse(str(file))))


# Retention


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


# Reading


def test_a_clock_that_goes_back_leaves_entries_in_their_order_and_reports_whole(file: Path) -> None:
    with recording(file) as ledger:
        for hours in (5, 3, 4):
            ledger.offer(gpu_job(f"at-{hours}"), now=NOW + timedelta(hours=hours))
        ledger.settled(3)
        read = ledger.read()
    assert [entry.name for entry in read.entries()] == ["at-5", "at-3", "at-4"]
    assert [entry.at.astimezone(UTC).hour for entry in read.entries()] == [17, 15, 16]
    extent = read.extent()
    assert (extent.first, extent.last) == (NOW + timedelta(hours=3), NOW + timedelta(hours=5))
    assert read.counts("day")[0].requests == 3
