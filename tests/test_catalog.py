"""What each check of the catalog refuses and, as much, what it leaves alone."""

import copy
from typing import Any

import pytest

from signalbox.fieldpath import value_at
from signalbox.finding import Finding
from signalbox.fix import apply_fixes
from tests.manifests import deployment, gpu_job, job_set, pod_spec
from tests.world import Cluster, judged, policy, request, setup, yaml


def problems(check: str, manifest: Any, old: Any = None, cluster: Any = None, **parameters: Any) -> dict[str, Finding]:
    """What a check finds under a rule in force, by key."""
    body = (
        f"rules: [{{name: r, check: {check}, with: {parameters}, mode: enforce}}]"
        if parameters
        else (f"rules: [{{name: r, check: {check}, mode: enforce}}]")
    )
    found = judged(setup(policy(body), cluster=cluster), request(manifest, old)).findings
    return {finding.key: finding for finding in found if finding.result.value == "fail"}


def with_(make: Any, **spec: Any) -> Any:
    made = make()
    made["spec"].update(spec)
    return made


def cron(**spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": "nightly", "namespace": "research"},
        "spec": {"schedule": "@daily", "jobTemplate": {"spec": gpu_job()["spec"]}, **spec},
    }


def pytorch_job(**spec: Any) -> dict[str, Any]:
    template = {"spec": pod_spec(gpu_job())}
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"name": "p", "namespace": "research"},
        "spec": {"pytorchReplicaSpecs": {"Worker": {"replicas": 4, "template": template}}, **spec},
    }


def pod(**spec: Any) -> dict[str, Any]:
    metadata = {"name": "p", "namespace": "research"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {**pod_spec(gpu_job()), **spec}}


def train_job(**resources: Any) -> dict[str, Any]:
    trainer = {"numNodes": 2, "resourcesPerNode": resources}
    metadata = {"name": "t", "namespace": "research"}
    spec = {"runtimeRef": {"name": "torch"}, "trainer": trainer}
    return {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "metadata": metadata, "spec": spec}


def in_app_wrapper(*objects: Any) -> dict[str, Any]:
    metadata = {"name": "aw", "namespace": "research"}
    spec = {"components": [{"template": made} for made in objects]}
    return {"apiVersion": "workload.codeflare.dev/v1beta2", "kind": "AppWrapper", "metadata": metadata, "spec": spec}


# gpu-requests


def dynamo_graph(**resources: Any) -> dict[str, Any]:
    metadata = {"name": "chat", "namespace": "research"}
    spec = {"services": {"decode": {"resources": resources}}}
    return {"apiVersion": "nvidia.com/v1alpha1", "kind": "DynamoGraphDeployment", "metadata": metadata, "spec": spec}


def nim_service(**resources: Any) -> dict[str, Any]:
    metadata = {"name": "chat", "namespace": "research"}
    return {
        "apiVersion": "apps.nvidia.com/v1alpha1",
        "kind": "NIMService",
        "metadata": metadata,
        "spec": {"resources": resources},
    }


@pytest.mark.parametrize(
    ("make", "gpu"), [(train_job, "nvidia.com/gpu"), (dynamo_graph, "gpu"), (nim_service, "nvidia.com/gpu")]
)
def test_fields_that_become_limits_and_requests_are_held_to_the_same(make: Any, gpu: str) -> None:
    assert not problems("gpu-requests", make(limits={gpu: "2"}))
    assert not problems("gpu-requests", make(limits={gpu: "2"}, requests={gpu: "2"}))
    assert not problems("gpu-requests", make(limits={gpu: "${GPUS}"}, requests={gpu: "2"}))
    for resources in ({"limits": {gpu: "2"}, "requests": {gpu: "1"}}, {"requests": {gpu: "1"}}, {"limits": {gpu: "0.5"}}):
        manifest = make(**resources)
        found = problems("gpu-requests", manifest)
        assert len(found) == 1
        assert not problems("gpu-requests", apply_fixes(manifest, list(found.values())))


def test_a_mismatch_of_a_field_is_told_by_the_field() -> None:
    (found,) = problems("gpu-requests", train_job(limits={"nvidia.com/gpu": 2}, requests={"nvidia.com/gpu": 1})).values()
    assert found.message.startswith("spec.trainer.resourcesPerNode has a limit of 2 nvidia.com/gpu but requests 1;")
    (found,) = problems("gpu-requests", dynamo_graph(limits={"gpu": "2"}, requests={"gpu": "1"})).values()
    assert found.message.startswith("spec.services.decode.resources has a limit of 2 nvidia.com/gpu but requests 1;")
    # Its field holds text.
    assert [edit.value for edit in found.fix.edits] == ["2"]


def test_wrapped_fields_keep_their_key_wherever_they_stand() -> None:
    made = train_job(requests={"nvidia.com/gpu": 1})
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}}
    alone, second = in_app_wrapper(made), in_app_wrapper(service, made)
    assert problems("gpu-requests", alone).keys() == problems("gpu-requests", second).keys() != set()


# time-limits


@pytest.mark.parametrize("manifest", [gpu_job(), pod(), cron(), job_set(), pytorch_job()], ids=lambda made: made["kind"])
def test_gpu_work_without_an_end_is_refused_and_mended_by_its_fix(manifest: Any) -> None:
    found = problems("time-limits", manifest, max=3600)
    assert list(found) == ["unlimited"]
    assert not problems("time-limits", apply_fixes(manifest, found.values()), max=3600)


def in_experiment(made: Any) -> dict[str, Any]:
    metadata = {"name": "e", "namespace": "research"}
    spec = {"trialTemplate": {"trialSpec": made}}
    return {"apiVersion": "kubeflow.org/v1beta1", "kind": "Experiment", "metadata": metadata, "spec": spec}


