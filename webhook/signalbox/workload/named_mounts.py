"""Volumes whose names say that a run writes to them: a folder ``/app/outputs``, a claim ``training-checkpoints``.

Names of a finished model (``/models``) say less: it may be what is read, and it may be written once, at the end. Such a folder
counts where nothing else names a file in it, and the evidence says what it is.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from signalbox.fieldpath import Path
from signalbox.review import JsonObject
from signalbox.workload.container_paths import LONGEST_PATH
from signalbox.workload.containers import ContainerView
from signalbox.workload.judgement import Evidence
from signalbox.workload.kinds.kind import mapping, members
from signalbox.workload.mentions import Mentions
from signalbox.workload.place_names import is_named_for_checkpoints
from signalbox.workload.places import Find, Found
from signalbox.workload.saving_signs import CheckpointSigns
from signalbox.workload.signs import Signs
from signalbox.workload.vocabulary import MAX_NAME, name_words

if TYPE_CHECKING:
    from signalbox.workload.view import WorkloadView

_ONLY_READ = "named for what a run writes, but only options that read name anything in it"
# More folders of models than anybody mounts.
_MOST = 16
_NO_VOLUME: tuple[str, JsonObject] = ("", {})


def named_mounts(container: ContainerView, view: "WorkloadView", find: Find, trains: bool) -> tuple[list[Found], list[Found]]:
    """Volumes that are named for what a run writes, and such that are named for the model it makes.

    ``find`` says what a path of this container leads to; ``trains``: whether it trains, or is called so.
    """
    signs = view.signs.checkpoint
    written: list[Found] = []
    finished: list[Found] = []
    mentions: Mentions | None = None
    looked = 0
    for index, entry in enumerate(container.mounts):
        path = entry.get("mountPath") if isinstance(entry, dict) else None
        if not isinstance(path, str) or not path or len(path) > LONGEST_PATH:
            continue
        if trains:
            volume = entry.get("name")
            source, body = _volume(volume, container, view)
            named = _named(path, signs, entry.get("subPath"), volume, body.get("claimName"))
        else:
            # Of what does something else, or is not known, only a folder that is called that and nothing more.
            source, volume = "", None
            named = "written" if path.rstrip("/").rpartition("/")[2].lower() in signs.mounts else ""
        if not named:
            continue
        place = find(path)
        if place is None or place.kept == "none":
            continue
        if place.kept == "ephemeral" and not (
            named == "written" and (source == "emptyDir" or is_named_for_checkpoints(path, view.signs))
        ):
            # The folder of a node may be one that all nodes share, and hold anything.
            continue
        where: Path = container.place("volumeMounts", index)
        folder = path.rstrip("/")
        if place.kept == "durable" and looked < _MOST:
            looked += 1
            mentions = mentions or Mentions(container, view)
            named_how = mentions.of(folder)
            if named == "written" and named_how == {"reads"}:
                written.append(Found("unknown", Evidence(where, path, _ONLY_READ)))
                continue
            if named == "model" and not (
                named_how or mentions.in_text(folder) or (container.template.path, volume) in view.filled
            ):
                finished.append(Found(place.kept, Evidence(where, path, place.note)).of_a_finished_model())
        if named == "written":
            written.append(Found(place.kept, Evidence(where, path, place.note)))
    return written, finished


def artifacts_of(container: ContainerView, signs: Signs) -> Iterator[Found]:
    """Folders of a finished model that a workflow takes out of a step once it has ended (Argo ``outputs.artifacts``)."""
    template, known = container.template, signs.checkpoint
    artifacts = members(mapping(template.spec.get("outputs")).get("artifacts"))
    for index, artifact in enumerate(artifacts[:_MOST]):
        path, name = mapping(artifact).get("path"), mapping(artifact).get("name")
        if not isinstance(path, str) or not path:
            continue
        words = {*_words(path.rstrip("/").rpartition("/")[2]), *_words(name)}
        if not (known.mounts | known.model_mounts).isdisjoint(words) and known.mounts_never.isdisjoint(words):
            where: Path = (*template.spec_path, "outputs", "artifacts", index, "path")
            yield Found("durable", Evidence(where, path[:MAX_NAME], "an artifact of the workflow")).of_a_finished_model()


def is_for_a_model(path: str, container: ContainerView, view: "WorkloadView", mentions: Mentions, made: bool) -> bool:
    """Whether a folder, of an option that may read or write it, is named for what a run makes and nothing else speaks of it.

    ``made``: the option itself says that.
    """
    signs = view.signs.checkpoint
    if not _named(path, signs) and not (made and _may_be_made(path, signs)):
        return False
    volume = mentions.volume_of(path)
    _, body = _volume(volume, container, view)
    if not signs.mounts_never.isdisjoint(_words(volume) + _words(body.get("claimName"))):
        return False
    folder = path.rstrip("/")
    reads = mentions.of(folder) - {"saves"} or mentions.in_text(folder)
    return not reads and not mentions.is_filled(path)


def _may_be_made(path: str, signs: CheckpointSigns) -> bool:
    """Whether no name on the way to a folder says that it holds what is read, or what a tool hides."""
    read = signs.owners | signs.used_models | signs.never | signs.mounts_never | signs.asides
    return "/." not in path and read.isdisjoint(_words(path.rstrip("/").rpartition("/")[2]))


def _volume(name: Any, container: ContainerView, view: "WorkloadView") -> tuple[str, JsonObject]:
    """The source of a volume, and what stands in it."""
    return view.volumes[container.template.path].get(name, _NO_VOLUME) if isinstance(name, str) else _NO_VOLUME


def _named(path: str, signs: CheckpointSigns, sub_path: Any = None, volume: Any = None, claim: Any = None) -> str:
    """What the names of a mount say, its folder before its volume and claim: ``written``, ``model`` or nothing."""
    whole = path.rstrip("/")[-MAX_NAME:]
    words, within = _words(whole.rpartition("/")[2]), _words(sub_path)
    # A hidden folder is a tool's own: `/root/.cache/torch/hub/checkpoints`.
    if "/." in whole or not signs.mounts_never.isdisjoint(words + within):
        return ""
    of_volume = _words(volume) + _words(claim)
    if not signs.mounts.isdisjoint(words + within):
        logs = not signs.mounts_of_logs.isdisjoint(of_volume)
        return "" if logs and signs.mounts.intersection(words + within) <= signs.mounts_weak else "written"
    if not signs.mounts_never.isdisjoint(of_volume):
        return ""
    if not signs.mounts.isdisjoint(of_volume):
        data = not signs.mounts_of_data.isdisjoint(words)
        return "" if data and signs.mounts.intersection(of_volume) <= signs.mounts_weak else "written"
    return "model" if "_".join(words) in signs.model_mounts else ""


def _words(name: Any) -> tuple[str, ...]:
    return _words_of(name[-MAX_NAME:]) if isinstance(name, str) and name else ()


@lru_cache(maxsize=4096)
def _words_of(name: str) -> tuple[str, ...]:
    return tuple(name_words(name))
