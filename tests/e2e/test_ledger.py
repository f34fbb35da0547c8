"""The ledger in a real PostgreSQL: written by several, lost only as far as it must be, and read by the commands."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import get_args

import pytest

from signalbox.audit.ledger.database import Address, LedgerError
from signalbox.audit.ledger.options import Retention
from signalbox.audit.ledger.reading import By, Ledger, Wanted
from signalbox.audit.ledger.retention import keep_house
from signalbox.audit.ledger.schema import HEAD
from signalbox.configuration import load_setup
from tests.ledgers import WORLD, Recording, recording
from tests.manifests import deployment, gpu_job, pod_spec
from tests.world import NOW

from .kubectl import Kubectl
from .objects import gpu_mismatch, job, template
from .postgres import Postgres
from .waiting import eventually
from .webhook import SIGNALBOX, Webhook


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres]:
    """The server."""
    started = Postgres()
    yield started
    started.remove()


@pytest.fixture
def database(postgres: Postgres, request: pytest.FixtureRequest) -> str:
    """An empty database of the test's own."""
    return postgres.database(f"t{abs(hash(request.node.name)) % 10**9}")


def name_of(url: str) -> str:
    return url.rpartition("/")[2]


def names(url: str) -> list[str]:
    with_names = Ledger.open(url)
    try:
        return [entry.name for entry in with_names.entries()]
    finally:
        with_names.close()


def test_it_holds_what_sqlite_holds(database: str, tmp_path: Path) -> None:
    odd = gpu_job("odd")
    odd["metadata"]["annotations"] = {"note": "nul \u0000, ünï, \U0001f680"}
    read = []
    for address in (database, tmp_path / "ledger.db"):
        with recording(address) as made:
            made.offer(gpu_job("job", "research"), user="ann", groups=("a", "b"))
            made.offer(deployment(gpus=8), old=deployment(), user="bob", now=NOW + timedelta(days=1))
            made.offer(odd)
            made.settled(3)
            ledger = made.read()
        counts: list[object] = [ledger.counts(by) for by in get_args(By)]
        counts.append(sorted(ledger.days(), key=lambda one: (one.day, one.team, one.decision)))
        read.append((list(ledger.replayable()), counts, ledger.extent(), list(ledger.entries(Wanted(rule="team/limit")))))
        ledger.close()
    assert read[0] == read[1]
    assert len(read[0][0]) == 3


def test_two_replicas_that_start_at_once_make_the_tables_once_and_lose_nothing(postgres: Postgres, database: str) -> None:
    with recording(database) as one, recording(database) as other:
        for number in range(100):
            one.offer(gpu_job(f"one-{number}"))
            other.offer(gpu_job(f"other-{number}"))
        one.settled(100)
        other.settled(100)
    assert not one.watch.losses
    assert not other.watch.losses
    assert Counter(name.partition("-")[0] for name in names(database)) == {"one": 100, "other": 100}
    assert postgres.execute("SELECT version_num FROM alembic_version", name_of(database)) == [(HEAD,)]


def test_a_connection_that_is_cut_costs_nothing(postgres: Postgres, database: str) -> None:
    with recording(database) as made:
        made.offer(gpu_job("before"))
        made.settled(1)
        postgres.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'signalbox'")
        made.offer(gpu_job("after"))
        made.settled(2)
    assert not made.watch.losses
    assert names(database) == ["before", "after"]


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGQUIT])
def test_while_it_is_away_decisions_wait_and_what_finds_no_room_is_counted(
    postgres: Postgres, database: str, how: signal.Signals
) -> None:
    with recording(database, queue=20) as made:
        made.offer(gpu_job("before"))
        made.settled(1)
        postgres.stop(how)
        try:
            made.offer(gpu_job("first"))
            eventually(lambda: made.recorder._writer.trouble == "unreachable", "the writer has noticed")
            made.offer(gpu_job("waits"), times=30)
            assert made.watch.losses == {"unreachable": 10}
        finally:
            postgres.start()
        made.settled(32)
    assert names(database) == ["before", "first", *["waits"] * 20]
    assert made.watch.losses == {"unreachable": 10}


def test_a_locked_table_is_waited_for(postgres: Postgres, database: str) -> None:
    import psycopg

    with recording(database) as made:
        made.offer(gpu_job("before"))
        made.settled(1)
        with psycopg.connect(database) as other:
            other.execute("LOCK TABLE entries")
            made.offer(gpu_job("after"))
            eventually(lambda: made.recorder._writer.trouble == "locked", "the writer has noticed")
        made.settled(2)
    assert names(database) == ["before", "after"]


def test_a_database_that_takes_nothing_is_told(postgres: Postgres, database: str) -> None:
    with recording(database, stop_seconds=0.1) as made:
        made.offer(gpu_job("before"))
        made.settled(1)
        postgres.execute(f"ALTER DATABASE {name_of(database)} SET default_transaction_read_only = on")
        postgres.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'signalbox'")
        made.offer(gpu_job("after"))
        eventually(lambda: made.recorder._writer.trouble == "read-only", "the writer has noticed")


