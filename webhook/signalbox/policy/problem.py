"""What is wrong with a policy document: file, line, column, key path, and the nearest key there is.

pydantic finds all faults of a document at once; here they are put into the words of the person who wrote the YAML.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from signalbox.fieldpath import Path, format_path
from signalbox.policy.nearest import nearest
from signalbox.source import Document, place
from signalbox.yaml_scalar import resolve_plain

_EXPECTED = {
    "string_type": "text is expected",
    "int_type": "a whole number is expected",
    "int_from_float": "a whole number is expected",
    "float_type": "a number is expected",
    "finite_number": "a number is expected",
    "bool_type": "true or false is expected",
    "list_type": "a list is expected",
    "tuple_type": "a list is expected",
    "dict_type": "a mapping is expected",
    "model_type": "a mapping is expected",
    "is_instance_of": "a word is expected",
    "date_type": "a day is expected (2027-01-31)",
    "enum": "another word is expected",
    "string_too_short": "empty text",
    "too_short": "an empty list",
}


_LONGEST = 600
_TYPES: dict[str, type] = {"int_type": int, "float_type": float, "bool_type": bool}


@dataclass(frozen=True, slots=True)
class PolicyProblem:
    """One fault. ``path`` is the key path as text, empty for the document as a whole."""

    file: str
    line: int
    column: int
    path: str
    message: str
    severity: Literal["error", "warning"] = "error"

    def __str__(self) -> str:
        warning = "warning: " if self.severity == "warning" else ""
        path = f"{self.path}: " if self.path else ""
        return f"{place(self.file, self.line, self.column)} {warning}{path}{self.message}"


class Problems:
    """The faults of one document as they are found."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self.found: dict[PolicyProblem, None] = {}

    @property
    def broken(self) -> bool:
        """Whether the document cannot be used."""
        return any(problem.severity == "error" for problem in self.found)

    def add(self, path: Path, message: str, key: bool = False, severity: Literal["error", "warning"] = "error") -> None:
        """A fault of the value at ``path``, or of its ``key``."""
        at = self._document.position(path, key)
        place = self._document.file, at.line, at.column
        self.found[PolicyProblem(*place, _one_line(format_path(path)), _one_line(message), severity)] = None

    def add_validation(self, error: ValidationError, model: type[BaseModel], base: Path = ()) -> None:
        """All faults pydantic found in the value at ``base``."""
        root = _value_at(self._document.value, base)
        for detail in error.errors(include_url=False, include_context=True):
            path, key = _path(detail, root)
            self.add((*base, *path), _message(detail, model, root, path), key)

    def add_nulls(self, value: Any, path: Path, free: Callable[[Path], bool]) -> None:
        """A fault for each key without a value: ``match:`` with nothing behind it would match everything."""
        for here in _nulls(value, path, free):
            self.add(here, "has no value: give it one, or leave the key out", key=True)


def _one_line(text: str) -> str:
    """What is quoted from a file must not write to a terminal but letters."""
    if len(text) > _LONGEST:
        text = f"{text[:_LONGEST]}…"
    return text if text.isprintable() else "".join(one if one.isprintable() else "�" for one in text)


def _nulls(value: Any, path: Path, free: Callable[[Path], bool]) -> Iterator[Path]:
    if free(path):
        return
    if value is None:
        yield path
        return
    members: Iterable[tuple[Any, Any]] = ()
    if isinstance(value, dict):
        members = value.items()
    elif isinstance(value, list):
        members = enumerate(value)
    for step, item in members:
        if item is None or isinstance(item, (dict, list)):
            yield from _nulls(item, (*path, step), free)


def _path(detail: ErrorDetails, root: Any) -> tuple[Path, bool]:
    """The path in the YAML, and whether the key is at fault: pydantic adds steps of its own to some."""
    path: list[str | int] = []
    here = root
    key = detail["type"] == "extra_forbidden"
    steps = detail["loc"]
    for index, step in enumerate(steps):
        last = index == len(steps) - 1
        if step == "[key]" and last:
            return tuple(path), True
        if _has(here, step):
            path.append(step)
            here = here[step]
        elif last and detail["type"] == "missing":
            return (*path, step), True
    return tuple(path), key or isinstance(here, dict)


def _has(value: Any, step: str | int) -> bool:
    if isinstance(value, list):
        return isinstance(step, int) and step < len(value)
    return isinstance(value, dict) and step in value


def _message(detail: ErrorDetails, model: type[BaseModel], root: Any, path: Path) -> str:
    kind, value = detail["type"], detail.get("input")
    if kind == "missing":
        return "is missing"
    if kind == "extra_forbidden":
        return f"unknown key{nearest(str(path[-1]), _keys(_model_at(model, path[:-1])))}"
    if kind == "value_error":
        return str(detail["ctx"]["error"])
    if kind == "literal_error":
        expected = str(detail["ctx"]["expected"])
        if not isinstance(value, str):
            return f"{expected} is expected, {_described(value)}"
        words = [word.strip().strip("'") for word in expected.replace(" or ", ",").split(",")]
        return f"unknown word {value!r}{nearest(value, words)}"
    if kind in ("greater_than_equal", "less_than_equal"):
        bound = detail["ctx"].get("ge", detail["ctx"].get("le"))
        return f"{value} is {'below' if kind.startswith('greater') else 'above'} {bound}"
    if kind in ("string_too_short", "too_short"):
        return f"{_EXPECTED[kind]} is no value here"
    expected = _EXPECTED.get(kind, "")
    if not expected:
        return detail["msg"]
    return f"{expected}, {_described(value)}{_hint(kind, value) or _shape(kind, _model_at(model, path))}"


def _described(value: Any) -> str:
    if value is None:
        return "this is nothing"
    if isinstance(value, bool):
        return f"this is {str(value).lower()}"
    if isinstance(value, (int, float)):
        return f"this is the number {value}"
    if isinstance(value, str):
        return f"this is the text {value[:60]!r}"
    return "this is a list" if isinstance(value, list) else "this is a mapping"


def _hint(kind: str, value: Any) -> str:
    if kind in ("list_type", "tuple_type") and isinstance(value, str):
        return f": write [{value[:60]}]"
    if kind == "string_type" and isinstance(value, (bool, int, float)):
        return ": put it in quotes"
    if isinstance(value, str) and isinstance(resolve_plain(value), _TYPES.get(kind, ())):
        return ": leave the quotes out"
    return ""


def _shape(kind: str, model: type[BaseModel] | None) -> str:
    """How a mapping that stands as something else would be written."""
    shape = getattr(model, "shape", "") if kind == "model_type" else ""
    return f": write {shape}" if shape else ""


def _keys(model: type[BaseModel] | None) -> list[str]:
    return [field.alias or name for name, field in model.model_fields.items()] if model is not None else []


def _model_at(model: type[BaseModel] | None, path: Path) -> type[BaseModel] | None:
    """The model of the mapping at ``path``."""
    for step in path:
        if isinstance(step, int) or model is None:
            continue
        field = next((field for name, field in model.model_fields.items() if (field.alias or name) == step), None)
        model = _model_in(field.annotation) if field is not None else None
    return model


def _model_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for part in get_args(annotation) if (found := _model_in(part)) is not None), None)


def _value_at(root: Any, path: Path) -> Any:
    for step in path:
        root = root[step]
    return root
