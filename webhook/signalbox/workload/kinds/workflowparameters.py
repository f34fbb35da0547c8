"""What the parameters of a workflow's steps are given, filled in where a step's text refers to them.

``{{workflow.parameters.x}}`` is an argument of the workflow, ``{{inputs.parameters.x}}`` what those that run a template hand
to it, else its default (argo-workflows ``docs/workflow-inputs.md``); what is run at the end is handed the workflow's arguments
(``GetExitHook`` there). A parameter that is given several values, or one that only the cluster knows (``valueFrom``), stays a
reference, and so does what a value itself refers to and nobody knows (``s3://b/{{item}}``).
"""

import re
from collections.abc import Iterator
from typing import Any

from signalbox.review import JsonObject
from signalbox.workload.kinds.kind import mapping, members

_REFERENCE = re.compile(r"\{\{\s*+(workflow|inputs)\.parameters\.([\w-]++)\s*+\}\}")
_MARK = "{{"
_INLINE = "inline"
# More than anybody's steps have: of values, of those that run one template, of parameters handed on from one to the next.
_LONGEST = 1024
_MOST_CALLERS = 64
_DEEPEST_CALL = 64
_MOST_FILLED = 512
_MOST_ASKED = 8192
# What a step says stands less deep.
_DEEPEST = 32

# No template's name.
_NOBODY = "\0"

_Values = dict[str, str | None]


class StepParameters:
    """The parameters of one workflow spec."""

    __slots__ = ("_arguments", "_asked", "_asks", "_callers", "_defaults", "_entrypoint", "_known", "_left")

    def __init__(self, spec: JsonObject) -> None:
        self._arguments = _values(spec.get("arguments"))
        self._entrypoint = spec.get("entrypoint")
        self._callers: dict[str, list[tuple[str, _Values]]] = {}
        self._defaults: dict[str, _Values] = {}
        self._known: dict[tuple[str, str], str | None] = {}
        # What is asked for at this moment: a template may run itself.
        self._asked: set[tuple[str, str]] = set()
        self._left = _MOST_FILLED
        self._asks = _MOST_ASKED
        for called, values in _at_the_end(spec):
            self._calls("", called, values or self._arguments)
        for template in members(spec.get("templates")):
            name = mapping(template).get("name")
            if not isinstance(name, str):
                continue
            self._defaults[name] = _values(template.get("inputs"))
            for task, inline in _tasks(template):
                # In a template that is written into it, inputs are that one's own.
                caller = _NOBODY if inline else name
                self._calls(caller, task.get("template"), _values(task.get("arguments")))
                for called, values in _at_the_end(task):
                    self._calls(caller, called, values or self._arguments)

    def filled(self, value: Any, template: str, depth: int = 0) -> Any:
        """Anything that a template says, with what its texts refer to; itself where nothing of that is known."""
        if isinstance(value, str):
            return self._text(value, template, 0)
        if depth < _DEEPEST and isinstance(value, dict):
            # A template that is written into a step has inputs of its own.
            of_mapping = {
                key: member if key == _INLINE else self.filled(member, template, depth + 1) for key, member in value.items()
            }
            return of_mapping if any(of_mapping[key] is not value[key] for key in value) else value
        if depth < _DEEPEST and isinstance(value, list):
            of_list = [self.filled(member, template, depth + 1) for member in value]
            return of_list if any(one is not other for one, other in zip(of_list, value, strict=True)) else value
        return value

    def _calls(self, caller: str, called: Any, values: _Values) -> None:
        if isinstance(called, str):
            self._callers.setdefault(called, []).append((caller, values))

    def _text(self, text: str, template: str, depth: int) -> str:
        return text if _MARK not in text else _REFERENCE.sub(lambda found: self._value(found, template, depth), text)

    def _value(self, reference: re.Match[str], template: str, depth: int) -> str:
        whose, name = reference.groups()
        value = self._arguments.get(name) if whose == "workflow" else self._input(template, name, depth)
        # One that is empty is mostly one that is still to be given.
        if not value or len(value) > _LONGEST or not self._left:
            return reference.group()
        self._left -= 1
        return value

    def _input(self, template: str, name: str, depth: int) -> str | None:
        key = (template, name)
        if key not in self._known:
            callers = self._callers.get(template, ())
            if self._asks < 0 or depth == _DEEPEST_CALL or len(callers) > _MOST_CALLERS or key in self._asked:
                return None
            self._asked.add(key)
            given = {self._given(caller, values, key, depth) for caller, values in callers}
            if template == self._entrypoint or not callers:
                given.add(self._given("", self._arguments if template == self._entrypoint else {}, key, depth))
            self._asked.remove(key)
            self._known[key] = given.pop() if len(given) == 1 else None
        return self._known[key]

    def _given(self, caller: str, values: _Values, key: tuple[str, str], depth: int) -> str | None:
        template, name = key
        value = values[name] if name in values else self._defaults.get(template, {}).get(name)
        self._asks -= 1
        if value is None or len(value) > _LONGEST or self._asks < 0:
            return None
        return self._text(value, caller, depth + 1)


def _tasks(template: JsonObject) -> Iterator[tuple[JsonObject, bool]]:
    """What a template runs, and whether a template that is written into a step does: steps of its rows, tasks of its graph."""
    waiting = [template]
    for one in waiting:
        rows = [*members(one.get("steps")), mapping(one.get("dag")).get("tasks")]
        for task in [task for row in rows for task in members(row) if isinstance(task, dict)]:
            yield task, one is not template
            if isinstance(task.get(_INLINE), dict):
                waiting.append(task[_INLINE])


def _at_the_end(holder: JsonObject) -> Iterator[tuple[Any, _Values]]:
    """What is run once a step, or the whole, has come to something."""
    yield holder.get("onExit"), {}
    for hook in mapping(holder.get("hooks")).values():
        yield mapping(hook).get("template"), _values(mapping(hook).get("arguments"))


def _values(holder: Any) -> _Values:
    """The parameters that somebody gives, or a template has by itself; None for what only the cluster knows."""
    found: _Values = {}
    for parameter in members(mapping(holder).get("parameters")):
        one = mapping(parameter)
        name, value = one.get("name"), one.get("value", one.get("default"))
        if isinstance(name, str):
            plain = "valueFrom" not in one and isinstance(value, str | int | float)
            found[name] = (str(value).lower() if isinstance(value, bool) else str(value)) if plain else None
    return found
