"""CEL expressions in rules: compiled once, linted before they run, and shown only what they name.

The library converts every value that it is given, has no budget and holds the interpreter while it runs. So an
expression gets only the parts of the objects that it names, and none where a list in them is longer than MAX_MEMBERS:
the rule is then *not judged*.
"""

import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec
from math import isfinite
from threading import Lock
from typing import Any, Protocol, cast

from signalbox.policy.expression_syntax import VARIABLES, InvalidExpressionError, Syntax, examine, tokenize
from signalbox.policy.subject import Subject
from signalbox.policy.workload_value import SAMPLE, unknown_field, workload_builder
from signalbox.review import JsonObject, Request, json_name
from signalbox.workload.view import WorkloadView

MAX_MEMBERS = 1000
MAX_VALUES = 20_000
MAX_DEPTH = 100
# For map() and filter(): the library copies the list it builds, and what is in it, once more for every member.
MAX_MEMBERS_BUILT = 64
MAX_VALUES_BUILT = 1000
MAX_TEXT_BUILT = 16 * 1024

_SYNTAX_ERROR = re.compile(r"ERROR: <input>:(\d+):(\d+): (.*)")
_MISSING: Any = object()


class _Program(Protocol):
    def execute(self, context: dict[str, Any]) -> Any: ...


class _Library(Protocol):
    def compile(self, expression: str) -> _Program: ...


@dataclass(frozen=True, slots=True)
class NotJudged:
    """The expression was not evaluated: ``reason`` says why. ``unknown``: that is what the view has not been told."""

    reason: str
    unknown: bool = False


@dataclass(frozen=True, slots=True)
class ExpressionError:
    """The expression has no value for this object: a field is missing, or of another type than it takes it for."""

    text: str


_LOADING = Lock()


@dataclass(frozen=True, slots=True)
class Expression:
    """A compiled expression: true where the rule is kept, or a number that says how badly it is broken."""

    text: str
    syntax: Syntax
    _program: _Program
    _workload: Callable[[WorkloadView], JsonObject]
    _fields: dict[str, frozenset[tuple[str, ...]]]
    _bounded: bool

    def evaluate(self, subject: Subject, old_object: JsonObject | None = None) -> bool | NotJudged | ExpressionError:
        """Whether the workload keeps the rule."""
        value = self._run(subject, old_object)
        if isinstance(value, bool | NotJudged | ExpressionError):
            return value
        return ExpressionError(f"the result is {json_name(value)}, not true or false")

    def amount(self, subject: Subject, old_object: JsonObject | None = None) -> float | None:
        """The number that the expression comes to; None where it has none for this object."""
        value = self._run(subject, old_object)
        return float(value) if type(value) in (int, float) and isfinite(value) else None

    def _run(self, subject: Subject, old_object: JsonObject | None) -> Any:
        variables: dict[str, Any] = {}
        for name, fields in self._fields.items():
            unknown = self._unknown(name, fields, subject)
            if unknown:
                return NotJudged(unknown, unknown=True)
            variables[name] = self._value(name, fields, subject, old_object)
        too_large = "" if self._bounded else _too_large(variables, self.syntax.builds_lists)
        if too_large:
            return NotJudged(too_large)
        try:
            return self._program.execute(variables)
        except _EVALUATION_ERRORS as error:
            return ExpressionError(_failure(error))
        except (Exception, KeyboardInterrupt, SystemExit):
            raise
        except BaseException as panic:
            # A panic in the library is no Exception to Python: uncaught, it would end a request, or a thread, unseen.
            raise RuntimeError(f"the CEL library panicked: {panic}") from panic

    def _unknown(self, name: str, fields: frozenset[tuple[str, ...]], subject: Subject) -> str:
        if name == "workload":
            return next((words for field in fields if (words := unknown_field(field, subject.view))), "")
        if name == "request" and subject.request.user is None and any(field[0] == "userInfo" for field in fields):
            return "the user who asks"
        return ""

    def _value(
        self, name: str, fields: frozenset[tuple[str, ...]], subject: Subject, old_object: JsonObject | None
    ) -> JsonObject | None:
        if name == "workload":
            return self._workload(subject.view)
        if name == "request":
            return _prune(_request_value(subject.request), fields)
        value = subject.view.object if name == "object" else old_object
        return None if value is None else _prune(value, fields)


# What the library raises for an expression without a value (IndexError and KeyError are LookupErrors).
_EVALUATION_ERRORS = (LookupError, TypeError, ValueError, ArithmeticError, RuntimeError)


def compile_expression(text: str, number: bool = False) -> Expression:
    """The compiled expression, of a truth value or a ``number``.

    Raises InvalidExpressionError with line and column where it must not be used.
    """
    # The library's parser is recursive: what is too long or too deep must not reach it.
    tokenize(text)
    try:
        program = _library().compile(text)
    except ValueError as error:
        raise _syntax_error(str(error)) from None
    syntax = examine(text)
    fields = {name: syntax.fields(name) for name in VARIABLES if syntax.fields(name)}
    workload = fields.get("workload", frozenset())
    _try_out(program, syntax, workload, number)
    # Of the workload value only the labels and annotations are as long as a user likes.
    bounded = fields.keys() <= {"workload"} and not any(field[0] in ("labels", "annotations") for field in workload)
    return Expression(text, syntax, program, workload_builder(workload), fields, bounded)


