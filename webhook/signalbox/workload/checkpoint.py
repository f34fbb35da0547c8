"""Checkpoint: where progress is kept, and whether it outlives the Pod.

Options and variables name the place, volumes and URLs say what it is. ``--load_checkpoint`` only reads and
``--activation_checkpointing`` saves memory: neither is a checkpoint. Of several places the best counts, but a file of a model
beside an output is read, and where one replica saves for all, what only the others have is not where it saves.
"""

import re
from itertools import islice
from typing import TYPE_CHECKING

from signalbox.quantity import is_placeholder
from signalbox.workload.containers import TOO_LONG, ContainerView
from signalbox.workload.copies import copied_beside
from signalbox.workload.judgement import Evidence, Judgement
from signalbox.workload.kinds.kind import mapping
from signalbox.workload.labels import CHECKPOINT_URI
from signalbox.workload.links import linked_elsewhere
from signalbox.workload.mentions import Mentions
from signalbox.workload.named_mounts import FINISHED, is_for_a_model, named_mounts
from signalbox.workload.places import BEST, Find, Workers, finder
from signalbox.workload.said import Said, Strength
from signalbox.workload.saving import guessed_settings
from signalbox.workload.signs import Signs
from signalbox.workload.storage import LONGEST_PATH, NO_BUCKET, Kept, Place, Storage
from signalbox.workload.vocabulary import MAX_NAME, name_words

if TYPE_CHECKING:
    from signalbox.fieldpath import Path
    from signalbox.workload.view import WorkloadView

_BUCKET_PLACEHOLDER = re.compile(r"[A-Z][A-Z0-9_-]*\Z")
_NONE = Judgement("none")
# More of the same says nothing new.
_MAX_EVIDENCE = 16
_WHEN_SAVING = ("output-when-saving", "output-when-named")
# What a kind calls the one replica that saves for all.
_FIRST = frozenset({"Master", "Chief", "master", "chief"})
_MAY_SAVE = "a folder that outlives the Pod; nothing says that progress is saved there"
_MAY_BE_READ = "a file of a model, which may as well be one that is read"
_NOT_THE_FIRST = "only replicas have it that do not save for all"
_Found = tuple[Kept, Evidence]


def judge_checkpoint(view: "WorkloadView") -> Judgement:
    """``durable``, ``ephemeral``, ``none`` or ``unknown``: the best of any template that trains."""
    return _declared(view) or infer_checkpoint(view)


def infer_checkpoint(view: "WorkloadView") -> Judgement:
    """The checkpoint as it would be without the user's annotation."""
    found: list[_Found] = []
    of_first: list[_Found] | None = None
    workers = Workers(view)
    for container in that_train(view):
        of_one = _of_container(container, view, workers)
        if container.unread:
            # Where nothing durable was seen it may be in the rest: what is too long to read is no reason to refuse.
            of_one.append(("unknown", Evidence(container.path, "", TOO_LONG)))
        if container.template.name in _FIRST:
            of_first = (of_first or []) + of_one
        found += of_one
    if of_first is not None and all(kept != "durable" for kept, _ in of_first):
        found = [(kept, seen) if kept != "durable" else ("unknown", _noted(seen, _NOT_THE_FIRST)) for kept, seen in found]
    if not found:
        return _NONE
    best = min((kept for kept, _ in found), key=BEST.index)
    return Judgement(best, tuple([seen for kept, seen in found if kept == best][:_MAX_EVIDENCE]))


def _declared(view: "WorkloadView") -> Judgement | None:
    """The annotation, on the object or on a pod template: an object-store URL or a path on a mounted volume."""
    places: list[tuple[Path, object]] = [(("metadata", "annotations", CHECKPOINT_URI), view.annotations.get(CHECKPOINT_URI))]
    for template in view.running_templates:
        annotations = mapping(template.metadata.get("annotations"))
        if template.path and annotations:
            places.append(((*template.path, "metadata", "annotations", CHECKPOINT_URI), annotations.get(CHECKPOINT_URI)))
    for path, value in places:
        if not isinstance(value, str) or not value.strip():
            continue
        place = _declared_place(value.strip(), view)
        if place is not None and place.note != NO_BUCKET:
            return Judgement(place.kept, (Evidence(path, value, place.note),), declared=True)
        # It declares nothing, so what is seen stands.
        note = Evidence(path, value, place.note if place is not None else "neither an object store nor a path")
        seen = infer_checkpoint(view)
        if seen.state == "none":
            return Judgement("unknown", (note,), declared=True)
        return Judgement(seen.state, (*seen.evidence, note))
    return None


