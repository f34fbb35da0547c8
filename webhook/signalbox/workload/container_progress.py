"""Where one container keeps its progress, by what it is told and what its volumes are called.

Options and variables that name a place count most, some only beside others: ``--output_dir`` is where checkpoints go if
something says that they are saved. Where none says anything, names of folders and volumes do. What is copied or linked to a
store outlives the Pod, though it is written to its own disk.
"""

from itertools import islice
from typing import TYPE_CHECKING

from signalbox.workload.borne_out import called
from signalbox.workload.containers import ContainerView
from signalbox.workload.copies import copied_after, copied_beside
from signalbox.workload.judgement import Evidence
from signalbox.workload.links import linked_elsewhere
from signalbox.workload.mentions import Mentions
from signalbox.workload.named_mounts import artifacts_of, is_for_a_model, named_mounts
from signalbox.workload.places import Found, Workers
from signalbox.workload.saving_guessed import guessed_settings, guessed_variables
from signalbox.workload.saving_role import IS_PLACE
from signalbox.workload.saving_told import MAY_SAVE, MOST, Told, are, is_of_a_variable

if TYPE_CHECKING:
    from signalbox.workload.view import WorkloadView


def progress_of(container: ContainerView, view: "WorkloadView", workers: Workers) -> list[Found]:
    """Every place where a container keeps its progress, or may; none where nothing speaks of any."""
    told = Told(container, view, workers)
    if told.off is not None:
        return [told.off]
    found, unread = told.places(), told.unread
    if (container.mounts or told.model_folders or view.trains) and are(found, "none"):
        by_names, unread = _by_names(told)
        found = by_names or found
    if told.lost and are(found, "ephemeral", "none"):
        copied = copied_beside(container, told.lost, view)
        found = found if copied is None else [Found(copied[0].kept, copied[1])]
    if view.trains and are(found, "ephemeral", "none"):
        found = list(artifacts_of(container, view.signs)) or found
    silent = are(found, "none") and not told.lost and not unread
    if view.trains and (silent or (told.gone and are(found, "ephemeral", "unknown"))):
        made = copied_after(container, view, told.gone)
        if made is not None:
            if are(found, "ephemeral") and found:
                # Interrupted on the way it has lost all that it wrote.
                found = [*found, Found("ephemeral", made[1], last=True)]
            else:
                # What cannot be seen may be kept on the way as well.
                found = [Found(made[0].kept, made[1], finished=True, last=are(found, "none"))]
    if container.mounts and are(found, "ephemeral", "none"):
        linked = linked_elsewhere(container, view, told.lost)
        found = found if linked is None else [Found("unknown", linked)]
    if told.on_the_way is not None and not are(found, "ephemeral", "unknown", "none"):
        # What is written before the end is lost with the run: only its outcome is kept.
        kept = [one if one.finished or one.kept != "durable" else one.of_a_finished_model() for one in found]
        return [*kept, Found("durable", told.on_the_way, finished=True, off=True)]
    return found + unread if are(found, "none") else found


def _by_names(told: Told) -> tuple[list[Found], list[Found]]:
    """What names say where no option does, and what cannot be seen. They beat that, but for the name of a finished model.

    A place for models by a name that says no more comes last.
    """
    container, view = told.container, told.view
    trains = view.trains
    mentions = Mentions(container, view)
    # What somebody called it makes no place of a volume, nor takes one away.
    by_type = view.type.state == "fine-tuning" and not view.type.thin
    tunes = trains and (by_type or told.tunes)
    weak = [found for found, value in told.weak if trains and not _is_read(found, value, container, mentions)]
    unread = [*told.unread, *(found for found in weak if found.kept != "durable")]
    # What is tuned is read from such folders.
    guessed = _guessed(told) if trains and not tunes else []
    for certain in (weak, guessed):
        if any(one.kept == "durable" for one in certain):
            return certain, unread
    # Whoever is only called a trainer keeps its model somewhere all the same.
    may_train = trains or _is_called_a_trainer(container, view)
    written, finished = _by_mounts(told, may_train)
    if written or tunes:
        return written, unread
    for place, seen, value, made, by_words in told.model_folders:
        if trains and is_for_a_model(value, container, view, mentions, made):
            written.append(Found(place.kept, Evidence(seen.path, seen.value, place.note)).of_a_finished_model())
        elif not by_words or "reads" not in mentions.of(value.rstrip("/")):
            unread.append(Found("unknown", Evidence(seen.path, seen.value, MAY_SAVE)))
    if not written and trains:
        written = [found for found, value in told.model_places if not _is_read(found, value, container, mentions)]
    if written or unread:
        return written, unread
    return (finished if finished and may_train else guessed), unread


def _is_called_a_trainer(container: ContainerView, view: "WorkloadView") -> bool:
    """Whether the names of what has no type agree that it trains."""
    named = called(container, view) if view.type.state is None else None
    return named is not None and named.trains


def _is_read(found: Found, value: str, container: ContainerView, mentions: Mentions) -> bool:
    """Whether anything else is told of a place that a weak name gives: it is fetched to, filled or read from before the run."""
    if "/." in value or "reads" in mentions.of(value.rstrip("/")) or mentions.is_filled(value):
        return True
    of_variable = is_of_a_variable(found)
    for started, said in zip(container.started, container.said, strict=True):
        trains = said is not None and said.trains
        # The trainer's own option stands among its words, and may be the one that a variable is handed to.
        own = trains and (
            not of_variable or any(value in one.value and one.meaning.role in IS_PLACE for one in started.options)
        )
        if not own and any(value in word for word in started.invocation.words):
            return True
        if trains:
            break
    return False


def _guessed(told: Told) -> list[Found]:
    """Folders for checkpoints that options lead to which are not known, and folders for output that variables do."""
    guessed: list[Found] = []
    for value, folder, seen in islice(guessed_settings(told.container, told.view.signs), MOST):
        place = told.find(value, folder)
        if place is not None:
            guessed.append(Found(place.kept, Evidence(seen.path, seen.value, place.note)))
    for value, seen in islice(guessed_variables(told.container, told.view.signs), MOST):
        place = told.find(value, "")
        # A folder that is gone with the Pod is one for something else.
        if place is not None and place.kept == "durable":
            guessed.append(Found(place.kept, Evidence(seen.path, seen.value, place.note)))
    return guessed


def _by_mounts(told: Told, trains: bool) -> tuple[list[Found], list[Found]]:
    """Volumes of its own, and of the workers it starts, that are named for what a run writes, and for a finished model."""
    written: list[Found] = []
    finished: list[Found] = []
    if told.container.mounts:
        written, finished = named_mounts(told.container, told.view, told.find, trains)
    for worker, storage in told.workers.of(told.container):
        if worker.mounts:
            of_run, of_model = named_mounts(worker, told.view, storage.find, trains)
            written += of_run
            finished += of_model
    return written, finished