def _library() -> _Library:
    # Loaded by two threads at once, it panics.
    with _LOADING:
        return _loaded_library()


@cache
def _loaded_library() -> _Library:
    """The CEL library's compiled part alone: the package around it imports a whole interactive shell (0.4 s)."""
    package = find_spec("cel")
    spec = PathFinder.find_spec("cel.cel", package.submodule_search_locations) if package is not None else None
    if spec is None or spec.loader is None:
        raise ModuleNotFoundError("the CEL library (common-expression-language) is not installed")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return cast(_Library, module)


def _syntax_error(text: str) -> InvalidExpressionError:
    found = _SYNTAX_ERROR.search(text)
    if found is None:
        return InvalidExpressionError("not a CEL expression")
    message = found.group(3).split(" expecting {")[0].removeprefix("Syntax error: ")
    return InvalidExpressionError(f"not a CEL expression: {message}", int(found.group(1)), int(found.group(2)))


def _try_out(program: _Program, syntax: Syntax, workload: frozenset[tuple[str, ...]], number: bool) -> None:
    """Evaluates an expression that names nothing but the workload on a sample: its types are always the same."""
    if any(path[0] != "workload" for path in syntax.paths):
        return
    try:
        value = program.execute({"workload": {field[0]: SAMPLE[field[0]] for field in workload}})
    except (TypeError, RuntimeError) as error:
        message = _failure(error)
        if isinstance(error, TypeError) or "regex" in message or "takes" in message:
            raise InvalidExpressionError(message) from None
    except (LookupError, ValueError, ArithmeticError):
        # A label the sample has not, a name that is no number: depends on the workload.
        return
    else:
        if number and type(value) not in (int, float):
            raise InvalidExpressionError(f"the result is {json_name(value)}, a number is expected")
        if not number and not isinstance(value, bool):
            raise InvalidExpressionError(f"the result is {json_name(value)}, true or false is expected")


def _failure(error: Exception) -> str:
    text = str(error)
    if isinstance(error, KeyError):
        return f"no such key: {error.args[0] if error.args else text}"
    if text.startswith("No such overload"):
        return "an operation on types it is not defined for (a missing conversion, or a field of another type)"
    if text.startswith("Undefined variable or function"):
        # Every name was checked by lint: what is left is a function called on a type it has no variant for.
        name = text.split("'")[1] if "'" in text else "a function"
        return f"{name}() takes other types than it is given here"
    return text.partition(". Check ")[0].replace("\n", " ")[:200]


def _prune(value: JsonObject, fields: frozenset[tuple[str, ...]]) -> JsonObject:
    """Only the parts of an object that are named; what is not there stays away."""
    if () in fields:
        return value
    pruned: JsonObject = {}
    for field in sorted(fields, key=len):
        source: Any = value
        target = pruned
        for depth, step in enumerate(field):
            found = source.get(step, _MISSING) if isinstance(source, dict) else _MISSING
            if found is _MISSING:
                break
            if depth == len(field) - 1 or not isinstance(found, dict):
                target[step] = found
                break
            held = target.get(step)
            if held is found:
                # A shorter path holds the whole of it already.
                break
            if held is None:
                held = target[step] = {}
            source, target = found, held
    return pruned


def _too_large(value: Any, builds_lists: bool) -> str:
    """In words, what of the values is too long, too deep or too much for the library; empty where nothing is."""
    most, left, text = (
        (MAX_MEMBERS_BUILT, MAX_VALUES_BUILT, MAX_TEXT_BUILT) if builds_lists else (MAX_MEMBERS, MAX_VALUES, sys.maxsize)
    )
    values = left
    level = [value]
    for _ in range(MAX_DEPTH):
        below: list[Any] = []
        for container in level:
            size = len(container)
            if size > most:
                return f"a list or mapping of {size} members (at most {most} are looked at)"
            left -= size
            if left < 0:
                return f"more than {values} values"
            for item in container.values() if isinstance(container, dict) else container:
                if isinstance(item, (dict, list)):
                    below.append(item)
                elif builds_lists and isinstance(item, str):
                    text -= len(item)
                    if text < 0:
                        return f"more than {MAX_TEXT_BUILT} characters of text for map() or filter()"
        if not below:
            return ""
        level = below
    return f"an object nested deeper than {MAX_DEPTH} levels"


def _request_value(request: Request) -> JsonObject:
    value: JsonObject = {
        "operation": request.operation,
        "namespace": request.namespace,
        "name": request.name,
        "dryRun": request.dry_run,
        "kind": {"group": request.group, "version": request.version, "kind": request.kind},
    }
    if request.user is not None:
        value["userInfo"] = {"username": request.user.username, "groups": list(request.user.groups)}
    return value