def _declared_place(value: str, view: "WorkloadView") -> Place | None:
    """Where an annotation says that progress is kept; None where it names no place at all."""
    if len(value) > LONGEST_PATH:
        return Place("unknown", "longer than any path")
    # Nothing fills in an annotation: what looks like a placeholder was left to be written. Bucket names are lower case.
    bucket = value.partition("://")[2].partition("/")[0]
    if is_placeholder(value) or _BUCKET_PLACEHOLDER.match(bucket):
        return Place("unknown", "a placeholder")
    scheme = value.partition("://")[0].lower() if "://" in value else ""
    if value[0] == "~" or (scheme and scheme != "file" and scheme not in view.signs.checkpoint.schemes):
        # No store that is known here, and the home folder is not known.
        known = any(Storage(container, view).find(value) is not None for container in view.containers[:1])
        return Place("durable", "object store") if known and scheme in ("http", "https") else None
    best: Place | None = None
    for container in view.containers:
        place = Storage(container, view).find(value)
        if place is not None and (best is None or BEST.index(place.kept) < BEST.index(best.kept)):
            best = place
    return best


def that_train(view: "WorkloadView") -> list[ContainerView]:
    """Containers whose progress counts: those that train; where none plainly does, those that hold accelerators."""
    containers = view.containers
    if len(containers) < 2:
        return list(containers)
    training = [container for container in containers if any(map(_trains, container.said))]
    accelerated = {container.template.path for container in containers if container.accelerated}
    return [
        container for container in training or containers if container.accelerated or container.template.path not in accelerated
    ]


def _trains(said: Said | None) -> bool:
    return said is not None and said.trains


def _of_container(container: ContainerView, view: "WorkloadView", workers: Workers) -> list[_Found]:
    signs = view.signs
    find: Find | None = None
    found: list[_Found] = []
    folders: list[_Found] = []
    models: list[_Found] = []
    later: list[_Found] = []
    lost: list[str] = []
    saves = writes = False
    unread: list[_Found] = []
    maybe: list[tuple[str, Place, Evidence]] = []
    for meaning, value, folder, seen in container.saving:
        role = meaning.role
        # A switch may bring the place along: `--save-checkpoint runs/last.pt`.
        if role == "frequency" or (role == "switch" and "/" not in value):
            on = value.lower() not in ("0", "-1", "no", "false", "none", "off", "never")
            if role == "switch" and not on:
                return [("none", Evidence(seen.path, seen.value, "nothing is saved"))]
            saves = saves or on
            continue
        if role == "configuration":
            unread.append(("unknown", Evidence(seen.path, seen.value, "a configuration file that is not in the manifest")))
            continue
        find = find or finder(container, view, workers)
        # A bucket is mostly given by its bare name.
        bucket = role == "bucket" and "/" not in value
        place = Place("durable", "object store") if bucket else find(value, folder)
        if place is None:
            continue
        kept = (place.kept, Evidence(seen.path, seen.value, place.note))
        named = role in _WHEN_SAVING and _is_named(value, signs)
        written = role not in _WHEN_SAVING or (meaning.written_by and view.framework.state in meaning.written_by)
        written = written or (role == "output-when-named" and named)
        writes = writes or role == "output"
        if role == "place" and _is_of_a_model(value, signs):
            models.append(kept)
            continue
        if place.kept == "ephemeral" and len(lost) < _MAX_EVIDENCE:
            lost.append(value if value[:1] == "/" or not folder else f"{folder}/{value}")
        if meaning.root and not written and place.kept == "durable" and not _is_for_runs(value, signs):
            kept = ("unknown", Evidence(seen.path, seen.value, _MAY_SAVE))
        (folders if role == "folder" else found if written else later).append(kept)
        if role == "output-when-named" and not written and place.kept == "durable":
            maybe.append((value, place, seen))
    # A tool that tunes a model that exists reads it from its checkpoint folder, and writes elsewhere.
    if folders and not (writes and any(map(_tunes, container.said))):
        found += folders
    if models and not writes:
        found += models if saves else [_doubted(kept, seen) for kept, seen in models]
    if saves:
        if all(kept == "none" for kept, _ in found):
            found += later
        maybe = []
    if (container.mounts or maybe or view.trains) and all(kept == "none" for kept, _ in found):
        found = _by_names(container, view, workers, maybe, unread) or found
    if lost and all(kept in ("ephemeral", "none") for kept, _ in found):
        copied = copied_beside(container, lost, view)
        found = found if copied is None else [(copied[0].kept, copied[1])]
    if container.mounts and all(kept in ("ephemeral", "none") for kept, _ in found):
        linked = linked_elsewhere(container, view, lost)
        found = found if linked is None else [("unknown", linked)]
    return found if any(kept != "none" for kept, _ in found) else found + unread


