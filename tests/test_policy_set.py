"""Modes, overrides, exceptions and the order of policies."""

from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import pytest

from signalbox.policy.mode import MODE_WORDS, Mode
from signalbox.policy.policy_set import Override, PolicyException, Rule, effective_mode
from tests.fake_view import matcher, subject

NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)
DISABLED, AUDIT, WARN, ENFORCE = Mode
OURS = "namespaces: [team-research]"
OTHERS = "namespaces: [other]"
UNKNOWN = "users: [bob]"

# (the rule's mode, its overrides, the cap, the effective mode)
TABLE: list[tuple[Mode, list[tuple[Mode, str | None, date | None]], Mode, Mode]] = [
    (ENFORCE, [], ENFORCE, ENFORCE),
    (ENFORCE, [], AUDIT, AUDIT),
    (WARN, [], ENFORCE, WARN),
    (ENFORCE, [], DISABLED, DISABLED),
    # An override lowers, raises, and is capped as well.
    (ENFORCE, [(AUDIT, OURS, None)], ENFORCE, AUDIT),
    (AUDIT, [(ENFORCE, OURS, None)], ENFORCE, ENFORCE),
    (AUDIT, [(ENFORCE, OURS, None)], WARN, WARN),
    (ENFORCE, [(DISABLED, None, None)], ENFORCE, DISABLED),
    # The first that matches and is not over.
    (ENFORCE, [(AUDIT, OTHERS, None), (WARN, OURS, None)], ENFORCE, WARN),
    (ENFORCE, [(WARN, OURS, None), (AUDIT, OURS, None)], ENFORCE, WARN),
    (ENFORCE, [(AUDIT, OURS, date(2026, 5, 31))], ENFORCE, ENFORCE),
    (ENFORCE, [(AUDIT, OURS, date(2026, 6, 1))], ENFORCE, AUDIT),
    (ENFORCE, [(AUDIT, OURS, date(2026, 5, 31)), (WARN, OURS, date(2026, 7, 1))], ENFORCE, WARN),
    # Nobody is refused on a guess: what may match can lower, and never raises.
    (ENFORCE, [(AUDIT, UNKNOWN, None)], ENFORCE, AUDIT),
    (AUDIT, [(ENFORCE, UNKNOWN, None)], ENFORCE, AUDIT),
    (WARN, [(AUDIT, UNKNOWN, None), (ENFORCE, OURS, None)], ENFORCE, AUDIT),
]


@pytest.mark.parametrize(("mode", "overrides", "cap", "effective"), TABLE)
def test_effective_mode(mode: Mode, overrides: list[Any], cap: Mode, effective: Mode) -> None:
    compiled = tuple(Override(to, matcher(match) if match else None, until) for to, match, until in overrides)
    rule = Rule("r", "p", mode, overrides=compiled)
    assert effective_mode(rule, subject(), NOON, cap) is effective


def test_day_ends_at_midnight_utc_wherever_the_clock_stands() -> None:
    rule = Rule("r", "p", ENFORCE, overrides=(Override(AUDIT, None, date(2026, 6, 1)),))
    last_second = datetime(2026, 6, 1, 23, 59, 59, tzinfo=UTC)
    assert effective_mode(rule, subject(), last_second, ENFORCE) is AUDIT
    assert effective_mode(rule, subject(), last_second + timedelta(seconds=1), ENFORCE) is ENFORCE
    tokyo = last_second.astimezone(timezone(timedelta(hours=9)))
    assert tokyo.date() == date(2026, 6, 2)
    assert effective_mode(rule, subject(), tokyo, ENFORCE) is AUDIT


def exception(match: str = OURS, rules: tuple[str, ...] = ("research/restartable",)) -> PolicyException:
    return PolicyException("e", rules, matcher(match), date(2026, 6, 1), "moving", "oncall")


def test_exception_covers_its_rules_and_workloads_until_its_day_is_over() -> None:
    assert exception().applies("research/restartable", subject(), NOON) is True
    assert exception().applies("research/other", subject(), NOON) is False
    assert exception(OTHERS).applies("research/restartable", subject(), NOON) is False
    assert exception().applies("research/restartable", subject(), NOON + timedelta(days=1)) is False
    assert exception(UNKNOWN).applies("research/restartable", subject(), NOON) is None


@pytest.mark.parametrize("pattern", ["research/*", "*/restartable", "*", "res?arch/restartable"])
def test_exception_may_name_rules_by_glob(pattern: str) -> None:
    assert exception(rules=(pattern,)).applies("research/restartable", subject(), NOON) is True


def test_modes_are_ordered_words() -> None:
    assert MODE_WORDS == ("disabled", "audit", "warn", "enforce")
    assert [Mode.parse(word) for word in MODE_WORDS] == sorted(Mode)
    assert Mode.ENFORCE.text == "enforce"
    with pytest.raises(ValueError, match="one of disabled, audit, warn, enforce"):
        Mode.parse("Enforce")
