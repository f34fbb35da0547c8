"""Manifests from files, folders and standard input: every object with its place, and why the rest cannot be read.

Takes what ``kubectl apply -f`` takes (YAML, JSON, several documents, ``List`` kinds) and what Helm and Kustomize print. What
cannot be read is a problem with its place and never ends the reading. Reading the bytes and parsing them are two steps, so
that several processes can parse the very same bytes.
"""

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from signalbox.review import JsonObject, json_name
from signalbox.source import MAX_BYTES, Document, SourceProblem, read_documents_leniently
from signalbox.workload.kinds.kind import mapping

STDIN = "-"
SUFFIXES = (".yaml", ".yml", ".json")
_DEEPEST_LIST = 4

_ONCE_EXTENSIONS = frozenset({"Deployment", "DaemonSet", "ReplicaSet"})


@dataclass(frozen=True, slots=True)
class Manifest:
    """One object. ``index`` counts the objects of a file from 0, the items of a ``List`` each on its own."""

    value: JsonObject
    document: Document
    file: str
    index: int

    @property
    def group(self) -> str:
        """The API group, empty for the core and for anything that is no apiVersion.

        Deployments and their like began in ``extensions``, which no API server serves any more: they are read as what they
        became.
        """
        version = self.value.get("apiVersion")
        group = version.rpartition("/")[0] if isinstance(version, str) else ""
        return "apps" if group == "extensions" and self.kind in _ONCE_EXTENSIONS else group

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
    """What was read. ``empty``: files without an object, and folders without a file to read. ``warnings``: what people should
    know of objects that were read all the same.
    """

    objects: tuple[Manifest, ...]
    problems: tuple[SourceProblem, ...]
    empty: tuple[str, ...] = ()
    warnings: tuple[SourceProblem, ...] = ()


@dataclass(frozen=True, slots=True)
class FileBytes:
    """What a file held at the moment it was read, or why it could not be read."""

    name: str
    data: bytes = b""
    fault: str = ""


@dataclass(frozen=True, slots=True)
class PathBytes:
    """A path, and the files it stood for at the moment they were read."""

    path: str
    files: tuple[FileBytes, ...]


def read_manifests(paths: Sequence[str], skip: frozenset[str] = frozenset(), last_counts: bool = False) -> Manifests:
    """Every object under the paths, in their order; ``-`` is standard input, a folder is read with those in it.

    ``skip`` names folders that are left out (``tests`` beside policies); so is everything whose name starts with a dot,
    which in a mounted ConfigMap holds each file a second time. ``last_counts``: of a key that stands twice the last one counts,
    as it does for ``kubectl apply``, with a warning; else it is a problem.
    """
    return parse_manifests([read_bytes(path, skip) for path in paths], last_counts)


def read_bytes(path: str, skip: frozenset[str] = frozenset()) -> PathBytes:
    """The files of a path as they are now, not looked into yet."""
    return PathBytes(path, tuple(_read(file) for file in manifest_files(path, skip)))


def parse_manifests(read: Iterable[PathBytes], last_counts: bool = False) -> Manifests:
    """Every object in what was read (see ``read_manifests``)."""
    objects: list[Manifest] = []
    problems: list[SourceProblem] = []
    warnings: list[SourceProblem] | None = [] if last_counts else None
    empty: list[str] = []
    for one in read:
        if not one.files:
            empty.append(one.path)
        for file in one.files:
            before = len(objects) + len(problems)
            _parse(file, objects, problems, warnings)
            if len(objects) + len(problems) == before:
                empty.append(file.name)
    return Manifests(tuple(objects), tuple(problems), tuple(empty), tuple(warnings or ()))


def _parse(
    file: FileBytes, objects: list[Manifest], problems: list[SourceProblem], warnings: list[SourceProblem] | None
) -> None:
    if file.fault:
        problems.append(SourceProblem(file.name, 0, 0, file.fault))
        return
    documents, unreadable = read_documents_leniently(file.data, file.name)
    problems += unreadable
    index = 0
    for document in documents:
        if document.twice and warnings is None:
            problems += document.twice
            continue
        if warnings is not None:
            warnings += [replace(one, message=f"{one.message}: the last one counts") for one in document.twice]
        for found in _expand(document, 0):
            if isinstance(found, SourceProblem):
                problems.append(found)
                continue
            objects.append(Manifest(found.value, found, file.name, index))
            index += 1


def own_namespace(obj: JsonObject) -> str:
    """The namespace an object names itself, empty where it names none."""
    namespace = mapping(obj.get("metadata")).get("namespace")
    return namespace if isinstance(namespace, str) else ""


def manifest_files(path: str, skip: frozenset[str] = frozenset()) -> Iterator[str]:
    """The files a path stands for: itself, or those below a folder, sorted. A path that is not there is itself."""
    if path == STDIN or not os.path.isdir(path):
        yield path
        return
    yield from (file for file in _files_below(path, skip) if file.endswith(SUFFIXES))


def other_files(path: str, skip: frozenset[str] = frozenset()) -> Iterator[str]:
    """The files below a folder that are not read because of their ending (``gpu.yam``); one without an ending is no slip."""
    yield from (file for file in _files_below(path, skip) if not file.endswith(SUFFIXES) and os.path.splitext(file)[1])


def _files_below(path: str, skip: frozenset[str]) -> Iterator[str]:
    for folder, below, names in os.walk(path):
        below[:] = sorted(name for name in below if not name.startswith(".") and name not in skip)
        files = (os.path.join(folder, name) for name in sorted(names) if not name.startswith("."))
        # A pipe or a device that lies about in a folder would be read for ever; one that is named by itself is meant.
        yield from (file for file in files if not os.path.exists(file) or os.path.isfile(file))


def _read(file: str) -> FileBytes:
    try:
        # One byte more than the loader takes: it then says that the file is too large, and memory stays bounded.
        if file == STDIN:
            return FileBytes(file, sys.stdin.buffer.read(MAX_BYTES + 1))
        with Path(file).open("rb") as opened:
            return FileBytes(file, opened.read(MAX_BYTES + 1))
    except FileNotFoundError:
        return FileBytes(file, fault="there is no such file or folder")
    except OSError as error:
        return FileBytes(file, fault=error.strerror or str(error))


def _expand(document: Document, depth: int) -> Iterator[Document | SourceProblem]:
    value = document.value
    if not isinstance(value, dict):
        message = f"a manifest is a mapping with apiVersion and kind, this is {json_name(value)}"
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
