"""The resource definitions of policies: from the models, structural, and never losing what a model knows."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError

from signalbox.policy.documents import API_VERSION, PolicyExceptionDocument, WorkloadPolicyDocument
from signalbox.policy.kind_document import WorkloadKindDocument
from signalbox.policy.mode import MODE_WORDS
from signalbox.policy.signs_document import WorkloadSignsDocument
from signalbox.source import read_documents
from tests.policy_samples import MATCH_KEYS
from tests.yaml_files import read_yaml

from .structural import PRESERVE, broken_rules, kept, refusals

ROOT = Path(__file__).parents[1]
CRDS = ROOT / "manifests" / "crds"
MODELS: dict[str, type[BaseModel]] = {
    "PolicyException": PolicyExceptionDocument,
    "WorkloadKind": WorkloadKindDocument,
    "WorkloadPolicy": WorkloadPolicyDocument,
    "WorkloadSigns": WorkloadSignsDocument,
}
STATUS = {"loaded", "problems", "digest", "observedGeneration"}


@pytest.fixture(scope="module")
def generator() -> Any:
    specification = importlib.util.spec_from_file_location("generate_crds", ROOT / "manifests" / "generate_crds.py")
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    sys.modules[specification.name] = module
    specification.loader.exec_module(module)
    return module


def definitions() -> dict[str, Any]:
    read = [read_yaml(path) for path in sorted(CRDS.glob("*.yaml")) if path.stem != "kustomization"]
    return {one["spec"]["names"]["kind"]: one for one in read}


def schema_of(kind: str) -> dict[str, Any]:
    [version] = definitions()[kind]["spec"]["versions"]
    schema: dict[str, Any] = version["schema"]["openAPIV3Schema"]
    return schema


SCHEMAS = {kind: schema_of(kind) for kind in MODELS}


def test_the_definitions_are_those_of_the_models(generator: Any) -> None:
    written = {path.name: path.read_text() for path in CRDS.glob("*.yaml") if path.stem != "kustomization"}
    assert generator.pages() == written, "run: python manifests/generate_crds.py"


@pytest.mark.parametrize("kind", MODELS)
def test_a_definition_is_structural_cluster_scoped_and_has_a_status(kind: str) -> None:
    definition = definitions()[kind]
    [version] = definition["spec"]["versions"]
    assert list(broken_rules(SCHEMAS[kind])) == []
    assert definition["spec"]["scope"] == "Cluster"
    assert version["subresources"] == {"status": {}}
    assert SCHEMAS[kind]["properties"]["status"]["properties"].keys() >= STATUS
    assert [one["name"] for one in version["additionalPrinterColumns"] if "priority" not in one][-2:] == ["Loaded", "Age"]


def test_every_key_of_a_policy_is_explained() -> None:
    """`kubectl explain workloadpolicy.spec.match` says what lint knows."""
    spec = SCHEMAS["WorkloadPolicy"]["properties"]["spec"]["properties"]
    rule = spec["rules"]["items"]["properties"]
    assert set(spec["match"]["properties"]) == set(MATCH_KEYS)
    for shown in (spec, spec["match"]["properties"], spec["inject"]["properties"], rule):
        assert [name for name, one in shown.items() if not one.get("description")] == []


KIND = f"""
apiVersion: {API_VERSION}
kind: WorkloadKind
metadata: {{name: lab-run}}
spec:
  group: lab.example.com
  kind: LabRun
  templates: [{{path: "spec.roles[*].template", pods: ["spec.roles[*].replicas"]}}]
  accelerators: [{{path: spec.gpus, resource: nvidia.com/gpu}}]
  labels: [metadata.labels]
  queueLabel: metadata.labels
  suspend: spec.suspend
  typeDecides: false
