"""Checkpoint: where progress is kept, and whether it outlives the Pod.

Options and variables name the place, volumes and URLs say what it is. ``--load_checkpoint`` only reads and
``--activation_checkpointing`` saves memory: neither is a checkpoint.
"""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from signalbox.quantity import is_placeholder
from signalbox.workload.containers import TOO_LONG, ContainerView
from signalbox.workload.copies import copied_beside
from signalbox.workload.judgement import Evidence, Judgement
from signalbox.workload.kinds.kind import mapping
from signalbox.workload.labels import CHECKPOINT_URI
from signalbox.workload.meaning import Meaning, meaning_of
from signalbox.workload.said import Said, Strength
from signalbox.workload.signs import Signs
from signalbox.workload.started import Started
from signalbox.workload.storage import LONGEST_PATH, NO_BUCKET, Kept, Place, Storage
from signalbox.workload.vocabulary import MAX_NAME, name_words

if TYPE_CHECKING:
    from signalbox.fieldpath import Path
    from signalbox.workload.view import WorkloadView

_BEST: tuple[Kept, ...] = ("durable", "unknown", "ephemeral", "none")
_BUCKET_PLACEHOLDER = re.compile(r"[A-Z][A-Z0-9_-]*\Z")
_NO_PLACE = re.compile(r"(?:true|false|yes|no|none|null|auto|[-+]?\d++(?:\.\d*+)?(?:e[-+]?\d++)?)\Z", re.IGNORECASE)
_CONFIGURATION_FILE = re.compile(r"[^\s=]+\.(?:ya?ml|json|toml|gin|cfg)\Z", re.IGNORECASE)
_NONE = Judgement("none")
# More of the same says nothing new.
_MAX_EVIDENCE = 16
_WHEN_SAVING = ("output-when-saving", "output-when-named")
_A_FILE = Meaning(None, None, False, False, False, "configuration")
_MAY_SAVE = "a folder that outlives the Pod; nothing says that progress is saved there"
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
        if template.path:
            annotations = mapping(template.metadata.get("annotations"))
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
    maybe: list[_Found] = []
    for meaning, value, folder, seen in saving_settings(container, signs):
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
            # `MODEL_DIR=/model` on a volume: the model ends there, and its checkpoints may.
            maybe.append(("unknown", Evidence(seen.path, seen.value, _MAY_SAVE)))
    # A tool that tunes a model that exists reads it from its checkpoint folder, and writes elsewhere.
    if folders and not (writes and any(map(_tunes, container.said))):
        found += folders
    if saves:
        found += later
    elif not any(map(_is_fine_tuning, container.said)):
        # What is tuned is read from such a folder.
        unread += maybe
    # A path that is told beats the name of a mount, and that beats a file that cannot be seen.
    if not found and container.mounts:
        found = _named_mounts(container, view)
    if lost and all(kept in ("ephemeral", "none") for kept, _ in found):
        copied = copied_beside(container, lost, view)
        found = found if copied is None else [(copied[0].kept, copied[1])]
    return found if any(kept != "none" for kept, _ in found) else found + unread


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


def _named_mounts(container: ContainerView, view: "WorkloadView") -> list[_Found]:
    """Durable volumes mounted under a name that says what is kept there: ``/checkpoints``, ``/outputs``."""
    signs = view.signs.checkpoint
    storage: Storage | None = None
    found: list[_Found] = []
    for index, entry in enumerate(container.mounts):
        path = entry.get("mountPath") if isinstance(entry, dict) else None
        if not isinstance(path, str) or path.rstrip("/").rpartition("/")[2].lower() not in signs.mounts:
            continue
        storage = storage or Storage(container, view)
        place = storage.find(path)
        if place is not None and place.kept in ("durable", "unknown"):
            found.append((place.kept, Evidence(container.place("volumeMounts", index), path, place.note)))
    return found


def saving_settings(container: ContainerView, signs: Signs) -> Iterator[tuple[Meaning, str, str, Evidence]]:
    """``(meaning, value, folder it is relative to, evidence)`` of every option and variable that speaks of saving."""
    for index, name, entry in container.variables:
        meaning = meaning_of(name, signs)
        if meaning is None or meaning.role in ("", "configuration"):
            continue
        role = meaning.role
        path: Path = container.place("env", index)
        value = container.env.get(name)
        if value is None and entry.get("valueFrom") is not None:
            yield meaning, "$(valueFrom)", "", Evidence(path, name)
        elif value is not None and (role in ("frequency", "switch") or not _NO_PLACE.match(value)):
            yield meaning, value, "", Evidence(path, f"{name}={value}")
    folder = ""
    for started, said in zip(container.started, container.said, strict=True):
        target = started.target
        words = started.invocation.words
        if words[0] == "cd" and len(words) > 1:
            folder = words[1] if words[1].startswith("/") else f"{folder}/{words[1]}" if folder else ""
            folder = folder[:LONGEST_PATH]
            continue
        exported = words[0] == "export"
        if target is not None and not exported:
            if target.role == "program" and target.name in signs.commands.utilities:
                continue
            if said is not None and not _trains(said):
                continue
        yield from _options(started, folder)


def _options(started: Started, folder: str) -> Iterator[tuple[Meaning, str, str, Evidence]]:
    words = started.invocation.words
    field = started.invocation.field
    for option in started.options:
        role, value = option.meaning.role, option.value
        if not role or (role == "configuration" and option.at < started.at):
            # The launcher's own configuration (`accelerate launch --config_file`) is about processes.
            continue
        if not value or (not option.joined and value[:2] == "--"):
            continue
        if role in ("frequency", "switch", "configuration") or not _NO_PLACE.match(value):
            yield option.meaning, value, folder, Evidence(field(option.at), started.shown(option))
    for index in range(started.at + 1, len(words)):
        word, before = words[index], words[index - 1]
        # After an option it would be that option's value.
        if (
            "." in word
            and len(word) <= LONGEST_PATH
            and word[:1] != "-"
            and (before[:1] != "-" or "=" in before)
            and _CONFIGURATION_FILE.match(word)
        ):
            yield _A_FILE, word, folder, Evidence(field(index), word)
