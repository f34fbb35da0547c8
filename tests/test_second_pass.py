"""Another webhook changed the object, so ours is called again over what it made of it: there is nothing left to do."""

import copy
from typing import Any

import jsonpatch
import pytest

from signalbox.engine import mutate
from tests.manifests import deployment, gpu_job, job_set, pod_spec
from tests.world import NOW, policy, request, setup

GRACE = "inject: {terminationGracePeriodSeconds: %d, tolerations: [{key: nvidia.com/gpu, operator: Exists}]}"


def passed(world: Any, obj: Any, old: Any = None) -> Any:
    """The object after one pass."""
    response = mutate(world, request(obj, old), NOW).response
    assert response.allowed, response.message
    return jsonpatch.apply_patch(obj, copy.deepcopy(list(response.patch)))


def assert_settled(world: Any, obj: Any, old: Any) -> None:
    once = passed(world, obj, old)
    assert mutate(world, request(once, old), NOW).response.patch == ()


def web() -> dict[str, Any]:
    """A Deployment of which nothing is inferred."""
    found = deployment()
    found["spec"]["template"]["spec"]["containers"] = [{"name": "web", "image": "registry.example/web:1"}]
    return found


def test_labels_that_an_update_added_to_keep_their_note() -> None:
    world = setup(policy(GRACE % 300))
    before = web()
    before["spec"]["template"]["spec"]["containers"][0]["resources"] = {"limits": {"nvidia.com/gpu": 2}}
    before["spec"]["template"]["spec"]["containers"][0]["readinessProbe"] = {"httpGet": {"port": 80}}
    assert_settled(world, deployment(), passed(world, before))


def test_a_floor_that_was_raised_since_is_recorded_once() -> None:
    old = passed(setup(policy(GRACE % 300)), deployment())
    changed = deployment(gpus=2)
    assert_settled(setup(policy(GRACE % 600)), changed, old)


def test_a_grace_that_was_the_users_and_is_now_ours_stays_recorded() -> None:
    old = web()
    old["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] = 300
    assert_settled(setup(policy(GRACE % 300)), web(), old)


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


def test_what_it_is_no_longer_taken_for_does_not_become_its_users_word() -> None:
    """Between two passes another webhook took the trainer away: the label stands, and is not believed."""
    world = setup(policy("rules: [{name: c, check: checkpoint, mode: warn}]"))
    once = passed(world, gpu_job())
    assert once["metadata"]["labels"]["workload.ai/type"] == "fine-tuning"
    container = pod_spec(once)["containers"][0]
    container["command"] = ["sleep", "1"]
    twice = passed(world, once)
    assert '"metadata.labels[workload.ai/type]"' in twice["metadata"]["annotations"]["workload.ai/injected"]
    assert mutate(world, request(twice), NOW).response.patch == ()


def test_a_record_of_what_the_old_object_has_not_counts_for_nothing() -> None:
    old = web()
    old["metadata"]["annotations"] = {
        "workload.ai/injected": '{"spec.template.spec.terminationGracePeriodSeconds": {"set": 300, "was": 300, "by": "x"}}'
    }
    assert_settled(setup(policy(GRACE % 300)), web(), old)


def test_whoever_is_said_to_have_set_a_label_of_ours_it_is_not_believed_later() -> None:
    job = gpu_job()
    pod_spec(job)["containers"][0]["command"] = ["sleep", "1"]
    job["metadata"] |= {
        "labels": {"workload.ai/type": "training"},
        "annotations": {"workload.ai/injected": '{"metadata.labels[workload.ai/type]": {"set": "training", "was": null}}'},
    }
    world = setup(policy("rules: [{name: c, check: checkpoint, mode: warn}]"))
    once = passed(world, job)
    assert mutate(world, request(once), NOW).response.patch == ()


def test_a_label_that_an_update_only_claims_to_be_ours_is_its_users_word_at_once() -> None:
    world = setup(policy("rules: [{name: c, check: checkpoint, mode: warn}]"))
    record = '{"metadata.labels[workload.ai/type]": {"set": "training", "was": null, "by": "judgement"}}'
    new = web()
    new["metadata"] |= {"labels": {"workload.ai/type": "training"}, "annotations": {"workload.ai/injected": record}}
    old = web()
    old["spec"]["template"]["spec"]["containers"][0]["image"] = "registry.example/web:0"
    assert passed(world, new, old)["metadata"]["labels"]["workload.ai/checkpoint"] == "required"
    assert_settled(world, new, old)


def test_an_object_whose_record_would_be_too_long_for_its_annotations_has_none() -> None:
    world = setup(policy(GRACE % 300))
    made = job_set()
    one = made["spec"]["replicatedJobs"][0]
    made["spec"]["replicatedJobs"] = [{**copy.deepcopy(one), "name": f"j{number}-{'n' * 40}"} for number in range(2000)]
    once = passed(world, made)
    assert "workload.ai/injected" not in once["metadata"].get("annotations", {})
    assert mutate(world, request(once), NOW).response.patch == ()
