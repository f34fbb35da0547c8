"""What the fuzzer starts from: every manifest of our own tests, and the values that stand in them, by their key."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import yaml

from signalbox.check.table import CHECKS
from signalbox.workload.kinds.table import KINDS
from tests.bench.manifests import MANIFESTS
from tests.examples import check_example
from tests.mangled import CASES

ROOT = Path(__file__).parents[2]
Place = tuple[str | int, ...]

_MOST_VALUES = 40


class Corpus:
    """Manifests as JSON (reading it again is the fastest copy there is), where their values stand, and values by key.

    ``places`` has the places of each manifest, ``values`` what was seen under a key anywhere.
    """

    def __init__(self, manifests: list[dict[str, Any]]) -> None:
        self.manifests = [orjson.dumps(manifest) for manifest in manifests]
        self.places = [list(_places(manifest)) for manifest in manifests]
        found: dict[str, dict[bytes, None]] = {}
        for manifest, places in zip(manifests, self.places, strict=True):
            for place in places:
                if isinstance(place[-1], str):
                    found.setdefault(place[-1], {})[orjson.dumps(_at(manifest, place))] = None
        self.values = {key: list(values)[:_MOST_VALUES] for key, values in found.items()}
        self.keys = sorted(self.values)


def load_corpus() -> Corpus:
    """The corpus of this repository."""
    found: dict[bytes, dict[str, Any]] = {}
    for manifest in (*_own(), *_kinds_without_one()):
        found.setdefault(orjson.dumps(manifest, option=orjson.OPT_SORT_KEYS), manifest)
    return Corpus(list(found.values()))


def own_kind() -> str:
    """The WorkloadKind document that docs/kinds.md shows."""
    [document] = re.findall(r"```yaml\n(.*?)```", (ROOT / "docs" / "kinds.md").read_text(encoding="utf-8"), re.DOTALL)
    return str(document)


def _own() -> Iterator[dict[str, Any]]:
    yield from (case["manifest"] for case in CASES)
    yield from MANIFESTS.values()
    for check in CHECKS.values():
        example = check_example(check.doc)
        yield from (one for one in (example.refused, example.passes, example.before) if one is not None)
    for path in sorted((ROOT / "tests" / "demo" / "manifests").glob("*.yaml")):
        yield from (one for one in yaml.safe_load_all(path.read_text(encoding="utf-8")) if one)
    for path in sorted((ROOT / "policies" / "tests").glob("*.yaml")):
        for document in yaml.safe_load_all(path.read_text(encoding="utf-8")):
            for case in document["spec"]["cases"]:
                yield from (case[key] for key in ("object", "oldObject") if isinstance(case.get(key), dict))
    spec = yaml.safe_load(own_kind())["spec"]
    yield {
        "apiVersion": f"{spec['group']}/v1",
        "kind": spec["kind"],
        "metadata": {"name": "own", "namespace": "team-research"},
        "spec": {
            "parallel": 2,
            "roles": [{"count": 4, "template": MANIFESTS["GPU Job"]["spec"]["template"]}],
            "helper": MANIFESTS["bare Pod"]["spec"],
            "suspend": False,
        },
    }


def _kinds_without_one() -> Iterator[dict[str, Any]]:
    """A Job's spec under the name of every kind: adapters meet what is not theirs."""
    for group, kind in KINDS:
        yield {
            "apiVersion": f"{group}/v1" if group else "v1",
            "kind": kind,
            "metadata": {"name": "any", "namespace": "team-research", "labels": {"workload.ai/type": "training"}},
            "spec": MANIFESTS["GPU Job"]["spec"],
        }


def _places(value: Any, path: Place = ()) -> Iterator[Place]:
    members: Any = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, item in members:
        yield (*path, step)
        yield from _places(item, (*path, step))


def _at(value: Any, place: Place) -> Any:
    for step in place:
        value = value[step]
    return value
