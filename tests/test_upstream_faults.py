"""Faults that users of other webhooks met, where no other test here speaks of them. Each names its upstream issue."""

import copy
from pathlib import Path
from typing import Any

import pytest
from yaml import safe_load_all

from signalbox.engine import mutate
from signalbox.review import ReviewError, parse_review
from tests.manifests import deployment, gpu_job, job_set, pod_spec
from tests.world import NOW, Cluster, judged, mutated, policy, request, setup, view, yaml

EQUAL = setup(policy("rules: [{name: equal, check: gpu-requests, mode: enforce}]", "gpus"))
GPU_NODES = policy(
    """
inject:
  tolerations:
    - {key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}
    - {key: aws.amazon.com/neuron, operator: Exists, effect: NoSchedule}
    - {key: google.com/tpu, operator: Exists, effect: NoSchedule}
"""
)


def with_quantities(limits: Any, requests: Any = None, resource: str = "nvidia.com/gpu") -> dict[str, Any]:
    jobs = job_set()
    resources = {"limits": {resource: limits}} if limits is not None else {}
    if requests is not None:
        resources["requests"] = {resource: requests}
    jobs["spec"]["replicatedJobs"][1]["template"]["spec"]["template"]["spec"]["containers"][0]["resources"] = resources
    return jobs


def refused(manifest: dict[str, Any]) -> str:
    response = judged(EQUAL, request(manifest)).response
    return "" if response.allowed else " ".join(response.message.split())


def test_kyverno_1340_a_deployment_without_tolerations_gets_the_list() -> None:
    result = mutated(setup(GPU_NODES), request(deployment()))
    assert pod_spec(result)["tolerations"] == [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}]


def test_kubernetes_57170_a_request_without_a_limit_is_refused_a_limit_alone_is_right() -> None:
    assert "requests 1 nvidia.com/gpu but sets no limit" in refused(with_quantities(None, 1))
    assert not refused(with_quantities(1))
    template = deployment()
    pod_spec(template)["containers"][0]["resources"] = {"requests": {"nvidia.com/gpu": "1"}}
    assert not mutate(EQUAL, request(template), NOW).response.allowed


def test_kubernetes_110536_cpu_and_memory_may_differ() -> None:
    jobs = with_quantities(1, 1)
    resources = jobs["spec"]["replicatedJobs"][1]["template"]["spec"]["template"]["spec"]["containers"][0]["resources"]
    resources["limits"].update(cpu="4", memory="8Gi")
    resources["requests"].update(cpu="2", memory="4Gi")
    assert not refused(jobs)


@pytest.mark.parametrize(("limits", "requests"), [("1", "1000m"), ("1k", "1000"), ("1.0", "1"), ("1e0", "1"), ("3Ki", 3072)])
def test_website_26037_equal_in_another_spelling_is_equal(limits: Any, requests: Any) -> None:
    assert not refused(with_quantities(limits, requests))


@pytest.mark.parametrize(
    ("limits", "why"),
    [
        ("1500m", "not a whole number"),
        ("0.5", "not a whole number"),
        (1.5, "not a whole number"),
        ("", "not a quantity"),
        ("abc", "not a quantity"),
        (True, "not a quantity"),
        ("-1", "negative"),
    ],
)
def test_website_26037_what_is_no_number_of_gpus_is_refused_with_words(limits: Any, why: str) -> None:
    assert why in refused(with_quantities(limits))


@pytest.mark.parametrize("limits", [None, "${GPUS}", "{{ .Values.gpus }}"])
def test_what_is_not_filled_in_yet_is_not_refused(limits: Any) -> None:
    jobs = with_quantities(1)
    container = jobs["spec"]["replicatedJobs"][1]["template"]["spec"]["template"]["spec"]["containers"][0]
    container["resources"]["limits"]["nvidia.com/gpu"] = limits
    assert not refused(jobs)


def test_dynamo_9235_half_a_gpu_is_not_rounded_up_to_one() -> None:
    assert "not a whole number" in refused(with_quantities("500m", 1))


