"""Who speaks of a folder beside the options that save, or fills it: its options may read from there, and so may a text."""

from typing import TYPE_CHECKING, Literal

from signalbox.fieldpath import Path
from signalbox.workload.container_paths import LONGEST_PATH
from signalbox.workload.container_reading import prepared_by
from signalbox.workload.containers import ContainerView
from signalbox.workload.meaning import meaning_of
from signalbox.workload.signs import Signs
from signalbox.workload.storage import Storage
from signalbox.workload.vocabulary import MAX_NAME, name_words

if TYPE_CHECKING:
    from signalbox.workload.view import WorkloadView

How = Literal["reads", "saves", "says"]
# More that speaks of paths, or fills a volume, than anybody has.
_MOST = 512
_MOST_BEFORE = 16


class Mentions:
    """What variables, options and texts of a container name: paths, and how each of them is named."""

    __slots__ = ("_container", "_paths", "_storage", "_texts", "_view")

    def __init__(self, container: ContainerView, view: "WorkloadView") -> None:
        self._container = container
        self._view = view
        self._storage: Storage | None = None
        self._paths: list[tuple[How, str]] | None = None
        self._texts: list[str] = []

    def of(self, folder: str) -> set[How]:
        """How the paths in a folder are named: by what reads, by what saves, or by what says nothing about it."""
        if self._paths is None:
            self._paths = self._read()
        if not self._paths:
            return set()
        below = f"{folder}/"
        return {how for how, value in self._paths if value == folder or value.startswith(below)}

    def in_text(self, folder: str) -> bool:
        """Whether the text of a program, or JSON, names it."""
        if self._paths is None:
            self._paths = self._read()
        return any(f"{folder}{end}" in text for text in self._texts for end in ("/", '"', "'"))

    def volume_of(self, path: str) -> str | None:
        """The volume that a path of the container is on; None where it is on none."""
        self._storage = self._storage or Storage(self._container, self._view)
        found = self._storage.on_volume(path)
        return None if found is None else found[0]

    def is_filled(self, path: str) -> bool:
        """Whether something puts files on the volume of a path before the run starts."""
        volume = self.volume_of(path)
        return volume is not None and (self._container.template.path, volume) in self._view.filled

    def _read(self) -> list[tuple[How, str]]:
        signs = self._view.signs
        found: list[tuple[How, str]] = []
        for name, value in self._container.env.items():
            if "/" in value and len(found) < _MOST:
                found.append((_how(name, signs), _path(value)))
        for started in self._container.started:
            if started.invocation.document:
                self._texts.append(started.invocation.document)
            if started.target is not None and started.target.role == "code":
                self._texts.append(started.target.name)
            elif started.target is not None and started.target.name in signs.commands.utilities:
                continue
            words = started.invocation.words
            for at, word in enumerate(words):
                if "/" not in word:
                    continue
                if word[:1] == "{":
                    self._texts.append(word)
                name, equals, value = word.rpartition("=")
                if not equals and at and words[at - 1][:1] == "-":
                    name = words[at - 1]
                if value[:1] == "/" and len(found) < _MOST:
                    found.append((_how(name, signs) if name else "says", _path(value)))
        return [(how, value) for how, value in found if value[:1] == "/"]


def _how(name: str, signs: Signs) -> How:
    meaning = meaning_of(name, signs)
    if meaning is not None and meaning.role and not meaning.root:
        return "saves"
    words = name_words(name[:MAX_NAME])
    reads = signs.checkpoint.never | signs.checkpoint.reads | signs.checkpoint.owners
    if (meaning is not None and (meaning.root or meaning.reads_back == "load")) or not reads.isdisjoint(words):
        return "reads"
    return "says"


def filled_before(view: "WorkloadView") -> frozenset[tuple[Path, str]]:
    """The volumes, by template and name, that something puts files on before the run starts, for it to read."""
    tidiers = view.signs.checkpoint.tidiers
    filled: set[tuple[Path, str]] = set()
    for container in prepared_by(view.running_templates, view.signs, _MOST_BEFORE):
        storage = Storage(container, view)
        for started in container.started if container.mounts else ():
            words = started.invocation.words
            if words[0].rpartition("/")[2] in tidiers:
                continue
            for word in words[1:]:
                found = storage.on_volume(_path(word)) if "/" in word else None
                if found is not None:
                    filled.add((container.template.path, found[0]))
    return frozenset(filled)


def _path(value: str) -> str:
    return value[:LONGEST_PATH].strip("\"'").rpartition("=")[2].rstrip("/")
