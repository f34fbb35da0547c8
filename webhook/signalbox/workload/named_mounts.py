"""Volumes whose names say that a run writes to them: a folder ``/app/outputs``, a claim ``training-checkpoints``.

Names of a finished model (``/models``) say less: it may be what is read, and it may be written once, at the end. Such a folder
counts where nothing else names a file in it, and the evidence says what it is.
"""

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from signalbox.fieldpath import Path
from signalbox.review import JsonObject
from signalbox.workload.containers import ContainerView
from signalbox.workload.judgement import Evidence
from signalbox.workload.signs import CheckpointSigns
from signalbox.workload.storage import LONGEST_PATH, Kept, Storage
from signalbox.workload.vocabulary import MAX_NAME, name_words

if TYPE_CHECKING:
    from signalbox.workload.view import WorkloadView

FINISHED = "the finished model's folder; nothing says that progress is saved on the way"
MAY_SAVE = "a folder that outlives the Pod; nothing says that progress is saved there"
# More folders of models than anybody mounts.
_MOST = 16
_NO_VOLUME: tuple[str, JsonObject] = ("", {})
_Found = tuple[Kept, Evidence]


def named_mounts(container: ContainerView, view: "WorkloadView") -> tuple[list[_Found], list[_Found]]:
    """Volumes that are named for what a run writes, and such that are named for the model it makes."""
    signs = view.signs.checkpoint
    trains = view.trains
    storage: Storage | None = None
    written: list[_Found] = []
    finished: list[_Found] = []
    spoken_of: list[str] | None = None
    looked = 0
    for index, entry in enumerate(container.mounts):
        path = entry.get("mountPath") if isinstance(entry, dict) else None
        if not isinstance(path, str) or not path or len(path) > LONGEST_PATH:
            continue
        if trains:
            volume = entry.get("name")
            source, body = (
                view.volumes[container.template.path].get(volume, _NO_VOLUME) if isinstance(volume, str) else _NO_VOLUME
            )
            named = _named(path, signs, entry.get("subPath"), volume, body.get("claimName"))
        else:
            # Of what does something else, or is not known, only a folder that is called that and nothing more.
            source = ""
            named = "written" if path.rstrip("/").rpartition("/")[2].lower() in signs.mounts else ""
        if not named:
            continue
        storage = storage or Storage(container, view)
        place = storage.find(path)
        if place is None or place.kept == "none":
            continue
        if place.kept == "ephemeral" and (named != "written" or source != "emptyDir"):
            # The folder of a node may be one that all nodes share.
            continue
        where: Path = container.place("volumeMounts", index)
        if named == "written":
            written.append((place.kept, Evidence(where, path, place.note)))
        elif place.kept == "durable" and looked < _MOST:
            looked += 1
            spoken_of = _places_named(container, view) if spoken_of is None else spoken_of
            folder = path.rstrip("/")
            if not any(value == folder or value.startswith(f"{folder}/") for value in spoken_of):
                finished.append(("durable", Evidence(where, path, f"{FINISHED}: {place.note}")))
    return written, finished


def is_named_for_a_run(folder: str, signs: CheckpointSigns) -> bool:
    """Whether a folder is named for what a run writes, or for the model it makes."""
    return _named(folder, signs) != ""


def _named(path: str, signs: CheckpointSigns, sub_path: Any = None, volume: Any = None, claim: Any = None) -> str:
    """What the names of a mount say, its folder before its volume and claim: ``written``, ``model`` or nothing."""
    whole = path.rstrip("/")[-MAX_NAME:]
    words, within = _words(whole.rpartition("/")[2]), _words(sub_path)
    # A hidden folder is a tool's own: `/root/.cache/torch/hub/checkpoints`.
    if "/." in whole or not signs.mounts_never.isdisjoint(words + within):
        return ""
    if not signs.mounts.isdisjoint(words + within):
        return "written"
    of_volume = _words(volume) + _words(claim)
    if not signs.mounts_never.isdisjoint(of_volume):
        return ""
    if not signs.mounts.isdisjoint(of_volume):
        return "written"
    return "model" if "_".join(words) in signs.model_mounts else ""


def _words(name: Any) -> tuple[str, ...]:
    return _words_of(name[-MAX_NAME:]) if isinstance(name, str) and name else ()


@lru_cache(maxsize=4096)
def _words_of(name: str) -> tuple[str, ...]:
    return tuple(name_words(name))


def _places_named(container: ContainerView, view: "WorkloadView") -> list[str]:
    """The paths that variables, and words of what is started, name: they say what the folders they are in are for."""
    utilities = view.signs.commands.utilities
    texts = list(container.env.values())
    for started in container.started:
        if started.target is None or started.target.name not in utilities:
            texts += started.invocation.words
    return [value for text in texts if "/" in text and (value := text.rpartition("=")[2])[:1] == "/"]