def test_volcano_2422_init_containers_and_sidecars_count_as_kubernetes_counts_them() -> None:
    def gpus(count: int, **more: Any) -> dict[str, Any]:
        return {"name": f"c{count}", "image": "i", "resources": {"limits": {"nvidia.com/gpu": count}}, **more}

    sidecar = gpus(1, restartPolicy="Always")
    for init, total in (([gpus(8)], 8), ([sidecar], 2), ([sidecar, gpus(2)], 3)):
        job = gpu_job()
        pod_spec(job).update(initContainers=init, containers=[gpus(1)])
        assert view(job).accelerators.total == total
        assert pod_spec(mutated(setup(GPU_NODES), request(job)))["tolerations"]


@pytest.mark.parametrize(
    ("resource", "key"),
    [
        ("nvidia.com/mig-1g.5gb", "nvidia.com/gpu"),
        ("aws.amazon.com/neuron", "aws.amazon.com/neuron"),
        ("google.com/tpu", "google.com/tpu"),
    ],
)
def test_kubernetes_55839_the_toleration_has_the_shape_the_in_tree_plugin_gives_it(resource: str, key: str) -> None:
    jobs = with_quantities(1, resource=resource)
    spec = mutated(setup(GPU_NODES), request(jobs))["spec"]["replicatedJobs"][1]["template"]["spec"]["template"]["spec"]
    assert spec["tolerations"] == [{"key": key, "operator": "Exists", "effect": "NoSchedule"}]


def test_kubernetes_55839_no_doubles_where_the_plugin_was_first() -> None:
    job = gpu_job()
    pod_spec(job)["tolerations"] = [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}]
    assert len(pod_spec(mutated(setup(GPU_NODES), request(job)))["tolerations"]) == 1


def test_kai_scheduler_2075_a_pod_is_not_refused_for_what_its_job_was_let_through_with() -> None:
    rules = policy("rules: [{name: small, check: accelerator-limit, with: {maxPerPod: 1}, mode: enforce}]")
    pod = yaml("""
apiVersion: v1
kind: Pod
metadata:
  generateName: old-
  namespace: research
  ownerReferences: [{apiVersion: batch/v1, kind: Job, name: old, controller: true}]
spec: {containers: [{name: t, image: "i:1", resources: {limits: {nvidia.com/gpu: "8"}}}]}
""")
    controller = "system:serviceaccount:kube-system:job-controller"
    assert judged(setup(rules), request(pod, user=controller)).response.allowed


def test_kueue_973_the_lower_of_pod_priority_and_queue_priority_counts() -> None:
    job = gpu_job()
    pod_spec(job)["priorityClassName"] = "urgent"
    job["metadata"]["labels"] = {"kueue.x-k8s.io/priority-class": "low"}
    assert view(job, Cluster(kueue_classes={"low": 100})).priority.value == 100
    job["metadata"]["labels"] = {"priorityClassName": "train-low"}
    pod_spec(job).pop("priorityClassName")
    assert view(job).priority.value == 1000, "KAI reads the class from a label"


def test_kueue_2572_tolerations_are_there_before_kueue_copies_the_template() -> None:
    job = mutated(setup(GPU_NODES, policy("inject: {queue: q}", "q")), request(gpu_job()))
    assert job["spec"]["suspend"] is True
    assert pod_spec(job)["tolerations"]


def test_yunikorn_79_a_pod_of_a_replicaset_has_no_name_yet() -> None:
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"generateName": "web-"}, "spec": pod_spec(gpu_job())}
    assert judged(EQUAL, request(pod)).response.allowed


def test_a_rendezvous_server_that_carries_training_labels_of_its_neighbours_is_not_refused() -> None:
    etcd = yaml("""
apiVersion: apps/v1
kind: Deployment
metadata: {name: etcd, labels: {app: etcd, kueue.x-k8s.io/priority-class: training-priority}}
spec:
  template:
    metadata: {labels: {app: etcd, role: training}}
    spec:
      containers:
        - name: etcd
          image: quay.example/etcd:3
          command: [/usr/local/bin/etcd]
          args: [--data-dir, /var/lib/etcd, --listen-client-urls, "http://0.0.0.0:2379"]
          ports: [{containerPort: 2379}]
""")
    rule = policy("rules: [{name: kind, check: controller-kind, mode: enforce}]")
    assert judged(setup(rule), request(etcd)).response.allowed


