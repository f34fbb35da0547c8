"""A check: an identifier, typed parameters and a pure function, in one file of its own."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from signalbox.fieldpath import Path, format_path
from signalbox.finding import CheckSubject, Problems
from signalbox.review import JsonObject
from signalbox.workload.view import WorkloadView


def _camel(name: str) -> str:
    head, *tail = name.split("_")
    return head + "".join(word.capitalize() for word in tail)


class Parameters(BaseModel):
    """The ``with`` of a rule. Keys are written in camelCase, as everywhere in Kubernetes."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, alias_generator=lambda name: _camel(name))


class NoParameters(Parameters):
    """For checks that have nothing to set."""


class Bounds(Parameters):
    """``min`` and ``max``, both inclusive; at least one of them."""

    min: Annotated[int, Field(ge=0)] | None = None
    max: Annotated[int, Field(ge=0)] | None = None

    @model_validator(mode="after")
    def _bounds(self) -> Self:
        if self.min is None and self.max is None:
            raise ValueError("give min, max or both")
        if self.min is not None and self.max is not None and self.min > self.max:
            raise ValueError("min is greater than max")
        return self


def _anything(view: WorkloadView) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Check:
    """One check.

    ``early`` checks are also made in /mutate, for faults that the API server refuses before /validate is reached.
    ``of_change`` checks compare an UPDATE with what was there: they are never let off as unchanged. ``looks_at`` is whether
    there is anything in a workload that the check could find wrong: where not, it finds nothing, and ``explain`` says so.
    """

    name: str
    parameters: type[Parameters]
    run: Callable[[CheckSubject, Any], Problems]
    doc: str
    early: bool = False
    of_change: bool = False
    looks_at: Callable[[WorkloadView], bool] = _anything


def named(view: WorkloadView, path: Path) -> str:
    """A path of the object as people read it."""
    return format_path(path, view.object)


def literal(patterns: tuple[str, ...] | list[str]) -> str:
    """The first pattern that is no glob: a value one can write. Empty where there is none."""
    return next((pattern for pattern in patterns if not any(mark in pattern for mark in "*?[")), "")


# A namespace may have any number of queues; a message has not.
_MOST_NAMED = 12


def some_of(names: Sequence[str], word: str) -> str:
    """Names to choose from, those nearest to ``word`` where there are many: ``a, b and 3 more``."""
    if len(names) <= _MOST_NAMED:
        return ", ".join(names)
    return f"{', '.join(get_close_matches(word, names, _MOST_NAMED, cutoff=0.0))} and {len(names) - _MOST_NAMED} more"


def close_to(word: str, names: Sequence[str]) -> str:
    """The name that was most likely meant; empty where none is near."""
    return next(iter(get_close_matches(word, names, 1, cutoff=0.6)), "")


def container_name(container: JsonObject) -> str:
    """A container's name, or words for one that has none."""
    name = container.get("name")
    return name if isinstance(name, str) and name else "without a name"


def plain_labels(metadata: JsonObject) -> dict[str, str]:
    """The labels of a metadata mapping that are strings."""
    labels = metadata.get("labels")
    if not isinstance(labels, dict):
        return {}
    return {key: value for key, value in labels.items() if isinstance(key, str) and isinstance(value, str)}
