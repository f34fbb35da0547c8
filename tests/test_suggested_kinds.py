"""A custom resource that nobody has described: read where nothing is refused, and a document for it."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signalbox.cli.main import main
from signalbox.policy.kind_document import WorkloadKindDocument, compile_kind
from signalbox.policy.kind_suggestion import suggest_kind, suggested_document
from signalbox.signs_loading import load_default_signs
from tests.yaml_files import read_yaml

CASES = read_yaml(Path(__file__).parent / "cases" / "suggested-kinds.yaml")
SWEEP = """\
apiVersion: lab.example.com/v1
kind: Sweep
metadata: {name: llama}
spec:
  roles:
    - {name: trial, replicas: 4, template: {spec: {containers: [{name: a, image: x, command: [python, train.py]}]}}}
"""
SCALARS = st.none() | st.booleans() | st.integers() | st.text(max_size=8)
KEYS = st.sampled_from(
    [
        "spec",
        "template",
        "restartPolicy",
        "containers",
        "image",
        "replicas",
        "kind",
        "apiVersion",
        "roles",
        "gpu",
        "command",
        "*",
    ]
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["case"])
def test_a_kind_is_described_from_one_object(case: dict[str, Any]) -> None:
    spec = suggest_kind(case["manifest"], load_default_signs())
    assert (None if spec is None else suggested_document(spec)["spec"]) == case["spec"]


@pytest.mark.parametrize("case", [case for case in CASES if case["spec"]], ids=lambda case: case["case"])
def test_what_is_suggested_finds_the_containers_it_was_made_from(case: dict[str, Any]) -> None:
    spec = suggest_kind(case["manifest"], load_default_signs())
    assert spec is not None
    templates = compile_kind(WorkloadKindDocument.model_validate(suggested_document(spec))).templates(case["manifest"])
    assert all(one.spec.get("containers") or one.asked or one.programs for one in templates)
    assert templates


@given(
    st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4), max_leaves=30)
)
def test_no_object_is_too_odd_to_be_looked_at(spec: Any) -> None:
    obj = {"apiVersion": "lab.example.com/v1", "kind": "Sweep", "spec": spec}
    found = suggest_kind(obj, load_default_signs())
    if found is not None:
        compile_kind(WorkloadKindDocument.model_validate(suggested_document(found))).templates(obj)


@pytest.fixture
def _sweep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("sweep.yaml").write_text(SWEEP)


@pytest.mark.usefixtures("_sweep")
def test_an_unknown_kind_is_read_and_the_reader_told_what_to_write(capsys: pytest.CaptureFixture[str]) -> None:
    main(("inspect", "sweep.yaml", "-o", "json"))
    told = capsys.readouterr()
    assert '"type":"distributed-training"' in told.out
    assert "the kind Sweep.lab.example.com is not known" in told.err
    assert "signalbox kinds suggest" in told.err


@pytest.mark.usefixtures("_sweep")
def test_what_is_suggested_is_what_the_other_commands_take(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(("kinds", "suggest", "sweep.yaml")) == 0
    Path("kind.yaml").write_text(capsys.readouterr().out)
    main(("check", "sweep.yaml", "--signs", "kind.yaml"))
    told = capsys.readouterr().out
    assert "1 workload" in told
    assert "skipped" not in told


@pytest.mark.usefixtures("_sweep")
def test_check_says_that_a_kind_could_be_described(capsys: pytest.CaptureFixture[str]) -> None:
    main(("check", "sweep.yaml"))
    told = " ".join(capsys.readouterr().out.split())
    assert "no workload found, 1 other object skipped: Sweep" in told
    assert "signalbox kinds suggest" in told


@pytest.mark.usefixtures("_sweep")
def test_what_is_known_already_needs_no_document(capsys: pytest.CaptureFixture[str]) -> None:
    Path("job.yaml").write_text("{apiVersion: batch/v1, kind: Job, metadata: {name: a}, spec: {template: {}}}")
    assert main(("kinds", "suggest", "job.yaml")) == 0
    assert "no kind found" in capsys.readouterr().err


def test_every_kind_is_listed_with_what_it_is_made_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(("kinds", "list")) == 0
    told = capsys.readouterr().out
    assert "RayService.ray.io" in told
    assert "inference (always)" in told
