"""Where in its file a manifest says what a judgement rests on."""

import os
from dataclasses import dataclass
from typing import Any

from signalbox.fieldpath import Path, value_at
from signalbox.manifests import STDIN, Manifest
from signalbox.plain_text import clean
from signalbox.review import JsonObject
from signalbox.workload.judgement import Evidence

BY_DEFAULT = "the API server's default"
# Beside a longer name nothing else would fit into the line; the file's whole name stands at the top of the page.
_LONGEST_PATH = 20
_LONGEST_NAME = 32
# Text that was read out of these may stand in any of their members.
_LISTS = ("command", "args")


@dataclass(frozen=True, slots=True)
class Place:
    """``line`` None: the manifest does not say it; ``text`` is what people read."""

    line: int | None
    text: str


class Places:
    """The places of one manifest. ``filled`` is the manifest with the API server's defaults."""

    def __init__(self, manifest: Manifest, filled: JsonObject) -> None:
        self._manifest = manifest
        self._filled = filled
        file = manifest.file if len(manifest.file) <= _LONGEST_PATH else os.path.basename(manifest.file)
        self._file = f"{clean(file)}:" if file != STDIN and len(file) <= _LONGEST_NAME else "line "

    def of(self, evidence: Evidence) -> Place:
        """Where one piece of evidence stands: its very line, where a command or a script goes over several."""
        path = evidence.path
        value = value_at(self._manifest.value, path)
        if isinstance(value, str | list) and path and (path[-1] in _LISTS or isinstance(value, str)):
            return self._at(self._manifest.document.position_of(path, evidence.value).line)
        return self.of_path(path)

    def of_path(self, path: Path) -> Place:
        """Where a field stands, by its key."""
        if _stands(self._manifest.value, path):
            return self._at(self._manifest.document.position(path, key=True).line)
        return Place(None, BY_DEFAULT if _stands(self._filled, path) else "")

    def _at(self, line: int) -> Place:
        return Place(line, f"{self._file}{line}")


def _stands(root: Any, path: Path) -> bool:
    return value_at(root, path) is not None