def _by_names(
    container: ContainerView,
    view: "WorkloadView",
    workers: Workers,
    maybe: list[tuple[str, Place, Evidence]],
    unread: list[_Found],
) -> list[_Found]:
    """What names say where no option does. They beat a file that cannot be seen, but for the name of a finished model.

    ``maybe`` are folders of options that may be read as well as written (``MODEL_DIR``).
    """
    trains = view.trains
    tunes = trains and (view.type.state == "fine-tuning" or any(map(_is_fine_tuning, container.said)))
    guessed: list[_Found] = []
    # What is tuned is read from such folders.
    guesses = guessed_settings(container, view.signs) if trains and not tunes else ()
    find: Find | None = None
    for value, folder, seen in islice(guesses, _MAX_EVIDENCE):
        find = find or finder(container, view, workers)
        place = find(value, folder)
        if place is not None:
            guessed.append((place.kept, Evidence(seen.path, seen.value, place.note)))
    if any(kept == "durable" for kept, _ in guessed):
        return guessed
    written, finished = (
        named_mounts(container, view, find or finder(container, view, workers)) if container.mounts else ([], [])
    )
    for worker, storage in workers.of(container):
        if worker.mounts:
            of_run, of_model = named_mounts(worker, view, storage.find)
            written += of_run
            finished += of_model
    if written or tunes:
        return written
    mentions = Mentions(container, view)
    for value, place, seen in maybe:
        if trains and is_for_a_model(value, container, view, mentions):
            written.append(("durable", Evidence(seen.path, seen.value, f"{FINISHED}: {place.note}")))
        else:
            unread.append(("unknown", Evidence(seen.path, seen.value, _MAY_SAVE)))
    if written or unread:
        return written
    return finished if finished and trains else guessed


def _is_of_a_model(value: str, signs: Signs) -> bool:
    """Whether a place is a web address, or a file of a model's state that is not named for what a run saves."""
    if value[:4].lower() == "http":
        return True
    stem, dot, ending = value.rpartition("/")[2].rpartition(".")
    return dot != "" and ending.lower() in signs.checkpoint.files and not _is_named(stem, signs)


def _is_for_runs(value: str, signs: Signs) -> bool:
    """Whether a folder on the way is named for what runs write: ``/data/runs/a``."""
    known = signs.checkpoint
    words = [set(name_words(folder)) for folder in value[-MAX_NAME:].split("/")]
    return any(not known.mounts.isdisjoint(one) and known.mounts_never.isdisjoint(one) for one in words)


def _is_named(value: str, signs: Signs) -> bool:
    """Whether a folder is named for what a run saves: ``/fsx/run/checkpoints``."""
    last = value.rstrip("/").rpartition("/")[2]
    return len(last) <= MAX_NAME and not signs.checkpoint.subjects.isdisjoint(name_words(last))


def _doubted(kept: Kept, seen: Evidence) -> _Found:
    return ("unknown", _noted(seen, _MAY_BE_READ)) if kept == "durable" else (kept, seen)


def _noted(seen: Evidence, note: str) -> Evidence:
    return Evidence(seen.path, seen.value, note)


def _is_fine_tuning(said: Said | None) -> bool:
    return said is not None and said.saying.says == "fine-tuning"


def _tunes(said: Said | None) -> bool:
    return said is not None and said.saying.says == "fine-tuning" and said.strength is Strength.KNOWN
