"""What a container is told of saving, by options and variables, sorted by what it takes for each to count."""

import re
from typing import TYPE_CHECKING

from signalbox.workload.command import program_name
from signalbox.workload.containers import ContainerView
from signalbox.workload.judgement import Evidence
from signalbox.workload.meaning import Meaning
from signalbox.workload.places import Find, Found, Workers, finder
from signalbox.workload.said import Said, Strength
from signalbox.workload.saving_off import is_off
from signalbox.workload.signs import Signs
from signalbox.workload.started import Started
from signalbox.workload.storage import Place
from signalbox.workload.vocabulary import MAX_NAME, name_words

if TYPE_CHECKING:
    from signalbox.workload.view import WorkloadView

# More of the same says nothing new.
MOST = 16
_WHEN_SAVING = ("output-when-saving", "output-when-named")
MAY_SAVE = "a folder that outlives the Pod; nothing says that progress is saved there"
_MAY_BE_READ = "a file of a model, which may as well be one that is read"
_KEPT_ELSEWHERE = "its checkpoints are said to go to a place that is lost with the Pod"
# Values of settings that say when a model is uploaded.
_EVERY_ONE = ("checkpoint", "checkpoints", "all", "all_checkpoints")
_STRATEGY = "hub_strategy"
# `--model_dir gs://b/$(JOB_NAME)`: nobody has put anything there to be read.
_OF_THE_RUN = re.compile(r"\$[({]?(?:JOB|POD|WORKFLOW)_?NAME\b")
_UNSEEN_FILE = "a configuration file that is not in the manifest"


class Told:
    """What its options and variables say of saving, sorted by what it takes for each to count."""

    def __init__(self, container: ContainerView, view: "WorkloadView", workers: Workers) -> None:
        self.container = container
        self.view = view
        self.workers = workers
        # What says that nothing is saved at all.
        self.off: Found | None = None
        self.saves = any(_saves_by_itself(started, view.signs) for started in container.started)
        self.writes = False
        # The setting by which a model is uploaded, and when that is done.
        self.uploaded: tuple[str, Evidence] | None = None
        self.when_uploaded = ""
        # Whether the model that is made has a name of its own.
        self.makes = False
        # Places that are called the run's checkpoints, by how they are kept.
        self.called: list[Found] = []
        self.written: list[Found] = []
        # Folders that a run saves to, and a tool that tunes may only read.
        self.folders: list[Found] = []
        # Files of a model's state.
        self.models: list[Found] = []
        # Outputs that count once something says that progress is saved.
        self.when_saving: list[Found] = []
        # What counts where nothing else names a place.
        self.by_path: list[Found] = []
        # Folders that may be read as well as written (`MODEL_DIR`), where nothing says that progress is saved.
        self.maybe: list[tuple[Place, Evidence, str]] = []
        # Places that are gone with the Pod, as the program would find them.
        self.lost: list[str] = []
        self.unread: list[Found] = []
        self._find: Find | None = None
        schemes = view.signs.checkpoint.schemes - view.signs.checkpoint.rooted_schemes
        self.stored = any(
            meaning.role == "store-type" and value.lower() in schemes for meaning, value, _, _ in container.saving
        )
        # What says that nothing is saved before the end.
        self.on_the_way: Evidence | None = None
        off: Found | None = None
        for meaning, value, folder, seen in container.saving:
            role = meaning.role
            if role == "off":
                off = off or Found("none", seen, off=True)
            elif role == "off-on-the-way":
                self.on_the_way = seen
            # A switch may bring the place along: `--save-checkpoint runs/last.pt`.
            elif role == "frequency" or (role == "switch" and "/" not in value):
                self.saves = self.saves or not is_off(value)
            elif role == "upload":
                self._sort_in_upload(value, seen)
            elif role == "made-model":
                self.makes = True
            elif role in ("store-type", "unsaved"):
                continue
            elif role == "configuration":
                self.unread.append(Found("unknown", Evidence(seen.path, seen.value, _UNSEEN_FILE)))
            else:
                # A bucket is mostly given by its bare name.
                bucket = (role == "bucket" and "/" not in value) or self._is_in_a_bucket(value, seen.value)
                place = Place("durable", "object store") if bucket else self.find(value, folder)
                if place is not None:
                    self._sort_in(meaning, value, folder, place, seen)
        found = (self.called, self.written, self.folders, self.models, self.when_saving, self.maybe)
        if off is not None and not any(found):
            # Of several programs another one saves.
            self.off = off
        if self.saves:
            self.maybe = []

    @property
    def find(self) -> Find:
        """What says where the container's paths lead to."""
        if self._find is None:
            self._find = finder(self.container, self.view, self.workers)
        return self._find

    def _sort_in(self, meaning: Meaning, value: str, folder: str, place: Place, seen: Evidence) -> None:
        role, signs = meaning.role, self.view.signs
        found = Found(place.kept, Evidence(seen.path, seen.value, place.note))
        if role == "output-by-path":
            if place.kept == "durable":
                self.by_path.append(found)
            return
        named = role in _WHEN_SAVING and _is_named(value, signs)
        written = role not in _WHEN_SAVING or (meaning.written_by and self.view.framework.state in meaning.written_by)
        written = written or (role == "output-when-named" and named)
        # A variable of that name may be one that nothing reads.
        own = place.kept == "durable" and not meaning.root and _OF_THE_RUN.search(value[:MAX_NAME]) is not None
        written = written or (own and not _is_of_a_variable(found))
        self.writes = self.writes or role == "output"
        if role == "place" and _is_of_a_model(value, signs):
            self.models.append(found)
            return
        if place.kept == "ephemeral" and len(self.lost) < MOST:
            self.lost.append(value if value[:1] == "/" or not folder else f"{folder}/{value}")
        if meaning.root and not written and not _is_for_runs(value, signs):
            found = found.doubted(MAY_SAVE)
        if role in ("place", "folder", "bucket"):
            self.called.append(found)
        (self.folders if role == "folder" else self.written if written else self.when_saving).append(found)
        if role in _WHEN_SAVING and not written and place.kept == "durable":
            folder, _, file = value.rpartition("/")
            if role == "output-when-named":
                self.maybe.append((place, seen, value))
            elif "." in file and "(" not in seen.value:
                # Of a file the folder counts that it is in; a call in a text only names what it writes.
                self.maybe.append((place, seen, folder))

    def _is_handed_over(self, variable: Found) -> bool:
        """Whether a command names what a variable says: ``mkdir -p $CHECKPOINT_DIR``."""
        value = variable.seen.value.partition("=")[2]
        return any(value in word for started in self.container.started for word in started.invocation.words)

    def _is_in_a_bucket(self, value: str, shown: str) -> bool:
        """Whether a relative path is in a bucket, by what it is called (``--output_gcs_path``) or what stands beside it."""
        if value[:1] in ("/", ".", "~", "$") or "://" in value:
            return False
        name = shown[:MAX_NAME].partition("=")[0].lower().replace("-", "_")
        return self.stored or not self.view.signs.checkpoint.schemes.isdisjoint(name.split("_"))

    def _sort_in_upload(self, value: str, seen: Evidence) -> None:
        """A setting by which the model is uploaded, or that says when."""
        value = value.lower()
        if seen.value.lstrip("-").lower().replace("-", "_").startswith(_STRATEGY):
            self.when_uploaded = value
        elif not is_off(value):
            self.uploaded = (value, seen)

    def _of_upload(self) -> list[Found]:
        """What is uploaded: with every checkpoint, or the model alone."""
        if self.uploaded is None:
            return []
        value, seen = self.uploaded
        if value in _EVERY_ONE or self.when_uploaded in _EVERY_ONE:
            return [Found("durable", Evidence(seen.path, seen.value, "uploaded with every checkpoint"))]
        note = "the model is uploaded; nothing says that what it takes to go on is"
        return [Found("durable", Evidence(seen.path, seen.value, note), finished=True)]

    def places(self) -> list[Found]:
        """Those that count."""
        found = self.written + self._of_upload()
        if self.called and are(self.called, "ephemeral") and not any(map(is_fine_tuning, self.container.said)):
            # What it is told of its checkpoints says more than where its results go, and an option more than a variable.
            only_variables = all(_is_of_a_variable(one) and not self._is_handed_over(one) for one in self.called[:MOST])
            found = [
                one if one.finished or (only_variables and not _is_of_a_variable(one)) else one.doubted(_KEPT_ELSEWHERE)
                for one in found
            ]
        # A tool that tunes a model that exists reads it from its checkpoint folder, and writes elsewhere.
        if self.folders and not (self.writes and any(map(_tunes, self.container.said))):
            found += self.folders
        if self.models and not self.writes:
            found += self.models if self.saves else [one.doubted(_MAY_BE_READ) for one in self.models]
        if are(found, "none"):
            found += self.by_path
        if self.saves:
            found += self.when_saving if are(found, "none") else []
        elif self.makes and are(found, "none"):
            found += [one.of_a_finished_model() for one in self.when_saving]
        return found


