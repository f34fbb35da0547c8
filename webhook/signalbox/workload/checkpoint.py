"""Checkpoint: where progress is kept, and whether it outlives the Pod.

Options and variables name the place, volumes and URLs say what it is. ``--load_checkpoint`` only reads and
``--activation_checkpointing`` saves memory: neither is a checkpoint.
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
from signalbox.workload.named_mounts import FINISHED, MAY_SAVE, is_named_for_a_run, named_mounts
from signalbox.workload.said import Said, Strength
from signalbox.workload.saving import guessed_settings
from signalbox.workload.signs import Signs
from signalbox.workload.storage import LONGEST_PATH, NO_BUCKET, Kept, Place, Storage
from signalbox.workload.vocabulary import MAX_NAME, name_words

if TYPE_CHECKING:
    from signalbox.fieldpath import Path
    from signalbox.workload.view import WorkloadView

_BEST: tuple[Kept, ...] = ("durable", "unknown", "ephemeral", "none")
_BUCKET_PLACEHOLDER = re.compile(r"[A-Z][A-Z0-9_-]*\Z")
_NONE = Judgement("none")
# More of the same says nothing new.
_MAX_EVIDENCE = 16
_WHEN_SAVING = ("output-when-saving", "output-when-named")
_Found = tuple[Kept, Evidence]


def judge_checkpoint(view: "WorkloadView") -> Judgement:
    """``durable``, ``ephemeral``, ``none`` or ``unknown``: the best of any template that trains."""
    return _declared(view) or infer_checkpoint(view)


def infer_checkpoint(view: "WorkloadView") -> Judgement:
    """The checkpoint as it would be without the user's annotation."""
    found: list[_Found] = []
    for container in that_train(view):
        found += _of_container(container, view)
        if container.unread:
            # Where nothing durable was seen it may be in the rest: what is too long to read is no reason to refuse.
            found.append(("unknown", Evidence(container.path, "", TOO_LONG)))
    if not found:
        return _NONE
    best = min((kept for kept, _ in found), key=_BEST.index)
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
        if place is not None and (best is None or _BEST.index(place.kept) < _BEST.index(best.kept)):
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


def _of_container(container: ContainerView, view: "WorkloadView") -> list[_Found]:
    signs = view.signs
    storages: list[Storage] = []
    found: list[_Found] = []
    folders: list[_Found] = []
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
        storages = storages or [Storage(one, view) for one in (container, *_started_by(container, view))]
        # A bucket is mostly given by its bare name.
        bucket = role == "bucket" and "/" not in value
        place = Place("durable", "object store") if bucket else _best_place(storages, value, folder)
        if place is None:
            continue
        kept = (place.kept, Evidence(seen.path, seen.value, place.note))
        written = role not in _WHEN_SAVING or (meaning.written_by and view.framework.state in meaning.written_by)
        written = written or (role == "output-when-named" and _is_named(value, signs))
        writes = writes or role == "output"
        if place.kept == "ephemeral" and len(lost) < _MAX_EVIDENCE:
            lost.append(value if value[:1] == "/" or not folder else f"{folder}/{value}")
        (folders if role == "folder" else found if written else later).append(kept)
        if role == "output-when-named" and not written and place.kept == "durable":
            maybe.append((value, place, seen))
    # A tool that tunes a model that exists reads it from its checkpoint folder, and writes elsewhere.
    if folders and not (writes and any(map(_tunes, container.said))):
        found += folders
    if saves:
        found += later
        maybe = []
    if (container.mounts or maybe or view.trains) and all(kept == "none" for kept, _ in found):
        found = _by_names(container, view, storages, maybe, unread) or found
    if lost and all(kept in ("ephemeral", "none") for kept, _ in found):
        copied = copied_beside(container, lost, view)
        found = found if copied is None else [(copied[0].kept, copied[1])]
    return found if any(kept != "none" for kept, _ in found) else found + unread


def _by_names(
    container: ContainerView,
    view: "WorkloadView",
    storages: list[Storage],
    maybe: list[tuple[str, Place, Evidence]],
    unread: list[_Found],
) -> list[_Found]:
    """What names say where no option does. They beat a file that cannot be seen, but for the name of a finished model.

    ``maybe`` are folders of options that may be read as well as written (``MODEL_DIR``).
    """
    trains = view.trains
    tunes = trains and (view.type.state == "fine-tuning" or any(map(_is_fine_tuning, container.said)))
    started_by = _started_by(container, view)
    guessed: list[_Found] = []
    # What is tuned is read from such folders.
    guesses = guessed_settings(container, view.signs) if trains and not tunes else ()
    for value, folder, seen in islice(guesses, _MAX_EVIDENCE):
        storages = storages or [Storage(one, view) for one in (container, *started_by)]
        place = _best_place(storages, value, folder)
        if place is not None:
            guessed.append((place.kept, Evidence(seen.path, seen.value, place.note)))
    if any(kept == "durable" for kept, _ in guessed):
        return guessed
    written: list[_Found] = []
    finished: list[_Found] = []
    for one in (container, *started_by):
        if one.mounts:
            of_run, of_model = named_mounts(one, view)
            written += of_run
            finished += of_model
    if written or tunes:
        return written
    for value, place, seen in maybe:
        if trains and is_named_for_a_run(value, view.signs.checkpoint):
            written.append(("durable", Evidence(seen.path, seen.value, f"{FINISHED}: {place.note}")))
        else:
            unread.append(("unknown", Evidence(seen.path, seen.value, MAY_SAVE)))
    if written or unread:
        return written
    return finished if finished and trains else guessed


def _started_by(container: ContainerView, view: "WorkloadView") -> list[ContainerView]:
    """The workers of a launcher without accelerators (MPI): what it starts writes where they run, to their volumes."""
    if container.accelerated or not any(one.target is not None and one.target.launchers for one in container.started):
        return []
    workers: dict[Path, ContainerView] = {}
    for other in view.containers:
        if other.template.path != container.template.path and (other.accelerated or not view.accelerators.any):
            workers.setdefault(other.template.path, other)
    return list(workers.values())[:_MAX_EVIDENCE]


def _best_place(storages: list[Storage], value: str, folder: str) -> Place | None:
    places = [place for storage in storages if (place := storage.find(value, folder)) is not None]
    return min(places, key=lambda place: _BEST.index(place.kept), default=None)


def _is_named(value: str, signs: Signs) -> bool:
    """Whether a folder is named for what a run saves: ``/fsx/run/checkpoints``."""
    last = value.rstrip("/").rpartition("/")[2]
    return len(last) <= MAX_NAME and not signs.checkpoint.subjects.isdisjoint(name_words(last))


def _is_fine_tuning(said: Said | None) -> bool:
    return said is not None and said.saying.says == "fine-tuning"


def _tunes(said: Said | None) -> bool:
    return said is not None and said.saying.says == "fine-tuning" and said.strength is Strength.KNOWN
