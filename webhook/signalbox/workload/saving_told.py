"""What a container is told of saving, by options and variables, sorted by what it takes for each to count."""

import re
from typing import TYPE_CHECKING, NamedTuple

from signalbox.workload.command import program_name
from signalbox.workload.containers import ContainerView
from signalbox.workload.judgement import Evidence
from signalbox.workload.place_names import (
    IS_FILE,
    is_called_after_models,
    is_for_runs,
    is_its_model,
    is_named_for_checkpoints,
    is_of_a_model,
    is_of_another,
)
from signalbox.workload.places import Find, Found, Workers, finder
from signalbox.workload.said import Said, Strength
from signalbox.workload.saving import Setting
from signalbox.workload.saving_off import saves_nothing
from signalbox.workload.signs import Signs
from signalbox.workload.started import Started
from signalbox.workload.storage import Place
from signalbox.workload.vocabulary import MAX_NAME, option_name

if TYPE_CHECKING:
    from signalbox.workload.view import WorkloadView

# More of the same says nothing new.
MOST = 16
_WHEN_SAVING = ("output-when-saving", "output-when-named", "output-when-made")
_IF_NO_OTHER = ("output-by-path", "output-if-no-other")
_OF_A_MODEL = ("model-of-a-name", "model-read-or-put", "bucket-of-a-name")
_BUCKETS = ("bucket", "bucket-of-a-name")
MAY_SAVE = "a folder that outlives the Pod; nothing says that progress is saved there"
_MAY_BE_READ = "a file of a model, which may as well be one that is read"
_KEPT_ELSEWHERE = "its checkpoints are said to go to a place that is lost with the Pod"
_OUTPUT_ELSEWHERE = "its output is said to go to a place that is lost with the Pod"
# Values of settings that say when a model is uploaded.
_EVERY_ONE = ("checkpoint", "checkpoints", "all", "all_checkpoints")
_STRATEGY = "hub_strategy"
# `--model_dir gs://b/$(JOB_NAME)`: nobody has put anything there to be read.
_OF_THE_RUN = re.compile(r"\$[({]?(?:JOB|POD|WORKFLOW)_?NAME\b")
_UNSEEN_FILE = "a configuration file that is not in the manifest"


