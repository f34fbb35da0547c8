"""Reading a ledger: entries page by page, and the counts that reports and the page are made of."""

import sqlite3
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from signalbox.audit.ledger import reading
from signalbox.audit.ledger.database import Address, LedgerError
from signalbox.audit.ledger.reading import Ledger, Wanted
from tests.ledgers import Recording, recording
from tests.manifests import deployment, gpu_job
from tests.world import NOW, policy, setup

RULES = """
rules:
  - {name: limit, check: accelerator-limit, with: {maxTotal: 4}, mode: enforce}
  - {name: small, check: accelerator-limit, with: {maxTotal: 6}, mode: warn}
  - {name: grace, check: termination-grace, with: {min: 60}, mode: audit, when: {kinds: [Job]}}
"""
WORLD = setup(policy(RULES, "team"))


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Ledger:
    """Three Jobs of ann that are refused, one a day, two of bob that are recorded, and a Deployment that found nothing."""
    file = tmp_path_factory.mktemp("ledger") / "ledger.db"
    with recording(file, WORLD) as made:
        for day in range(3):
            made.offer(gpu_job(f"big-{day}", "research", 8), user="ann", now=NOW + timedelta(days=day))
        for number in range(2):
            made.offer(gpu_job(f"small-{number}", "eval", 2), user="bob", now=NOW)
        made.offer(deployment(), user="bob", now=NOW)
        made.settled(6)
    return made.read()


def counted(ledger: Ledger, by: Any, wanted: Wanted | None = None) -> dict[str, float]:
    return {count.key: count.requests for count in ledger.counts(by, wanted or Wanted())}


@pytest.mark.parametrize(
    ("by", "expected"),
    [
        ("rule", {"team/grace": 5, "team/limit": 3, "team/small": 3}),
        ("rule team", {"team/grace research": 3, "team/grace eval": 2, "team/limit research": 3, "team/small research": 3}),
        ("exception", {}),
        ("team", {"research": 3, "eval": 2, "serving": 1}),
        ("namespace", {"research": 3, "eval": 2, "serving": 1}),
        ("user", {"ann": 3, "bob": 3}),
        ("kind", {"Job": 5, "Deployment": 1}),
        ("type", {"fine-tuning": 5, "inference": 1}),
        ("decision", {"refused": 3, "audited": 2, "allowed": 1}),
        ("day", {"2026-11-29": 4, "2026-11-30": 1, "2026-12-01": 1}),
    ],
)
def test_entries_are_counted_by(ledger: Ledger, by: str, expected: dict[str, float]) -> None:
    assert counted(ledger, by) == expected


def test_the_most_frequent_come_first_and_days_in_their_order(ledger: Ledger) -> None:
    assert [count.key for count in ledger.counts("rule", limit=1)] == ["team/grace"]
    assert [count.key for count in ledger.counts("day")] == ["2026-11-29", "2026-11-30", "2026-12-01"]


def test_a_count_says_what_became_of_the_requests_and_how_much_they_asked_for(ledger: Ledger) -> None:
    grace = next(count for count in ledger.counts("rule") if count.key == "team/grace")
    assert (grace.refused, grace.warned, grace.audited, grace.errors) == (3, 0, 2, 0)
    assert (grace.failed, grace.excepted, grace.accelerators) == (5, 0, 28)
    research = next(count for count in ledger.counts("namespace", Wanted(rule="team/small")) if count.key == "research")
    assert (research.requests, research.failed, research.accelerators) == (3, 3, 24)


@pytest.mark.parametrize(
    ("wanted", "names"),
    [
        (Wanted(rule="team/limit"), ["big-0", "big-1", "big-2"]),
        (Wanted(namespace="eval"), ["small-0", "small-1"]),
        (Wanted(user="bob", kind="Deployment"), ["chat"]),
        (Wanted(decision="refused", since=NOW + timedelta(days=1)), ["big-1", "big-2"]),
        (Wanted(decision="refused", until=NOW + timedelta(days=1)), ["big-0"]),
        (Wanted(name="big-1"), ["big-1"]),
        (Wanted(type="inference"), ["chat"]),
        (Wanted(namespace="nowhere"), []),
        (Wanted(namespace="eval' OR '1'='1"), []),
    ],
)
def test_entries_are_found_by(ledger: Ledger, wanted: Wanted, names: list[str]) -> None:
    assert [entry.name for entry in ledger.entries(wanted)] == names
    assert ledger.extent(wanted).entries == len(names)


def test_requests_are_counted_by_day_team_and_decision_at_once(ledger: Ledger) -> None:
    counted = [(one.day, one.team, one.decision, one.requests) for one in ledger.days(Wanted(since=NOW))]
    assert sorted(counted) == [
        ("2026-11-29", "eval", "audited", 2),
        ("2026-11-29", "research", "refused", 1),
        ("2026-11-29", "serving", "allowed", 1),
        ("2026-11-30", "research", "refused", 1),
        ("2026-12-01", "research", "refused", 1),
    ]
    assert {one.decision for one in ledger.days(Wanted(team="eval"))} == {"audited"}


def test_what_a_rule_would_refuse_is_counted_whatever_its_mode(ledger: Ledger) -> None:
    counts = {count.key: (count.blocked, count.blocked_accelerators) for count in ledger.counts("rule")}
    assert counts == {"team/limit": (3, 24), "team/small": (3, 24), "team/grace": (5, 28)}
    assert [count.blocked for count in ledger.counts("day", Wanted(rule="team/grace"))] == [3, 1, 1]


