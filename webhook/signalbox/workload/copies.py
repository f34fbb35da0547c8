"""What is copied to a store while a run goes on: progress that is written to the Pod's own disk outlives it all the same.

A sidecar that copies the folder the run writes to counts, and so does a copy that its own script leaves running. A copy that
only comes after the run is none on the way.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from signalbox.workload.containers import ContainerView, native_sidecars
from signalbox.workload.judgement import Evidence
from signalbox.workload.started import Started
from signalbox.workload.storage import LONGEST_PATH, Place, Storage, same_place

if TYPE_CHECKING:
    from signalbox.workload.view import WorkloadView

# A workload with more of them is nobody's.
_MOST = 64
# `gcloud storage rsync`: a program with two sub-commands.
_LONGEST_NAME = 3
_MOST_WORDS = 64


class Copy(NamedTuple):
    """One copy, the container that makes it, and whether anything that trains stands before it there."""

    container: ContainerView
    started: Started
    source: str
    to: str
    after_run: bool


def read_copies(view: "WorkloadView") -> tuple[Copy, ...]:
    """The copies that containers and sidecars of a workload make, as far as anybody has so many."""
    found: list[Copy] = []
    for container in (*view.containers, *native_sidecars(view.running_templates, view.signs, _MOST)):
        for copy in _of_container(container, view.signs.checkpoint.copiers):
            found.append(copy)
            if len(found) == _MOST:
                return tuple(found)
    return tuple(found)


def copied_beside(container: ContainerView, places: list[str], view: "WorkloadView") -> tuple[Place, Evidence] | None:
    """Where one of these places of a container is copied to while it runs, and what says so; None where nothing does."""
    own = Storage(container, view)
    for copy in view.copies:
        mine = copy.container is container
        if copy.container.template.path != container.template.path or (mine and copy.after_run):
            continue
        storage = own if mine else Storage(copy.container, view)
        if not any(_takes(storage, copy.source, own, place) for place in places):
            continue
        place = storage.find(copy.to)
        if place is not None and place.kept == "durable":
            invocation = copy.started.invocation
            shown = " ".join(invocation.words[copy.started.at :][:_MOST_WORDS])
            return place, Evidence(invocation.field(copy.started.at), shown, f"copied while it runs: {place.note}")
    return None


def _takes(storage: Storage, source: str, own: Storage, place: str) -> bool:
    if storage is own:
        return same_place(source, place)
    # Each container has its own path to the volume they share.
    theirs, ours = storage.on_volume(source), own.on_volume(place)
    return theirs is not None and ours is not None and theirs[0] == ours[0] and same_place(theirs[1] or "/", ours[1] or "/")


def _of_container(container: ContainerView, copiers: frozenset[str]) -> Iterator[Copy]:
    after_run = False
    for started, said in zip(container.started, container.said, strict=True):
        after_run = after_run or (said is not None and said.trains)
        length = _copies(started, copiers)
        if length:
            words = started.invocation.words[started.at + length :][:_MOST_WORDS]
            given = [word for word in words if word[:1] != "-" and _is_place(word)]
            if len(given) > 1:
                yield Copy(container, started, given[0], given[-1], after_run and not started.invocation.background)


def _copies(started: Started, copiers: frozenset[str]) -> int:
    """How many words name the copier that is started; 0 where it is none."""
    target = started.target
    if target is None or target.role != "program":
        return 0
    words = started.invocation.words
    for length in range(min(_LONGEST_NAME, len(words) - target.at), 0, -1):
        if " ".join((target.name, *words[target.at + 1 : target.at + length])) in copiers:
            return length
    return 0


def _is_place(word: str) -> bool:
    return len(word) <= LONGEST_PATH and ("/" in word or word[:1] == ".")