def test_kubectl_scale_is_never_read_as_the_workload() -> None:
    scale = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "x"}, "spec": {"replicas": 99}}
    asked = request(scale, copy.deepcopy(scale), sub_resource="scale", kind=("autoscaling", "Scale"))
    assert judged(EQUAL, asked).response.allowed
    assert mutate(EQUAL, asked, NOW).response.patch == ()


def test_a_quantity_beyond_all_numbers_is_judged() -> None:
    limit = setup(policy("rules: [{name: l, check: accelerator-limit, with: {maxTotal: 1}, mode: enforce}]"))
    assert not judged(limit, request(with_quantities("9e999"))).response.allowed


KUBERAY = "system:serviceaccount:ray-system:kuberay-operator"
QUEUED = policy(
    """
inject: {queue: training-large, priorityClassName: train-normal, labels: {workload.ai/team: research}}
rules:
  - {name: checkpoint, check: checkpoint, with: {accept: [durable]}, mode: enforce}
  - {name: queue, check: queue-required, mode: enforce}
""",
    "all",
)


def ray_job(**spec: Any) -> dict[str, Any]:
    head = {"template": {"spec": {"containers": [{"name": "ray-head", "resources": {"limits": {"nvidia.com/gpu": 1}}}]}}}
    own = {"shutdownAfterJobFinishes": True, "rayClusterSpec": {"headGroupSpec": head}, "entrypoint": "python train.py"}
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayJob",
        "metadata": {"name": "train", "namespace": "research"},
        "spec": {**own, **spec},
    }


def owned_by_ray(manifest: dict[str, Any], kind: str) -> dict[str, Any]:
    owner = {"apiVersion": "ray.io/v1", "kind": kind, "name": "train", "controller": True}
    return {**manifest, "metadata": {**manifest["metadata"], "ownerReferences": [owner]}}


def test_kueue_1568_the_job_that_submits_a_rayjob_is_left_alone() -> None:
    world = setup(QUEUED)
    child = owned_by_ray(gpu_job(), "RayJob")
    assert mutated(world, request(child, user=KUBERAY)) == child
    assert judged(world, request(child, user=KUBERAY)).response.allowed
    # Under any other account the ownerReference proves nothing, but a queue of its own it gets nowhere.
    assert "kueue.x-k8s.io/queue-name" not in mutated(world, request(child))["metadata"].get("labels", {})