class ModelFolder(NamedTuple):
    """A folder that may be read as well as written (``MODEL_DIR``).

    ``made``: its name says that the run makes the model. ``by_words``: nothing but the words of the name says what it is.
    """

    place: Place
    seen: Evidence
    folder: str
    made: bool
    by_words: bool


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
        # Folders called after checkpoints, by names that may be of what is read (`MODEL_DIR=/data/checkpoints`).
        self.named: list[Found] = []
        # What counts where nothing else names a place.
        self.if_no_other: list[Found] = []
        # Places by names that are given to what is read as well, with their values; those of the finished model apart.
        self.weak: list[tuple[Found, str]] = []
        self.model_places: list[tuple[Found, str]] = []
        # Where nothing says that progress is saved.
        self.model_folders: list[ModelFolder] = []
        # Places that are gone with the Pod, as the program would find them.
        self.lost: list[str] = []
        # Those and such as cannot be seen, as they are written.
        self.gone: list[str] = []
        self.unread: list[Found] = []
        self._find: Find | None = None
        schemes = view.signs.checkpoint.schemes - view.signs.checkpoint.rooted_schemes
        self.stored = any(meaning.role == "store-type" and value.lower() in schemes for meaning, value, *_ in container.saving)
        # What says that nothing is saved before the end.
        self.on_the_way: Evidence | None = None
        for setting in container.saving:
            self._hear(setting)
        listed = [one for one in self.model_folders if not one.by_words]
        if any((self.called, self.written, self.folders, self.models, self.when_saving, listed)):
            # Of several programs another one saves.
            self.off = None
        if self.saves:
            # The others are among those that count once progress is saved.
            self.model_folders = [one for one in self.model_folders if one.by_words]

    def _hear(self, setting: Setting) -> None:
        meaning, value, folder, seen, name = setting
        role = meaning.role
        if role == "off":
            self.off = self.off or Found("none", seen, off=True)
        elif role == "off-on-the-way":
            self.on_the_way = seen
        # A switch may bring the place along: `--save-checkpoint runs/last.pt`.
        elif role == "frequency" or (role == "switch" and "/" not in value):
            self.saves = self.saves or not saves_nothing(value)
        elif role == "upload":
            self._sort_in_upload(name, value, seen)
        elif role == "made-model":
            self.makes = True
        elif role == "configuration":
            self.unread.append(Found("unknown", Evidence(seen.path, seen.value, _UNSEEN_FILE)))
        elif role not in ("store-type", "unsaved"):
            # A bucket is mostly given by its bare name.
            bucket = (role in _BUCKETS and "/" not in value) or self._is_in_a_bucket(name, value)
            place = Place("durable", "object store") if bucket else self.find(value, folder)
            if place is not None:
                self._sort_in(setting, place)

    @property
    def tunes(self) -> bool:
        """Whether any sign speaks for tuning a model that exists."""
        return any(map(_is_fine_tuning, self.container.said))

    @property
    def find(self) -> Find:
        """What says where the container's paths lead to."""
        if self._find is None:
            self._find = finder(self.container, self.view, self.workers)
        return self._find

    def _sort_in(self, setting: Setting, place: Place) -> None:
        meaning, value, folder, seen, _ = setting
        role, signs = meaning.role, self.view.signs
        found = Found(place.kept, Evidence(seen.path, seen.value, place.note))
        if role in _IF_NO_OTHER or role in _OF_A_MODEL:
            if place.kept == "durable":
                self._sort_in_weak(setting, place, found)
            return
        if meaning.role_by_words:
            if place.kept == "durable":
                self._sort_in_folder(setting, place)
            return
        named = (
            role in _WHEN_SAVING and is_named_for_checkpoints(value, signs) and (role != "output-when-saving" or meaning.root)
        )
        written = role not in _WHEN_SAVING or (meaning.written_by and self.view.framework.state in meaning.written_by)
        written = written or (named and role != "output-when-saving" and place.kept != "durable")
        # A variable of that name may be one that nothing reads.
        own = place.kept == "durable" and not meaning.root and _OF_THE_RUN.search(value[:MAX_NAME]) is not None
        written = written or (own and not is_of_a_variable(found))
        self.writes = self.writes or role == "output"
        if role == "place" and is_of_a_model(value, signs):
            self.models.append(found)
            return
        if place.kept in ("ephemeral", "unknown") and len(self.gone) < MOST:
            self.gone.append(value)
        if place.kept == "ephemeral" and len(self.lost) < MOST:
            self.lost.append(value if value[:1] == "/" or not folder else f"{folder}/{value}")
        if meaning.root and not written and not is_for_runs(value, signs):
            found = found.doubted(MAY_SAVE)
        if role in ("place", "folder", "bucket"):
            self.called.append(found)
        if named and place.kept == "durable":
            self.named.append(found)
        (self.folders if role == "folder" else self.written if written else self.when_saving).append(found)
        if role in _WHEN_SAVING and not written and place.kept == "durable":
            self._sort_in_folder(setting, place)

    def _sort_in_folder(self, setting: Setting, place: Place) -> None:
        """A folder for a model, or one that a file of a model is in."""
        role, value, seen, by_words = setting.meaning.role, setting.value, setting.seen, setting.meaning.role_by_words
        if len(self.model_folders) == MOST:
            return
        if by_words and is_named_for_checkpoints(value, self.view.signs):
            self.named.append(Found(place.kept, Evidence(seen.path, seen.value, place.note)))
        above, _, file = value.rpartition("/")
        made = role == "output-when-made"
        if IS_FILE.search(file) is None:
            # `MODEL_PATH=/models/llama` is mostly read; a version may be one of the run's own.
            if made or role == "output-when-named" or "." in file:
                self.model_folders.append(ModelFolder(place, seen, value, made, by_words))
        elif "(" not in seen.value:
            # Of a file the folder counts that it is in; a call in a text only names what it writes.
            self.model_folders.append(ModelFolder(place, seen, above, made, by_words))

    def _sort_in_weak(self, setting: Setting, place: Place, found: Found) -> None:
        """A place that outlives the Pod, by a name that says little: it counts where no other is told."""
        role, value, signs = setting.meaning.role, setting.value, self.view.signs
        if role == "output-by-path":
            self.if_no_other.append(found)
        elif is_of_another(value, signs):
            return
        elif role == "output-if-no-other":
            # A tool that tunes may find its base model there.
            if len(self.weak) < MOST and IS_FILE.search(value) is None:
                read = self.tunes and not self._is_in_a_bucket(setting.name, value)
                self.weak.append((found.doubted(MAY_SAVE) if read else found, value))
        elif role == "bucket-of-a-name" and not is_called_after_models(value, signs):
            return
        elif role in ("model-read-or-put", "bucket-of-a-name") and len(self.model_places) < MOST:
            self.model_places.append((found.of_a_finished_model(), value))
        elif role == "model-of-a-name" and len(self.model_folders) < MOST and is_its_model(setting.name, value, signs):
            self.model_folders.append(ModelFolder(place, found.seen, value.rpartition("/")[0], made=False, by_words=True))

    def _is_handed_over(self, variable: Found) -> bool:
        """Whether a command names what a variable says: ``mkdir -p $CHECKPOINT_DIR``."""
        value = variable.seen.value.partition("=")[2]
        return any(value in word for started in self.container.started for word in started.invocation.words)

    def _is_in_a_bucket(self, name: str, value: str) -> bool:
        """Whether a relative path is in a bucket, by what it is called (``--output_gcs_path``) or what stands beside it."""
        if value[:1] in ("/", ".", "~", "$") or "://" in value:
            return False
        known = self.view.signs.checkpoint
        return self.stored or not (known.schemes | known.buckets).isdisjoint(option_name(name[:MAX_NAME]).split("_"))

    def _sort_in_upload(self, name: str, value: str, seen: Evidence) -> None:
        """A setting by which the model is uploaded, or that says when."""
        value = value.lower()
        if option_name(name[:MAX_NAME]) == _STRATEGY:
            self.when_uploaded = value
        elif not saves_nothing(value):
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
        if self.called and are(self.called, "ephemeral") and not self.tunes:
            # What it is told of its checkpoints says more than where its results go, and an option more than a variable.
            only_variables = all(is_of_a_variable(one) and not self._is_handed_over(one) for one in self.called[:MOST])
            found = [
                one if one.finished or (only_variables and not is_of_a_variable(one)) else one.doubted(_KEPT_ELSEWHERE)
                for one in found
            ]
        # A tool that tunes a model that exists reads it from its checkpoint folder, and writes elsewhere.
        if self.folders and not (self.writes and any(map(_is_known_to_tune, self.container.said))):
            found += self.folders
        if self.models and not self.writes:
            found += self.models if self.saves else [one.doubted(_MAY_BE_READ) for one in self.models]
        if are(found, "none"):
            found += self.if_no_other
        if self.named and are(found, "ephemeral", "none"):
            doubt = _OUTPUT_ELSEWHERE if found else MAY_SAVE
            found += [one.doubted(doubt) for one in self.named] if found or self.tunes else self.named
        if self.saves:
            found += self.when_saving if are(found, "none") else []
        elif self.makes and are(found, "none"):
            found += [one.of_a_finished_model() for one in self.when_saving]
        return found


def _saves_by_itself(started: Started, signs: Signs) -> bool:
    target = started.target
    return target is not None and target.role != "code" and program_name(target.name) in signs.checkpoint.savers


def is_of_a_variable(found: Found) -> bool:
    """Whether a variable of the Pod names a place, and no option."""
    return "env" in found.seen.path


def _is_known_to_tune(said: Said | None) -> bool:
    return said is not None and said.saying.says == "fine-tuning" and said.strength is Strength.KNOWN


def are(found: list[Found], *kept: str) -> bool:
    """Whether all of them are kept in one of these ways."""
    return all(one.kept in kept for one in found)


def _is_fine_tuning(said: Said | None) -> bool:
    return said is not None and said.saying.says == "fine-tuning"
