"""One program that a container starts, with its options read once for every judgement that asks."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import orjson

from signalbox.workload.command import Invocation
from signalbox.workload.meaning import Meaning, meaning_of
from signalbox.workload.signs import Signs
from signalbox.workload.target import Target

_LONGEST_JSON = 16 * 1024
_MOST_SETTINGS = 256


# Made for each option of each command on every review: a tuple costs a third of a frozen dataclass.
class Option(NamedTuple):
    """``--output_dir /x``, ``--output_dir=/x`` or ``trainer.output_dir=/x``.

    ``value`` is the word that follows where the option brings none (it is not ``joined``): it may belong to something
    else. ``key`` is its name where it stands in a JSON object that is one word.
    """

    at: int
    meaning: Meaning
    value: str
    joined: bool
    key: str = ""


class Started:
    """An invocation and what it is about."""

    __slots__ = ("_options", "_signs", "invocation", "target")

    def __init__(self, invocation: Invocation, target: Target | None, signs: Signs) -> None:
        self.invocation = invocation
        self.target = target
        self._signs = signs
        self._options: tuple[Option, ...] | None = None

    @property
    def at(self) -> int:
        """The index of the word it is about; the words before it are a launcher's."""
        return self.target.at if self.target is not None else 0

    @property
    def options(self) -> tuple[Option, ...]:
        """The options among its words that mean anything."""
        if self._options is None:
            self._options = _read_options(self.invocation.words, self._signs)
        return self._options

    def shown(self, option: Option) -> str:
        """An option as people write it, with its value."""
        if option.key:
            return f"{option.key}: {option.value}"
        word = self.invocation.words[option.at]
        return word if option.joined or not option.value or option.value[:2] == "--" else f"{word} {option.value}"


def _read_options(words: tuple[str, ...], signs: Signs) -> tuple[Option, ...]:
    found: list[Option] = []
    known = signs.meanings
    for at, word in enumerate(words):
        if word[:1] == "{":
            found += _in_json(at, word, signs)
            continue
        if word[:1] != "-" and "=" not in word:
            continue
        name, equals, value = word.partition("=")
        meaning = known[name] if name in known else meaning_of(name, signs)
        if meaning is None:
            continue
        if not equals:
            value = words[at + 1] if at + 1 < len(words) else ""
        found.append(Option(at, meaning, value, equals != ""))
    return tuple(found)


def _in_json(at: int, word: str, signs: Signs) -> Iterator[Option]:
    """The settings in a configuration that is handed over as JSON: ``train.py '{"rl": {"learning_rate": 6e-4}}'``."""
    if len(word) > _LONGEST_JSON:
        return
    try:
        waiting: list[Any] = [orjson.loads(word)]
    except ValueError:
        return
    looked = 0
    while waiting and looked < _MOST_SETTINGS:
        one = waiting.pop(0)
        for key, value in one.items() if isinstance(one, dict) else ():
            looked += 1
            if isinstance(value, dict):
                waiting.append(value)
            elif isinstance(value, str | int | float) and (meaning := meaning_of(key, signs)) is not None:
                yield Option(at, meaning, str(value), True, key)
