"""What one started program says by a vocabulary of types: the reading behind the type judgement."""

from signalbox.workload.command import program_name
from signalbox.workload.judgement import TRAINING_TYPES
from signalbox.workload.meaning import meaning_of
from signalbox.workload.naming import read_name
from signalbox.workload.options_say import Options, by_options
from signalbox.workload.program_named import by_name_of, is_of_another, is_of_one_word, named, ordered_in_front
from signalbox.workload.said import Said, Strength, said_by
from signalbox.workload.signs import Signs
from signalbox.workload.started import Started
from signalbox.workload.vocabulary import MAX_NAME, name_words

_MAX_SUB_COMMANDS = 2
_CONFIGURATION = (".yaml", ".yml", ".json", ".toml", ".gin")
_MAX_CONFIGURATION = 32


def what_it_says(started: Started, signs: Signs, accelerated: bool) -> Said | None:
    """The type that one invocation speaks for, the specific before the general."""
    target = started.target
    if target is not None and target.role in ("program", "module") and target.name in signs.commands.utilities:
        return None
    # What a launcher starts has the accelerators of other Pods, where it has none of its own.
    launchers = target.launchers if target is not None else ()
    said = by_name_of(started, signs, accelerated or any(_may_hold(one, signs) for one in launchers))
    if said is not None and _only_asks(started, said, signs):
        return None
    certain = said is not None and (said.trains or said.strength is Strength.KNOWN)
    ordered = None if certain else ordered_in_front(started, signs)
    if said is not None and _is_settled(said) and ordered is None:
        return _told_to_train(started, said, signs) or said
    options = by_options(started, signs)
    launched = not signs.commands.ranks.isdisjoint(launchers)
    told = launched or (options.best is not None and options.best.trains)
    if ordered is not None and (told or _is_of_a_model(started)):
        # `train_chatbot.py --epochs 3` trains one, whatever `train_api.py` alone is.
        said = ordered
    elif _is_settled(said):
        return said
    if said is not None and not said.trains:
        return options.best if _learns(started, said, options) else said
    by_option = options.best
    if said is None and _is_alone(options) and is_of_another(started, signs):
        # `backup.py --lr 1`, `score_reward_model.py --lora_r 8`: one option alone is not heard against the name.
        by_option = None
    configured = _by_configuration(started, signs) if said is None and by_option is None else None
    if said is not None or by_option is None or by_option.trains:
        # `train.py --epochs 3 --evaluate` trains and evaluates then; `--eval-only` says that it does nothing else.
        chosen = options.chosen
        trains_too = chosen is not None and not chosen.backed and said is not None and options.train
        known = launched or any(one is not None for one in (said, by_option, configured))
        if chosen is not None and not trains_too and (known or chosen.backed):
            return chosen._replace(backed=False)
        if options.off:
            return None
    if said is None:
        found = by_option or _by_launcher(started, signs) or configured
        return None if found is not None and found.saying.general and not accelerated else found
    return _made_specific(said, by_option, started)


def _told_to_train(started: Started, said: Said, signs: Signs) -> Said | None:
    """The order to train, with more that only training has, to what is named for measuring.

    `launch_benchmark.py --mode=training --epochs 30`
    """
    if said.saying.says != "benchmark" or said.strength is not Strength.NAMED:
        return None
    options = by_options(started, signs)
    best = options.best
    ordered = best is not None and best.trains and best.strength is Strength.NAMED
    only_trains = options.learns and options.chosen is None and not options.off
    if best is None or not ordered or not only_trains or not _is_told_how_long(started, signs):
        return None
    # How fast it trains may be all that is asked: likely, and no more.
    return best._replace(strength=Strength.CALLED)


def _is_told_how_long(started: Started, signs: Signs) -> bool:
    """Whether an option of training says for how long: `--epochs 30`; one for the size of a batch is any benchmark's."""
    return any(
        option.meaning.type is not None
        and option.meaning.type.says in TRAINING_TYPES
        and not signs.checkpoint.frequency.isdisjoint(name_words(started.name_of(option)[:MAX_NAME]))
        for option in started.options
    )


