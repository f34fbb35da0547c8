"""What is copied to a store while a run goes on: progress that is written to the Pod's own disk outlives it all the same.

A sidecar that copies the folder the run writes to counts, and so does a copy that its own script leaves running. A copy that
only comes after the run is none on the way.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from signalbox.workload.container_reading import native_sidecars
from signalbox.workload.containers import ContainerView
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
    """One copy that reaches a store, the container that makes it, and whether anything that trains stands before it there."""

    container: ContainerView
    started: Started
    source: str
    # The volume and the path on it; None where it is on none.
    on_volume: tuple[str, str] | None
    to: Place
    after_run: bool


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
        if copy.container is container:
            takes = not copy.after_run and any(same_place(copy.source, place) for place in places)
        else:
            takes = any(_same_on_volume(copy.on_volume, place) for place in shared)
        if takes:
            invocation = copy.started.invocation
            shown = " ".join(invocation.words[copy.started.at :][:_MOST_WORDS])
            evidence = Evidence(invocation.field(copy.started.at), shown, f"copied while it runs: {copy.to.note}")
            return copy.to, evidence
    return None


def _same_on_volume(one: tuple[str, str] | None, other: tuple[str, str]) -> bool:
    return one is not None and one[0] == other[0] and same_place(one[1] or "/", other[1] or "/")


def _of_container(container: ContainerView, view: "WorkloadView") -> Iterator[Copy]:
    after_run = False
    storage: Storage | None = None
    for started, said in zip(container.started, container.said, strict=True):
        after_run = after_run or (said is not None and said.trains)
        length = _copies(started, view.signs.checkpoint.copiers)
        if not length:
            continue
        words = started.invocation.words[started.at + length :][:_MOST_WORDS]
        given = [word for word in words if word[:1] != "-" and _is_place(word)]
        if len(given) < 2:
            continue
        storage = storage or Storage(container, view)
        to = storage.find(given[-1])
        if to is not None and to.kept == "durable":
            after = after_run and not started.invocation.background
            yield Copy(container, started, given[0], storage.on_volume(given[0]), to, after)


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
