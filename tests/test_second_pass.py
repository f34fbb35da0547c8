"""Another webhook changed the object, so ours is called again over what it made of it: there is nothing left to do."""

import copy
from typing import Any

import jsonpatch
import pytest

from signalbox.engine import mutate
from tests.manifests import deployment
from tests.world import NOW, policy, request, setup

GRACE = "inject: {terminationGracePeriodSeconds: %d, tolerations: [{key: nvidia.com/gpu, operator: Exists}]}"
TOLERATION = {"key": "nvidia.com/gpu", "operator": "Exists"}


def passed(world: Any, obj: Any, old: Any = None) -> Any:
    """The object after one pass."""
    response = mutate(world, request(obj, old), NOW).response
    assert response.allowed, response.message
    return jsonpatch.apply_patch(obj, copy.deepcopy(list(response.patch)))


def assert_settled(world: Any, obj: Any, old: Any) -> None:
    once = passed(world, obj, old)
    assert mutate(world, request(once, old), NOW).response.patch == ()


def test_labels_that_an_update_added_to_keep_their_note() -> None:
    world = setup(policy(GRACE % 300))
    old = passed(world, deployment())
    old["spec"]["template"]["metadata"]["annotations"]["workload.ai/injected-labels"] = "workload.ai/type"
    old["metadata"]["annotations"]["workload.ai/injected"] = old["metadata"]["annotations"]["workload.ai/injected"].replace(
        "workload.ai/framework,workload.ai/type", "workload.ai/type"
    )
    changed = deployment()
    changed["spec"]["template"]["spec"]["containers"][0]["image"] = "registry.example/vllm:2"
    assert_settled(world, changed, old)


def test_a_floor_that_was_raised_since_is_recorded_once() -> None:
    old = passed(setup(policy(GRACE % 300)), deployment())
    changed = deployment(gpus=2)
    assert_settled(setup(policy(GRACE % 600)), changed, old)


def test_a_toleration_that_was_the_users_and_is_now_ours_stays_recorded() -> None:
    old = deployment()
    old["spec"]["template"]["spec"] |= {"tolerations": [TOLERATION], "terminationGracePeriodSeconds": 300}
    assert_settled(setup(policy(GRACE % 300)), deployment(), old)


@pytest.mark.parametrize("name", ["[0]", "", '"', "a]"])
def test_templates_under_odd_names_are_recorded(name: str) -> None:
    world = setup(policy("inject: {labels: {a: b}, terminationGracePeriodSeconds: 300}"))
    job = {
        "apiVersion": "kubeflow.org/v2beta1",
        "kind": "MPIJob",
        "metadata": {"name": "m", "namespace": "research"},
        "spec": {"mpiReplicaSpecs": {name: {"template": {"spec": {"containers": [{"name": "w"}]}}}}},
    }
    assert passed(world, job) != job
    once = passed(world, job)
    assert mutate(world, request(once), NOW).response.patch == ()
