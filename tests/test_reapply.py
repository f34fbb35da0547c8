"""A manifest applied again stays what it was without us: `kubectl apply`, server-side apply, Argo CD, Flux.

What arrives here is the object that the API server has merged: client-side apply of an unchanged manifest sends the user's
own lists and numbers again and drops ours from them; of a custom resource the whole of `replicatedJobs` comes without our
fields (JSON merge patch).
"""

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest

from signalbox.engine import mutate
from tests.manifests import deployment, gpu_job, job_set, pod_spec
from tests.world import NOW, mutated, policy, request, setup

GPU = {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}
OWN = {"key": "own", "operator": "Exists"}
WORLD = setup(
    policy(
        """
match: {accelerators: {total: {min: 1}}}
inject:
  queue: training-large
  priorityClassName: train-normal
  tolerations: [{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}]
  terminationGracePeriodSeconds: 300
  labels: {workload.ai/team: research}
  env: {NCCL_DEBUG: WARN, NCCL_SOCKET_IFNAME: eth0}
  nodeSelector: {pool: training}
"""
    )
)
Manifest = dict[str, Any]


def gpu_pod() -> Manifest:
    pod: Manifest = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "research"},
        "spec": pod_spec(gpu_job()),
    }
    return pod


def cron_job() -> Manifest:
    return {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": "c", "namespace": "research"},
        "spec": {"schedule": "@daily", "jobTemplate": {"spec": gpu_job()["spec"]}},
    }


def workers(asked: Manifest) -> Manifest:
    if asked["kind"] != "JobSet":
        return pod_spec(asked)
    spec: Manifest = asked["spec"]["replicatedJobs"][1]["template"]["spec"]["template"]["spec"]
    return spec


def nothing(spec: Manifest) -> None:
    pass


def tolerations(spec: Manifest) -> None:
    spec["tolerations"] = [copy.deepcopy(OWN)]


def env(spec: Manifest) -> None:
    spec["containers"][0]["env"] = [{"name": "NCCL_DEBUG", "value": "INFO"}, {"name": "OWN", "value": "x"}]


def selector(spec: Manifest) -> None:
    spec["nodeSelector"] = {"own": "x"}


def grace(seconds: int) -> Callable[[Manifest], None]:
    def write(spec: Manifest) -> None:
        spec["terminationGracePeriodSeconds"] = seconds

    return write


OWN_VALUES = {
    "nothing": nothing,
    "tolerations": tolerations,
    "grace-60": grace(60),
    "grace-30": grace(30),
    "env": env,
    "selector": selector,
}


@pytest.fixture(params=[gpu_job, gpu_pod, cron_job, deployment, job_set], ids=lambda make: make.__name__)
def make(request: Any) -> Any:
    return request.param


@pytest.fixture(params=sorted(OWN_VALUES))
def manifest(request: Any, make: Any) -> Manifest:
    made: Manifest = make()
    OWN_VALUES[request.param](workers(made))
    return made


def sent_again(manifest: Manifest, stored: Manifest, whole: bool) -> Manifest:
    """The merged object of an apply: the stored one with what the manifest itself says set again."""
    merged = copy.deepcopy(stored)
    if whole and manifest["kind"] == "JobSet":
        merged["spec"]["replicatedJobs"] = copy.deepcopy(manifest["spec"]["replicatedJobs"])
        return merged
    for field in ("tolerations", "terminationGracePeriodSeconds", "nodeSelector", "containers"):
        if field in workers(manifest):
            workers(merged)[field] = copy.deepcopy(workers(manifest)[field])
    return merged


@pytest.mark.parametrize("whole", [True, False], ids=["client-side", "server-side"])
def test_an_unchanged_manifest_changes_nothing(manifest: Manifest, whole: bool) -> None:
    stored = mutated(WORLD, request(copy.deepcopy(manifest)))
    again = sent_again(manifest, stored, whole)
    assert mutated(WORLD, request(again, stored)) == stored


@pytest.mark.parametrize("whole", [True, False], ids=["client-side", "server-side"])
def test_one_changed_field_changes_that_field_alone(manifest: Manifest, whole: bool) -> None:
    stored = mutated(WORLD, request(copy.deepcopy(manifest)))
    again = sent_again(manifest, stored, whole)
    again["metadata"]["annotations"]["example.com/note"] = "x"
    result = mutated(WORLD, request(again, stored))
    assert result["metadata"]["annotations"].pop("example.com/note") == "x"
    assert result == stored


