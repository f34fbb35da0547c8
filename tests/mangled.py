"""Manifests of every kind with something odd in one or more places: a strategy for Hypothesis.

What is put there is anything, or what stands elsewhere in a manifest of some kind, where it makes sense.
"""

import copy
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from tests.yaml_files import read_yaml

Place = tuple[str | int, ...]

CASES: list[dict[str, Any]] = read_yaml(Path(__file__).parent / "cases" / "kinds" / "kinds.yaml")


def key_of(manifest: dict[str, Any]) -> tuple[str, str]:
    """Group and kind."""
    return str(manifest["apiVersion"]).rpartition("/")[0], str(manifest["kind"])


def _places(value: Any, path: Place = ()) -> list[Place]:
    found = [path] if path else []
    members: Any = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, item in members:
        # The kind itself stays: what is of another kind is another test's.
        if path or step not in ("apiVersion", "kind"):
            found += _places(item, (*path, step))
    return found


_PLACES = [_places(case["manifest"]) for case in CASES]
BY_KIND: dict[tuple[str, str], list[int]] = {}
for _index, _case in enumerate(CASES):
    BY_KIND.setdefault(key_of(_case["manifest"]), []).append(_index)


_PIECES = [(index, place) for index, places in enumerate(_PLACES) for place in places]


@st.composite
def mangled(draw: Any, anything: Any, kind: tuple[str, str] | None = None) -> Any:
    """A manifest (of ``kind``), up to three of its values replaced."""
    index = draw(st.sampled_from(range(len(CASES)) if kind is None else BY_KIND[kind]))
    return draw(mangled_copy(CASES[index]["manifest"], anything))


@st.composite
def mangled_copy(draw: Any, manifest: dict[str, Any], anything: Any) -> Any:
    """A copy of a manifest, up to three of its values replaced."""
    made = copy.deepcopy(manifest)
    for place in draw(st.lists(st.sampled_from(_places(manifest)), max_size=3)):
        if draw(st.booleans()):
            _replace(made, place, draw(anything))
        else:
            source, piece = draw(st.sampled_from(_PIECES))
            _replace(made, place, copy.deepcopy(_at(CASES[source]["manifest"], piece)))
    return made


def _at(here: Any, place: Place) -> Any:
    for step in place:
        here = here[step]
    return here


def _replace(manifest: Any, place: Place, value: Any) -> None:
    here = manifest
    for step in place[:-1]:
        here = here[step] if _has(here, step) else None
    if _has(here, place[-1]):
        here[place[-1]] = value


def _has(here: Any, step: str | int) -> bool:
    if isinstance(here, list):
        return isinstance(step, int) and step < len(here)
    return isinstance(here, dict) and step in here
