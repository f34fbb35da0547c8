"""Checkpoint: where progress is kept, and whether it outlives the Pod.

Options and variables name the place, volumes and URLs say what it is. ``--load_checkpoint`` only reads and
``--activation_checkpointing`` saves memory: neither is a checkpoint. Of several places the best counts, but a file of a model
beside an output is read, and where one replica saves for all, what only the others have is not where it saves.
"""

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from signalbox.quantity import is_placeholder
from signalbox.workload.container_paths import LONGEST_PATH
from signalbox.workload.container_progress import progress_of
from signalbox.workload.containers import TOO_LONG, ContainerView
from signalbox.workload.judgement import Evidence, Judgement
from signalbox.workload.kinds.kind import mapping
from signalbox.workload.labels import CHECKPOINT_URI
from signalbox.workload.places import BEST, Found, Workers
from signalbox.workload.said import Said
from signalbox.workload.storage import Place, Storage
from signalbox.workload.vocabulary import MAX_NAME, name_words

if TYPE_CHECKING:
    from signalbox.fieldpath import Path
    from signalbox.workload.view import WorkloadView

_BUCKET_PLACEHOLDER = re.compile(r"[A-Z][A-Z0-9_-]*\Z")
_NONE = Judgement("none")
# More of the same says nothing new.
_MAX_EVIDENCE = 16
# What a kind calls the one replica that saves for all.
_FIRST = frozenset({"Master", "Chief", "master", "chief"})
_NOT_THE_FIRST = "only replicas have it that do not save for all"


def judge_checkpoint(view: "WorkloadView") -> Judgement:
    """``durable``, ``ephemeral``, ``none`` or ``unknown``: the best of any template that trains."""
    return _declared(view) or infer_checkpoint(view)


def infer_checkpoint(view: "WorkloadView") -> Judgement:
    """The checkpoint as it would be without the user's annotation."""
    found: list[Found] = []
    of_first: list[Found] | None = None
    workers = Workers(view)
    for container in that_train(view):
        of_one = progress_of(container, view, workers)
        if container.unread:
            # Where nothing durable was seen it may be in the rest: what is too long to read is no reason to refuse.
            of_one.append(Found("unknown", Evidence(container.path, "", TOO_LONG)))
        if container.template.name in _FIRST:
            of_first = (of_first or []) + of_one
        found += of_one
    if of_first is not None and all(one.kept != "durable" for one in of_first):
        found = [one.doubted(_NOT_THE_FIRST) for one in found]
    if not found:
        return _NONE
    kept = min((one.kept for one in found), key=BEST.index)
    best = [one for one in found if one.kept == kept]
    last = [one.seen for one in best if one.last]
    return Judgement(
        kept,
        tuple([one.seen for one in best[:_MAX_EVIDENCE]]),
        finished_only=all(one.finished for one in best),
        saving_off=next((one.seen for one in best if one.off), None),
        copied_last=last[-1] if last and (kept == "ephemeral" or len(last) == len(best)) else None,
    )


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
        if place is not None and not place.nameless:
            return Judgement(place.kept, (Evidence(path, value, place.note),), declared=True)
        # It declares nothing, so what is seen stands.
        note = Evidence(path, value, place.note if place is not None else "neither an object store nor a path")
        seen = infer_checkpoint(view)
        if seen.state == "none":
            return Judgement("unknown", (note,), declared=True)
        return replace(seen, evidence=(*seen.evidence, note))
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


def lasting_folder(view: "WorkloadView") -> str:
    """A folder that what trains may write to and that outlives the Pod; empty where none is mounted, or only what is read."""
    signs = view.signs.checkpoint
    read = signs.mounts_never | signs.mounts_of_data
    for container in that_train(view):
        storage = Storage(container, view)
        for entry in container.mounts[:_MAX_EVIDENCE]:
            path = entry.get("mountPath") if isinstance(entry, dict) and entry.get("readOnly") is not True else None
            if isinstance(path, str) and path[:1] == "/" and len(path) <= MAX_NAME and read.isdisjoint(name_words(path)):
                place = storage.find(path)
                if place is not None and place.kept == "durable":
                    return path.rstrip("/")
    return ""


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