def test_a_user_who_now_sets_our_field_gets_their_value(make: Any) -> None:
    stored = mutated(WORLD, request(make()))
    again = copy.deepcopy(stored)
    workers(again)["terminationGracePeriodSeconds"] = 120
    result = mutated(WORLD, request(again, stored))
    assert workers(result)["terminationGracePeriodSeconds"] == 120
    record = json.loads(result["metadata"]["annotations"]["workload.ai/injected"])
    assert not any(field.endswith("terminationGracePeriodSeconds") and "coordinator" not in field for field in record)


def test_a_user_may_bring_a_toleration_of_their_own(make: Any) -> None:
    stored = mutated(WORLD, request(make()))
    again = copy.deepcopy(stored)
    workers(again)["tolerations"] = [OWN]
    assert workers(mutated(WORLD, request(again, stored)))["tolerations"] == [OWN, GPU]


def test_an_applied_list_keeps_the_order_it_was_stored_in() -> None:
    """A Job's template is compared member by member: another order is a refusal."""
    job = gpu_job()
    pod_spec(job)["tolerations"] = [OWN]
    stored = mutated(WORLD, request(job))
    again = copy.deepcopy(stored)
    pod_spec(again)["tolerations"] = [OWN]
    assert pod_spec(mutated(WORLD, request(again, stored)))["tolerations"] == pod_spec(stored)["tolerations"]


def test_a_replicated_job_is_found_by_its_name_not_its_place() -> None:
    stored = mutated(WORLD, request(job_set()))
    again = copy.deepcopy(stored)
    again["spec"]["replicatedJobs"] = list(reversed(job_set()["spec"]["replicatedJobs"]))
    result = mutated(WORLD, request(again, stored))
    assert result["spec"]["replicatedJobs"] == list(reversed(stored["spec"]["replicatedJobs"]))


def test_a_dropped_annotation_does_not_lose_the_record() -> None:
    """kubectl replace sends the manifest as it is, without our annotation."""
    stored = mutated(WORLD, request(deployment()))
    assert mutated(WORLD, request(deployment(), stored)) == stored


def test_a_forged_record_is_not_believed() -> None:
    job = gpu_job()
    stored = mutated(WORLD, request(job))
    again = copy.deepcopy(stored)
    forged = {"metadata.labels[workload.ai/team]": {"set": "research", "was": "other", "by": "x"}}
    again["metadata"]["annotations"]["workload.ai/injected"] = json.dumps(forged)
    assert mutated(WORLD, request(again, stored)) == stored


@pytest.mark.parametrize(
    "text", ["", "x", "[]", "{}", '{"a": 1}', '{"spec..x": {"set": 1}}', '{"spec.suspend": {"set": [1]}}', "{" * 5000]
)
def test_a_record_that_is_none_does_no_harm(text: str) -> None:
    job = gpu_job()
    job["metadata"]["annotations"] = {"workload.ai/injected": text}
    assert pod_spec(mutated(WORLD, request(job)))["tolerations"] == [GPU]
    mutated(WORLD, request(gpu_job(), job))


# Beyond putting back, an UPDATE injects only into templates that may change, and only if they do.


def test_an_update_of_a_job_from_before_us_injects_nothing() -> None:
    """kueue#2427, opentelemetry-operator#1514, kueue#3552: objects that were there before the webhook."""
    for manifest in (gpu_job(), gpu_pod(), job_set(), deployment()):
        new = copy.deepcopy(manifest)
        new["metadata"]["annotations"] = {"a": "b"}
        if "replicas" in new["spec"]:
            new["spec"]["replicas"] = 5
        assert mutated(WORLD, request(new, manifest)) == new


def test_a_changed_template_of_a_deployment_is_injected_afresh_without_touching_its_queue() -> None:
    old = deployment()
    new = deployment()
    pod_spec(new)["containers"][0]["image"] = "registry.example/vllm:2"
    result = mutated(WORLD, request(new, old))
    assert pod_spec(result)["tolerations"] == [GPU]
    assert "kueue.x-k8s.io/queue-name" not in result["metadata"]["labels"]


def test_a_pod_that_loses_its_finalizer_is_not_touched() -> None:
    """gatekeeper#4121, kyverno#8815: a Pod patched on UPDATE kept its finalizer and its Job never ended."""
    old = mutated(WORLD, request(gpu_pod()))
    old["metadata"]["finalizers"] = ["batch.kubernetes.io/job-tracking"]
    new = copy.deepcopy(old)
    new["metadata"].pop("finalizers")
    assert list(mutate(WORLD, request(new, old), NOW).response.patch) == []


def test_kueue_starting_a_job_is_not_patched() -> None:
    """kubernetes#48388: "Job is immutable" was a webhook that changed the template on UPDATE."""
    stored = mutated(WORLD, request(gpu_job()))
    started = copy.deepcopy(stored)
    started["spec"]["suspend"] = False
    pod_spec(started)["nodeSelector"] = {"pool": "h100"}
    kueue = "system:serviceaccount:kueue-system:kueue-controller-manager"
    assert list(mutate(WORLD, request(started, stored, user=kueue), NOW).response.patch) == []


