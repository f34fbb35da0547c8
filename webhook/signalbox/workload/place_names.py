"""What a place is called: after what a run saves, a model of somebody's, or something else."""

import re

from signalbox.workload.signs import Signs
from signalbox.workload.vocabulary import MAX_NAME, name_words

# `model.pt`, and neither `Llama-3.1-8B` nor `v1.0`.
IS_FILE = re.compile(r"\.[A-Za-z]\w*\Z")


def is_of_a_model(value: str, signs: Signs) -> bool:
    """Whether a place is a web address, or a file of a model's state that is not named for what a run saves."""
    if value[:4].lower() == "http":
        return True
    stem, dot, ending = value.rpartition("/")[2].rpartition(".")
    return dot != "" and ending.lower() in signs.checkpoint.files and not is_named_for_checkpoints(stem, signs)


def is_of_another(value: str, signs: Signs) -> bool:
    """Whether a place is named for something else than what a run makes: ``s3://b/logs``, ``/models/base``."""
    known = signs.checkpoint
    words = name_words(value[-MAX_NAME:].rstrip("/").rpartition("/")[2])
    return not (known.mounts_never | known.mounts_of_data | known.asides).isdisjoint(words)


def is_called_after_models(bucket: str, signs: Signs) -> bool:
    """Whether a bucket is for models or checkpoints: ``churn-models``, ``s3://ml-checkpoints``, and no ``models-cache``."""
    known = signs.checkpoint
    words = name_words((bucket.partition("://")[2] or bucket)[:MAX_NAME].strip("/"))
    # `ml-artifacts`, and no `ci-artifacts`.
    of_runs = words[-1:] != [] and words[-1] in known.models | known.subjects and (words[-1][:8] != "artifact" or "ml" in words)
    return of_runs and (known.mounts_never | known.mounts_of_data | known.used_models | known.owners).isdisjoint(words)


def is_its_model(name: str, path: str, signs: Signs) -> bool:
    """Whether a file may hold the model that its option is named for: ``CHURN_MODEL_PATH=/models/churn.pkl``."""
    known = signs.checkpoint
    stem, _, ending = path.rpartition("/")[2].rpartition(".")
    of_file = set(name_words(stem[:MAX_NAME]))
    of_option = set(name_words(name[:MAX_NAME])) - known.models - known.places
    return ending.lower() in known.model_files and known.beside_models.isdisjoint(of_file) and not of_option.isdisjoint(of_file)


def is_for_runs(value: str, signs: Signs) -> bool:
    """Whether a folder on the way is named for what runs write: ``/data/runs/a``."""
    known = signs.checkpoint
    words = [set(name_words(folder)) for folder in value[-MAX_NAME:].split("/")]
    return any(not known.mounts.isdisjoint(one) and known.mounts_never.isdisjoint(one) for one in words)


def is_named_for_checkpoints(value: str, signs: Signs) -> bool:
    """Whether a folder is named for what a run saves: ``/fsx/run/checkpoints``."""
    last = value.rstrip("/").rpartition("/")[2]
    return len(last) <= MAX_NAME and not signs.checkpoint.subjects.isdisjoint(name_words(last))
