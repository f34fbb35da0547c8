"""What people read. The golden cases in cases/messages hold whole refusals; look at them as a user would."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signalbox.message import LIMIT, WIDTH, clean
from tests.manifests import gpu_job, pod_spec
from tests.world import judged, policy, request, setup, yaml

CASES = sorted((Path(__file__).parent / "cases" / "messages").glob("*.yaml"))
EVERYTHING = policy(
    """
rules:
  - {name: checkpoint, check: checkpoint, mode: enforce}
  - {name: gpus, check: gpu-requests, mode: enforce}
  - {name: queue, check: queue-allowed, with: {allow: [a]}, mode: enforce}
"""
)


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_a_refusal_reads_as_its_golden_case_says(path: Path) -> None:
    case = yaml(path.read_text())
    response = judged(setup(case["policies"]), request(case["object"])).response
    assert response.message == case["message"].rstrip("\n")


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_a_refusal_fits_a_terminal_of_80_columns(path: Path) -> None:
    for line in yaml(path.read_text())["message"].splitlines():
        assert len(line) < WIDTH or line.startswith("3 problems with"), line


def test_escape_sequences_of_a_manifest_do_not_reach_the_terminal() -> None:
    job = gpu_job()
    job["metadata"]["name"] = "x\x1b[31mred\x07"
    job["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "q\u202e\x1b]0;title\x07<b>"}
    message = judged(setup(EVERYTHING), request(job)).response.message
    assert all(character == "\n" or character.isprintable() for character in message)
    assert "x [31mred" in message


def test_an_enormous_value_does_not_make_an_enormous_message() -> None:
    """Events and conditions store a refusal uncut."""
    job = gpu_job()
    pod_spec(job)["containers"] = [
        {"name": "c" * 300 + str(index), "image": "i", "resources": {"limits": {"nvidia.com/gpu": "9" * 500}}}
        for index in range(200)
    ]
    message = judged(setup(EVERYTHING), request(job)).response.message
    assert len(message.encode()) <= LIMIT + 96
    assert "more problems" in message
    assert message.splitlines()[-1].strip().startswith("Try again without the cluster")


def test_a_child_is_told_of_its_parent() -> None:
    job = gpu_job()
    job["metadata"]["ownerReferences"] = [{"apiVersion": "ray.io/v1", "kind": "RayJob", "name": "r", "controller": True}]
    assert "It was made by RayJob r: mend that one, not this." in judged(setup(EVERYTHING), request(job)).response.message


def test_the_policys_help_is_named() -> None:
    world = setup(EVERYTHING.replace("spec:\n", "spec:\n  help: https://wiki.example/x\n"))
    assert "Help: https://wiki.example/x" in judged(world, request(gpu_job())).response.message


@given(st.text())
def test_whatever_is_quoted_is_one_printable_line(text: str) -> None:
    assert clean(text).isprintable()


@given(st.text(max_size=40))
def test_warnings_are_never_dropped_by_the_client(name: str) -> None:
    """A warning that holds a control character, or nothing, is dropped without a trace."""
    job = gpu_job()
    job["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": name or "q"}
    world: Any = WARN
    for warning in judged(world, request(job)).response.warnings:
        assert warning
        assert not any(character < " " or character == "\x7f" for character in warning)


WARN = setup(EVERYTHING.replace("mode: enforce", "mode: warn"))
