"""What is copied to a store while a run goes on: progress that is written to the Pod's own disk outlives it all the same.

A copy counts that stands in a loop, of a sidecar or of its own script, or that is made when the Pod is stopped (`preStop`,
`trap`). A copy that only comes after the run is none on the way: it keeps the model that is made.
"""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from signalbox.workload.container_paths import LONGEST_PATH, same_place
from signalbox.workload.container_reading import native_sidecars
from signalbox.workload.containers import ContainerView
from signalbox.workload.judgement import Evidence
from signalbox.workload.saving_signs import CheckpointSigns
from signalbox.workload.started import Started
from signalbox.workload.storage import Place, Storage
from signalbox.workload.vocabulary import MAX_NAME, name_words

if TYPE_CHECKING:
    from signalbox.workload.view import WorkloadView

# A workload with more of them is nobody's.
_MOST = 64
# `gcloud storage rsync`: a program with two sub-commands.
_LONGEST_NAME = 3
_MOST_WORDS = 64
_MOST_OPTIONS = 6
_MOST_BEFORE = 256
_WATCH = frozenset({"--watch", "-w", "--monitor"})
_AFTER = "copied once the run is over"
_OTHER_STORES = frozenset({"dataset", "--repo-type=dataset", "space", "--repo-type=space"})
_ENDPOINT = re.compile(r"https?://")
_HOW = re.compile(r"-[rRavzpfm]++\Z|--recursive\Z")
_IN_VAIN = frozenset({"--dryrun", "--dry-run"})


class Copy(NamedTuple):
    """One copy that reaches a store, the container that makes it, and whether it is made again and again, or at the end."""

    container: ContainerView
    started: Started
    source: str
    # The volume and the path on it; None where it is on none.
    on_volume: tuple[str, str] | None
    to: Place
    repeated: bool


def read_copies(view: "WorkloadView") -> tuple[Copy, ...]:
    """The copies that containers and sidecars of a workload make, as far as anybody has so many."""
    found: list[Copy] = []
    for container in (*view.containers, *native_sidecars(view.running_templates, view.signs, _MOST)):
        for copy in _of_container(container, view):
            found.append(copy)
            if len(found) == _MOST:
                return tuple(found)
    return tuple(found)


def copied_beside(container: ContainerView, places: list[str], view: "WorkloadView") -> tuple[Place, Evidence] | None:
    """Where one of these places of a container is copied to while it runs, and what says so; None where nothing does."""
    copies = [copy for copy in view.copies if copy.container.template.path == container.template.path]
    if not copies:
        return None
    own = Storage(container, view)
    # Each container has its own path to the volume they share.
    shared = [found for place in places if (found := own.on_volume(place)) is not None]
    for copy in copies:
        if not copy.repeated:
            continue
        if copy.container is container:
            takes = any(_holds(copy.source, place) for place in places)
        else:
            takes = any(_holds_on_volume(copy.on_volume, place) for place in shared)
        if takes:
            return copy.to, _evidence(copy.started, f"copied while it runs: {copy.to.note}")
    return None


def copied_after(container: ContainerView, view: "WorkloadView", places: list[str]) -> tuple[Place, Evidence] | None:
    """Where a model, or what a run has written, is copied to by the same script once it is over; None where nothing is.

    ``places`` are what the run is told to write to: where there are any, what is copied is one of them.
    """
    trained = next((at for at, said in enumerate(container.said) if said is not None and said.trains), None)
    if trained is None:
        return None
    signs, storage = view.signs.checkpoint, Storage(container, view)
    before = [word for started in container.started[:trained][:_MOST_BEFORE] for word in started.invocation.words]
    after = container.started[trained + 1 :]
    for copy in view.copies:
        if copy.container is container and any(copy.started is started for started in after):
            kept = storage.find(copy.source)
            if places:
                made = any(_holds(copy.source, place) for place in places)
            else:
                made = _is_made(copy.source, signs) and not any(copy.source in word for word in before)
            if made and "://" not in copy.source and (kept is None or kept.kept in ("ephemeral", "unknown")):
                return copy.to, _evidence(copy.started, f"{_AFTER}: {copy.to.note}")
    for started in after:
        if _uploads(started, signs):
            return Place("durable", "store of models"), _evidence(started, f"{_AFTER}: a store of models")
    return None


def _uploads(started: Started, signs: CheckpointSigns) -> bool:
    """Whether a model is uploaded: ``hf upload me/model ./out``, and neither a data set nor a page about it."""
    name, after = _copies(started, signs.uploaders)
    words = started.invocation.words[after:][:_MOST_WORDS]
    if not name or "--help" in words or not _OTHER_STORES.isdisjoint(words):
        return False
    given = [word for word in words if word[:1] != "-"]
    return len(given) > 1 and (_bare(given[1]) == "." or _is_made(given[1], signs))


