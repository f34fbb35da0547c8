"""The loop of the fuzzer, what it counts, and the replay of one case with the smallest object that still shows the fault."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from signalbox.engine import Setup
from tests.fuzz.app import Answer, App
from tests.fuzz.case import Case, dumped, make_case
from tests.fuzz.corpus import Corpus, load_corpus
from tests.fuzz.invariants import FAULT, Violation, run_case
from tests.fuzz.worlds import worlds

_MOST_FOUND = 50
_MOST_TRIES = 4000
_DEEPEST = 40


@dataclass(frozen=True, slots=True)
class Prepared:
    """What every process works with."""

    corpus: Corpus
    worlds: list[Setup]


def prepare() -> Prepared:
    """Read once, before the processes are made."""
    return Prepared(load_corpus(), worlds())


@dataclass(slots=True)
class Tally:
    """What was seen so far. ``found`` has, for each fault, how often it was seen and the first case that showed it."""

    reviews: int = 0
    cases: int = 0
    allowed: int = 0
    patched: int = 0
    refused: int = 0
    rejected: int = 0
    slowest: float = 0.0
    slowest_case: int = 0
    slowest_bytes: int = 0
    longest_message: int = 0
    memory: int = 0
    found: dict[tuple[str, str], tuple[int, int]] = field(default_factory=dict)

    @property
    def crashes(self) -> int:
        """How many reviews met a fault of ours, caught or not."""
        return sum(times for (what, _), (times, _) in self.found.items() if what == FAULT)

    def line(self) -> str:
        """The numbers in one line."""
        return (
            f"{self.reviews:,} reviews of {self.cases:,} cases ({self.allowed:,} allowed, {self.patched:,} of them patched, "
            f"{self.refused:,} refused, {self.rejected:,} no review), {self.crashes} crashes"
        )

    def add(self, answers: Iterable[Answer], number: int) -> None:
        """Count the answers of one case."""
        self.cases += 1
        for answer in answers:
            self.reviews += 1
            if answer.status != 200:
                self.rejected += 1
            elif b'"allowed":true' in answer.body:
                self.allowed += 1
                self.patched += b'"patchType"' in answer.body
            else:
                self.refused += 1
                self.longest_message = max(self.longest_message, answer.message_bytes)
            if answer.seconds > self.slowest:
                self.slowest, self.slowest_case, self.slowest_bytes = answer.seconds, number, answer.sent

    def add_fault(self, violation: Violation, number: int) -> None:
        """Count a case that broke what holds for all."""
        self.cases += 1
        self.reviews += 1
        key = (violation.what, violation.detail if violation.what == FAULT else violation.detail[:60])
        if key not in self.found and len(self.found) >= _MOST_FOUND:
            key = (violation.what, "and others")
        times, first = self.found.get(key, (0, number))
        self.found[key] = (times + 1, first)

    @staticmethod
    def sum(tallies: Iterable[Tally]) -> Tally:
        """Those of several processes as one."""
        total = Tally()
        for one in tallies:
            for name in ("reviews", "cases", "allowed", "patched", "refused", "rejected"):
                setattr(total, name, getattr(total, name) + getattr(one, name))
            total.memory = max(total.memory, one.memory)
            total.longest_message = max(total.longest_message, one.longest_message)
            if one.slowest > total.slowest:
                total.slowest, total.slowest_case, total.slowest_bytes = one.slowest, one.slowest_case, one.slowest_bytes
            for key, (times, first) in one.found.items():
                before, earlier = total.found.get(key, (0, first))
                total.found[key] = (before + times, min(first, earlier))
        return total


def fuzz(
    prepared: Prepared, seed: int, count: int, first: int = 0, step: int = 1, tell: Callable[[Tally], None] | None = None
) -> Tally:
    """Answer that many reviews, of the cases ``first``, ``first + step``, and so on."""
    app, tally, number = App(prepared.worlds), Tally(), first
    try:
        while tally.reviews < count:
            case = make_case(prepared.corpus, len(prepared.worlds), seed, number)
            try:
                tally.add(run_case(app, case), number)
            except Violation as violation:
                tally.add_fault(violation, number)
            except BaseException as error:
                error.add_note(f"case {number} of seed {seed}")
                raise
            number += step
            if tell is not None:
                tell(tally)
    finally:
        app.close()
    return tally


def replay(seed: int, number: int) -> int:
    """Print one case and its answers; where it shows a fault, the smallest object that does."""
    prepared = prepare()
    case = make_case(prepared.corpus, len(prepared.worlds), seed, number)
    app = App(prepared.worlds)
    try:
        body = case.raw or case.body(case.object, case.old, case.envelope["operation"])
        print(f"world {case.world}\n{body.decode(errors='replace')}\n")
        try:
            for answer in run_case(app, case):
                print(f"{answer.status} in {answer.seconds * 1000:.1f} ms: {answer.body.decode(errors='replace')}")
        except Violation as violation:
            print(f"FOUND {violation.what}: {violation.detail}")
            smaller = _shrunk(app, case, violation)
            print(f"\nsmallest that shows it: {case.envelope['operation']} of")
            for title, obj in (("", smaller.object), ("before:", smaller.old), ("later:", smaller.later)):
                print(title, dumped(obj).decode())
            return 1
    finally:
        app.close()
    return 0


def _shrunk(app: App, case: Case, violation: Violation) -> Case:
    """The case without all that the fault does not need."""
    tries = 0
    smaller = True
    while smaller and tries < _MOST_TRIES:
        smaller = False
        for candidate in _smaller(case):
            tries += 1
            if _shows(app, candidate, violation):
                case, smaller = candidate, True
                break
            if tries >= _MOST_TRIES:
                break
    return case


def _shows(app: App, case: Case, violation: Violation) -> bool:
    try:
        run_case(app, case)
    except Violation as seen:
        return seen.what == violation.what and (seen.what != FAULT or seen.detail == violation.detail)
    return False


def _smaller(case: Case) -> Iterator[Case]:
    if case.later is not None:
        yield dataclasses.replace(case, later=None)
    if case.old is not None:
        yield dataclasses.replace(case, old=None)
    for name in ("object", "old", "later"):
        whole = getattr(case, name)
        for less in _without_one(whole):
            yield dataclasses.replace(case, **{name: less})


def _without_one(value: Any, room: int = _DEEPEST) -> Iterator[Any]:
    """The value with one member less, the outermost first, as deep as there is room."""
    if room == 0:
        return
    if isinstance(value, dict):
        for key in value:
            yield {other: member for other, member in value.items() if other != key}
        for key, member in value.items():
            yield from ({**value, key: less} for less in _without_one(member, room - 1))
    elif isinstance(value, list):
        for index in range(len(value)):
            yield value[:index] + value[index + 1 :]
        for index, member in enumerate(value):
            yield from ([*value[:index], less, *value[index + 1 :]] for less in _without_one(member, room - 1))