@pytest.mark.parametrize("hold", [in_app_wrapper, in_experiment])
@pytest.mark.parametrize("make", [gpu_job, pod, job_set, pytorch_job])
def test_an_object_in_another_one_ends_as_well(make: Any, hold: Any) -> None:
    manifest = hold(make())
    found = problems("time-limits", manifest, max=3600)
    assert list(found) == ["unlimited"]
    assert not problems("time-limits", apply_fixes(manifest, found.values()), max=3600)


def test_the_limit_of_what_an_app_wrapper_holds_counts() -> None:
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}}
    wrapped = in_app_wrapper(service, pytorch_job(runPolicy={"activeDeadlineSeconds": 30 * 86400}))
    found = problems("time-limits", wrapped, max=86400)
    assert found["too-long"].message == "It may run for 30 days; at most 24 hours are allowed."
    field = ("spec", "components", 1, "template", "spec", "runPolicy", "activeDeadlineSeconds")
    assert [edit.path for edit in found["too-long"].fix.edits] == [field]
    assert not problems("time-limits", wrapped, max=30 * 86400)
    assert "too-short" in problems("time-limits", wrapped, min=60 * 86400)


def test_a_limit_of_one_part_ends_no_other() -> None:
    made = job_set()
    made["spec"]["replicatedJobs"][0]["template"]["spec"]["activeDeadlineSeconds"] = 60
    (found,) = problems("time-limits", made).values()
    assert found.message.startswith("Some of it has no time limit")
    assert [one.path[:3] for one in found.evidence] == [("spec", "replicatedJobs", 1)]
    made["spec"]["replicatedJobs"][1]["template"]["spec"]["activeDeadlineSeconds"] = 3600
    assert not problems("time-limits", made)


def test_a_short_limit_of_another_part_hides_no_long_one() -> None:
    made = job_set()
    made["spec"]["replicatedJobs"][0]["template"]["spec"]["activeDeadlineSeconds"] = 60
    made["spec"]["replicatedJobs"][1]["template"]["spec"]["activeDeadlineSeconds"] = 30 * 86400
    (found,) = problems("time-limits", made, max=86400).values()
    assert found.message == "It may run for 30 days; at most 24 hours are allowed."
    assert not problems("time-limits", apply_fixes(made, [found]), max=86400)


def test_the_limit_of_the_job_whose_success_is_the_jobsets_ends_all() -> None:
    made = job_set()
    made["spec"]["replicatedJobs"][0]["template"]["spec"]["activeDeadlineSeconds"] = 3600
    assert problems("time-limits", made)
    made["spec"]["successPolicy"] = {"operator": "All", "targetReplicatedJobs": ["coordinator"]}
    assert not problems("time-limits", made)
    made["spec"]["successPolicy"]["targetReplicatedJobs"].append("workers")
    assert problems("time-limits", made)


