"""What the code says of its metrics and log lines, read out of the source: pages and alerts are held against it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

PACKAGE = Path(__file__).parent.parent / "webhook" / "signalbox"

_METRICS = {
    "Counter": "counter",
    "CounterMetricFamily": "counter",
    "Gauge": "gauge",
    "GaugeMetricFamily": "gauge",
    "Histogram": "histogram",
    "HistogramMetricFamily": "histogram",
}
_LEVELS = ("debug", "info", "warning", "error")
_UNITS = ("seconds", "bytes")


@dataclass(frozen=True, slots=True)
class MetricFacts:
    """One metric: its name as Prometheus has it, and in which modules it is made."""

    name: str
    type: str
    text: str
    labels: tuple[str, ...]
    modules: frozenset[str]

    @property
    def samples(self) -> tuple[str, ...]:
        """The names that stand in an expression."""
        return tuple(f"{self.name}_{end}" for end in ("bucket", "sum", "count")) if self.type == "histogram" else (self.name,)

    @property
    def unit(self) -> str:
        """What it is measured in, by its name; a count has none."""
        words = self.name.removesuffix("_total").split("_")
        return next((unit for unit in _UNITS if unit in words[-1:]), "")


@dataclass(frozen=True, slots=True)
class EventFacts:
    """One event of the log: at which levels and with which fields it is written."""

    name: str
    levels: frozenset[str]
    fields: frozenset[str]
    modules: frozenset[str]


@lru_cache(maxsize=1)
def metrics() -> dict[str, MetricFacts]:
    """Every metric that the code makes, by name."""
    found: dict[str, MetricFacts] = {}
    for module, tree in _modules():
        for call in _calls(tree):
            fact = _metric(call, module, tree)
            if fact is not None:
                known = found.get(fact.name)
                modules = fact.modules | (known.modules if known else frozenset())
                found[fact.name] = MetricFacts(fact.name, fact.type, fact.text, fact.labels, modules)
    return dict(sorted(found.items()))


@lru_cache(maxsize=1)
def events() -> dict[str, EventFacts]:
    """Every event that the code writes to its log, by name."""
    found: dict[str, EventFacts] = {}
    for module, tree in _modules():
        for call in _calls(tree):
            function = call.func
            if not isinstance(function, ast.Attribute) or function.attr not in _LEVELS or not call.args:
                continue
            if ast.unparse(function.value).rpartition(".")[2].lstrip("_") != "log":
                continue
            for name in _texts(call.args[0]):
                fields = frozenset(name for keyword in call.keywords for name in _fields(keyword, tree))
                known = found.get(name)
                found[name] = EventFacts(
                    name,
                    frozenset({function.attr}) | (known.levels if known else frozenset()),
                    fields | (known.fields if known else frozenset()),
                    frozenset({module}) | (known.modules if known else frozenset()),
                )
    return dict(sorted(found.items()))


def _fields(keyword: ast.keyword, tree: ast.Module) -> Iterator[str]:
    """The fields that one argument of a log line stands for."""
    if keyword.arg:
        yield keyword.arg
        return
    value: ast.AST | None = keyword.value
    if isinstance(value, ast.Call):
        # A function of the module that returns fields, or the one that tells of a crash.
        name = ast.unparse(value.func)
        value = next((node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == name), value)
    elif isinstance(value, ast.Name):
        value = _assigned(value, tree)
    if value is None:
        # Worked out as the program runs.
        return
    for inner in ast.walk(value):
        if isinstance(inner, ast.Dict):
            yield from (text for key in inner.keys if key is not None for text in _texts(key))
        elif isinstance(inner, ast.Call) and ast.unparse(inner.func) == "crash_fields":
            yield from ("exception", "frames")


def _modules() -> Iterator[tuple[str, ast.Module]]:
    for path in sorted(PACKAGE.rglob("*.py")):
        yield str(path.relative_to(PACKAGE)), ast.parse(path.read_text(encoding="utf-8"))


def _calls(tree: ast.AST) -> Iterator[ast.Call]:
    yield from (node for node in ast.walk(tree) if isinstance(node, ast.Call))


def _metric(call: ast.Call, module: str, tree: ast.Module) -> MetricFacts | None:
    if not call.args or not isinstance(call.func, ast.Name):
        return None
    name = next(iter(_texts(call.args[0])), "")
    if not name.startswith("signalbox_"):
        return None
    made = call if call.func.id in _METRICS else _inner_call(call.func.id, tree)
    assert made is not None, f"{module}: {name} is made in a way that this cannot read"
    assert isinstance(made.func, ast.Name)
    kind = _METRICS[made.func.id]
    described: ast.expr | None = call.args[1] if len(call.args) > 1 else None
    if isinstance(described, ast.Name):
        described = _assigned(described, tree)
    text = "".join(_texts(described)) if described is not None else ""
    full = f"{name}_total" if kind == "counter" else name
    return MetricFacts(full, kind, text, _labels(made, tree), frozenset({module}))


def _inner_call(function: str, tree: ast.Module) -> ast.Call | None:
    """The metric that a function of the module makes for whoever calls it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == function:
            return next((call for call in _calls(node) if isinstance(call.func, ast.Name) and call.func.id in _METRICS), None)
    return None


def _labels(call: ast.Call, tree: ast.Module) -> tuple[str, ...]:
    given = [keyword.value for keyword in call.keywords if keyword.arg in ("labels", "labelnames")]
    if not ast.unparse(call.func).endswith("Family"):
        # A family takes its value there.
        given += call.args[2:3]
    return tuple(label for value in given for label in _words(value, tree))


def _words(node: ast.expr, tree: ast.Module) -> Iterator[str]:
    """The texts of a sequence, wherever it is written."""
    if isinstance(node, ast.Name):
        where = _assigned(node, tree)
        assert where is not None, f"{node.id} at line {node.lineno} is nothing that this can read"
        yield from _words(where, tree)
    elif isinstance(node, ast.Starred):
        yield from _words(node.value, tree)
    elif isinstance(node, ast.Tuple | ast.List):
        for member in node.elts:
            yield from _words(member, tree)
    else:
        yield ast.literal_eval(node)


def _assigned(name: ast.Name, tree: ast.Module) -> ast.expr | None:
    """What a name stood for where it is used: the last assignment before."""
    found = [
        (node.lineno, node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        and node.lineno < name.lineno
        and any(isinstance(target, ast.Name) and target.id == name.id for target in node.targets)
    ]
    return max(found, key=lambda one: one[0])[1] if found else None


def _texts(node: ast.expr) -> Iterator[str]:
    """The texts that an expression may stand for."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.IfExp):
        yield from _texts(node.body)
        yield from _texts(node.orelse)