def test_a_question_that_takes_too_long_is_ended(ledger: Ledger, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from signalbox.audit.ledger import database

    with recording(tmp_path / "l.db", WORLD) as made:
        made.offer(gpu_job("big", "research", 8), times=50)
        made.settled(50)
    monkeypatch.setattr(database, "_STEPS", 10)
    hasty = Ledger(database.open_for_reading(Address.parse(str(tmp_path / "l.db")), seconds=0.0))
    with pytest.raises(LedgerError, match="interrupted") as raised:
        hasty.counts("rule")
    assert raised.value.trouble == "locked"
    patient = Ledger(database.open_for_reading(Address.parse(str(tmp_path / "l.db")), seconds=60.0))
    assert patient.extent().entries == 50


def test_pages_follow_one_another_in_either_direction(ledger: Ledger) -> None:
    first = list(ledger.entries(limit=4, newest_first=True))
    rest = list(ledger.entries(limit=4, newest_first=True, after=first[-1].id))
    assert [entry.name for entry in first + rest] == ["chat", "small-1", "small-0", "big-2", "big-1", "big-0"]
    oldest = list(ledger.entries(limit=2))
    assert [entry.name for entry in ledger.entries(after=oldest[-1].id)] == ["big-2", "small-0", "small-1", "chat"]


def test_one_entry_comes_with_its_objects(ledger: Ledger) -> None:
    newest = next(ledger.entries(limit=1, newest_first=True))
    found = ledger.entry(newest.id)
    assert found is not None
    assert found.entry == newest
    assert found.documents.object == deployment()
    assert found.documents.old_object is None
    assert ledger.entry(10**9) is None


def test_the_extent_of_a_ledger_and_of_an_empty_one(ledger: Ledger, tmp_path: Path) -> None:
    extent = ledger.extent()
    assert (extent.first, extent.last, extent.entries, extent.allowed) == (NOW, NOW + timedelta(days=2), 6, 1)
    with recording(tmp_path / "empty.db") as made:
        made.offer(gpu_job())
        made.settled(1)
    empty = made.read().extent(Wanted(namespace="nowhere"))
    assert (empty.first, empty.last, empty.entries) == (None, None, 0)
    assert made.read().counts("rule", Wanted(namespace="nowhere")) == []


def test_many_entries_are_read_in_chunks_and_none_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "CHUNK", 7)
    with recording(tmp_path / "many.db") as made:
        made.offer(gpu_job(), times=50)
        made.settled(50)
    ids = [recorded.entry.id for recorded in made.read().replayable()]
    assert len(ids) == len(set(ids)) == 50
    assert ids == sorted(ids)


def test_a_reader_changes_nothing_and_waits_for_no_writer(tmp_path: Path) -> None:
    with recording(tmp_path / "ledger.db") as made:
        made.offer(gpu_job())
        made.settled(1)
        with closing(sqlite3.connect(tmp_path / "ledger.db", isolation_level=None)) as writer:
            writer.execute("BEGIN IMMEDIATE")
            assert len(list(made.read().entries())) == 1
            writer.execute("ROLLBACK")


def test_a_ledger_that_breaks_while_it_is_read_is_told(tmp_path: Path) -> None:
    file = tmp_path / "ledger.db"
    with recording(file) as made:
        made.offer(gpu_job(), times=5)
        made.settled(5)
    read = made.read()
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("DROP TABLE findings")
    with pytest.raises(LedgerError, match="cannot be read"):
        list(read.entries())


@pytest.mark.parametrize(
    ("address", "says"),
    [
        ("mysql://root:hunter2@host/db", "not in mysql"),
        ("sqlite://", "names no file"),
        ("sqlite:///:memory:", "names no file"),
        ("postgresql://user:hunter2@host:port/db", "none"),
        ("postgresql://user:p@hunter2@host/db", "two @"),
        ("host=db user=signalbox password=hunter2", "write postgresql://"),
    ],
)
def test_an_address_that_is_none_is_told_without_its_password(address: str, says: str) -> None:
    with pytest.raises(LedgerError, match=says) as raised:
        Address.parse(address)
    assert "hunter2" not in str(raised.value)


def test_an_address_is_shown_without_its_password() -> None:
    address = Address.parse("postgres://signalbox:hunter2@db/ledger")
    assert "hunter2" not in f"{address} {address!r}"
    assert "hunter2" not in str(Address.parse("postgresql://db/ledger?user=signalbox&password=hunter2&sslpassword=hunter2"))
    assert not address.is_sqlite
    assert Address.parse("/var/lib/ledger.db").file == Path("/var/lib/ledger.db")
    assert Address.parse("sqlite:////var/lib/ledger.db").file == Path("/var/lib/ledger.db")


def test_an_excepted_finding_is_counted_as_such(tmp_path: Path) -> None:
    from tests.test_readiness import with_exception

    world = with_exception(
        setup(policy("rules: [{name: grace, check: termination-grace, with: {min: 60}, mode: warn}]")), NOW.date()
    )
    ledger = Recording(tmp_path / "x.db", world)
    ledger.recorder.start()
    ledger.offer(gpu_job())
    ledger.settled(1)
    ledger.recorder.stop()
    (count,) = ledger.read().counts("rule")
    assert (count.key, count.failed, count.excepted, count.audited) == ("p/grace", 0, 1, 1)
    assert next(ledger.read().entries()).excepted_by == ("soon",)
