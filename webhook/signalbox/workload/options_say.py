"""What the options of a program say of its work: ``--epochs 3``, ``--eval-only``, ``--mode eval``."""

from typing import NamedTuple

from signalbox.workload.judgement import TRAINING_TYPES
from signalbox.workload.naming import Named, read_name
from signalbox.workload.said import Said, Strength, said_by
from signalbox.workload.signs import Signs
from signalbox.workload.started import Option, Started
from signalbox.workload.switched import OFF, ON, is_off
from signalbox.workload.vocabulary import Saying, option_name


class Options(NamedTuple):
    """What options say (``best``), the work that switches turn on instead of training (``chosen``), whether they turn training
    off, and whether any of them is one of training; ``learns``: of training in itself, whatever model it begins with; ``lone``:
    it is the only one.
    """

    best: Said | None
    chosen: Said | None
    off: bool
    train: bool
    learns: bool
    lone: bool


def by_options(started: Started, signs: Signs) -> Options:
    """What they say together."""
    best: Said | None = None
    chosen: Said | None = None
    on: Said | None = None
    off = False
    training: dict[str, Saying] = {}
    pairs: dict[str, Said] = {}
    hints: set[str] = set()
    for option in started.options:
        if option.at < started.at:
            continue
        saying: Saying | None
        meaning = option.meaning
        if meaning.switch is not None:
            turned = _turned(option)
            path, shown = started.invocation.field(option.at), started.shown(option)
            if meaning.switch.says in TRAINING_TYPES:
                off = off or turned is False
                on = on or (said_by(meaning.switch, path, shown, started, Strength.WEAK) if turned else None)
            elif turned and (chosen is None or meaning.switch.rank < chosen.saying.rank):
                # `--eval-only` says so alone, `--test` and `--do_eval` only beside a sign that this is a program that trains.
                chosen = said_by(meaning.switch, path, shown, started, Strength.NAMED, backed=meaning.alone)
        if meaning.selects or meaning.choice:
            saying, strength = signs.types.switches.get(option_name(option.value)), Strength.NAMED
            if saying is None:
                by_name = read_name(option.value, signs)
                saying = by_name.saying if meaning.selects else _order_in(by_name)
        else:
            saying, strength = meaning.type, Strength.WEAK
        if is_off(option.value):
            continue
        if saying is None:
            if meaning.hint is not None and not meaning.hint.general:
                hints.add(option_name(started.name_of(option)))
            if meaning.pair is not None:
                path, shown = started.invocation.field(option.at), started.shown(option)
                pairs.setdefault(
                    option_name(started.name_of(option)), said_by(meaning.pair, path, shown, started, Strength.WEAK)
                )
            continue
        if saying.says in TRAINING_TYPES:
            training.setdefault(option_name(started.name_of(option)), saying)
        if best is None or (-strength, saying.rank) < (-best.strength, best.saying.rank):
            best = said_by(saying, started.invocation.field(option.at), started.shown(option), started, strength)
    if best is None and pairs and len(hints | pairs.keys()) > 1:
        best = min(pairs.values(), key=lambda said: said.saying.rank)
    if on is not None and (best is None or (not best.trains and best.strength is Strength.WEAK)):
        # `main.py --train`, `run_classifier.py --do_train --do_eval`
        best = on
        training.setdefault("", on.saying)
    learns = any(saying.says == "training" for saying in training.values())
    return Options(
        best,
        None if on else chosen,
        off and on is None,
        bool(training),
        learns,
        len(training.keys() | pairs.keys() | hints) == 1,
    )


def ordered_by(value: str, signs: Signs) -> Saying | None:
    """The training that is ordered by the value of a setting which says what a program does; None for anything else."""
    saying = signs.types.switches.get(option_name(value))
    if saying is not None:
        return saying if saying.says in TRAINING_TYPES else None
    return _order_in(read_name(value, signs))


def _order_in(name: Named) -> Saying | None:
    """What the value of an option orders that may have any other: `--job train_model`, and no `--task train_schedule`."""
    plain = name.plain
    return None if plain is None or plain.says not in TRAINING_TYPES or name.refused or name.another else plain


def _turned(option: Option) -> bool | None:
    value = option.value.lower()
    if value in OFF:
        return False
    if value in ON or (not option.joined and value[:1] == "-"):
        return True
    # An option of one word may take a value (`--test data.csv`), and what follows another is none of its own.
    return True if option.meaning.several_words and not option.joined else None
