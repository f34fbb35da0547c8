"""Ledgers for tests: a recorder that writes at once, what it told, and requests to hand it."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import datetime
from pathlib import Path
from random import random
from typing import Any

import orjson

from signalbox.audit.ledger.database import Address, open_for_writing
from signalbox.audit.ledger.options import LedgerOptions
from signalbox.audit.ledger.reading import Ledger
from signalbox.audit.ledger.recorder import Recorder
from signalbox.audit.ledger.schema import prepare
from signalbox.engine import Setup, mutate, validate
from signalbox.process.logs import Log
from signalbox.review import API_VERSION, parse_review
from tests.server_process import wait_for
from tests.world import NOW, policy, setup

RULES = """
match: {accelerators: {total: {min: 1}}}
rules:
  - {name: limit, check: accelerator-limit, with: {maxTotal: 4}, mode: enforce}
  - {name: checkpoint, check: checkpoint, mode: warn}
  - {name: grace, check: termination-grace, with: {min: 60}, mode: audit}
"""
WORLD = setup(policy(RULES, "team"))


class Watch:
    """What the recorder told."""

    def __init__(self) -> None:
        self.count, self.length, self.losses = 0, 0, Counter[str]()

    def queued(self, length: int) -> None:
        self.length = length

    def written(self, count: int, at: datetime) -> None:
        self.count += count

    def lost(self, reason: str, count: int) -> None:
        self.losses[reason] += count


class Recording:
    """A recorder of a file, and everything around it."""

    def __init__(self, file: Path | str, world: Setup = WORLD, chance: Callable[[], float] = random, **options: Any) -> None:
        address = Address.parse(str(file))
        given = {"allowed": "all", "flush_seconds": 0.01, "busy_seconds": 0.05, "stop_seconds": 5.0, **options}
        self.options = LedgerOptions(address, **given)
        self.world, self.watch, self.offered = world, Watch(), 0
        self.recorder = Recorder(self.options, self.watch, Log("debug"), chance)

    def offer(self, obj: Any, endpoint: str = "validate", now: datetime = NOW, times: int = 1, **fields: Any) -> None:
        """Judge one object and hand the decision over, as the server does."""
        body = orjson.dumps(review(obj, **fields))
        request = parse_review(orjson.loads(body))
        outcome = (validate if endpoint == "validate" else mutate)(self.world, request, now)
        for _ in range(times):
            self.recorder.offer(endpoint, body, request, self.world, outcome, now)

    def ask(self, obj: Any, now: datetime = NOW, **fields: Any) -> None:
        """A request from its beginning: /mutate, and /validate of what comes out of it."""
        outcome = mutate(self.world, parse_review(review(obj, **fields)), now)
        if not outcome.response.allowed:
            self.offer(obj, "mutate", now, **fields)
        else:
            self.offer(obj if outcome.mutated is None else outcome.mutated, now=now, **fields)

    def settled(self, count: int) -> None:
        """Wait until so many entries are written or lost."""
        wait_for(lambda: self.watch.count + sum(self.watch.losses.values()) >= count, 10)

    def read(self) -> Ledger:
        """What was written."""
        return Ledger.open(str(self.options.address.url.render_as_string(hide_password=False)))


@contextmanager
def recording(file: Path | str, world: Setup = WORLD, **options: Any) -> Iterator[Recording]:
    """A recorder that runs, and is stopped in the end."""
    made = Recording(file, world, **options)
    made.recorder.start()
    try:
        yield made
    finally:
        made.recorder.stop()


def review(
    obj: Any, old: Any = None, user: str = "ann", groups: tuple[str, ...] = (), dry_run: bool = False, uid: str = "u-1"
) -> dict[str, Any]:
    """The AdmissionReview of an object, UPDATE where the old one is given."""
    group, _, version = str(obj.get("apiVersion")).rpartition("/")
    metadata = obj.get("metadata") if isinstance(obj.get("metadata"), dict) else {}
    asked = {
        "uid": uid,
        "operation": "CREATE" if old is None else "UPDATE",
        "kind": {"group": group, "version": version, "kind": str(obj.get("kind"))},
        "namespace": metadata.get("namespace") if isinstance(metadata.get("namespace"), str) else "default",
        "name": metadata.get("name") if isinstance(metadata.get("name"), str) else "",
        "userInfo": {"username": user, "groups": list(groups)},
        "object": obj,
        "oldObject": old,
        "dryRun": dry_run,
    }
    return {"apiVersion": API_VERSION, "kind": "AdmissionReview", "request": asked}


def rows(file: Path, query: str) -> list[Any]:
    """What a query by hand gives."""
    with closing(sqlite3.connect(file)) as connection:
        return connection.execute(query).fetchall()


def prepare_file(file: Path) -> None:
    """Make the tables of a ledger. Who waits for another's migration may wait as long as a busy machine takes."""
    engine = open_for_writing(Address.parse(str(file)), busy_seconds=60)
    prepare(engine)
    engine.dispose()
