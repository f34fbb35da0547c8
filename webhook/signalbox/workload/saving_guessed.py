"""Settings by no known name that lead to a folder which is named for what runs write; heard where nothing else says where."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from signalbox.workload.judgement import Evidence
from signalbox.workload.meaning import meaning_of
from signalbox.workload.saving import that_may_train
from signalbox.workload.saving_signs import CheckpointSigns
from signalbox.workload.signs import Signs
from signalbox.workload.vocabulary import MAX_NAME, holds_any, name_words

if TYPE_CHECKING:
    from signalbox.workload.containers import ContainerView

# Everything has runs, and data are kept beside experiments: `/data/exp`.
_ANY_RUN = frozenset({"run", "runs"})
_DATA = frozenset({"data"})
# Variables of the system's own folders: `HF_HOME`, `RAY_TMPDIR`.
_OF_THE_SYSTEM = frozenset({"home", "tmp", "tmpdir", "temp"})


def guessed_settings(container: "ContainerView", signs: Signs) -> Iterator[tuple[str, str, Evidence]]:
    """``(value, folder it is relative to, evidence)`` of options that are not known, and whose value is a folder that is
    named for checkpoints: ``-cd /data/checkpoints/run1``. None of them says that it is read.
    """
    known = signs.checkpoint
    for started, folder in that_may_train(container, signs):
        words = started.invocation.words
        for at in range(started.at + 1, len(words)):
            word = words[at]
            if "/" not in word or not _is_folder_for_checkpoints(word, known):
                continue
            name, equals, value = word.partition("=")
            if not equals:
                name, value = words[at - 1], word
            if not value or value[:1] == "-" or (name[:1] != "-" and not equals):
                continue
            meaning = meaning_of(name, signs)
            if meaning is not None and (meaning.role or meaning.reads_back):
                continue
            named = name_words(name[:MAX_NAME])
            if (known.never | known.reads).isdisjoint(named) and not holds_any(named, known.owners):
                yield value, folder, Evidence(started.invocation.field(at), word if equals else f"{name} {value}")


def guessed_variables(container: "ContainerView", signs: Signs) -> Iterator[tuple[str, Evidence]]:
    """``(value, evidence)`` of variables that are not known, and whose value is a folder that is named for experiments or their
    checkpoints: ``PROJECT_PREFIX=/data/exp/``. Neither they nor the folders above it say that it is read.
    """
    known = signs.checkpoint
    read = known.never | known.never_around | known.reads | known.mounts_never | known.mounts_of_data | _OF_THE_SYSTEM
    for index, name, _ in container.variables:
        value = container.env.get(name, "")
        if value[:1] != "/" or len(value) > MAX_NAME:
            continue
        folder = value.rstrip("/").rpartition("/")[2]
        if "." in folder or (known.runs - _ANY_RUN | known.subjects).isdisjoint(name_words(folder)):
            continue
        if not (read | known.owners | known.used_models).isdisjoint(set(name_words(value)) - _DATA):
            continue
        meaning, named = meaning_of(name, signs), name_words(name[:MAX_NAME])
        told = meaning is not None and (meaning.role or meaning.reads_back)
        if not told and (read | known.used_models).isdisjoint(named) and not holds_any(named, known.owners):
            yield value, Evidence(container.place("env", index), f"{name}={value}")


def _is_folder_for_checkpoints(value: str, signs: CheckpointSigns) -> bool:
    lowered = value[:MAX_NAME].lower()
    if not any(subject in lowered for subject in signs.subjects) or "." in lowered.rpartition("/")[2]:
        return False
    words = set(name_words(lowered))
    # `/logs/run1/checkpoints` is a run's own.
    return not signs.subjects.isdisjoint(words) and (signs.mounts_never - signs.mounts_of_logs).isdisjoint(words)
