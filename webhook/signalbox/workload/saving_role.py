"""What the name of an option or variable says of saving, as a whole and by its words."""

from typing import Literal

from signalbox.workload.saving_signs import CheckpointSigns
from signalbox.workload.vocabulary import holds_any, name_words

# `MODEL_BUCKET_NAME`
_NAME = frozenset({"name"})

Role = Literal[
    "place",
    "folder",
    "bucket",
    "output",
    "output-when-saving",
    "output-when-named",
    "output-when-made",
    "output-by-path",
    "output-if-no-other",
    "model-of-a-name",
    "model-read-or-put",
    "bucket-of-a-name",
    "switch",
    "frequency",
    "configuration",
    "upload",
    "made-model",
    "unsaved",
    "store-type",
    "off",
    "off-on-the-way",
    "",
]
"""What a name says of saving. The last two, and none at all, are what a whole program is found to do."""

IS_PLACE = frozenset(
    {"place", "folder", "bucket", "output", "output-when-saving", "output-when-named", "output-when-made", "output-if-no-other"}
)
"""Roles whose value is a place that the run writes to, or may."""


def role_of(name: str, whole: str, last: str, signs: CheckpointSigns) -> tuple[Role, bool]:
    """The role of a name, and whether nothing but its words says that a model is there.

    ``whole`` is how it is looked up, ``last`` the same of its last part (``saver.dirpath``).
    """
    words = name_words(name)
    if role := _listed(name, words, whole, last, signs):
        return role, False
    if not signs.never.isdisjoint(words):
        return "", False
    role = _of_a_model(whole.replace(".", "_").split("_"), signs)
    return role, role != ""


def _listed(name: str, words: list[str], whole: str, last: str, signs: CheckpointSigns) -> Role:
    """What a name says that is listed, or made of words for checkpoints and output."""
    if whole in signs.switches or last in signs.switches:
        return "switch"
    if whole in signs.unsaved or last in signs.unsaved:
        return "unsaved"
    if whole in signs.store_types:
        return "store-type"
    if whole in signs.uploads or last in signs.uploads:
        return "upload"
    if whole in signs.made_models or last in signs.made_models:
        return "made-model"
    around = words[: len(words) - len(name_words(last))] if last in signs.outputs else words
    if whole not in signs.outputs and not signs.never.isdisjoint(around):
        return ""
    if "." in whole and not signs.never_around.isdisjoint(name_words(whole.rpartition(".")[0])):
        return ""
    # `-C` and `-O` are other options than `-c` and `-o`.
    spelled = len(whole) > 1 or name.islower()
    if spelled and (whole in signs.configuration or last in signs.configuration):
        return "configuration"
    if not (signs.saving | signs.subjects).isdisjoint(words) and not signs.frequency.isdisjoint(words):
        return "frequency"
    if whole in signs.outputs or last in signs.outputs:
        return "output"
    if of_checkpoints := _of_checkpoints(words, signs):
        return of_checkpoints
    if whole in signs.outputs_when_saving or last in signs.outputs_when_saving or last in signs.outputs_of:
        if not signs.made.isdisjoint(words):
            return "output-when-made"
        return "output-when-named" if words and words[-1] in signs.folders else "output-when-saving"
    if whole in signs.outputs_if_no_other or last in signs.outputs_if_no_other:
        return "output-if-no-other"
    # `s3` is one word here.
    parts = whole.replace(".", "_").split("_")
    if of_output := _of_output(parts, signs):
        return of_output
    bucket = signs.models.isdisjoint(parts) and not signs.buckets.isdisjoint(parts)
    if bucket and (signs.buckets | signs.places | signs.own | _NAME).issuperset(parts):
        # `S3_BUCKET=churn-models`
        return "bucket-of-a-name"
    return "output-by-path" if spelled and whole in signs.outputs_by_path else ""


def _of_checkpoints(words: list[str], signs: CheckpointSigns) -> Role:
    """What a name says with a word for a checkpoint and one for a place."""
    subject = next((at for at, word in enumerate(words) if word in signs.subjects), None)
    # What stands before the word for it says whose it is: `base_checkpoint_path` is read, `checkpointer.base_path` is not.
    if subject is None or holds_any(words[:subject], signs.owners):
        return ""
    if not signs.saving.isdisjoint(words) and not signs.places.isdisjoint(words):
        return "output"
    if not signs.buckets.isdisjoint(words):
        return "bucket"
    if not signs.places.isdisjoint(words):
        return "folder" if words[-1] in signs.folders else "place"
    return ""


def _of_output(words: list[str], signs: CheckpointSigns) -> Role:
    """Whether a name is of nothing but a place for the run's output: ``--output_gcs_uri``, ``TRAINING_OUTPUT_DIR``."""
    places, buckets = signs.places, signs.buckets
    if signs.outputs.isdisjoint(words):
        # `--run_root_dir`, `EXPERIMENTS_ROOT`
        runs, folders = signs.runs, signs.folders
        of_runs = words[-1] in folders and not runs.isdisjoint(words) and (folders | runs).issuperset(words)
        return "output" if of_runs else ""
    if places.issuperset(words) or (len(words) > 1 and (places | signs.own).issuperset(words)):
        return "output"
    # `OUTPUT_BUCKET` may be one for anything that is put out.
    of_bucket = not buckets.isdisjoint(words) and (places | signs.own | buckets | _NAME).issuperset(words)
    return "output-if-no-other" if of_bucket else ""


def _of_a_model(words: list[str], signs: CheckpointSigns) -> Role:
    """What a name says by its words alone, of a place where a model is: ``MODELS_PATH``, ``CHURN_MODEL_PATH``."""
    at = next((index for index, word in enumerate(words) if word in signs.models), None)
    # What stands before says whose it is: `BASE_MODELS_DIR` and `HF_MODELS_DIR` are only read.
    if at is None or holds_any(words[:at], signs.owners | signs.used_models):
        return ""
    known = signs.places | signs.model_folders | signs.own | signs.made | signs.puts
    if not signs.buckets.isdisjoint(words):
        return "model-read-or-put" if (known | signs.buckets | _NAME).issuperset(words) else ""
    if not known.issuperset(words[at:]):
        return ""
    last, is_place = words[-1], words[-1] in signs.places
    if whose := [word for word in words[:at] if word not in known]:
        read = signs.mounts_never | signs.never_around | signs.reads
        return "model-of-a-name" if is_place and read.isdisjoint(whose) else ""
    if not signs.puts.isdisjoint(words):
        # `MODEL_DEST` may be that of a download.
        return "model-read-or-put"
    if not signs.made.isdisjoint(words):
        return "output-when-made"
    is_folder = is_place and not (signs.folders | signs.model_folders).isdisjoint(words)
    if is_folder or (last in signs.model_folders and len(words) > 1):
        return "output-when-named"
    return "output-when-saving" if is_place else ""