def test_kueues_limit_ends_what_kueue_queues() -> None:
    job = gpu_job()
    job["metadata"] |= {"labels": {"kueue.x-k8s.io/max-exec-time-seconds": "60"}}
    pod_spec(job)["schedulerName"] = "volcano"
    job["metadata"]["annotations"] = {"scheduling.volcano.sh/queue-name": "q"}
    assert problems("time-limits", job)
    job["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] = "q"
    assert not problems("time-limits", job)


def test_a_service_and_work_without_gpus_need_no_end() -> None:
    job = gpu_job()
    del pod_spec(job)["containers"][0]["resources"]
    assert not problems("time-limits", deployment(), max=3600)
    assert not problems("time-limits", job, max=3600)


def test_kueues_limit_counts_only_in_a_queue() -> None:
    job = gpu_job()
    job["metadata"]["labels"] = {"kueue.x-k8s.io/max-exec-time-seconds": "7200"}
    assert "unlimited" in problems("time-limits", job, max=10000)
    job["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] = "q"
    assert not problems("time-limits", job, max=10000)
    found = problems("time-limits", job, max=3600)
    assert found["too-long"].amount == 7200
    mended = apply_fixes(job, found.values())
    assert mended["metadata"]["labels"]["kueue.x-k8s.io/max-exec-time-seconds"] == "3600"


def test_the_shortest_limit_counts() -> None:
    job = with_(gpu_job, activeDeadlineSeconds=10**6)
    assert "too-long" in problems("time-limits", job, max=3600)
    pod_spec(job)["activeDeadlineSeconds"] = 60
    assert not problems("time-limits", job, max=3600)
    assert list(problems("time-limits", job, min=600)) == ["too-short"]


def test_a_limit_that_a_placeholder_holds_is_left_alone() -> None:
    assert not problems("time-limits", pytorch_job(runPolicy={"activeDeadlineSeconds": "${LIMIT}"}), max=3600)


def test_what_is_finished_is_not_kept_for_ever() -> None:
    assert list(problems("time-limits", gpu_job(), unlimited="pass", maxKept=60)) == ["kept"]
    assert not problems("time-limits", with_(gpu_job, ttlSecondsAfterFinished=60), unlimited="pass", maxKept=60)


# cron-concurrency


def test_runs_that_may_pile_up_are_refused_however_it_is_written() -> None:
    assert list(problems("cron-concurrency", cron())) == ["concurrency", "starting-deadline"]
    assert list(problems("cron-concurrency", cron(concurrencyPolicy="Allow", startingDeadlineSeconds=60))) == ["concurrency"]
    assert not problems("cron-concurrency", cron(concurrencyPolicy="Forbid", startingDeadlineSeconds=60))


def test_a_deadline_shorter_than_the_controllers_look_is_refused() -> None:
    assert list(problems("cron-concurrency", cron(concurrencyPolicy="Forbid", startingDeadlineSeconds=5))) == [
        "starting-deadline"
    ]


def test_a_schedule_without_gpus_passes() -> None:
    made = cron()
    del pod_spec(made)["containers"][0]["resources"]
    assert not problems("cron-concurrency", made)


# serving-availability


def test_the_default_update_of_a_few_gpu_replicas_needs_spare_gpus() -> None:
    """25% of up to three replicas is none that may be away, and one more."""
    found = problems("serving-availability", deployment())
    assert list(found) == ["surge"]
    assert found["surge"].amount == 1
    assert not problems("serving-availability", apply_fixes(deployment(), found.values()))
    assert not problems("serving-availability", deployment(), spareAccelerators=1)
    assert not problems("serving-availability", with_(deployment, replicas=4))


def test_a_single_replica_is_mended_in_one_go() -> None:
    server = with_(deployment, replicas=1, strategy={"type": "Recreate"})
    del pod_spec(server)["containers"][0]["readinessProbe"]
    found = problems("serving-availability", server)
    assert list(found) == ["replicas", "readiness", "recreate"]
    assert not problems("serving-availability", apply_fixes(server, found.values()))


def test_one_replica_may_be_what_is_left_out_for_an_autoscaler() -> None:
    for replicas in ({}, {"replicas": 1}):
        server = with_(deployment, strategy={"rollingUpdate": {"maxUnavailable": 1}})
        del server["spec"]["replicas"]
        server["spec"].update(replicas)
        (found,) = problems("serving-availability", server).values()
        assert found.message.startswith("It has one replica, unless an autoscaler keeps more; at least 2 are needed")
        assert "where a HorizontalPodAutoscaler with minReplicas 2 keeps them" in found.fix.text
        assert not problems("serving-availability", apply_fixes(server, [found]))
    spec = {"predictor": {"minReplicas": 1, "model": {"modelFormat": {"name": "sklearn"}}}}
    metadata = {"name": "s", "namespace": "research"}
    kserve = {"apiVersion": "serving.kserve.io/v1beta1", "kind": "InferenceService", "metadata": metadata, "spec": spec}
    assert "autoscaler" not in problems("serving-availability", kserve)["replicas"].message


@pytest.mark.parametrize("rolling", [{"maxUnavailable": "${N}"}, {"maxSurge": 0}, {"maxUnavailable": 1}, {"maxSurge": []}])
def test_an_update_that_is_not_known_to_need_more_passes(rolling: Any) -> None:
    assert not problems("serving-availability", with_(deployment, strategy={"rollingUpdate": rolling}))


def test_scaled_to_zero_and_training_are_no_business_of_serving() -> None:
    assert not problems("serving-availability", with_(deployment, replicas=0))
    training = deployment()
    pod_spec(training)["containers"] = pod_spec(gpu_job())["containers"]
    assert not problems("serving-availability", training)


def test_a_startup_probe_keeps_requests_away_as_well() -> None:
    server = with_(deployment, replicas=4)
    container = pod_spec(server)["containers"][0]
    container["startupProbe"] = container.pop("readinessProbe")
    assert not problems("serving-availability", server)


# gang


def test_a_distributed_run_that_nothing_starts_whole_is_refused() -> None:
    found = problems("gang", job_set(), suggest="training-large")
    assert found["gang"].amount == 4
    assert not problems("gang", apply_fixes(job_set(), found.values()))


def test_a_larger_gang_is_worse_and_a_smaller_one_is_not() -> None:
    def sized(replicas: int) -> Any:
        made = job_set()
        made["spec"]["replicatedJobs"][1]["replicas"] = replicas
        return made

    assert problems("gang", sized(4), sized(2))
    assert not problems("gang", sized(2), sized(4))


@pytest.mark.parametrize(
    "written",
    [
        {"metadata": {"labels": {"kueue.x-k8s.io/queue-name": "q"}}},
        {"spec": {"runPolicy": {"schedulingPolicy": {"minAvailable": 4}}}},
        {"spec": {"elasticPolicy": {"minReplicas": 1}}},
    ],
)
def test_what_starts_whole_passes(written: Any) -> None:
    made = pytorch_job()
    for section, fields in written.items():
        made[section].update(fields)
    assert problems("gang", pytorch_job())
    assert not problems("gang", made)


@pytest.mark.parametrize("spec", [{"schedulerName": "volcano"}, {"schedulingGroup": {"podGroupName": "g"}}])
def test_a_gang_scheduler_passes(spec: Any) -> None:
    made = pytorch_job()
    made["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]["spec"].update(spec)
    assert not problems("gang", made)


def volcano_job(command: list[str], tasks: Any = None, **spec: Any) -> dict[str, Any]:
    template = {"spec": pod_spec(gpu_job())}
    template["spec"]["containers"][0]["command"] = command
    spec = {"tasks": [{"name": "worker", "replicas": 4, "template": template, **(tasks or {})}], **spec}
    metadata = {"name": "v", "namespace": "research"}
    return {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": metadata, "spec": spec}


TORCHRUN = ["torchrun", "--nnodes=4", "train.py"]


def test_a_volcano_job_that_starts_with_fewer_pods_than_must_meet_is_no_gang() -> None:
    for made in (
        volcano_job(TORCHRUN, minAvailable=1),
        volcano_job(["python", "train.py"], minAvailable=3, plugins={"pytorch": []}),
        volcano_job(TORCHRUN, tasks={"minAvailable": 2}),
    ):
        found = problems("gang", made)
        assert [edit.path for edit in found["gang"].fix.edits] == [("spec", "minAvailable")]
        assert not problems("gang", apply_fixes(made, found.values()))
    message = problems("gang", volcano_job(TORCHRUN, minAvailable=1))["gang"].message
    assert message == "It starts once 1 of its 4 Pods fit, so some may hold their accelerators and wait for the others."


@pytest.mark.parametrize(
    "made",
    [
        volcano_job(TORCHRUN),
        volcano_job(TORCHRUN, minAvailable=4),
        volcano_job(TORCHRUN, minAvailable="${PODS}"),
        volcano_job(["torchrun", "--nnodes=1:4", "train.py"], minAvailable=1),
        volcano_job(["torchrun", "--standalone", "--nproc-per-node=8", "train.py"], minAvailable=1),
        volcano_job(["python", "embed.py"], minAvailable=1),
    ],
)
def test_a_volcano_job_that_starts_whole_or_whose_pods_need_not_meet_passes(made: Any) -> None:
    assert not problems("gang", made)


def test_a_group_of_fewer_pods_than_the_run_is_no_gang() -> None:
    made = pytorch_job(runPolicy={"schedulingPolicy": {"minAvailable": 1, "queue": "q"}})
    found = problems("gang", made)
    assert found["gang"].evidence[0].path == ("spec", "runPolicy", "schedulingPolicy", "minAvailable")
    assert not problems("gang", apply_fixes(made, found.values()))
    assert not problems("gang", {**made, "spec": {**made["spec"], "elasticPolicy": {"minReplicas": 1}}})
    made["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "q"}
    assert not problems("gang", made), "Kueue starts all of it"
    annotated = pytorch_job()
    annotated["metadata"]["annotations"] = {"scheduling.volcano.sh/group-min-member": "2"}
    found = problems("gang", annotated)
    assert [edit.value for edit in found["gang"].fix.edits] == ["4"]
    assert not problems("gang", apply_fixes(annotated, found.values()))


def test_the_group_of_a_wrapped_object_may_be_too_small_as_well() -> None:
    made = wrapped_job()
    inner = made["spec"]["components"][0]["template"]
    inner["spec"]["runPolicy"] = {"schedulingPolicy": {"minAvailable": 1}}
    assert problems("gang", made)
    inner["spec"]["elasticPolicy"] = {"minReplicas": 1}
    assert not problems("gang", made)


GROUP = {"schedulingGroup": {"podGroupName": "g"}}


def ray_job(**pod_fields: Any) -> dict[str, Any]:
    group = {"replicas": 4, "groupName": "w", "template": {"spec": {**pod_spec(gpu_job()), **pod_fields}}}
    cluster = {"headGroupSpec": {"template": {"spec": {"containers": [{"name": "head"}]}}}, "workerGroupSpecs": [group]}
    spec = {"entrypoint": "python train.py", "rayClusterSpec": cluster}
    return {"apiVersion": "ray.io/v1", "kind": "RayJob", "metadata": {"name": "r", "namespace": "research"}, "spec": spec}


def mpi_job(**pod_fields: Any) -> dict[str, Any]:
    launcher = {"template": {"spec": {"containers": [{"name": "l", "command": ["mpirun", "-np", "8", "python", "train.py"]}]}}}
    worker = {"replicas": 4, "template": {"spec": {**pod_spec(gpu_job()), **pod_fields}}}
    made = pytorch_job()
    spec = {"mpiReplicaSpecs": {"Launcher": launcher, "Worker": worker}}
    return {**made, "apiVersion": "kubeflow.org/v2beta1", "kind": "MPIJob", "spec": spec}


def meeting_job(**pod_fields: Any) -> dict[str, Any]:
    made = gpu_job(parallelism=4, completions=4)
    pod_spec(made).update(subdomain="run", **pod_fields)
    return made


def wrapped_job(**pod_fields: Any) -> dict[str, Any]:
    return in_app_wrapper(pytorch(**pod_fields))


def pytorch(**pod_fields: Any) -> dict[str, Any]:
    made = pytorch_job()
    made["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]["spec"].update(pod_fields)
    return made


@pytest.mark.parametrize("make", [meeting_job, pytorch, mpi_job, ray_job, wrapped_job], ids=lambda make: make.__name__)
@pytest.mark.parametrize("native", [GROUP, {"workloadRef": {"name": "w", "podGroup": "g"}}])
def test_a_group_of_kubernetes_itself_is_seen_in_every_kind(make: Any, native: Any) -> None:
    assert problems("gang", make())
    assert not problems("gang", make(**native))
    assert problems("gang", make(schedulingGroup=None, workloadRef={})), "an empty group is none"


@pytest.mark.parametrize(
    "spec", [{"scheduling": {"schedulingPolicy": {"gang": {}}}}, {"gangPolicy": {"policy": "JobSetAsGang"}}]
)
def test_a_jobset_that_asks_for_a_gang_itself_passes(spec: Any) -> None:
    assert not problems("gang", with_(job_set, **spec))
    assert problems("gang", with_(job_set, scheduling={"schedulingPolicy": {"basic": {}}}))


def test_the_group_of_a_wrapped_object_counts() -> None:
    made = wrapped_job()
    inner = made["spec"]["components"][0]["template"]
    inner["spec"]["runPolicy"] = {"schedulingPolicy": {"minAvailable": 4}}
    assert not problems("gang", made)
    made = wrapped_job()
    made["spec"]["components"][0]["template"]["metadata"]["annotations"] = {"scheduling.k8s.io/group-name": "g"}
    assert not problems("gang", made)


def test_a_namespace_with_a_default_queue_starts_it_whole() -> None:
    assert not problems("gang", job_set(), cluster=Cluster(queues=frozenset({"default"})))


def test_one_pod_unrelated_pods_and_services_need_no_gang() -> None:
    assert not problems("gang", gpu_job())
    shards = gpu_job(parallelism=8, completions=8)
    pod_spec(shards)["containers"][0]["command"] = ["python", "embed.py"]
    assert not problems("gang", shards)
    assert not problems("gang", with_(deployment, replicas=8))


def test_a_gang_of_shards_that_never_meet_is_no_more_than_a_warning() -> None:
    shards = gpu_job(parallelism=8, completions=8, completionMode="Indexed")
    pod_spec(shards)["containers"][0]["command"] = ["python", "embed.py"]
    assert not problems("gang", shards)
    pod_spec(shards)["schedulingGroup"] = {"podGroupName": "g"}
    found = problems("gang", shards)
    assert (found["independent"].warns, found["independent"].refuses) == (True, False)
    assert problems("gang", shards, independent="refuse")["independent"].refuses
    assert not problems("gang", shards, independent="pass")
    assert not problems("gang", apply_fixes(shards, found.values()))


def shards(*command: str, **spec: Any) -> Any:
    template = {"spec": pod_spec(gpu_job())}
    template["spec"]["containers"][0] |= {"command": list(command), "args": []}
    made = job_set()
    jobs = [{"name": "w", "replicas": 8, "template": {"spec": {"template": template}}}]
    return {**made, "spec": {"replicatedJobs": jobs, **spec}}


def test_the_jobs_of_a_jobset_that_each_take_their_own_part_need_no_gang() -> None:
    alone = ("sh", "-c", "python generate.py --shard $JOB_INDEX --num-shards 8")
    gang = {"gangPolicy": {"policy": "JobSetAsGang"}}
    assert not problems("gang", shards(*alone))
    found = problems("gang", shards(*alone, **gang))
    assert found["independent"].warns
    assert not problems("gang", apply_fixes(shards(*alone, **gang), found.values()))
    together = ("sh", "-c", "python generate.py --shard=$JOB_INDEX --master_addr=run-w-0-0.run")
    ranked = ("sh", "-c", "python generate.py --rank $JOB_INDEX")
    training = ("sh", "-c", "python train.py --shard $JOB_INDEX")
    for command in (together, ranked, training):
        assert problems("gang", shards(*command))
        assert not problems("gang", shards(*command, **gang))


# shared-storage


def test_a_disk_of_one_node_is_not_shared_by_several_pods() -> None:
    made = job_set()
    made["spec"]["replicatedJobs"][1]["template"]["spec"]["template"]["spec"]["volumes"] = [
        {"name": "ckpt", "awsElasticBlockStore": {"volumeID": "v"}}
    ]
    found = problems("shared-storage", made)
    assert list(found) == ["workers/ckpt"]
    assert not problems("shared-storage", apply_fixes(made, found.values()))


def test_one_pod_a_named_claim_and_claims_of_each_pods_own_pass() -> None:
    disk = {"name": "d", "gcePersistentDisk": {"pdName": "d"}}
    one = gpu_job()
    pod_spec(one)["volumes"] = [disk]
    assert not problems("shared-storage", one)
    several = gpu_job(parallelism=4, completions=4)
    pod_spec(several)["volumes"] = [
        {"name": "named", "persistentVolumeClaim": {"claimName": "c"}},
        {"name": "own", "ephemeral": {"volumeClaimTemplate": {"spec": {"accessModes": ["ReadWriteOnce"]}}}},
        {"name": "read", "gcePersistentDisk": {"pdName": "d", "readOnly": True}},
    ]
    assert not problems("shared-storage", several)
    pod_spec(several)["volumes"] = [disk]
    assert problems("shared-storage", several)
    pod_spec(several)["nodeSelector"] = {"kubernetes.io/hostname": "n1"}
    assert not problems("shared-storage", several)


# image-tag


@pytest.mark.parametrize(
    ("image", "by_tag", "by_digest"),
    [
        ("llm", True, True),
        ("registry.example:5000/llm", True, True),
        ("llm:latest", True, True),
        ("llm:1", False, True),
        ("llm:latest@sha256:0", False, False),
        ("llm@sha256:0", False, False),
        ("llm:${TAG}", False, False),
        ("", False, False),
        (7, False, False),
    ],
)
def test_an_image_says_its_version(image: Any, by_tag: bool, by_digest: bool) -> None:
    job = gpu_job()
    pod_spec(job)["containers"][0]["image"] = image
    assert bool(problems("image-tag", job)) is by_tag
    found = problems("image-tag", job, require="digest")
    assert bool(found) is by_digest
    assert not problems("image-tag", apply_fixes(job, found.values()), require="digest")


def test_an_image_that_was_there_already_is_not_held_against_an_update() -> None:
    old = gpu_job()
    pod_spec(old)["containers"][0]["image"] = "llm:latest"
    new = copy.deepcopy(old)
    new["spec"]["parallelism"] = 0
    assert not problems("image-tag", new, old)


@pytest.mark.parametrize(
    ("image", "by_tag", "by_digest"),
    [
        ("reg.io/a/x__1__y:latest", True, True),
        ("reg.io/a/b:v__1__", False, True),
        ("reg.io/a/b:__LATEST__", False, False),
        ("reg.io/a/__NAME__:latest", False, False),
        ("$(IMAGE):latest", False, False),
    ],
)
def test_only_what_no_registry_takes_is_still_to_be_filled_in(image: str, by_tag: bool, by_digest: bool) -> None:
    job = gpu_job()
    pod_spec(job)["containers"][0]["image"] = image
    assert bool(problems("image-tag", job)) is by_tag
    assert bool(problems("image-tag", job, require="digest")) is by_digest


def test_no_number_of_good_images_hides_a_bad_one() -> None:
    job = gpu_job()
    pod_spec(job)["initContainers"] = [{"name": f"c{at}", "image": "r/a:1"} for at in range(2000)]
    pod_spec(job)["containers"][0]["image"] = "r/b:latest"
    assert list(problems("image-tag", job)) == ["r/b:latest"]


# gpu-bypass


@pytest.mark.parametrize(
    ("container", "spec", "taken"),
    [
        ({"env": [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "0,1"}]}, {}, "/trainer/env"),
        ({"env": [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "void"}]}, {}, ""),
        ({"env": [{"name": "NVIDIA_VISIBLE_DEVICES", "valueFrom": {}}]}, {}, ""),
        ({"volumeMounts": [{"name": "d", "mountPath": "/d"}]}, {"volumes": "/dev/nvidia0"}, "/trainer/devices"),
        ({"volumeMounts": [{"name": "d", "mountPath": "/d"}]}, {"volumes": "/dev"}, ""),
        ({"volumeMounts": [{"name": "d", "mountPath": "/dev/shm"}], "securityContext": {"privileged": True}},
         {"volumes": "/dev/shm"}, ""),
        ({"volumeMounts": [{"name": "d", "mountPath": "/d"}], "securityContext": {"privileged": True}},
         {"volumes": "/dev/"}, "/trainer/devices"),
        ({}, {"runtimeClassName": "nvidia"}, "/runtime-class"),
        ({}, {"runtimeClassName": "gvisor"}, ""),
    ],
)  # fmt: skip
def test_gpus_are_not_taken_past_the_scheduler(container: Any, spec: Any, taken: str) -> None:
    job = gpu_job()
    pod_spec(job).update(spec)
    if "volumes" in spec:
        pod_spec(job)["volumes"] = [{"name": "d", "hostPath": {"path": spec["volumes"]}}]
    trainer = pod_spec(job)["containers"][0]
    trainer.update(container)
    assert not problems("gpu-bypass", job), "it asks for the GPUs it sees"
    del trainer["resources"]
    found = problems("gpu-bypass", job)
    assert list(found) == ([taken] if taken else [])
    assert not problems("gpu-bypass", apply_fixes(job, found.values()))


def test_a_gpu_asked_for_by_annotation_or_claim_is_asked_for() -> None:
    job = gpu_job()
    trainer = pod_spec(job)["containers"][0]
    trainer["env"] = [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}]
    trainer["resources"] = {"claims": [{"name": "gpu"}]}
    assert not problems("gpu-bypass", job)
    trainer["resources"] = {}
    job["spec"]["template"]["metadata"] = {"annotations": {"gpu-fraction": "0.5"}}
    assert not problems("gpu-bypass", job)


@pytest.mark.parametrize(
    "work",
    [
        pod(schedulerName="kai-scheduler")
        | {"metadata": {"name": "p", "namespace": "research", "labels": {"kai.scheduler/queue": "team-b"}}},
        with_(
            gpu_job,
            template={
                "metadata": {"annotations": {"scheduling.volcano.sh/queue-name": "team-b"}},
                "spec": {"schedulerName": "volcano"},
            },
        ),
    ],
)
def test_a_queue_of_another_scheduler_is_shown_and_mended_where_it_stands(work: Any) -> None:
    (found,) = problems("queue-allowed", work, allow=["team-a"]).values()
    assert found.evidence[0].value == "team-b"
    assert value_at(work, found.evidence[0].path) == "team-b"
    assert not problems("queue-allowed", apply_fixes(work, [found]), allow=["team-a"])


def with_claim(mode: str, **first: Any) -> Any:
    """A JobSet of two jobs that claims a volume for all its Pods, which both mount by its name."""
    made = job_set()
    claim = {"metadata": {"name": "ckpt"}, "spec": {"accessModes": [mode], "resources": {"requests": {"storage": "1Ti"}}}}
    made["spec"]["volumeClaimPolicies"] = [{"templates": [claim]}]
    for replicated in made["spec"]["replicatedJobs"]:
        container = replicated["template"]["spec"]["template"]["spec"]["containers"][0]
        container["volumeMounts"] = [{"name": "ckpt", "mountPath": "/ckpt"}]
    made["spec"]["replicatedJobs"][1].update(first)
    return made


def test_a_claim_of_a_jobset_is_for_all_its_pods() -> None:
    (found,) = problems("shared-storage", with_claim("ReadWriteOnce")).values()
    assert "share the claim ckpt, which only one node can mount" in found.message
    assert value_at(with_claim("ReadWriteOnce"), found.evidence[0].path) == ["ReadWriteOnce"]
    assert not problems("shared-storage", apply_fixes(with_claim("ReadWriteOnce"), [found]))
    assert not problems("shared-storage", with_claim("ReadWriteMany"))


def test_jobs_of_a_jobset_that_run_one_after_the_other_share_a_claim_well() -> None:
    made = with_claim("ReadWriteOnce", dependsOn=[{"name": "driver", "status": "Complete"}])
    for replicated in made["spec"]["replicatedJobs"]:
        replicated["replicas"] = 1
        replicated["template"]["spec"] |= {"parallelism": 1, "completions": 1}
    assert not problems("shared-storage", made)


def test_a_queue_that_is_allowed_hides_no_other() -> None:
    job = gpu_job()
    pod_spec(job)["schedulerName"] = "volcano"
    job["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "a", "kai.scheduler/queue": "a"}
    job["spec"]["template"]["metadata"] = {"annotations": {"scheduling.volcano.sh/queue-name": "urgent"}}
    assert list(problems("queue-allowed", job, allow=["a"])) == ["urgent"]


def test_a_kind_whose_operator_names_the_scheduler_stands_in_its_queue() -> None:
    queue = {"scheduling.volcano.sh/queue-name": "q1"}
    mpi = pytorch_job() | {"kind": "MPIJob", "apiVersion": "kubeflow.org/v2beta1"}
    mpi["spec"] = {"mpiReplicaSpecs": mpi["spec"].pop("pytorchReplicaSpecs")}
    mpi["metadata"] = mpi["metadata"] | {"annotations": queue}
    assert not problems("queue-required", mpi)
    template = {"metadata": {"annotations": queue}, "spec": pod_spec(gpu_job())}
    volcano = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": {"name": "v"}}
    volcano["spec"] = {"tasks": [{"replicas": 2, "template": template}]}
    assert not problems("queue-required", in_app_wrapper(volcano))
    assert list(problems("queue-allowed", in_app_wrapper(volcano), allow=["good"])) == ["q1"]


def test_a_queue_of_a_scheduler_that_never_sees_the_pods_is_none() -> None:
    job = gpu_job()
    job["metadata"]["annotations"] = {"scheduling.volcano.sh/queue-name": "training-large"}
    assert problems("queue-required", job)
    pod_spec(job)["schedulerName"] = "default-scheduler"
    assert problems("queue-required", job)
    pod_spec(job)["schedulerName"] = "volcano"
    assert not problems("queue-required", job)


@pytest.mark.parametrize("host", ["/dev//nvidia0", "//dev/nvidia0", "/dev/./nvidia0", "/dev/x/../nvidia0"])
def test_a_device_is_one_however_its_path_is_written(host: str) -> None:
    job = gpu_job()
    container = pod_spec(job)["containers"][0]
    del container["resources"]
    container["volumeMounts"] = [{"name": "d", "mountPath": "/d"}]
    pod_spec(job)["volumes"] = [{"name": "d", "hostPath": {"path": host}}]
    assert problems("gpu-bypass", job)


@pytest.mark.parametrize(
    ("host", "below", "seen"), [("/dev", "nvidia0", True), ("/", "dev/nvidia0", True), ("/dev", "shm", False)]
)
def test_a_device_may_be_mounted_out_of_a_folder(host: str, below: str, seen: bool) -> None:
    job = gpu_job()
    container = pod_spec(job)["containers"][0]
    del container["resources"]
    container["volumeMounts"] = [{"name": "d", "mountPath": "/d", "subPath": below}]
    pod_spec(job)["volumes"] = [{"name": "d", "hostPath": {"path": host}}]
    assert bool(problems("gpu-bypass", job)) is seen


def test_all_devices_may_be_asked_for_by_another_variable() -> None:
    job = gpu_job()
    container = pod_spec(job)["containers"][0]
    del container["resources"]
    container["env"] = [{"name": "X", "value": "all"}, {"name": "NVIDIA_VISIBLE_DEVICES", "value": "$(X)"}]
    assert problems("gpu-bypass", job)
    container["env"][0]["value"] = "void"
    assert not problems("gpu-bypass", job)


@pytest.mark.parametrize("none", ["0m", "00", "0.0", "-0", None, "0"])
def test_none_at_all_is_no_gpu_that_is_asked_for(none: Any) -> None:
    job = job_set()
    container = job["spec"]["replicatedJobs"][1]["template"]["spec"]["template"]["spec"]["containers"][0]
    container["resources"] = {"limits": {"nvidia.com/gpu": none}}
    container["env"] = [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}]
    assert problems("gpu-bypass", job)


# What stands in another object, or on the Pods.


def test_a_trainer_that_runs_for_ever_is_found_behind_another_object() -> None:
    train = deployment("trainer", "research")
    train["spec"]["template"]["spec"]["containers"][0] |= {
        "command": ["torchrun", "train.py"],
        "ports": [],
        "readinessProbe": None,
    }
    harmless = gpu_job("first")
    pod_spec(harmless)["containers"][0] |= {"command": ["true"], "resources": {}}
    assert problems("controller-kind", in_app_wrapper(train))
    (found,) = problems("controller-kind", in_app_wrapper(harmless, train)).values()
    assert found.evidence[0].path[:4] == ("spec", "components", 1, "template")
    assert not problems("controller-kind", in_app_wrapper(harmless, deployment()))


@pytest.mark.parametrize("label", ["kueue.x-k8s.io/priority-class", "priorityClassName"])
def test_a_class_that_only_the_pods_are_labelled_with_must_be_allowed_too(label: str) -> None:
    server = deployment()
    server["spec"]["template"]["metadata"]["labels"]["priorityClassName"] = "gold"
    assert not problems("priority-allowed", server, allow=["normal"]), "no scheduler that reads it sees the Pods"
    del server["spec"]["template"]["metadata"]["labels"]["priorityClassName"]
    server["spec"]["template"]["spec"]["schedulerName"] = "kai-scheduler"
    server["spec"]["template"]["metadata"]["labels"][label] = "urgent"
    (found,) = problems("priority-allowed", server, allow=["normal"]).values()
    assert value_at(server, found.evidence[0].path) == "urgent"
    assert not problems("priority-allowed", apply_fixes(server, [found]), allow=["normal"])


@pytest.mark.parametrize(
    ("rule", "found"),
    [
        ({"action": "Ignore", "onExitCodes": {"operator": "NotIn", "values": [0]}}, True),
        ({"action": "Ignore", "onExitCodes": {"operator": "In", "values": [1, 143]}}, True),
        ({"action": "Ignore", "onExitCodes": {"operator": "In", "values": [143]}}, False),
        ({"action": "Ignore", "onExitCodes": {"operator": "In", "values": [[1], {}]}}, True),
        ({"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}, False),
        ({"action": "FailJob", "onExitCodes": {"operator": "NotIn", "values": [0]}}, False),
    ],
)
def test_what_ended_by_itself_is_started_again_within_its_budget(rule: Any, found: bool) -> None:
    job = gpu_job(backoffLimit=0, podFailurePolicy={"rules": [rule]})
    assert bool(problems("restart-budget", job, max=3)) is found


def test_a_jobset_counts_what_it_starts_again() -> None:
    job = job_set()
    rule = {"name": "again", "action": "RestartJobSetAndIgnoreMaxRestarts"}
    job["spec"]["failurePolicy"] = {"maxRestarts": 1, "rules": [rule]}
    for replicated in job["spec"]["replicatedJobs"]:
        replicated["template"]["spec"]["backoffLimit"] = 0
    assert problems("restart-budget", job, max=3)
    rule["onJobFailureReasons"] = ["PodFailurePolicy"]
    assert not problems("restart-budget", job, max=3)


# label-contradicted


@pytest.mark.parametrize(
    ("label", "contradicted"),
    [("inference", True), ("evaluation", True), ("interactive", True), ("training", False), ("distributed-training", False)],
)
def test_a_label_is_no_way_round_the_rules(label: str, contradicted: bool) -> None:
    job = gpu_job()
    job["metadata"]["labels"] = {"workload.ai/type": label}
    found = problems("label-contradicted", job)
    assert bool(found) is contradicted
    if contradicted:
        assert found[label].evidence[0].value == label
        assert len(found[label].evidence) == 2
        assert not problems("label-contradicted", apply_fixes(job, found.values()))


@pytest.mark.parametrize(
    ("label", "told"),
    [
        ("Inference", "says Inference, which is no type; this is taken for training all the same. Did you mean inference?"),
        ("train", "says train, which is no type; this is taken for training all the same. Did you mean training?"),
        ("gold", "says gold, which is no type; this is taken for training all the same."),
    ],
)
def test_a_label_that_names_no_type_is_told_and_never_refused(label: str, told: str) -> None:
    job = gpu_job()
    pod_spec(job)["containers"][0] |= {"command": ["python", "train.py"], "args": []}
    job["metadata"]["labels"] = {"workload.ai/type": label}
    (found,) = problems("label-contradicted", job).values()
    assert found.message == f"Label workload.ai/type {told}"
    assert found.fix.text.startswith("write one of distributed-training, training, ")
    assert (found.warns, found.refuses) == (True, False)
    job["metadata"]["labels"] = {"workload.ai/type": "${TYPE}"}
    assert not problems("label-contradicted", job)


def test_what_is_not_known_by_a_wrong_label_is_told_so_wherever_the_label_stands() -> None:
    job = gpu_job()
    pod_spec(job)["containers"][0] |= {"image": "x:1", "command": ["/opt/run"], "args": []}
    job["metadata"]["name"] = "a"
    job["spec"]["template"]["metadata"] = {"labels": {"workload.ai/type": "Training"}}
    (found,) = problems("label-contradicted", job).values()
    assert "says Training, which is no type; what this is is not known. Did you mean training?" in found.message
    assert found.evidence[0].path == ("spec", "template", "metadata", "labels", "workload.ai/type")


def test_an_empty_label_is_not_taken_for_the_one_that_counts() -> None:
    job = gpu_job()
    job["metadata"]["labels"] = {"workload.ai/type": ""}
    job["spec"]["template"]["metadata"] = {"labels": {"workload.ai/type": "evaluation"}}
    (found,) = problems("label-contradicted", job).values()
    assert found.evidence[0].path == ("spec", "template", "metadata", "labels", "workload.ai/type")
    assert not problems("label-contradicted", apply_fixes(job, [found]))


def test_a_server_that_is_labelled_training_counts_where_the_policy_says_so() -> None:
    server = deployment()
    server["metadata"]["labels"] = {"workload.ai/type": "training"}
    assert not problems("label-contradicted", server)
    assert problems("label-contradicted", server, types=["inference"])


def test_what_is_thin_contradicts_nothing() -> None:
    """A kind that is made for training may evaluate, and an image is named for what it comes from."""
    made = pytorch_job()
    made["metadata"]["labels"] = {"workload.ai/type": "evaluation"}
    container = made["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0]
    container["command"] = ["/opt/run"]
    assert not problems("label-contradicted", made)
    named = yaml("{apiVersion: v1, kind: Pod, metadata: {name: p, labels: {workload.ai/type: inference}}, spec: {}}")
    named["spec"] = {
        "containers": [{"name": "c", "image": "x/pytorch-training:1", "resources": {"limits": {"nvidia.com/gpu": 1}}}]
    }
    assert not problems("label-contradicted", named)


def test_a_fix_shows_what_to_write() -> None:
    """Words that end with a colon introduce fields; whole mappings are not shown, so a fix names the fields in them."""
    server = with_(deployment, replicas=1)
    del pod_spec(server)["containers"][0]["readinessProbe"]
    volcano = yaml("{apiVersion: batch.volcano.sh/v1alpha1, kind: Job, metadata: {name: j}, spec: {}}")
    volcano["spec"] = {
        "volumes": [{"mountPath": "/x", "volumeClaim": {"accessModes": ["ReadWriteOnce"]}}],
        "tasks": [{"name": "w", "replicas": 2, "template": {"spec": {}}}],
    }
    found = [*problems("serving-availability", server).values(), *problems("shared-storage", volcano).values()]
    assert len(found) == 4
    for finding in found:
        assert not any(isinstance(edit.value, dict | list) for edit in finding.fix.edits), finding.key
