"""Where what a container starts keeps something: on its own volumes, or on those of the workers that it starts it on (MPI)."""

from functools import partial
from typing import TYPE_CHECKING, NamedTuple, Protocol

from signalbox.workload.containers import ContainerView
from signalbox.workload.judgement import Evidence
from signalbox.workload.storage import Kept, Place, Storage

if TYPE_CHECKING:
    from signalbox.fieldpath import Path
    from signalbox.workload.view import WorkloadView

BEST: tuple[Kept, ...] = ("durable", "unknown", "ephemeral", "none")
LAUNCHER_ONLY = "only the launcher has it, and what it starts runs elsewhere"
# What kinds call the replica that starts the work in the others.
_LAUNCHERS = frozenset({"Launcher", "launcher"})
# More templates than any launcher starts anything on.
_MOST = 16
_FINISHED = "the finished model's folder; nothing says that progress is saved on the way"


class Found(NamedTuple):
    """One place of progress and what says so.

    ``finished``: it is named for the finished model, not for what a run saves. ``off``: it is what turns saving off. ``last``:
    it is there once the run is over, and not before.
    """

    kept: Kept
    seen: Evidence
    finished: bool = False
    off: bool = False
    last: bool = False

    def of_a_finished_model(self) -> "Found":
        """The same as a folder of the model that a run makes."""
        return Found(self.kept, Evidence(self.seen.path, self.seen.value, f"{_FINISHED}: {self.seen.note}"), finished=True)

    def doubted(self, note: str) -> "Found":
        """What it is worth where something speaks against it: what would outlive the Pod is not known to."""
        return self if self.kept != "durable" else Found("unknown", Evidence(self.seen.path, self.seen.value, note))


class Find(Protocol):
    """Says where a path or URL leads to; None where it is neither."""

    def __call__(self, where: str, folder: str = "") -> Place | None: ...  # noqa: D102


class Workers:
    """The containers of a workload that launchers start something in, looked for once."""

    __slots__ = ("_storages", "_view")

    def __init__(self, view: "WorkloadView") -> None:
        self._view = view
        self._storages: list[tuple[ContainerView, Storage]] | None = None

    def of(self, container: ContainerView) -> list[tuple[ContainerView, Storage]]:
        """Those of a launcher without accelerators: what it starts writes where they run, to their volumes."""
        if container.accelerated:
            return []
        # A script of a project's own may launch as well as `mpirun`, where the kind has a place for launchers.
        launches = container.template.name in _LAUNCHERS
        if not launches and not any(one.target is not None and one.target.launchers for one in container.started):
            return []
        if self._storages is None:
            self._storages = self._looked_for()
        return [one for one in self._storages if one[0].template.path != container.template.path]

    def _looked_for(self) -> list[tuple[ContainerView, Storage]]:
        view = self._view
        found: dict[Path, ContainerView] = {}
        for other in view.containers:
            if other.accelerated or not view.accelerators.any:
                found.setdefault(other.template.path, other)
        return [(worker, Storage(worker, view)) for worker in list(found.values())[: _MOST + 1]]


def finder(container: ContainerView, view: "WorkloadView", workers: Workers) -> Find:
    """What says where the paths and URLs of a container lead to, relative to a folder; None where one is neither."""
    own = Storage(container, view)
    there = workers.of(container)
    return partial(_find_there, own, [storage for _, storage in there]) if there else own.find


def _find_there(own: Storage, storages: list[Storage], where: str, folder: str = "") -> Place | None:
    here = own.find(where, folder)
    there = [place for storage in storages if (place := storage.find(where, folder)) is not None]
    best = min(there, key=_rank, default=None)
    if here is None or best is None or best.kept == "durable":
        return best or here
    if here.kept == "durable":
        return Place("unknown", LAUNCHER_ONLY)
    return min(here, best, key=_rank)


def _rank(place: Place) -> int:
    return BEST.index(place.kept)
