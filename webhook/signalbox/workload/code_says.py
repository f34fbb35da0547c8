"""What the text of a program says of its work (``python -c``, a here-document): by what it imports and calls.

A call that is known speaks for itself. What training does beside (``.predict(``), and the functions that are called by an
order to train (``train_model()``), are heard last: where neither the rest of the container nor its kind says anything.
"""

import re
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

from signalbox.fieldpath import Path
from signalbox.workload.judgement import TRAINING_TYPES
from signalbox.workload.naming import read_name
from signalbox.workload.said import Said, Strength, said_by
from signalbox.workload.signs import Signs
from signalbox.workload.started import Started
from signalbox.workload.vocabulary import MAX_NAME, Saying, name_words

if TYPE_CHECKING:
    from signalbox.workload.containers import ContainerView

# What a program text does in the end: it may load and prepare before it trains, and train before it serves.
PRECEDENCE_IN_CODE = (
    "inference",
    "fine-tuning",
    "training",
    "evaluation",
    "benchmark",
    "batch-inference",
    "data-processing",
    "interactive",
)
_CALLED = re.compile(r"(?<![\w.])([A-Za-z_]\w*+)\(")
_NAMES = re.compile(r"(?<!\w)[A-Za-z_]\w*+")
_DEFINED = re.compile(r"(?:def|class)[ \t]++([A-Za-z_]\w*+)")
_TEXTS = re.compile(r"\"(?:[^\"\\\n]|\\.)*+\"?|'(?:[^'\\\n]|\\.)*+'?")
_IMPORTED = re.compile(r"(?:^|[;\n])[ \t]*+(?:import|from)[ \t]++([A-Za-z_]\w*+)")
_MADE = re.compile(r"(?<![\w.])([A-Za-z_]\w*+)[ \t]*+=[ \t]*+([A-Za-z_][\w.]*+)\(")
# What learns how words are cut up is no model.
_OF_TOKENS = re.compile(r"piece|token|bpe|unigram|wordlevel|vocab", re.IGNORECASE)
_MOST_TRAINERS = 16
# Who calls more functions than that does not say by them what it is about.
_MOST_NAMES = 512


def by_code(started: Started, path: Path, signs: Signs, accelerated: bool) -> Said | None:
    """The type that the known calls of a program text speak for; ``path`` is the field it stands in."""
    types, text = signs.types, started.code
    heard = types.of_code(text)
    if "Trainer(" in text and (accelerated or signs.frameworks.of_code(text)):
        told = _told_to_train(text, signs)
        heard += [told] if told is not None else []
    in_code = [one for one in heard if accelerated or not one[0].general]
    adapted = [(saying, call) for call, saying in types.adapter_calls.items() if call in text]
    if adapted and (not in_code or any(saying.says in TRAINING_TYPES for saying, _ in heard)):
        # Where nothing is learnt an adapter may as well be one that a model is asked with.
        in_code = adapted
    if not in_code:
        return None
    spoken, piece = min(in_code, key=lambda one: PRECEDENCE_IN_CODE.index(one[0].says))
    return said_by(spoken, path, _line(text, piece), started)


def _told_to_train(text: str, signs: Signs) -> tuple[Saying, str] | None:
    """The order to train that is given to what a class of trainers has made: ``t = Trainer(…)``, ``t.train()``."""
    saying = signs.types.words.get("trainer") if not _submits(text, signs) else None
    made = dict(islice(_MADE.findall(text), _MOST_NAMES))
    trainers = [name for name, by in made.items() if by.endswith("Trainer") and not _OF_TOKENS.search(by)]
    for name in trainers[:_MOST_TRAINERS]:
        piece = f"{name}.train("
        at = text.find(piece)
        while saying is not None and at >= 0:
            if at == 0 or not (text[at - 1].isalnum() or text[at - 1] in "_."):
                return saying, piece
            at = text.find(piece, at + len(piece))
    return None


def beside_in_code(container: "ContainerView", signs: Signs) -> Said | None:
    """What the texts of a container's programs do that training does as well, or order by a name of their own."""
    for started in container.started:
        text = started.code
        if not text or not (container.may_hold or signs.frameworks.of_code(text)):
            continue
        path = started.invocation.field(started.at)
        bare = _TEXTS.sub('""', text)
        if (ordered := _ordered(bare, signs)) is not None:
            saying, piece = ordered
            return said_by(saying, path, _line(text, piece), started, Strength.CALLED)
        found = [(saying, piece) for piece, saying in signs.types.besides.items() if piece in bare]
        if found and not _may_learn(bare, signs):
            saying, piece = min(found, key=lambda one: PRECEDENCE_IN_CODE.index(one[0].says))
            return said_by(saying, path, _line(text, piece), started, Strength.WEAK)
    return None


def _ordered(text: str, signs: Signs) -> tuple[Saying, str] | None:
    """The order to train that a text gives to a function which it does not define: ``train_model()``."""
    if _submits(text, signs):
        return None
    defined = set(_DEFINED.findall(text))
    for name in _called(text):
        by_name = read_name(name, signs)
        saying = by_name.ordered
        whole = by_name.order or name_words(name)[-1:] == ["model"]
        if saying is not None and not saying.general and whole and name not in defined and not by_name.look:
            return saying, f"{name}("
    return None


def _submits(text: str, signs: Signs) -> bool:
    """Whether a text only says what others are to run, by the packages that it imports."""
    return any(name.lower() in signs.names.submitters for name in islice(_IMPORTED.findall(text), _MOST_NAMES))


def _called(text: str) -> Iterator[str]:
    for found in islice(_CALLED.finditer(text), _MOST_NAMES):
        if len(found.group(1)) <= MAX_NAME:
            yield found.group(1)


def _may_learn(text: str, signs: Signs) -> bool:
    """Whether anything in a text is named for learning: it scores what it has learnt then."""
    names = {found.group() for found in islice(_NAMES.finditer(text), _MOST_NAMES)}
    return any(not signs.names.learning.isdisjoint(name_words(name[:MAX_NAME])) for name in names)


def _line(code: str, piece: str) -> str:
    """The line of a program text that holds ``piece``."""
    at = code.find(piece)
    end = code.find("\n", at)
    return code[code.rfind("\n", 0, at) + 1 : end if end >= 0 else len(code)].strip()
