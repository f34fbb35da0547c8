"""Each injector's own example: before, the policy, and the fields as they stand after."""

from typing import Any

import pytest

from signalbox.fieldpath import parse_path, resolve_path, value_at
from signalbox.inject.table import MODULES
from tests.examples import sections
from tests.world import mutated, policy, request, setup, yaml


@pytest.mark.parametrize("name", sorted(MODULES))
def test_the_example_is_injected_as_its_docstring_says(name: str) -> None:
    found = sections(MODULES[name].__doc__ or "")
    before = yaml(found["Before"])
    after: dict[str, Any] = yaml(found["After"])
    result = mutated(setup(policy(found["Example"])), request(before))
    for field, expected in after.items():
        value = value_at(result, resolve_path(parse_path(field), result))
        assert value == (None if expected == "absent" else expected), field


@pytest.mark.parametrize("name", sorted(MODULES))
def test_injecting_the_result_again_changes_nothing(name: str) -> None:
    found = sections(MODULES[name].__doc__ or "")
    world = setup(policy(found["Example"]))
    once = mutated(world, request(yaml(found["Before"])))
    assert mutated(world, request(once)) == once
