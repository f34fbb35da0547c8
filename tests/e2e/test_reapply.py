"""Applying again, client-side and server-side: the matrix, and the commands that change one thing."""

from __future__ import annotations

import copy

import pytest

from .kubectl import Kubectl
from .reapply import BUILT_IN, MODES, OUR_TOLERATION, OWN, check_one_field, check_theirs, check_unchanged, matrix, pod_spec


@pytest.mark.parametrize(("kind", "own", "mode"), matrix(*BUILT_IN))
def test_an_unchanged_manifest_changes_nothing(kubectl: Kubectl, research: str, kind: str, own: str, mode: str) -> None:
    check_unchanged(kubectl, research, kind, own, mode)


@pytest.mark.parametrize(("kind", "own", "mode"), matrix(*BUILT_IN))
def test_one_field_changed_changes_that_field_alone(kubectl: Kubectl, research: str, kind: str, own: str, mode: str) -> None:
    check_one_field(kubectl, research, kind, own, mode)


@pytest.mark.parametrize(("kind", "own", "mode"), matrix(*BUILT_IN))
def test_an_injected_field_that_the_user_now_sets_is_theirs(
    kubectl: Kubectl, research: str, kind: str, own: str, mode: str
) -> None:
    check_theirs(kubectl, research, kind, own, mode)


@pytest.mark.parametrize("mode", MODES)
def test_a_deployment_keeps_its_gpu_toleration_when_its_image_changes(kubectl: Kubectl, research: str, mode: str) -> None:
    manifest = BUILT_IN["deployment"](research, OWN["own-tolerations"])
    assert kubectl.apply(manifest, arguments=MODES[mode]).code == 0
    changed = copy.deepcopy(manifest)
    pod_spec(changed)["containers"][0]["image"] = "registry.example/llm:2"
    assert kubectl.apply(changed, arguments=MODES[mode]).code == 0
    found = pod_spec(kubectl.read("deployment", "work", research))
    assert OUR_TOLERATION in found["tolerations"]
    assert found["containers"][0]["image"] == "registry.example/llm:2"


def test_set_image_rollout_restart_and_scale_keep_what_was_injected(kubectl: Kubectl, research: str) -> None:
    assert kubectl.apply(BUILT_IN["deployment"](research, {})).code == 0
    before = pod_spec(kubectl.read("deployment", "work", research))
    kubectl("set", "image", "deployment/work", "main=registry.example/llm:2", "-n", research)
    kubectl("rollout", "restart", "deployment/work", "-n", research)
    kubectl("scale", "deployment/work", "--replicas=3", "-n", research)
    found = kubectl.read("deployment", "work", research)
    assert found["spec"]["replicas"] == 3
    assert pod_spec(found)["tolerations"] == before["tolerations"]
    assert pod_spec(found).get("priorityClassName") == before.get("priorityClassName")
