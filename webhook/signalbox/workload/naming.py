"""What the name of a script, module, program or image, of an object or a container says about the work.

The last word of a name is its head and the words before it only say what for: ``train_api`` is an API, ``dora_metrics``
are metrics. A verb in front takes the rest for its object: ``prune_lora_adapters`` prunes, ``train_lora`` trains.
"""

from typing import NamedTuple

from signalbox.workload.judgement import TRAINING_TYPES
from signalbox.workload.signs import NameSigns, Signs
from signalbox.workload.vocabulary import MAX_NAME, MAX_PHRASE, Saying, name_words

_MOST_REMEMBERED = 4096
# Behind a word for a look they add nothing: `smoke-test`.
_TESTS = ("test", "tests")


class Named(NamedTuple):
    """What a name says.

    ``saying`` counts where accelerators are held, ``plain`` where none are: of training only what stands in its place,
    as an order or as the head, in a word that means nothing else. ``order``: nothing but an order to train. ``part``: it
    may as well be a server of trainings. ``refused``: words of training stand in it, and others take them back.
    ``look``: it only looks whether something works. ``another``: it is plainly of something else than a training, be it
    such a look, ``score`` or ``quantize-awq``. ``thing``: it ends in what something is (``router``, ``my-app``). ``agent``: it
    says who trains. ``ordered``: the training that an order in front of it speaks of.
    """

    saying: Saying | None
    plain: Saying | None
    order: bool = False
    part: bool = False
    refused: bool = False
    look: bool = False
    another: bool = False
    thing: bool = False
    agent: bool = False
    ordered: Saying | None = None


_NOTHING = Named(None, None)


def read_name(name: str, signs: Signs) -> Named:
    """What a name says; names that were met are remembered."""
    known = signs.named
    found = known.get(name)
    if found is None:
        found = _read(name_words(name[:MAX_NAME]), signs)
        if len(name) <= MAX_NAME:
            if len(known) > _MOST_REMEMBERED:
                known.clear()
            known[name] = found
    return found


def _read(words: list[str], signs: Signs) -> Named:
    """Each of several works in one name (``prepare_and_train``) for itself: it trains if one of them does."""
    whole = _part(words, signs)
    joins = signs.names.joins
    if not joins.intersection(words):
        return whole
    best = whole if whole.saying is not None and whole.saying.says in TRAINING_TYPES else None
    start = 0
    for at in [*(at for at, word in enumerate(words) if word in joins), len(words)]:
        part = _part(words[start:at], signs)
        start = at + 1
        if best is None and part.saying is not None and part.saying.says in TRAINING_TYPES:
            best = part
    return best or whole


def _part(words: list[str], signs: Signs) -> Named:
    names = signs.names
    core = _without_fillers(words, signs)
    refused = bool(core) and _refuses(core, names)
    saying = plain = None
    met = False
    # `train_test` is one work, not the tests of a training.
    whole = "_".join(core)
    for start in range(len(words)):
        phrase = ""
        for word in words[start : start + MAX_PHRASE]:
            phrase = f"{phrase}_{word}" if phrase else word
            found = signs.types.words.get(phrase)
            if found is None:
                continue
            trains = found.says in TRAINING_TYPES
            met = met or trains
            if trains and refused and phrase != whole:
                continue
            if saying is None or found.rank < saying.rank:
                saying = found
            if found.general or (plain is not None and plain.rank <= found.rank):
                continue
            if not trains or _in_place(phrase, whole, names):
                plain = found
    first = signs.types.words.get(core[0]) if len(core) > 1 and core[0] in names.errands else None
    if first is not None and not first.general and saying is not None and saying.says not in TRAINING_TYPES:
        # `prepare_benchmarks` prepares, and `evaluate_embeddings` evaluates.
        saying = plain = first
    if not core:
        return _NOTHING if saying is None else Named(saying, plain)
    part = core[-1] in names.parts
    if part and plain is not None and plain.says in TRAINING_TYPES:
        plain = None
    look = _looks(core, names)
    return Named(
        saying,
        plain,
        order=whole in names.orders,
        part=part,
        refused=refused and met,
        look=look,
        another=look or _is_another(core, names),
        thing=core[-1] in names.things,
        agent=core[-1] in names.agents,
        ordered=_ordered(core, signs),
    )


def _looks(core: list[str], names: NameSigns) -> bool:
    last = core[-2] if len(core) > 1 and core[-1] in _TESTS else core[-1]
    return core[0] in names.looks or last in names.looks


def _is_another(core: list[str], names: NameSigns) -> bool:
    if _begins_with(core, names.orders):
        return False
    return core[0] in names.errands or core[-1] in names.tasks or (len(core) > 1 and core[-1] in names.things)


def _refuses(core: list[str], names: NameSigns) -> bool:
    """Whether words of training in a name say only what something else is about."""
    meant = core
    for at, word in enumerate(core):
        if at and word in names.asides:
            meant = core[:at]
            break
    last = meant[-1]
    if len(core) > 1 and last in names.things and len(meant) > 1:
        return True
    if len(core) > 1 and core[0] in names.errands:
        return True
    return len(meant) > 1 and last in names.tasks and not _begins_with(meant, names.orders)


def _in_place(phrase: str, whole: str, names: NameSigns) -> bool:
    return whole == phrase or whole.endswith("_" + phrase) or (phrase in names.orders and whole.startswith(phrase + "_"))


def _begins_with(words: list[str], orders: frozenset[str]) -> bool:
    return any("_".join(words[:length]) in orders for length in range(1, min(MAX_PHRASE, len(words)) + 1))


def _ordered(words: list[str], signs: Signs) -> Saying | None:
    for length in range(min(MAX_PHRASE, len(words)), 0, -1):
        phrase = "_".join(words[:length])
        saying = signs.types.words.get(phrase) if phrase in signs.names.orders else None
        if saying is not None and saying.says in TRAINING_TYPES:
            return saying
    return None


def _without_fillers(words: list[str], signs: Signs) -> list[str]:
    """The words between those at both ends that add nothing: ``run_train_v2`` and ``ray_train`` are ``train``."""
    start, end = 0, len(words)
    while start < end and _adds_nothing(words[start], signs):
        start += 1
    while end > start and _adds_nothing(words[end - 1], signs):
        end -= 1
    return words[start:end]


def _adds_nothing(word: str, signs: Signs) -> bool:
    return len(word) == 1 or word.isdigit() or word in signs.names.fillers or word in signs.frameworks.words
