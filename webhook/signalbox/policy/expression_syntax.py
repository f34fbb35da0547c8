"""What lint must know of a CEL expression before it runs: the CEL library gives no syntax tree, and has no budget.

The expression is cut into tokens, and from them follow the variables and fields it names, the functions it calls, and the
macros that stand inside one another. Whether it is CEL at all is for the library's own parser to say.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from signalbox.policy.nearest import nearest
from signalbox.policy.workload_value import nearest_field

MAX_TOKENS = 1000
MAX_BRACKETS = 32

MACROS = ("all", "exists", "exists_one", "map", "filter")
# What the library calls by another spelling, and the number of arguments there may be.
_MACRO_NAMES = (*MACROS, "existsOne")
_BUILDING = ("map", "filter")
FUNCTIONS = (
    "size",
    "contains",
    "startsWith",
    "endsWith",
    "matches",
    "int",
    "uint",
    "double",
    "string",
    "bytes",
    "timestamp",
    "duration",
    "dyn",
    "type",
    "getFullYear",
    "getMonth",
    "getDate",
    "getDayOfMonth",
    "getDayOfWeek",
    "getDayOfYear",
    "getHours",
    "getMinutes",
    "getSeconds",
    "getMilliseconds",
)
VARIABLES = ("workload", "object", "oldObject", "request")
REQUEST_FIELDS: dict[str, tuple[str, ...]] = {
    "operation": (),
    "namespace": (),
    "name": (),
    "dryRun": (),
    "kind": ("group", "version", "kind"),
    "userInfo": ("username", "groups"),
}
_TYPE_NAMES = frozenset(
    ("int", "uint", "double", "string", "bytes", "bool", "list", "map", "null_type", "type", "timestamp", "duration")
)
_KEYWORDS = frozenset(("true", "false", "null", "in"))

_TOKEN = re.compile(
    r"""(?P<space>\s+|//[^\n]*)
    |(?P<string>
        [bB]?[rR][bB]?(?:\"\"\".*?\"\"\"|'''.*?'''|"[^"\n]*"|'[^'\n]*')
        |[bB]?(?:\"\"\"(?:\\.|[^\\])*?\"\"\"|'''(?:\\.|[^\\])*?'''|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'))
    |(?P<number>0[xX][0-9a-fA-F]+u?|\d+(?:\.\d+)?(?:[eE][-+]?\d+)?[uU]?|\.\d+(?:[eE][-+]?\d+)?)
    |(?P<name>[A-Za-z_]\w*)
    |(?P<sign>&&|\|\||[<>=!]=|[-+*/%<>!?:,.(){}\[\]])""",
    re.VERBOSE | re.DOTALL,
)


class InvalidExpressionError(ValueError):
    """An expression that must not run; ``line`` and ``column`` (from 1) count within the expression."""

    def __init__(self, message: str, line: int = 1, column: int = 1) -> None:
        super().__init__(message)
        self.message, self.line, self.column = message, line, column


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of the text that means something, and where it starts."""

    kind: str
    text: str
    at: int


@dataclass(frozen=True, slots=True)
class Syntax:
    """``paths``: every variable with the fields selected from it, ``("object", "spec", "template")``.

    ``builds_lists``: a macro in it makes a new list, which the library copies once more for every member.
    """

    paths: frozenset[tuple[str, ...]]
    builds_lists: bool = False

    def fields(self, variable: str) -> frozenset[tuple[str, ...]]:
        """The fields selected from one variable; the empty path stands for the whole of it."""
        return frozenset(path[1:] for path in self.paths if path[0] == variable)


def tokenize(text: str) -> list[Token]:
    """The tokens of an expression. Raises InvalidExpressionError on a character that is of none, and on too many."""
    tokens: list[Token] = []
    at = depth = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            hint = ", == compares two values" if text[at] == "=" else ""
            raise _invalid(f"cannot read the expression from {text[at : at + 10]!r} on{hint}", text, at)
        kind = match.lastgroup or ""
        if kind != "space":
            tokens.append(Token(kind, match.group(), at))
            depth += (match.group() in ("(", "[", "{")) - (match.group() in (")", "]", "}"))
        if len(tokens) > MAX_TOKENS:
            raise _invalid(f"an expression of more than {MAX_TOKENS} words and signs", text, at)
        # The library parses and evaluates recursively on a thread's small stack.
        if depth > MAX_BRACKETS:
            raise _invalid(f"brackets nested deeper than {MAX_BRACKETS}", text, at)
        at = match.end()
    return tokens


def examine(text: str) -> Syntax:
    """What an expression (which the library could parse) names. Raises InvalidExpressionError where lint refuses it."""
    tokens = tokenize(text)
    partner = _partners(tokens)
    paths: set[tuple[str, ...]] = set()
    for index, bound in _scoped_names(text, tokens, partner):
        token = tokens[index]
        if _sign(tokens, index + 1) == "(":
            if token.text != "has":
                _check_function(text, tokens, index, partner)
        elif token.text not in bound and _sign(tokens, index - 1) != ".":
            path = _path(tokens, index)
            _check_variable(text, token, path)
            if path[0] not in _TYPE_NAMES:
                paths.add(path)
    builds = any(
        token.text in _BUILDING and _sign(tokens, index - 1) == "." and _sign(tokens, index + 1) == "("
        for index, token in enumerate(tokens)
    )
    return Syntax(frozenset(paths), builds)


def _scoped_names(text: str, tokens: list[Token], partner: dict[int, int]) -> Iterator[tuple[int, frozenset[str]]]:
    """Each name that is no keyword, with the names macros bind where it stands."""
    scopes: list[tuple[int, str]] = []
    for index, token in enumerate(tokens):
        while scopes and index > scopes[-1][0]:
            scopes.pop()
        if token.kind != "name" or token.text in _KEYWORDS:
            continue
        if token.text in _MACRO_NAMES and _sign(tokens, index - 1) == "." and _sign(tokens, index + 1) == "(":
            if scopes and not _ranges_over_literal(tokens, index - 2, partner):
                raise _invalid(
                    f"{token.text}() inside another macro: what it ranges over can be as long as a user likes "
                    "(only a list written in the expression is allowed there)",
                    text,
                    token.at,
                )
            if index + 2 < len(tokens) and tokens[index + 2].kind == "name":
                scopes.append((partner[index + 1], tokens[index + 2].text))
        yield index, frozenset(name for _, name in scopes)


def _partners(tokens: list[Token]) -> dict[int, int]:
    """Opening and closing brackets by each other's index."""
    partner: dict[int, int] = {}
    opened: list[int] = []
    for index, token in enumerate(tokens):
        if token.kind == "sign" and token.text in "([{":
            opened.append(index)
        elif token.kind == "sign" and token.text in ")]}" and opened:
            start = opened.pop()
            partner[start], partner[index] = index, start
    return partner


def _ranges_over_literal(tokens: list[Token], end: int, partner: dict[int, int]) -> bool:
    """Whether the operand that ends at this token is a list written out: ``['a', 'b']``, not ``x['a']``."""
    if _sign(tokens, end) != "]":
        return False
    before = partner[end] - 1
    return before < 0 or (tokens[before].kind == "sign" and tokens[before].text not in ")]}") or tokens[before].text == "in"


def _path(tokens: list[Token], index: int) -> tuple[str, ...]:
    """The name and the fields selected from it, up to what is no selection: ``object.spec.x.all(…)`` is object.spec.x."""
    path = [tokens[index].text]
    while (
        _sign(tokens, index + 1) == "."
        and index + 2 < len(tokens)
        and tokens[index + 2].kind == "name"
        and _sign(tokens, index + 3) != "("
    ):
        index += 2
        path.append(tokens[index].text)
    return tuple(path)


def _check_function(text: str, tokens: list[Token], index: int, partner: dict[int, int]) -> None:
    token = tokens[index]
    if token.text in _MACRO_NAMES and _sign(tokens, index - 1) == ".":
        wanted = (2, 3) if token.text == "map" else (2,)
        if _arguments(tokens, index + 1, partner) not in wanted or tokens[index + 2].kind != "name":
            raise _invalid(f"{token.text}(x, …) takes a name and what is asked of it", text, token.at)
    elif token.text not in FUNCTIONS:
        known = (*FUNCTIONS, *MACROS, "has")
        raise _invalid(f"unknown function {token.text}(){nearest(token.text, known)}", text, token.at)


def _arguments(tokens: list[Token], opening: int, partner: dict[int, int]) -> int:
    end = partner[opening]
    count, at = int(end > opening + 1), opening + 1
    while at < end:
        if _sign(tokens, at) in ("(", "[", "{"):
            at = partner[at]
        count += _sign(tokens, at) == ","
        at += 1
    return count


def _check_variable(text: str, token: Token, path: tuple[str, ...]) -> None:
    if path[0] in _TYPE_NAMES:
        return
    if path[0] not in VARIABLES:
        raise _invalid(f"unknown variable {path[0]!r}{nearest(path[0], VARIABLES)}", text, token.at)
    wrong = nearest_field(path) if path[0] == "workload" else _wrong_request(path) if path[0] == "request" else None
    if wrong is not None:
        raise _invalid(wrong, text, token.at)


def _wrong_request(path: tuple[str, ...]) -> str | None:
    if len(path) == 1:
        return f"name a field of request: {', '.join(REQUEST_FIELDS)}"
    if path[1] not in REQUEST_FIELDS:
        return f"request has no field {path[1]!r}{nearest(path[1], REQUEST_FIELDS)}"
    inner = REQUEST_FIELDS[path[1]]
    if len(path) > 2 and path[2] not in inner:
        return f"request.{path[1]} has no field {path[2]!r}{nearest(path[2], inner)}"
    return None


def _sign(tokens: list[Token], index: int) -> str:
    """The sign at an index, empty where there is none."""
    return tokens[index].text if 0 <= index < len(tokens) and tokens[index].kind == "sign" else ""


def _invalid(message: str, text: str, at: int) -> InvalidExpressionError:
    line = text.count("\n", 0, at) + 1
    return InvalidExpressionError(message, line, at - text.rfind("\n", 0, at))
