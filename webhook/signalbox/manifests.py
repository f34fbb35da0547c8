"""Manifests from files, folders and standard input: every object with its place, and why the rest cannot be read.

Takes what ``kubectl apply -f`` takes (YAML, JSON, several documents, ``List`` kinds) and what Helm and Kustomize print. What
cannot be read is a problem with its place and never ends the reading.
"""

import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from signalbox.review import JsonObject
from signalbox.source import MAX_BYTES, Document, SourceProblem, read_documents_leniently
from signalbox.workload.kinds.kind import mapping

STDIN = "-"
_SUFFIXES = (".yaml", ".yml", ".json")
_DEEPEST_LIST = 4


@dataclass(frozen=True, slots=True)
class Manifest:
    """One object. ``index`` counts the objects of a file from 0, the items of a ``List`` each on its own."""

    value: JsonObject
    document: Document
    file: str
    index: int

    @property
    def group(self) -> str:
        """The API group, empty for the core and for anything that is no apiVersion."""
        version = self.value.get("apiVersion")
        return version.rpartition("/")[0] if isinstance(version, str) else ""

    @property
    def version(self) -> str:
        """The version within the group."""
        version = self.value.get("apiVersion")
        return version.rpartition("/")[2] if isinstance(version, str) else ""

    @property
    def kind(self) -> str:
        """The kind, empty where there is none."""
        kind = self.value.get("kind")
        return kind if isinstance(kind, str) else ""


@dataclass(frozen=True, slots=True)
class Manifests:
    """What was read."""

    objects: tuple[Manifest, ...]
    problems: tuple[SourceProblem, ...]


def read_manifests(paths: Sequence[str], skip: frozenset[str] = frozenset()) -> Manifests:
    """Every object under the paths, in their order; ``-`` is standard input, a folder is read with those in it.

    ``skip`` names folders that are left out (``tests`` beside policies); so is everything whose name starts with a dot,
    which in a mounted ConfigMap holds each file a second time.
    """
    objects: list[Manifest] = []
    problems: list[SourceProblem] = []
    for path in paths:
        for file in manifest_files(path, skip):
            try:
                data = _read(file)
            except OSError as error:
                problems.append(SourceProblem(file, 1, 1, error.strerror or str(error)))
                continue
            documents, unreadable = read_documents_leniently(data, file)
            problems += unreadable
            index = 0
            for document in documents:
                for found in _expand(document, 0):
                    if isinstance(found, SourceProblem):
                        problems.append(found)
                        continue
                    objects.append(Manifest(found.value, found, file, index))
                    index += 1
    return Manifests(tuple(objects), tuple(problems))


def own_namespace(obj: JsonObject) -> str:
    """The namespace an object names itself, empty where it names none."""
    namespace = mapping(obj.get("metadata")).get("namespace")
    return namespace if isinstance(namespace, str) else ""


def manifest_files(path: str, skip: frozenset[str] = frozenset()) -> Iterator[str]:
    """The files a path stands for: itself, or those below a folder, sorted. A path that is not there is itself."""
    if path == STDIN or not os.path.isdir(path):
        yield path
        return
    for folder, below, names in os.walk(path):
        below[:] = sorted(name for name in below if not name.startswith(".") and name not in skip)
        for name in sorted(names):
            if not name.startswith(".") and name.endswith(_SUFFIXES):
                yield os.path.join(folder, name)


def _read(file: str) -> bytes:
    # One byte more than the loader takes: it then says that the file is too large, and memory stays bounded.
    if file == STDIN:
        return sys.stdin.buffer.read(MAX_BYTES + 1)
    with Path(file).open("rb") as opened:
        return opened.read(MAX_BYTES + 1)


def _expand(document: Document, depth: int) -> Iterator[Document | SourceProblem]:
    value = document.value
    if not isinstance(value, dict):
        name = _JSON_NAMES.get(type(value), "something else")
        message = f"a manifest is a mapping with apiVersion and kind, this is {name}"
        yield SourceProblem(document.file, document.line, 1, message)
        return
    kind, items = value.get("kind"), value.get("items")
    if not isinstance(kind, str) or not kind.endswith("List") or not isinstance(items, list):
        yield document
        return
    if depth == _DEEPEST_LIST:
        yield SourceProblem(document.file, document.line, 1, f"Lists nested deeper than {_DEEPEST_LIST} levels")
        return
    for index, item in enumerate(items):
        part = document.part(("items", index))
        if isinstance(item, dict) and kind != "List" and "kind" not in item:
            # The API's own lists (PodList) leave out what is the same for every item.
            part.value = {"apiVersion": value.get("apiVersion"), "kind": kind.removesuffix("List"), **item}
        yield from _expand(part, depth + 1)


_JSON_NAMES: dict[type, str] = {
    list: "a list",
    str: "text",
    bool: "true or false",
    int: "a number",
    float: "a number",
}