def _saves_by_itself(started: Started, signs: Signs) -> bool:
    target = started.target
    return target is not None and target.role != "code" and program_name(target.name) in signs.checkpoint.savers


def _is_of_a_model(value: str, signs: Signs) -> bool:
    """Whether a place is a web address, or a file of a model's state that is not named for what a run saves."""
    if value[:4].lower() == "http":
        return True
    stem, dot, ending = value.rpartition("/")[2].rpartition(".")
    return dot != "" and ending.lower() in signs.checkpoint.files and not _is_named(stem, signs)


def _is_for_runs(value: str, signs: Signs) -> bool:
    """Whether a folder on the way is named for what runs write: ``/data/runs/a``."""
    known = signs.checkpoint
    words = [set(name_words(folder)) for folder in value[-MAX_NAME:].split("/")]
    return any(not known.mounts.isdisjoint(one) and known.mounts_never.isdisjoint(one) for one in words)


def _is_named(value: str, signs: Signs) -> bool:
    """Whether a folder is named for what a run saves: ``/fsx/run/checkpoints``."""
    last = value.rstrip("/").rpartition("/")[2]
    return len(last) <= MAX_NAME and not signs.checkpoint.subjects.isdisjoint(name_words(last))


def _is_of_a_variable(found: Found) -> bool:
    return "env" in found.seen.path


def _tunes(said: Said | None) -> bool:
    return said is not None and said.saying.says == "fine-tuning" and said.strength is Strength.KNOWN


def are(found: list[Found], *kept: str) -> bool:
    """Whether all of them are kept in one of these ways."""
    return all(one.kept in kept for one in found)


def is_fine_tuning(said: Said | None) -> bool:
    """Whether a sign speaks for tuning a model that exists."""
    return said is not None and said.saying.says == "fine-tuning"
