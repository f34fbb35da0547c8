"""Folders that a script makes a link of, into a volume that outlives the Pod: ``ln -s /mnt/run ./checkpoints``."""

from typing import TYPE_CHECKING

from signalbox.workload.container_paths import same_place
from signalbox.workload.containers import ContainerView
from signalbox.workload.judgement import Evidence
from signalbox.workload.storage import Storage
from signalbox.workload.vocabulary import MAX_NAME, name_words

if TYPE_CHECKING:
    from signalbox.workload.view import WorkloadView

_MOST = 16
_NOTE = "a link to what outlives the Pod; what the run saves may go through it"


def linked_elsewhere(container: ContainerView, view: "WorkloadView", lost: list[str]) -> Evidence | None:
    """The first link to durable storage that is named for what a run writes, or that one of the places ``lost`` is in."""
    links = [started.invocation for started in container.started if started.invocation.words[0] == "ln"]
    if not links:
        return None
    signs = view.signs.checkpoint
    storage: Storage | None = None
    for invocation in links[:_MOST]:
        words = [word for word in invocation.words[1:] if word[:1] != "-"]
        if len(words) != 2 or len(words) == len(invocation.words) - 1:
            # Without an option it is no symbolic one.
            continue
        to, name = words
        storage = storage or Storage(container, view)
        place = storage.find(to)
        if place is None or place.kept != "durable":
            continue
        last = name.rstrip("/").rpartition("/")[2]
        if not signs.mounts.isdisjoint(name_words(last[:MAX_NAME])) or any(same_place(name, one) for one in lost):
            return Evidence(invocation.field(0), " ".join(invocation.words[:_MOST]), _NOTE)
    return None