def _may_hold(launcher: str, signs: Signs) -> bool:
    """Whether what a launcher starts may hold accelerators where it has none: `mpirun`, and no `spark-submit`."""
    saying = signs.types.commands.get(launcher)
    return saying is None or saying.says in TRAINING_TYPES


def _is_settled(said: Said | None) -> bool:
    """Whether options can say no more than the name: what uses a model may learn it all the same."""
    return said is not None and not said.trains and said.saying.says != "batch-inference"


def _is_of_a_model(started: Started) -> bool:
    """Whether a model is what its name ends in: `train_serving_model.py` trains the one that is served."""
    return started.target is not None and name_words(started.target.stem[-MAX_NAME:])[-1:] in (["model"], ["models"])


def _learns(started: Started, said: Said, options: Options) -> bool:
    """Whether something is learned whose name says that it predicts: `stock_prediction.py --epochs 400`, and no
    `infer.py --lora_r 8`, which only says how a model is loaded.
    """
    trains = options.learns and options.best is not None and options.best.trains
    one_work = options.chosen is None and not options.off
    return trains and one_work and said.strength is Strength.NAMED and not is_of_one_word(started)


def _is_alone(options: Options) -> bool:
    """Whether training is told by one option only, or by none but how a model is tuned."""
    best = options.best
    weak = best is not None and best.trains and best.strength is Strength.WEAK
    return weak and (options.lone or not options.learns)


def _made_specific(said: Said, by_option: Said | None, started: Started) -> Said:
    """`train.py --mode eval` evaluates and `train.py --lora_r 8` fine-tunes: an option is more specific than "train"."""
    if by_option is not None:
        specific = by_option.saying.says == "fine-tuning" or by_option.strength is Strength.NAMED
        if said.saying.says == "training" and specific:
            return by_option
        if not by_option.trains and by_option.strength is Strength.NAMED:
            return by_option
    launched = started.target is not None and bool(started.target.launchers)
    backed = (by_option is not None and by_option.trains) or launched
    return said._replace(backed=True) if backed else said


def _only_asks(started: Started, said: Said, signs: Signs) -> bool:
    """Whether a program is only asked something: `vllm --version`, `ollama list`, `train.py --help`."""
    if said.trains:
        last = started.invocation.words[-1]
        return last[:1] == "-" and last in signs.commands.asks
    if said.saying.says != "inference" or started.target is None:
        return False
    after = started.target.at + 1
    words = started.invocation.words[after : after + _MAX_SUB_COMMANDS]
    return any(word in signs.commands.asks for word in words)


def _by_launcher(started: Started, signs: Signs) -> Said | None:
    """What a launcher says that starts but one sort of work (`horovodrun`), where the program it starts says nothing."""
    if started.target is None or not started.target.launchers:
        return None
    for launcher in started.target.launchers:
        saying = signs.types.commands.get(launcher)
        if saying is not None:
            return said_by(saying, started.invocation.field(0), launcher, started, Strength.WEAK)
    return None


def _by_configuration(started: Started, signs: Signs) -> Said | None:
    """What the file says that a script which is named for nothing is configured by: `main.py --config pretrain_vit.yaml`."""
    target = started.target
    if target is None or target.role not in ("script", "module") or target.stem.lower() not in signs.commands.generic_scripts:
        return None
    words = started.invocation.words
    for at in range(target.at + 1, min(len(words), target.at + _MAX_CONFIGURATION)):
        option, equals, value = words[at].rpartition("=")
        option = option if equals else words[at - 1] if at > target.at + 1 else ""
        meaning = meaning_of(option, signs) if option[:1] == "-" or equals else None
        by_option = meaning is not None and meaning.role == "configuration"
        if not by_option and (option[:1] == "-" or equals or not value.endswith(_CONFIGURATION)):
            continue
        by_name = read_name(program_name(value).partition(".")[0], signs)
        if by_name.plain is not None and not (by_name.another and by_name.plain.says in TRAINING_TYPES):
            return named(by_name.plain, by_name, started.invocation.field(at), words[at], started, True)
    return None
