"""The one YAML loader: text to documents that hold what ``kubectl`` would send, each value with its line and column.

Used for policies, manifests, signs and cluster folders. A stream is cut at its ``---`` lines first, as kubectl does, so
one broken document does not hide the others. Where kubectl is careless, this is strict: duplicate keys are refused (kubectl
drops one silently), so are an anchor defined twice, invalid UTF-8, and text that kubectl would ignore.
"""

import codecs
import re
from dataclasses import dataclass
from typing import Any

import yaml
from yaml.nodes import Node, ScalarNode, SequenceNode

from signalbox.fieldpath import Path
from signalbox.json_stream import read_json
from signalbox.yaml_scalar import ScalarError
from signalbox.yaml_tree import Composer, TreeError, below, construct

MAX_BYTES = 32 * 1024 * 1024

# Shorter ones stand everywhere.
_WORD = re.compile(r"[^\s=]{3,}")
_BRACKET = re.compile(r"[\[\]{}]")
_MOST_OPEN = 2000
_SEPARATOR = re.compile(r"^---[ \t]*(?:#.*)?\r?$", re.MULTILINE)
_WRONG_SEPARATOR = re.compile(r"^---.", re.MULTILINE)
_DOCUMENT_END = re.compile(r"^\.\.\.\s*$", re.MULTILINE)
_UNPRINTABLE = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_TEMPLATE = re.compile(r"\{\{.*?\}\}|\{%")
_BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))


@dataclass(frozen=True, slots=True)
class Position:
    """A place in a file, both counted from 1."""

    line: int
    column: int


@dataclass(frozen=True, slots=True)
class SourceProblem:
    """One reason why a document cannot be read. ``line`` 0: it is the file itself that cannot be."""

    file: str
    line: int
    column: int
    message: str

    def __str__(self) -> str:
        return f"{place(self.file, self.line, self.column)} {self.message}"


def place(file: str, line: int, column: int) -> str:
    """``job.yaml:3:1:`` as editors read it; a file that could not be opened has no lines (0)."""
    return f"{file}:{line}:{column}:" if line else f"{file}:"


class SourceError(ValueError):
    """Text that is not what kubectl could send; ``problems`` says where and why."""

    def __init__(self, problems: tuple[SourceProblem, ...]) -> None:
        super().__init__("\n".join(map(str, problems)))
        self.problems = problems


class Document:
    """One document of a file: ``value`` is plain JSON-like data, ``index`` its place among the documents of the file.

    ``twice`` names the keys that stand twice in a mapping; the last of them counts.
    """

    __slots__ = ("_node", "_offset", "file", "index", "line", "twice", "value")

    def __init__(
        self,
        value: Any,
        file: str,
        index: int,
        line: int,
        node: Node | None,
        offset: int,
        twice: tuple[SourceProblem, ...] = (),
    ) -> None:
        self.twice = twice
        self.value = value
        self.file = file
        self.index = index
        self.line = line
        self._node = node
        self._offset = offset

    def __repr__(self) -> str:
        return f"Document({self.file}:{self.line})"

    def position(self, path: Path, key: bool = False) -> Position:
        """Where the value at ``path`` stands, or with ``key`` its key; where there is none, its nearest parent."""
        found = self._node
        for step in path:
            inner = below(found, step)
            if inner is None:
                break
            key_node, found = inner
        else:
            if key and path:
                found = key_node
        if found is None:
            return Position(self.line, 1)
        mark = found.start_mark
        return Position(mark.line + 1 + self._offset, mark.column + 1)

    def position_of(self, path: Path, text: str) -> Position:
        """Where ``text`` stands in the value at ``path``: the member of a list, the line of a literal block.

        Where it is not found as it stands (it was put together, or filled in), the place of the field's own key.
        """
        found, member = self._node, None
        for step in path:
            inner = below(found, step)
            found = inner[1] if inner else None
        # It may be spread over several members, or be partly filled in: then its longest word that stands there says most.
        words = sorted(_WORD.findall(text), key=len, reverse=True)
        for wanted in (text, *words):
            member = member or _member_with(found, wanted)
        if member is None:
            return self.position(path, key=True)
        node, line = member
        mark = node.start_mark
        return Position(mark.line + line + 1 + self._offset, mark.column + 1 if not line else 1)

    def part(self, path: Path) -> "Document":
        """The value at ``path`` as a document of its own, with its place in the file: an item of a ``List``."""
        value, node = self.value, self._node
        for step in path:
            value = value[step]
            inner = below(node, step)
            node = inner[1] if inner else None
        return Document(value, self.file, self.index, self.position(path).line, node, self._offset)


def _member_with(node: Node | None, text: str) -> tuple[Node, int] | None:
    """The scalar that holds ``text``, the value itself or a member of the list; and how many lines below its start."""
    members = node.value if isinstance(node, SequenceNode) else [node]
    for member in members:
        if text and isinstance(member, ScalarNode) and text in member.value:
            # Only the lines of a literal block stand in the file as they do in the value.
            return member, _line_with(text, member.value) if member.style == "|" else 0
    return None


def _line_with(text: str, block: str) -> int:
    """The line of a literal block, counted from its ``|``, that holds ``text``: one that runs it before one that tells."""
    lines = [(number, line.strip()) for number, line in enumerate(block.split("\n"), 1) if text in line]
    runs = [number for number, line in lines if not line.startswith(("#", "echo "))]
    return (runs or [number for number, _ in lines] or [0])[0]