"""


def written_documents() -> Iterator[tuple[str, Any]]:
    """What is shipped, and what lint has no complaint of."""
    paths = [*(ROOT / "policies").glob("*.yaml"), *Path(str(files("signalbox") / "signs")).glob("*.yaml")]
    for path in [*sorted(paths), ROOT / "tests" / "cases" / "lint" / "good.yaml"]:
        for document in read_documents(path.read_bytes(), path.stem):
            yield f"{document.file}:{document.line}", document.value
    yield "kind", read_documents(KIND, "kind")[0].value


@pytest.mark.parametrize("document", [pytest.param(one, id=name) for name, one in written_documents()])
def test_what_we_ship_and_test_with_passes_unchanged(document: Any) -> None:
    schema = SCHEMAS[document["kind"]]
    MODELS[document["kind"]].model_validate(document)
    assert list(refusals(schema, document)) == []
    assert kept(schema, document) == document


WORDS = st.sampled_from(["a", "team-a", "research-*", "llama"])
NAMES = st.lists(WORDS, min_size=1, max_size=3)
LABEL_KEYS, LABEL_VALUES = st.sampled_from(["team", "example.com/x", "tier"]), st.sampled_from(["a", "b-1", ""])
LABELS = st.dictionaries(LABEL_KEYS, LABEL_VALUES, max_size=2)
SOME_LABELS = st.dictionaries(LABEL_KEYS, LABEL_VALUES, min_size=1, max_size=2)
SELECTORS = st.one_of(
    SOME_LABELS,
    st.fixed_dictionaries({"matchLabels": SOME_LABELS}),
    st.just({"matchExpressions": [{"key": "tier", "operator": "In", "values": ["gold"]}]}),
)
RANGES = st.sampled_from([{"min": 1}, {"max": 8}, {"min": 0.5, "max": 2}])
ACCELERATORS = st.fixed_dictionaries({"total": RANGES}, optional={"perPod": RANGES, "vendors": NAMES, "resources": NAMES})
PRIORITIES = st.sampled_from([{"below": 100}, {"atLeast": -5}, {"unset": True}])
JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-5, 5), st.text(max_size=3)),
    lambda below: st.lists(below, max_size=2) | st.dictionaries(st.text(max_size=3), below, max_size=2),
    max_leaves=5,
)
MATCHES = st.recursive(
    st.fixed_dictionaries(
        {"names": NAMES},
        optional={
            "namespaces": NAMES,
            "namespaceSelector": SELECTORS,
            "labels": SELECTORS,
            "kinds": st.just(["Job"]),
            "trains": st.booleans(),
            "distributed": st.booleans(),
            "accelerators": ACCELERATORS,
            "spot": st.just(["no", "demanded"]),
            "priority": PRIORITIES,
            "operations": st.just(["CREATE"]),
        },
    ),
    lambda below: st.fixed_dictionaries({}, optional={"not": below, "any": st.lists(below, min_size=1, max_size=2)}).filter(
        bool
    ),
    max_leaves=6,
)
OVERRIDES = st.tuples(MATCHES, st.sampled_from(MODE_WORDS)).map(
    lambda pair: {**pair[0], "mode": pair[1], "until": "2027-01-31"}
)
RULES = st.one_of(
    st.fixed_dictionaries(
        {"name": st.just("r"), "check": WORDS, "mode": st.sampled_from(MODE_WORDS)},
        optional={
            "with": st.dictionaries(WORDS, JSON, max_size=2),
            "when": MATCHES,
            "overrides": st.lists(OVERRIDES, max_size=2),
        },
    ),
    st.fixed_dictionaries(
        {"name": st.just("r"), "cel": st.just("true"), "message": WORDS, "mode": st.sampled_from(MODE_WORDS)},
        optional={"fix": st.fixed_dictionaries({"set": st.dictionaries(WORDS, JSON, min_size=1, max_size=2)})},
    ),
)
INJECTIONS = st.fixed_dictionaries(
    {"queue": st.just("q")},
    optional={
        "tolerations": st.just([{"key": "x", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 3}]),
        "terminationGracePeriodSeconds": st.integers(1, 604800),
        "labels": LABELS,
        "env": st.just({"A": "1"}),
        "force": st.booleans(),
    },
)
POLICIES = st.fixed_dictionaries(
    {"rules": st.lists(RULES, min_size=1, max_size=3)},
    optional={"match": MATCHES, "inject": INJECTIONS, "precedence": st.integers(-5, 5000), "description": st.text(max_size=5)},
)
EXCEPTIONS = st.fixed_dictionaries(
    {"rules": NAMES, "match": MATCHES, "until": st.dates().map(str), "reason": WORDS, "approvedBy": WORDS}
)


@given(st.one_of(st.tuples(st.just("WorkloadPolicy"), POLICIES), st.tuples(st.just("PolicyException"), EXCEPTIONS)))
def test_whatever_a_model_takes_the_definition_takes_and_keeps(made: tuple[str, Any]) -> None:
    kind, spec = made
    value = {"apiVersion": API_VERSION, "kind": kind, "metadata": {"name": "made"}, "spec": spec}
    MODELS[kind].model_validate(value)
    assert list(refusals(SCHEMAS[kind], value)) == []
    assert kept(SCHEMAS[kind], value) == value


@given(st.sampled_from(sorted(MODELS)), st.dictionaries(st.text(max_size=4), JSON, max_size=3))
def test_no_key_is_lost_before_lint_can_complain_of_it(kind: str, more: dict[str, Any]) -> None:
    value = {**more, "spec": {**more}}
    assert kept(SCHEMAS[kind], value) == value


@pytest.mark.parametrize("kind", MODELS)
def test_a_key_without_a_value_is_not_taken_away(kind: str) -> None:
    """`match:` with nothing behind it would match everything."""
    for path, schema in properties(SCHEMAS[kind]["properties"]["spec"], ("spec",)):
        value: Any = None
        for step in reversed(path):
            value = [value] if step == "[]" else {step: value}
        assert kept(SCHEMAS[kind], value) == value, path
        assert schema["nullable"], path


def properties(schema: dict[str, Any], path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], dict[str, Any]]]:
    for name, below in schema.get("properties", {}).items():
        yield (*path, name), below
        yield from properties(below, (*path, name))
    if "items" in schema:
        yield from properties(schema["items"], (*path, "[]"))
    if "additionalProperties" in schema:
        yield (*path, "any"), schema["additionalProperties"]


@pytest.mark.parametrize(
    ("spec", "refused"),
    [
        ({"rules": {}}, ".spec.rules: array is expected"),
        ({"precedence": "first"}, ".spec.precedence: integer is expected"),
        ({"match": {"namespaces": []}}, ".spec.match.namespaces: too few"),
        ({"rules": [{"name": "a", "mode": "enforced"}]}, ".spec.rules[0].mode: 'enforced' is none of"),
        ({"rules": [{"mode": "audit"}]}, ".spec.rules[0].name: is required"),
        ({"inject": {"terminationGracePeriodSeconds": 0}}, ".spec.inject.terminationGracePeriodSeconds: out of bounds"),
    ],
)
def test_while_nobody_answers_the_definition_still_refuses_the_worst(spec: Any, refused: str) -> None:
    value = {"apiVersion": API_VERSION, "kind": "WorkloadPolicy", "metadata": {"name": "x"}, "spec": spec}
    with pytest.raises(ValidationError):
        WorkloadPolicyDocument.model_validate(value)
    (found,) = refusals(SCHEMAS["WorkloadPolicy"], value)
    assert found.startswith(refused)


def test_a_match_within_a_match_is_left_to_signalbox() -> None:
    match = SCHEMAS["PolicyException"]["properties"]["spec"]["properties"]["match"]["properties"]
    assert match["not"] == {"type": "object", "nullable": True, "description": match["not"]["description"], PRESERVE: True}
    assert match["any"]["items"][PRESERVE]


def test_what_no_structural_schema_can_say_is_not_passed_over(generator: Any) -> None:
    class Two(BaseModel):
        port: int | str

    class Pattern(BaseModel):
        names: dict[str, int]
        model_config = {"json_schema_extra": {"patternProperties": {}}}

    with pytest.raises(ValueError, match="several types"):
        generator.structural(Two)
    with pytest.raises(ValueError, match="patternProperties"):
        generator.structural(Pattern)