def test_kuberay_4064_the_cluster_of_a_rayjob_is_not_queued_a_second_time() -> None:
    world = setup(QUEUED)
    assert mutated(world, request(ray_job()))["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "training-large"
    cluster = {
        "apiVersion": "ray.io/v1",
        "kind": "RayCluster",
        "metadata": {"name": "train-x", "namespace": "research"},
        "spec": ray_job()["spec"]["rayClusterSpec"],
    }
    child = owned_by_ray(cluster, "RayJob")
    assert mutated(world, request(child, user=KUBERAY)) == child
    assert "kueue.x-k8s.io/queue-name" not in mutated(world, request(child))["metadata"].get("labels", {})


def test_kueue_7257_a_rayjob_on_a_cluster_that_stands_is_not_queued() -> None:
    manifest = ray_job(clusterSelector={"ray.io/cluster": "shared"}, rayClusterSpec=None)
    result = mutated(setup(QUEUED), request(manifest))
    assert result["spec"] == manifest["spec"]
    assert "kueue.x-k8s.io/queue-name" not in result["metadata"]["labels"]
    outcome = judged(setup(policy("rules: [{name: queue, check: queue-required, mode: enforce}]")), request(manifest))
    assert outcome.response.allowed
    assert outcome.view is not None
    assert outcome.view.type.state == "training"


def test_kueue_11931_a_trainjob_is_queued_and_never_suspended_by_us() -> None:
    for suspend in ({}, {"suspend": False}):
        manifest = {
            "apiVersion": "trainer.kubeflow.org/v1alpha1",
            "kind": "TrainJob",
            "metadata": {"name": "t", "namespace": "research"},
            "spec": {"runtimeRef": {"name": "torch-distributed"}, "runtimePatches": [{"manager": "team-x"}], **suspend},
        }
        result = mutated(setup(QUEUED), request(manifest))
        assert result["spec"] == manifest["spec"]
        assert result["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "training-large"


def test_a_queue_of_kueue_is_not_put_on_work_that_another_scheduler_queues() -> None:
    job = gpu_job()
    job["metadata"]["labels"] = {"kai.scheduler/queue": "team-a"}
    pod_spec(job)["schedulerName"] = "kai-scheduler"
    assert "kueue.x-k8s.io/queue-name" not in mutated(setup(QUEUED), request(job))["metadata"]["labels"]


def test_a_podtemplate_is_judged_again_when_its_template_changes() -> None:
    container: dict[str, Any] = {"name": "c", "resources": {"limits": {"nvidia.com/gpu": "1"}}}
    old = {
        "apiVersion": "v1",
        "kind": "PodTemplate",
        "metadata": {"name": "t"},
        "template": {"spec": {"containers": [container]}},
    }
    new = copy.deepcopy(old)
    new["template"]["spec"]["containers"][0]["resources"] = {"requests": {"nvidia.com/gpu": "2"}}
    assert not judged(EQUAL, request(new, old)).response.allowed


def test_a_class_that_volcano_gives_to_a_whole_job_must_be_allowed() -> None:
    tasks = [{"name": "w", "template": {"spec": {"containers": [{"name": "c"}]}}}]
    spec = {"priorityClassName": "urgent", "tasks": tasks}
    manifest = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": {"name": "x"}, "spec": spec}
    world = setup(policy("rules: [{name: class, check: priority-allowed, with: {allow: [low]}, mode: enforce}]"))
    assert "urgent" in judged(world, request(manifest)).response.message


def test_trainer_3043_a_trainjob_gets_labels_of_its_own_and_no_patch_of_ours() -> None:
    spec = {
        "runtimeRef": {"name": "torch-distributed"},
        "trainer": {"numNodes": 2, "resourcesPerNode": {"limits": {"nvidia.com/gpu": 8}}},
        "runtimePatches": [{"manager": "team-x", "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": []}}}}],
    }
    metadata = {"name": "t", "namespace": "research"}
    manifest = {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "metadata": metadata, "spec": spec}
    result = mutated(setup(QUEUED, GPU_NODES), request(manifest))
    assert result["spec"] == spec, "another manager's entry is its own, and placement cannot change once the job runs"
    assert result["metadata"]["labels"]["workload.ai/team"] == "research"


def test_kyverno_16177_the_cluster_starts_without_us() -> None:
    webhooks = (Path(__file__).parents[1] / "manifests" / "base" / "webhooks.yaml").read_text(encoding="utf-8")
    for document in safe_load_all(webhooks):
        for webhook in document["webhooks"]:
            if any(rule["resources"][0] == "pods" for rule in webhook["rules"]):
                [exempt] = webhook["namespaceSelector"]["matchExpressions"]
                assert exempt["operator"] == "NotIn"
                assert {"kube-system", "signalbox-system"} <= set(exempt["values"])


@pytest.mark.parametrize("body", [None, [], {}, {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": 5}])
def test_volcano_3331_what_is_no_review_is_told_so(body: Any) -> None:
    with pytest.raises(ReviewError):
        parse_review(body)


def test_volcano_3331_a_kind_that_nobody_knows_is_let_through() -> None:
    manifest = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": 5}
    assert judged(EQUAL, request(manifest)).response.allowed
    assert mutate(EQUAL, request(manifest), NOW).response.patch == ()