def read_documents(data: bytes | str, file: str) -> list[Document]:
    """Every document that is not empty. Raises SourceError with all problems of all documents, keys that stand twice too."""
    documents, problems = read_documents_leniently(data, file)
    problems += tuple(twice for document in documents for twice in document.twice)
    if problems:
        raise SourceError(problems)
    return documents


def read_documents_leniently(data: bytes | str, file: str) -> tuple[list[Document], tuple[SourceProblem, ...]]:
    """The documents that can be read, and the problems of those that cannot."""
    documents: list[Document] = []
    problems: list[SourceProblem] = []
    try:
        text = _decode(data)
    except TreeError as refused:
        return [], (_problem(refused, file, 0),)
    for piece, offset in _pieces(text):
        try:
            for value, line, node, found in _read(piece):
                if value is not None:
                    twice = tuple([_problem(one, file, offset) for one in found])
                    documents.append(Document(value, file, len(documents), line + 1 + offset, node, offset, twice))
        except TreeError as refused:
            problems.append(_problem(refused, file, offset))
    return documents, tuple(problems)


def _problem(refused: TreeError, file: str, offset: int) -> SourceProblem:
    return SourceProblem(file, refused.line + 1 + offset, refused.column + 1, refused.message)


def _decode(data: bytes | str) -> str:
    if len(data) > MAX_BYTES:
        raise TreeError(f"larger than {MAX_BYTES // 1024 // 1024} MiB")
    if isinstance(data, str):
        return data.removeprefix("\ufeff")
    encoding, body = "utf-8", data
    for mark, name in _BOMS:
        if data.startswith(mark):
            encoding, body = name, data[len(mark) :]
            break
    try:
        return body.decode(encoding)
    except UnicodeDecodeError as error:
        before = body[: error.start]
        line = before.count(b"\n")
        column = len(before[before.rfind(b"\n") + 1 :].decode(encoding, "replace"))
        message = f"not {encoding.upper()}: byte 0x{body[error.start]:02x} (a file in Latin-1? save it as UTF-8)"
        raise TreeError(message, line, column) from None


def _pieces(text: str) -> list[tuple[str, int]]:
    """The text between ``---`` lines, each with the number of lines before it."""
    pieces: list[tuple[str, int]] = []
    start = offset = 0
    for separator in _SEPARATOR.finditer(text):
        pieces.append((text[start : separator.start()], offset))
        offset += text.count("\n", start, separator.end())
        start = separator.end()
    pieces.append((text[start:], offset))
    return pieces


def _read(piece: str) -> list[tuple[Any, int, Node | None, list[TreeError]]]:
    wrong_separator = _WRONG_SEPARATOR.search(piece)
    if wrong_separator is not None:
        message = "kubectl takes no text behind a ---: put it on the next line"
        raise TreeError(message, piece.count("\n", 0, wrong_separator.start()))
    _check_nesting(piece)
    try:
        composer = Composer(piece)
        try:
            node = composer.get_single_node()
        finally:
            composer.dispose()
    except UnicodeEncodeError:
        raise TreeError("not Unicode text (a lone surrogate)") from None
    except yaml.YAMLError as error:
        if piece.lstrip().startswith("{"):
            try:
                values = read_json(piece)
            except ScalarError as wrong:
                raise TreeError(str(wrong), piece.count("\n", 0, len(piece) - len(piece.lstrip()))) from None
            if values:
                return [(value, piece.count("\n", 0, at), None, []) for value, at in values]
        raise _explained(error, piece) from None
    if node is None:
        return []
    value, twice = construct(node)
    return [(value, node.start_mark.line, node, twice)]


def _check_nesting(piece: str) -> None:
    """Refuses what opens thousands of brackets: libyaml's time grows with the square of how many stand open."""
    if piece.count("{") + piece.count("[") < _MOST_OPEN:
        return
    depth = 0
    for bracket in _BRACKET.finditer(piece):
        depth += 1 if bracket.group() in "[{" else -1
        if depth > _MOST_OPEN:
            raise TreeError("nested too deep", piece.count("\n", 0, bracket.start()))
        depth = max(depth, 0)


def _explained(error: yaml.YAMLError, piece: str) -> TreeError:
    if isinstance(error, yaml.reader.ReaderError):
        found = _UNPRINTABLE.search(piece)
        at = found.start() if found else 0
        character = f" (U+{ord(found.group()):04X})" if found else ""
        column = at - piece.rfind("\n", 0, at) - 1
        return TreeError(f"control characters are not allowed{character}", piece.count("\n", 0, at), column)
    if not isinstance(error, yaml.MarkedYAMLError) or error.problem_mark is None:
        return TreeError(str(error))
    mark = error.problem_mark
    message = f"{error.problem}"
    lines = piece.splitlines()
    line = lines[mark.line] if mark.line < len(lines) else ""
    if _DOCUMENT_END.search(piece) and "document" in f"{error.context}{error.problem}":
        message = "a second document without a --- line before it, kubectl would ignore it"
    elif (error.context or "").startswith("found duplicate anchor"):
        message = "the anchor is defined twice"
    elif line[mark.column : mark.column + 1] == "\t" or ("\t" in line[: mark.column] and not line[: mark.column].strip()):
        message = "a tab stands where YAML wants spaces"
    elif message.startswith("mapping values are not allowed"):
        message += ' (indented too deep, or a value with ": " in it that lacks quotes?)'
    elif error.context:
        message = f"{message} ({error.context})"
    if _TEMPLATE.search(line):
        message += "; this looks like a template: render it first"
    return TreeError(message, mark.line, mark.column)
