"""One program that a container starts, with its options read once for every judgement that asks."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import orjson

from signalbox.workload.budget import WORD
from signalbox.workload.command import Invocation
from signalbox.workload.meaning import Meaning, meaning_below, meaning_of
from signalbox.workload.program_text import cost_of, without_comments
from signalbox.workload.signs import Signs
from signalbox.workload.target import Target
from signalbox.workload.vocabulary import MAX_NAME, name_words

_LONGEST_JSON = 16 * 1024
# Programs that are configured by YACS take their settings so.
_WITHOUT_SIGN = "OUTPUT_DIR"
# In all the JSON of one command.
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
    """An invocation and what it is about.

    ``whole``: what its words and texts hold is read too (see ``cost_within``). ``told``: an environment variable tells the
    container's own program to start it.
    """

    __slots__ = ("_code", "_options", "_signs", "invocation", "target", "told", "whole")

    def __init__(
        self, invocation: Invocation, target: Target | None, signs: Signs, whole: bool = True, told: bool = False
    ) -> None:
        self.invocation = invocation
        self.target = target
        self.whole = whole
        self.told = told
        self._signs = signs
        self._options: tuple[Option, ...] | None = None
        self._code: str | None = None

    @property
    def at(self) -> int:
        """The index of the word it is about; the words before it are a launcher's."""
        return self.target.at if self.target is not None else 0

    @property
    def code(self) -> str:
        """The text of a program that it is given, without what is only said to people; empty where it is none."""
        if self._code is None:
            is_code = self.target is not None and self.target.role == "code"
            self._code = without_comments(self.target.name) if self.target is not None and is_code else ""
        return self._code

    @property
    def options(self) -> tuple[Option, ...]:
        """The options among its words that mean anything."""
        if self._options is None:
            words = self.invocation.words
            script = self.at if self.target is not None and self.target.role == "script" else len(words)
            self._options = _read_options(words, script, self._signs, self.whole)
        return self._options

    def name_of(self, option: Option) -> str:
        """An option's name as it is written, or its key in a JSON object."""
        return option.key or self.invocation.words[option.at].partition("=")[0]

    def shown(self, option: Option) -> str:
        """An option as people write it, with its value."""
        if option.key:
            return f"{option.key}: {option.value}"
        word = self.invocation.words[option.at]
        return word if option.joined or not option.value or option.value[:2] == "--" else f"{word} {option.value}"


def cost_within(invocation: Invocation, target: Target | None, signs: Signs) -> int:
    """What it costs to read what its words and texts hold: settings in JSON, assignments and calls of a program."""
    cost = 0
    words = invocation.words
    text = "".join(words)
    if "{" in text:
        settings = sum([word.count(":") for word in words if word[:1] == "{" and len(word) <= _LONGEST_JSON])
        cost = min(settings, _MOST_SETTINGS) * WORD
    if "," in text and any(word in text for word in signs.commands.overrides):
        cost += min(text.count(","), _MOST_SETTINGS) * WORD
    if invocation.document:
        cost += cost_of(invocation.document, signs)
    if target is not None and target.role == "code":
        cost += cost_of(target.name, signs)
    return cost


def _read_options(words: tuple[str, ...], script: int, signs: Signs, whole: bool) -> tuple[Option, ...]:
    found: list[Option] = []
    known = signs.meanings
    left = _MOST_SETTINGS if whole else 0
    for at, word in enumerate(words):
        if word[:1] == "{":
            settings = list(_in_json(word, left))
            left -= len(settings)
            found += _meant(at, settings, signs)
            continue
        if word[:1] != "-" and "=" not in word and not (word == _WITHOUT_SIGN and _is_setting(words, at, script)):
            continue
        name, equals, value = word.partition("=")
        meaning = known[name] if name in known else meaning_of(name, signs)
        if left and "=" in value and "," in value and not signs.commands.overrides.isdisjoint(name_words(name[:MAX_NAME])):
            settings = list(_in_pairs(name, value, left))
            left -= len(settings)
            found += _meant(at, settings, signs)
        if meaning is None:
            continue
        if not equals:
            value = words[at + 1] if at + 1 < len(words) else ""
        found.append(Option(at, meaning, value, equals != ""))
    return tuple(found)


def _is_setting(words: tuple[str, ...], at: int, script: int) -> bool:
    """Whether a name without a sign is set to the path behind it: ``train_net.py --opts OUTPUT_DIR /ckpt``."""
    return at > script and at + 1 < len(words) and words[at + 1][:1] == "/"


def _in_json(word: str, most: int) -> Iterator[tuple[str, str, Any]]:
    """``(parent, key, value)`` in a configuration that is handed over as JSON: ``train.py '{"rl": {"lr": 6e-4}}'``."""
    if len(word) > _LONGEST_JSON or not most:
        return
    try:
        waiting: list[tuple[str, Any]] = [("", orjson.loads(word))]
    except ValueError:
        return
    # It grows while it is gone through, by no more than is looked at.
    for parent, one in waiting:
        for key, value in one.items() if isinstance(one, dict) else ():
            yield parent, key, value
            most -= 1
            if not most:
                return
            if isinstance(value, dict):
                waiting.append((key, value))


def _in_pairs(name: str, text: str, most: int) -> Iterator[tuple[str, str, Any]]:
    """The same of an option whose value is a list of settings: ``--params_override=train_batch_size=64,total_steps=22500``."""
    for pair in text[:_LONGEST_JSON].split(",", most)[:most]:
        key, equals, value = pair.partition("=")
        if equals:
            yield name, key.strip(), value


def _meant(at: int, settings: list[tuple[str, str, Any]], signs: Signs) -> Iterator[Option]:
    for parent, key, value in settings:
        if isinstance(value, str | int | float) and (meaning := meaning_below(parent, key, signs)) is not None:
            yield Option(at, meaning, str(value).lower() if isinstance(value, bool) else str(value), True, key)
