"""What the text of a program says of its work (``python -c``, a here-document): by what it imports and calls.

A call that is known speaks for itself. Where none is, or none but what training does beside (``.predict(``), the functions
that are called by a name of their own speak like the name of a script would: of training only orders (``train_model()``).
"""

import re
from collections.abc import Iterator
from itertools import islice

from signalbox.fieldpath import Path
from signalbox.workload.judgement import TRAINING_TYPES
from signalbox.workload.naming import read_name
from signalbox.workload.said import Said, Strength, said_by
from signalbox.workload.signs import Signs
from signalbox.workload.started import Started
from signalbox.workload.vocabulary import MAX_NAME, Saying, name_words

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
# What a run does beside training as well: it scores and predicts.
_ALSO_OF_TRAINING = frozenset({"evaluation", "batch-inference", "data-processing"})
_CALLED = re.compile(r"(?<![\w.])([A-Za-z_]\w*+)\(")
_DEFINED = re.compile(r"(?:def|class)[ \t]++([A-Za-z_]\w*+)")
# Who calls more functions than that does not say by them what it is about.
_MOST_CALLS = 128


def by_code(started: Started, path: Path, signs: Signs, accelerated: bool) -> Said | None:
    """The type that a program text speaks for; ``path`` is the field it stands in."""
    types, text = signs.types, started.code
    heard = types.of_code(text)
    in_code = [one for one in heard if accelerated or not one[0].general]
    adapted = [(saying, call) for call, saying in types.adapter_calls.items() if call in text]
    if adapted and (not in_code or any(saying.says in TRAINING_TYPES for saying, _ in heard)):
        # Where nothing is learnt an adapter may as well be one that a model is asked with.
        in_code = adapted
    best = min(in_code, key=lambda one: PRECEDENCE_IN_CODE.index(one[0].says), default=None)
    if best is None or best[0].says in _ALSO_OF_TRAINING:
        called = list(_called(text, signs, accelerated))
        trained = next((one for one in called if one[0].says in TRAINING_TYPES), None)
        if trained is not None or best is None:
            best = trained or min(called, key=lambda one: PRECEDENCE_IN_CODE.index(one[0].says), default=None)
            return None if best is None else said_by(best[0], path, _line(text, best[1]), started, Strength.WEAK)
        if best[0].says == "evaluation" and _may_learn(text, signs):
            return None
    return said_by(best[0], path, _line(text, best[1]), started)


def _called(text: str, signs: Signs, accelerated: bool) -> Iterator[tuple[Saying, str]]:
    """What the functions are called for that a text calls and does not define, each with the piece that says it."""
    defined = set(_DEFINED.findall(text))
    for found in islice(_CALLED.finditer(text), _MOST_CALLS):
        name = found.group(1)
        if name in defined or len(name) > MAX_NAME or name[:1].isupper():
            continue
        by_name = read_name(name, signs)
        saying = by_name.saying if accelerated else by_name.plain
        if by_name.ordered is not None and (by_name.order or name_words(name)[-1] in signs.checkpoint.models):
            saying = by_name.ordered
        elif saying is None or saying.general or saying.says in TRAINING_TYPES or by_name.look:
            continue
        yield saying, found.group()


def _may_learn(text: str, signs: Signs) -> bool:
    """Whether anything that a text defines or calls is named for training: it scores what it has learnt then."""
    names = {found.group(1) for found in islice(_CALLED.finditer(text), _MOST_CALLS)}
    names.update(found.group(1) for found in islice(_DEFINED.finditer(text), _MOST_CALLS))
    return any(not signs.names.orders.isdisjoint(name_words(name[:MAX_NAME])) for name in names)


def _line(code: str, piece: str) -> str:
    """The line of a program text that holds ``piece``."""
    at = code.find(piece)
    end = code.find("\n", at)
    return code[code.rfind("\n", 0, at) + 1 : end if end >= 0 else len(code)].strip()