def test_an_account_that_may_not_make_tables_is_told_and_goes_on_once_somebody_did(postgres: Postgres, database: str) -> None:
    postgres.execute("DROP ROLE IF EXISTS writer")
    postgres.execute("CREATE ROLE writer LOGIN PASSWORD 'not-a-secret'")
    with recording(postgres.url(name_of(database), "writer"), stop_seconds=0.1) as made:
        made.offer(gpu_job("waits"))
        eventually(lambda: made.recorder._writer.trouble == "forbidden", "the writer has noticed")
        keep_house(Address.parse(database), Retention())
        for statement in (
            "GRANT SELECT, INSERT, DELETE ON ALL TABLES IN SCHEMA public TO writer",
            "GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO writer",
        ):
            postgres.execute(statement, name_of(database))
        made.settled(1)
    assert names(database) == ["waits"]
    postgres.execute("DROP OWNED BY writer", name_of(database))


def test_newer_tables_are_left_alone(postgres: Postgres, database: str) -> None:
    keep_house(Address.parse(database), Retention())
    postgres.execute("UPDATE alembic_version SET version_num = '9999'", name_of(database))
    with recording(database, stop_seconds=0.1) as made:
        made.offer(gpu_job())
        eventually(lambda: made.recorder._writer.trouble == "schema", "the writer has noticed")
    assert postgres.execute("SELECT count(*) FROM entries", name_of(database)) == [(0,)]
    with pytest.raises(LedgerError, match="9999"):
        Ledger.open(database)


def test_the_controller_keeps_it_in_bounds(database: str) -> None:
    with recording(database, retention=Retention(1, 0)) as made:
        for day in range(10):
            made.offer(gpu_job(f"day-{day}"), now=NOW - timedelta(days=day))
        made.settled(10)
    assert len(names(database)) == 10, "a webhook does not delete from a ledger that others write too"
    assert keep_house(Address.parse(database), Retention(days=4.5, most_bytes=0), now=NOW) == 5
    assert names(database) == [f"day-{day}" for day in range(5)]


def test_a_wrong_password_is_told_and_not_shown(database: str) -> None:
    wrong = database.replace("not-a-secret", "hunter2")
    with pytest.raises(LedgerError) as raised:
        Ledger.open(wrong)
    assert raised.value.trouble in ("forbidden", "unreachable")
    assert "hunter2" not in str(raised.value)


def test_replay_and_readiness_read_it(database: str, tmp_path: Path) -> None:
    rules = tmp_path / "rules.yaml"
    text = """
apiVersion: policy.workload.ai/v1alpha1
kind: WorkloadPolicy
metadata: {name: team}
spec:
  rules:
    - {name: limit, check: accelerator-limit, with: {maxTotal: MOST}, mode: audit}
"""
    rules.write_text(text.replace("MOST", "4"))
    made = Recording(database, load_setup([rules]).setup)
    made.recorder.start()
    for number in range(3):
        made.ask(gpu_job(f"llama-{number}"), now=datetime.now(UTC))
    made.settled(3)
    made.recorder.stop()
    rules.write_text(text.replace("MOST", "4").replace("audit", "enforce"))
    environment = {**os.environ, "SIGNALBOX_LEDGER": database}
    command = [SIGNALBOX, "replay", "--policies", rules, "-o", "json"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60)
    assert done.returncode == 1, done.stderr
    assert json.loads(done.stdout.splitlines()[-1])["summary"]["changes"]["newly refused"] == 3
    command = [SIGNALBOX, "audit", "readiness", "team/limit", "--policies", rules, "--no-cluster", "-o", "json"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60)
    assert done.returncode == 1, done.stderr
    assert json.loads(done.stdout)["requests"]["refused"] == 3


@pytest.fixture
def recorded(webhook: Webhook, database: str) -> Iterator[Ledger]:
    """The installed webhook, writing this ledger."""
    os.environ["SIGNALBOX_LEDGER"], os.environ["SIGNALBOX_LEDGER_ALLOWED"] = database, "all"
    try:
        webhook.stop()
        webhook.start()
        webhook.wait_until_called()
    finally:
        del os.environ["SIGNALBOX_LEDGER"], os.environ["SIGNALBOX_LEDGER_ALLOWED"]
    ledger = eventually(lambda: _opened(database), "there is a ledger")
    yield ledger
    ledger.close()
    webhook.stop()
    webhook.start()
    webhook.wait_until_called()


def _opened(url: str) -> Ledger | None:
    try:
        return Ledger.open(url)
    except LedgerError:
        return None


def test_what_people_applied_is_in_the_ledger(recorded: Ledger, kubectl: Kubectl, namespace: str) -> None:
    here = Wanted(namespace=namespace)
    assert kubectl.apply(gpu_mismatch(namespace=namespace)).code == 1
    fine = job("fine", namespace, template())
    pod_spec(fine)["containers"][0]["env"] = [{"name": "DB_PASSWORD", "value": "hunter2"}]
    assert kubectl.apply(fine, arguments=("--dry-run=server",)).code == 0
    assert kubectl.apply(fine).code == 0
    found = eventually(lambda: len(entries := list(recorded.replayable(here))) == 2 and entries, "both are written")
    assert found
    refused, allowed = found
    assert (refused.entry.decision, refused.entry.endpoint, refused.entry.user) == ("refused", "mutate", "ann")
    assert "gpus/limits-equal-requests" in [finding.rule for finding in refused.entry.findings]
    assert (allowed.entry.name, allowed.entry.endpoint, allowed.entry.operation) == ("fine", "validate", "CREATE")
    assert "hunter2" not in json.dumps(allowed.documents.object)
    assert "managedFields" not in json.dumps(allowed.documents.object)
    assert WORLD.policies.digest[:12] != allowed.entry.digest
    assert pod_spec(allowed.documents.object or {})["containers"]