def test_a_started_job_is_not_suspended_again_by_an_apply() -> None:
    stored = mutated(WORLD, request(gpu_job()))
    running = copy.deepcopy(stored)
    running["spec"]["suspend"] = False
    again = copy.deepcopy(running)
    again["metadata"]["annotations"]["a"] = "b"
    assert mutated(WORLD, request(again, running))["spec"]["suspend"] is False


def test_an_object_that_is_being_deleted_is_not_patched() -> None:
    """gardener/kupid#29, kyverno#14393."""
    old = gpu_job()
    old["metadata"].update(deletionTimestamp="2026-11-29T00:00:00Z", finalizers=["a"])
    new = copy.deepcopy(old)
    new["metadata"]["finalizers"] = []
    assert list(mutate(WORLD, request(new, old), NOW).response.patch) == []


# What controllers make is never mutated, but for the queue of a CronJob's Jobs.


@pytest.mark.parametrize(
    ("kind", "api_version", "owner", "owner_version", "user"),
    [
        ("ReplicaSet", "apps/v1", "Deployment", "apps/v1", "deployment-controller"),
        ("Pod", "v1", "Job", "batch/v1", "job-controller"),
        ("Pod", "v1", "StatefulSet", "apps/v1", "statefulset-controller"),
    ],
)
def test_what_a_controller_makes_is_not_mutated(kind: str, api_version: str, owner: str, owner_version: str, user: str) -> None:
    made = gpu_pod() if kind == "Pod" else deployment()
    made.update(kind=kind, apiVersion=api_version)
    made["metadata"]["ownerReferences"] = [{"apiVersion": owner_version, "kind": owner, "name": "o", "controller": True}]
    asked = request(made, user=f"system:serviceaccount:kube-system:{user}")
    assert list(mutate(WORLD, asked, NOW).response.patch) == []


def test_a_cronjob_from_before_us_gets_its_jobs_queued() -> None:
    job = gpu_job()
    job["metadata"]["ownerReferences"] = [{"apiVersion": "batch/v1", "kind": "CronJob", "name": "c", "controller": True}]
    result = mutated(WORLD, request(job, user="system:serviceaccount:kube-system:cronjob-controller"))
    assert result["metadata"]["labels"] == {"kueue.x-k8s.io/queue-name": "training-large"}
    assert result["spec"]["suspend"] is True
    assert result["spec"]["template"] == job["spec"]["template"]


def test_a_job_of_an_owner_we_do_not_know_gets_no_queue_and_no_priority() -> None:
    """kueue#1568: the submitter Job of a RayJob was suspended as if it were work of its own."""
    job = gpu_job()
    job["metadata"]["ownerReferences"] = [{"apiVersion": "ray.io/v1", "kind": "RayJob", "name": "r", "controller": True}]
    result = mutated(WORLD, request(job, user="system:serviceaccount:ray:kuberay-operator"))
    assert "kueue.x-k8s.io/queue-name" not in result["metadata"]["labels"]
    assert "priorityClassName" not in pod_spec(result)


def test_a_second_pass_over_an_update_keeps_what_the_first_injected_afresh() -> None:
    """Called again (reinvocationPolicy: IfNeeded) we get the same oldObject, and an object that is ours in part."""
    old, new = deployment(), deployment()
    pod_spec(new)["containers"][0]["image"] = "registry.example/vllm:2"
    once = mutated(WORLD, request(new, old))
    assert "workload.ai/injected" in once["metadata"]["annotations"]
    assert list(mutate(WORLD, request(once, old), NOW).response.patch) == []


def test_a_second_pass_over_an_update_keeps_the_list_members_of_the_first() -> None:
    a, b = "{key: a, operator: Exists}", "{key: b, operator: Exists}"
    first = setup(policy(f"inject: {{tolerations: [{a}]}}", "one"))
    both = setup(policy(f"inject: {{tolerations: [{a}]}}", "one"), policy(f"inject: {{tolerations: [{b}]}}", "two"))
    old = mutated(first, request(deployment()))
    new = deployment()
    pod_spec(new)["containers"][0]["image"] = "registry.example/vllm:2"
    once = mutated(both, request(new, old))
    assert [toleration["key"] for toleration in pod_spec(once)["tolerations"]] == ["a", "b"]
    assert list(mutate(both, request(once, old), NOW).response.patch) == []
    assert pod_spec(mutated(first, request(new, once)))["tolerations"] == pod_spec(once)["tolerations"]
