"""What is copied to a store while a run goes on: progress that is written to the Pod's own disk outlives it all the same.

A sidecar that copies the folder the run writes to, again and again, counts, and so does a copy that its own script leaves
running or makes when the Pod is stopped (`preStop`, `trap`). A copy that only comes after the run, or before it, is none on
the way.
"""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from signalbox.workload.container_reading import native_sidecars
from signalbox.workload.containers import ContainerView
from signalbox.workload.judgement import Evidence
from signalbox.workload.kinds.kind import members
from signalbox.workload.started import Started
from signalbox.workload.storage import LONGEST_PATH, Place, Storage, same_place

if TYPE_CHECKING:
    from signalbox.workload.view import WorkloadView

# A workload with more of them is nobody's.
_MOST = 64
# `gcloud storage rsync`: a program with two sub-commands.
_LONGEST_NAME = 3
_MOST_WORDS = 64
_MOST_OPTIONS = 6
_LONGEST_SCRIPT = 16 * 1024
_ROUND = re.compile(r"(?:^|[\s;&|({])(?:while|until|for|watch|inotifywait|fswatch|crond)(?:[\s(]|\Z)")
_WATCH = frozenset({"--watch", "-w", "--monitor"})
_IN_VAIN = frozenset({"--dryrun", "--dry-run", "-n"})


class Copy(NamedTuple):
    """One copy that reaches a store, the container that makes it, whether anything that trains stands before it there, and
    whether it is made again and again, or whenever the Pod is stopped.
    """

    container: ContainerView
    started: Started
    source: str
    # The volume and the path on it; None where it is on none.
    on_volume: tuple[str, str] | None
    to: Place
    after_run: bool
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
        if copy.container is container:
            takes = not copy.after_run and any(same_place(copy.source, place) for place in places)
        else:
            takes = copy.repeated and any(_same_on_volume(copy.on_volume, place) for place in shared)
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
    storage = Storage(container, view)
    repeats = container.role == "sidecar" or _repeats(container)
    for started, said in zip(container.started, container.said, strict=True):
        after_run = after_run or (said is not None and said.trains and not started.invocation.background)
        after = after_run and not started.invocation.background
        yield from _copy(started, container, storage, view, after, repeats or not _WATCH.isdisjoint(started.invocation.words))
    for started in container.stopped_by:
        yield from _copy(started, container, storage, view, after_run=False, repeated=True)


def _copy(
    started: Started, container: ContainerView, storage: Storage, view: "WorkloadView", after_run: bool, repeated: bool
) -> Iterator[Copy]:
    signs = view.signs.checkpoint
    name, after = _copies(started, signs.copiers)
    words = started.invocation.words[after:][:_MOST_WORDS]
    if not name or not _IN_VAIN.isdisjoint(words) or _takes_little(words, signs.subjects):
        return
    given = _given(words)
    if len(given) < 2:
        return
    source, to = given[0], storage.find(given[-1])
    if name in signs.remote_copiers and (to is None or to.kept != "durable") and given[-1][:1] not in ("/", "."):
        to = Place("durable", "a store that is configured elsewhere")
    if to is not None and to.kept == "durable":
        yield Copy(container, started, source, storage.on_volume(source), to, after_run, repeated)


def _given(words: tuple[str, ...]) -> list[str]:
    """The places that a copier is given; the first of two may be a folder of its own without a sign of one (``out``)."""
    places = [word for word in words if word[:1] != "-" and _is_place(word)]
    if len(places) != 1:
        return places
    at = words.index(places[0])
    bare = at == len(words) - 1 and at > 0 and words[at - 1][:1] != "-" and (at < 2 or words[at - 2][:1] != "-")
    return [words[at - 1], places[0]] if bare else places


def _takes_little(words: tuple[str, ...], subjects: frozenset[str]) -> bool:
    """Whether everything is left out but what is named, and checkpoints are not: ``--exclude "*" --include "*.log"``."""
    if "*" not in words or "--exclude" not in words:
        return False
    return not any(subject in word for word in words if word[:1] != "-" and not _is_place(word) for subject in subjects)


def _repeats(container: ContainerView) -> bool:
    """Whether its script goes round: a copy that is made once, at the start, carries no progress."""
    for field in ("command", "args"):
        value = container.body.get(field)
        for text in members(value) if not isinstance(value, str) else [value]:
            if isinstance(text, str) and _ROUND.search(text[:_LONGEST_SCRIPT]):
                return True
    return False


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
