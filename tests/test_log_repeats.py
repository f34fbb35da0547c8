"""A refusal that a controller earns again and again does not fill a disk."""

from signalbox.process.repeats import _MOST_KEYS, Repeats


def test_the_first_lines_are_written_and_the_rest_of_the_minute_is_counted() -> None:
    repeats = Repeats(lines=2, seconds=60)
    assert [repeats.ask("a", now) for now in (0, 1, 2, 59)] == [0, 0, None, None]
    assert [repeats.ask("a", now) for now in (60, 61, 62)] == [2, 0, None]
    assert repeats.ask("a", 1000) == 1


def test_what_is_new_is_always_written() -> None:
    repeats = Repeats(lines=1)
    assert [repeats.ask(("refused", number), 0) for number in range(5)] == [0] * 5


def test_a_day_of_a_refusal_a_second_is_some_lines_an_hour() -> None:
    repeats = Repeats()
    written = [left_out for second in range(86_400) if (left_out := repeats.ask("controller", second)) is not None]
    assert len(written) == 3 * 24 * 60
    assert sum(written) + len(written) > 86_400 - 60


def test_memory_is_bounded_and_what_still_comes_is_remembered() -> None:
    repeats = Repeats(lines=1)
    repeats.ask("often", 0)
    for number in range(3 * _MOST_KEYS):
        repeats.ask(number, 0)
        assert repeats.ask("often", 0) is None
    assert len(repeats._seen) == _MOST_KEYS