def _is_made(source: str, signs: CheckpointSigns) -> bool:
    """Whether what is copied is named for a model, or for what a run writes; ``results/plot.png`` is not."""
    last = _bare(source).rpartition("/")[2]
    stem, _, ending = last.rpartition(".")
    words = name_words((stem or last)[:MAX_NAME])
    if not (signs.mounts_never | signs.mounts_of_data | signs.asides | signs.beside_models).isdisjoint(words):
        return False
    if stem and ending.lower() not in signs.model_files:
        return ending.lower() in signs.files
    return not (signs.mounts | signs.model_mounts | signs.outputs | signs.subjects).isdisjoint(words)


def _evidence(started: Started, note: str) -> Evidence:
    invocation = started.invocation
    return Evidence(invocation.field(started.at), " ".join(invocation.words[started.at :][:_MOST_WORDS]), note)


def _holds(source: str, place: str) -> bool:
    """Whether a place is what is copied, or in it. A log in the folder of a run is not the folder."""
    return same_place(source, place) and len(_bare(source)) <= len(_bare(place))


def _holds_on_volume(source: tuple[str, str] | None, place: tuple[str, str]) -> bool:
    return source is not None and source[0] == place[0] and _holds(source[1] or "/", place[1] or "/")


def _bare(path: str) -> str:
    return path.strip("\"'").rstrip("/*")


def _of_container(container: ContainerView, view: "WorkloadView") -> Iterator[Copy]:
    storage = Storage(container, view)
    # A sidecar that ends is started again.
    always = container.role == "sidecar"
    for started in container.started:
        words = started.invocation.words
        watches = words[0] == "watch" or not _WATCH.isdisjoint(words)
        yield from _copy(started, container, storage, view, always or watches or started.invocation.repeated)
    for started in container.stopped_by:
        yield from _copy(started, container, storage, view, repeated=True)


def _copy(started: Started, container: ContainerView, storage: Storage, view: "WorkloadView", repeated: bool) -> Iterator[Copy]:
    signs = view.signs.checkpoint
    name, after = _copies(started, signs.copiers)
    words = started.invocation.words[after:][:_MOST_WORDS]
    # Of other copiers `-n` says that nothing is overwritten.
    in_vain = not _IN_VAIN.isdisjoint(words) or ("-n" in words and name.startswith(("rsync", "rclone")))
    if not name or in_vain or _takes_little(words, signs):
        return
    given = _given(words)
    if len(given) < 2:
        return
    source, to = given[0], storage.find(given[-1])
    if name in signs.remote_copiers and (to is None or to.kept != "durable") and given[-1][:1] not in ("/", "."):
        to = Place("durable", "a store that is configured elsewhere")
    if to is not None and to.kept == "durable":
        yield Copy(container, started, source, storage.on_volume(source), to, repeated)


def _given(words: tuple[str, ...]) -> list[str]:
    """The places that a copier is given; the first of two may be a folder of its own without a sign of one (``out``)."""
    places = [
        word
        for before, word in zip(("", *words), words, strict=False)
        # Where the store is, no place in it: `--endpoint-url http://minio:9000`.
        if word[:1] != "-" and _is_place(word) and not ("endpoint" in before and before[:1] == "-" and _ENDPOINT.match(word))
    ]
    if len(places) != 1:
        return places
    at = words.index(places[0])
    last = at == len(words) - 1 or words[at + 1][:1] == "-"
    bare = last and at > 0 and words[at - 1][:1] != "-"
    # An option may take the word behind it, but for those that only say how.
    if bare and (at < 2 or words[at - 2][:1] != "-" or _HOW.match(words[at - 2])):
        return [words[at - 1], places[0]]
    return places


def _takes_little(words: tuple[str, ...], signs: CheckpointSigns) -> bool:
    """Whether checkpoints are left out: ``--exclude "ckpt*"``, or ``--exclude "*"`` and nothing that brings them in again."""
    left_out = [word for word, before in zip(words[1:], words, strict=False) if before == "--exclude"]
    left_out += [word.partition("=")[2] for word in words if word[:10] == "--exclude="]
    taken = [word for word in words if word[:1] != "-" and not _is_place(word) and word not in left_out]
    if "*" in left_out:
        return not any(subject in word for word in taken for subject in signs.subjects)
    return any(subject in word or word.rpartition(".")[2] in signs.files for word in left_out for subject in signs.subjects)


def _copies(started: Started, copiers: frozenset[str]) -> tuple[str, int]:
    """The copier that is started, and where its arguments begin; an empty name where it is none.

    Options of the program itself may stand before what it is told to do: `aws --profile x s3 sync`.
    """
    target = started.target
    if target is None or target.role != "program":
        return "", 0
    words = started.invocation.words
    first = target.at + 1
    for begin in range(first, min(len(words), first + _MOST_OPTIONS) + 1):
        if begin > first and words[first][:1] != "-":
            break
        for length in range(min(_LONGEST_NAME - 1, len(words) - begin), -1, -1):
            name = " ".join((target.name, *words[begin : begin + length]))
            if name in copiers and (length or begin == first):
                return name, begin + length
    return "", 0


def _is_place(word: str) -> bool:
    return len(word) <= LONGEST_PATH and ("/" in word or word[:1] == ".")
