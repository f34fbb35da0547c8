"""The checks that need the cluster: queue-exists, priority-exists, quota-feasible. What they refuse, and what they leave."""

from typing import Any

import pytest

from signalbox.cluster.resources import KUEUE
from signalbox.cluster.state import ClusterState
from signalbox.cluster.view import EmptyClusterView
from signalbox.finding import Finding
from signalbox.fix import apply_fixes
from tests.manifests import deployment, gpu_job, job_set, pod_spec
from tests.world import cluster_of_yaml, judged, policy, request, setup, yaml

NAMESPACE = "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: research, labels: {team: a}}\n"
FLAVORS = """---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: h100}
spec: {nodeLabels: {gpu: h100}}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: a100}
spec:
  nodeLabels: {gpu: a100}
  nodeTaints: [{key: old, value: "yes", effect: NoSchedule}]
"""
CLASSES = """---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: train-normal}
value: 10
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: WorkloadPriorityClass
metadata: {name: batch-low}
value: 1
"""


def local_queue(name: str = "training", leads_to: str = "large", more: str = "") -> str:
    return (
        f"---\napiVersion: kueue.x-k8s.io/v1beta2\nkind: LocalQueue\nmetadata: {{name: {name}, namespace: research}}\n"
        f"spec: {{clusterQueue: {leads_to}{more}}}\n"
    )


def cluster_queue(flavors: str, name: str = "large", resources: str = "nvidia.com/gpu", more: str = "") -> str:
    """``flavors``: ``h100 16 8 4`` is a nominal quota, a borrowing and a lending limit (``-``: none) of each resource."""
    listed = []
    for flavor in flavors.split(", "):
        of, *amounts = flavor.split()
        quotas = []
        for resource, amount in zip(resources.split(), amounts, strict=True):
            nominal, borrow, lend = (*amount.split("/"), "", "")[:3]
            limits = (f", borrowingLimit: {borrow}" if borrow else "") + (f", lendingLimit: {lend}" if lend else "")
            quotas.append(f"{{name: {resource}, nominalQuota: {nominal}{limits}}}")
        listed.append(f"{{name: {of}, resources: [{', '.join(quotas)}]}}")
    covered = ", ".join(resources.split())
    return f"""---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {{name: {name}}}
spec:
  namespaceSelector: {{}}{more}
  resourceGroups: [{{coveredResources: [{covered}], flavors: [{", ".join(listed)}]}}]
"""


def quota(hard: str, more: str = "") -> str:
    return (
        "---\napiVersion: v1\nkind: ResourceQuota\nmetadata: {name: team, namespace: research}\n"
        f"spec: {{hard: {{{hard}}}{more}}}\n"
    )


def findings(check: str, manifest: Any, cluster: str | Any, old: Any = None) -> list[Finding]:
    view = cluster_of_yaml(cluster) if isinstance(cluster, str) else cluster
    world = setup(policy(f"rules: [{{name: r, check: {check}, mode: enforce}}]"), cluster=view)
    return list(judged(world, request(manifest, old)).findings)


def problems(check: str, manifest: Any, cluster: str | Any, old: Any = None) -> dict[str, Finding]:
    found = findings(check, manifest, cluster, old)
    assert all(finding.result.value in ("fail", "unchanged") for finding in found), found
    return {finding.key: finding for finding in found if finding.result.value == "fail"}


def message(check: str, manifest: Any, cluster: str) -> str:
    (only,) = problems(check, manifest, cluster).values()
    return only.message


def unknown(check: str, manifest: Any, cluster: str | Any) -> tuple[str, ...]:
    found = findings(check, manifest, cluster)
    assert [finding.result.value for finding in found] == ["not-judged"] * len(found), found
    return tuple(words for finding in found for words in finding.unknown)


def queued(make: Any = gpu_job, queue: str = "training", **more: Any) -> Any:
    made = make(**more)
    made["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": queue}
    return made


def with_pods(pods: int, gpus: object = 8, **more: Any) -> Any:
    return queued(gpus=gpus, parallelism=pods, completions=pods, **more)


# queue-exists


def test_a_queue_that_nobody_has_is_refused_with_those_there_are() -> None:
    cluster = NAMESPACE + local_queue() + local_queue("trials") + cluster_queue("h100 16")
    job = queued(queue="trianing")
    found = problems("queue-exists", job, cluster)
    assert list(found) == ["trianing"]
    assert found["trianing"].message == (
        "There is no queue trianing in namespace research, so this would wait for ever; it has training, trials."
    )
    assert not problems("queue-exists", apply_fixes(job, found.values()), cluster)


def test_a_namespace_without_any_queue() -> None:
    elsewhere = local_queue().replace("namespace: research", "namespace: other")
    found = problems("queue-exists", queued(), elsewhere)["training"]
    assert "it has none" in found.message
    assert not found.fix.edits


def test_of_very_many_queues_the_nearest_are_named() -> None:
    cluster = "".join(local_queue(f"queue-{number:03}") for number in range(300)) + cluster_queue("h100 16")
    text = message("queue-exists", queued(queue="queue-1"), cluster)
    assert "and 288 more" in text
    assert len(text) < 400


def test_a_queue_on_a_pod_template_counts_too() -> None:
    job = gpu_job()
    job["spec"]["template"]["metadata"] = {"labels": {"kueue.x-k8s.io/queue-name": "nowhere"}}
    found = problems("queue-exists", job, local_queue() + cluster_queue("h100 16"))["nowhere"]
    assert found.evidence[0].path == ("spec", "template", "metadata", "labels", "kueue.x-k8s.io/queue-name")


def test_a_queue_whose_cluster_queue_is_missing_leads_nowhere() -> None:
    found = problems("queue-exists", queued(), local_queue(leads_to="gone") + cluster_queue("h100 16"))
    assert list(found) == ["training to gone"]


def test_a_stopped_queue_is_told_and_never_refused() -> None:
    for cluster in (
        local_queue(more=", stopPolicy: Hold") + cluster_queue("h100 16"),
        local_queue() + cluster_queue("h100 16", more="\n  stopPolicy: HoldAndDrain"),
    ):
        (only,) = problems("queue-exists", queued(), cluster).values()
        assert "is stopped for now" in only.message
        assert only.warns
        assert not only.refuses


def test_a_cluster_queue_that_takes_nothing_from_the_namespace() -> None:
    def cluster(selector: str) -> str:
        queue = cluster_queue("h100 16").replace("namespaceSelector: {}", f"namespaceSelector: {selector}")
        return NAMESPACE + local_queue() + queue

    key = "training to large from research"
    assert key in problems("queue-exists", queued(), cluster("null"))
    assert key in problems("queue-exists", queued(), cluster("{matchLabels: {team: b}}"))
    assert key in problems("queue-exists", queued(), cluster("{matchExpressions: [{key: team, operator: DoesNotExist}]}"))
    assert not problems("queue-exists", queued(), cluster("{matchLabels: {team: a}}"))
    assert not problems("queue-exists", queued(), cluster("{matchExpressions: [{key: team, operator: Newer, values: []}]}"))


def test_queues_that_are_not_known_are_not_judged() -> None:
    assert unknown("queue-exists", queued(), EmptyClusterView()) == ("the LocalQueues of namespace research",)
    assert unknown("queue-exists", queued(), local_queue()) == ("ClusterQueue large",)
    selecting = cluster_queue("h100 16").replace("namespaceSelector: {}", "namespaceSelector: {matchLabels: {team: a}}")
    assert unknown("queue-exists", queued(), local_queue() + selecting) == ("the labels of namespace research",)


def test_without_kueue_a_queue_is_not_judged() -> None:
    state = ClusterState()
    state.absent(KUEUE, "LocalQueue")
    assert "Kueue is not installed" in unknown("queue-exists", queued(), state)[0]


def test_work_without_a_queue_and_queues_of_other_schedulers_are_left_alone() -> None:
    job = gpu_job()
    job["metadata"]["labels"] = {"kai.scheduler/queue": "nowhere"}
    assert not findings("queue-exists", job, local_queue())
    assert not findings("queue-exists", gpu_job(), EmptyClusterView())


def test_an_update_is_not_refused_for_the_queue_that_was_gone_before() -> None:
    cluster = local_queue() + cluster_queue("h100 16")
    old, new = queued(queue="gone"), queued(queue="gone")
    new["metadata"]["labels"]["team"] = "a"
    assert not problems("queue-exists", new, cluster, old)


# priority-exists


def test_an_unknown_class_of_a_template_is_refused() -> None:
    job = gpu_job()
    pod_spec(job)["priorityClassName"] = "train-norml"
    found = problems("priority-exists", job, CLASSES)
    assert found["train-norml"].message == (
        "There is no PriorityClass train-norml, so none of its Pods can be made; the cluster has train-normal."
    )
    assert not problems("priority-exists", apply_fixes(job, found.values()), CLASSES)


def test_a_class_with_no_like_is_taken_out_by_the_fix() -> None:
    job = gpu_job()
    pod_spec(job)["priorityClassName"] = "zzz"
    mended = apply_fixes(job, problems("priority-exists", job, CLASSES).values())
    assert "priorityClassName" not in pod_spec(mended)


def test_known_classes_and_kubernetes_own_pass() -> None:
    for name in ("train-normal", "system-node-critical"):
        job = gpu_job()
        pod_spec(job)["priorityClassName"] = name
        assert not findings("priority-exists", job, CLASSES)
    assert not findings("priority-exists", gpu_job(), EmptyClusterView())


def test_an_unknown_class_of_kueue_is_refused_where_there_is_a_queue() -> None:
    job = queued()
    job["metadata"]["labels"]["kueue.x-k8s.io/priority-class"] = "batch-lo"
    found = problems("priority-exists", job, CLASSES)
    assert list(found) == ["kueue:batch-lo"]
    assert not problems("priority-exists", apply_fixes(job, found.values()), CLASSES)
    del job["metadata"]["labels"]["kueue.x-k8s.io/queue-name"]
    assert not findings("priority-exists", job, CLASSES)


def test_classes_that_are_not_known_are_not_judged() -> None:
    job = queued()
    job["metadata"]["labels"]["kueue.x-k8s.io/priority-class"] = "x"
    pod_spec(job)["priorityClassName"] = "y"
    words = unknown("priority-exists", job, EmptyClusterView())
    assert words == ("PriorityClass y", "WorkloadPriorityClass x")


# quota-feasible: queues


def test_more_than_queue_and_cohort_can_ever_give_is_refused_with_the_sums() -> None:
    cohort = "\n  cohortName: ai"
    cluster = local_queue() + cluster_queue("h100 16", more=cohort) + cluster_queue("h100 32", name="others", more=cohort)
    assert message("quota-feasible", with_pods(8), cluster) == (
        "It asks for 64 nvidia.com/gpu (8 Pods of 8); queue training (ClusterQueue large) can ever give 48 of flavor h100: "
        "16 of its own, 32 from cohort ai."
    )
    assert not findings("quota-feasible", with_pods(6), cluster)


@pytest.mark.parametrize(
    ("limits", "fits"), [("16", 6), ("16/8", 3), ("16/0", 2)], ids=["no limit", "borrows 8", "borrows nothing"]
)
def test_a_borrowing_limit_binds(limits: str, fits: int) -> None:
    cohort = "\n  cohort: ai"
    cluster = (
        local_queue()
        + cluster_queue(f"h100 {limits}", more=cohort).replace("v1beta2", "v1beta1")
        + cluster_queue("h100 32", name="others", more=cohort)
    )
    assert not findings("quota-feasible", with_pods(fits), cluster)
    assert problems("quota-feasible", with_pods(fits + 1), cluster)


def test_what_others_do_not_lend_cannot_be_had() -> None:
    cohort = "\n  cohortName: ai"
    cluster = local_queue() + cluster_queue("h100 16", more=cohort) + cluster_queue("h100 32//8", "others", more=cohort)
    assert not findings("quota-feasible", with_pods(3), cluster)
    assert problems("quota-feasible", with_pods(4), cluster)


def test_a_cohort_with_a_parent() -> None:
    cohorts = "".join(
        f"---\napiVersion: kueue.x-k8s.io/v1beta2\nkind: Cohort\nmetadata: {{name: {name}}}\nspec: {{parentName: all}}\n"
        for name in ("left", "right")
    )
    cluster = (
        local_queue()
        + cohorts
        + cluster_queue("h100 16", more="\n  cohortName: left")
        + cluster_queue("h100 32", "others", more="\n  cohortName: right")
    )
    assert not findings("quota-feasible", with_pods(6), cluster)
    assert problems("quota-feasible", with_pods(7), cluster)


def test_a_pod_set_must_fit_into_one_flavor() -> None:
    cluster = FLAVORS + local_queue() + cluster_queue("h100 16, h200 8")
    assert problems("quota-feasible", with_pods(3), cluster)
    assert not findings("quota-feasible", with_pods(2), cluster)


def test_several_pod_sets_may_go_to_several_flavors_but_no_further() -> None:
    cluster = local_queue() + cluster_queue("h100 16, h200 8")

    def two(pods: int) -> Any:
        made = queued(job_set)
        first = made["spec"]["replicatedJobs"][0]
        first["template"]["spec"].update(parallelism=2, completions=2)
        first["replicas"] = 1
        second = yaml(str(first).replace("'workers'", "'second'"))
        second["template"]["spec"].update(parallelism=pods, completions=pods)
        second["name"] = "second"
        made["spec"]["replicatedJobs"] = [first, second]
        for one in made["spec"]["replicatedJobs"]:
            container = one["template"]["spec"]["template"]["spec"]["containers"][0]
            container["resources"] = {"limits": {"nvidia.com/gpu": 8}}
        return made

    assert not findings("quota-feasible", two(1), cluster)
    (found,) = problems("quota-feasible", two(2), cluster).values()
    assert found.message.startswith("It asks for 32 nvidia.com/gpu (")
    assert "can ever give 24" in found.message


def test_a_flavor_that_does_not_suit_the_pods_does_not_count() -> None:
    cluster = FLAVORS + local_queue() + cluster_queue("h100 16, a100 64")
    text = message("quota-feasible", with_pods(4), cluster)
    assert "can ever give 16 of flavor h100" in text
    assert text.endswith("Flavor a100 does not count: taint old=yes is not tolerated.")
    job = with_pods(4)
    pod_spec(job)["tolerations"] = [{"key": "old", "operator": "Exists"}]
    assert not findings("quota-feasible", job, cluster)
    pod_spec(job)["nodeSelector"] = {"gpu": "h100"}
    assert "nodeSelector asks for gpu=h100" in message("quota-feasible", job, cluster)


def test_a_taint_that_alone_keeps_the_pods_off_is_tolerated_by_the_fix() -> None:
    cluster = FLAVORS + local_queue() + cluster_queue("h100 16, a100 64")
    job = with_pods(1)
    pod_spec(job).update(nodeSelector={"gpu": "a100"}, tolerations=[{"key": "new"}])
    found = problems("quota-feasible", job, cluster)
    assert list(found) == ["training: nvidia.com/gpu, no flavor"]
    mended = apply_fixes(job, found.values())
    assert [one["key"] for one in pod_spec(mended)["tolerations"]] == ["new", "old"]
    assert not findings("quota-feasible", mended, cluster)


def test_labels_that_no_flavor_has_do_not_matter() -> None:
    cluster = FLAVORS + local_queue() + cluster_queue("h100 16, a100 64")
    job = with_pods(2)
    pod_spec(job)["nodeSelector"] = {"zone": "b"}
    assert not findings("quota-feasible", job, cluster)


@pytest.mark.parametrize(
    ("expression", "fits"),
    [
        ("{key: gpu, operator: In, values: [h100]}", True),
        ("{key: gpu, operator: In, values: [b200]}", False),
        ("{key: gpu, operator: NotIn, values: [h100, a100]}", False),
        ("{key: gpu, operator: DoesNotExist}", False),
        ("{key: gpu, operator: Exists}", True),
        ("{key: zone, operator: In, values: [b]}", True),
        ("{key: gpu, operator: SomethingNew}", True),
    ],
)
def test_required_node_affinity_chooses_flavors(expression: str, fits: bool) -> None:
    cluster = FLAVORS + local_queue() + cluster_queue("h100 16")
    job = with_pods(1)
    pod_spec(job)["affinity"] = yaml(
        "nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
        f"{{nodeSelectorTerms: [{{matchExpressions: [{expression}]}}]}}}}"
    )
    found = problems("quota-feasible", job, cluster)
    assert bool(found) is not fits
    if found:
        (only,) = found.values()
        assert only.message.startswith("No flavor of queue training (ClusterQueue large) suits its Pods, so this would wait")


def test_cpu_memory_and_pods_count_where_the_queue_covers_them() -> None:
    cluster = local_queue() + cluster_queue("h100 64 32 100Gi 4", resources="nvidia.com/gpu cpu memory pods")
    job = with_pods(2)
    pod_spec(job)["containers"][0]["resources"]["requests"].update(cpu="20", memory="60Gi")
    found = problems("quota-feasible", job, cluster)
    assert sorted(found) == ["training: cpu"]
    pod_spec(job)["containers"][0]["resources"]["requests"].update(cpu="2", memory="60Gi")
    assert message("quota-feasible", job, cluster).startswith(
        "It asks for 120Gi memory (2 Pods of 60Gi); queue training (ClusterQueue large) can ever give 100Gi of flavor h100"
    )
    assert message("quota-feasible", with_pods(5, gpus=1), cluster).startswith("It asks for 5 pods;")


def test_resources_the_queue_has_no_quota_for_are_left_to_kueue() -> None:
    job = with_pods(2)
    pod_spec(job)["containers"][0]["resources"]["requests"]["cpu"] = "2000"
    assert not findings("quota-feasible", job, local_queue() + cluster_queue("h100 16"))


def test_a_job_that_may_start_with_fewer_pods_needs_room_for_those() -> None:
    cluster = local_queue() + cluster_queue("h100 16")
    job = with_pods(8)
    job["metadata"]["annotations"] = {"kueue.x-k8s.io/job-min-parallelism": "2"}
    assert not findings("quota-feasible", job, cluster)
    job["metadata"]["annotations"] = {"kueue.x-k8s.io/job-min-parallelism": "3"}
    assert problems("quota-feasible", job, cluster)


def test_of_a_deployment_each_pod_is_queued_by_itself() -> None:
    server = queued(deployment, gpus=8)
    server["metadata"]["namespace"] = "research"
    server["spec"]["replicas"] = 10
    assert not findings("quota-feasible", server, local_queue() + cluster_queue("h100 16"))
    assert problems("quota-feasible", server, local_queue() + cluster_queue("h100 4"))


def test_the_fix_names_a_queue_that_has_room() -> None:
    cluster = (
        local_queue()
        + local_queue("bigger", "big")
        + local_queue("no-gpus", "cpus")
        + cluster_queue("h100 16")
        + cluster_queue("h100 64", "big")
        + cluster_queue("h100 999", "cpus", resources="cpu")
    )
    job = with_pods(8)
    found = problems("quota-feasible", job, cluster)
    mended = apply_fixes(job, found.values())
    assert mended["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "bigger"
    assert not findings("quota-feasible", mended, cluster)


def test_what_is_not_known_of_a_queue_is_not_judged() -> None:
    assert unknown("quota-feasible", with_pods(8), EmptyClusterView()) == (
        "the LocalQueues of namespace research",
        "the ResourceQuotas of namespace research",
    )
    words = unknown("quota-feasible", with_pods(8), local_queue() + quota("pods: 100"))
    assert words == ("what ClusterQueue large can give",)


def test_an_unknown_flavor_counts_as_usable() -> None:
    assert not findings("quota-feasible", with_pods(2), local_queue() + cluster_queue("h100 16"))


def test_an_update_is_refused_only_for_what_it_adds() -> None:
    cluster = local_queue() + cluster_queue("h100 16")
    assert not problems("quota-feasible", with_pods(3, name="x"), cluster, with_pods(4, name="x"))
    assert problems("quota-feasible", with_pods(4), cluster, with_pods(3))


def test_placeholders_and_odd_quantities_ask_for_nothing() -> None:
    cluster = local_queue() + cluster_queue("h100 0") + quota("requests.nvidia.com/gpu: 0")
    for gpus in ("${GPUS}", "null", "many", "-3"):
        job = queued()
        pod_spec(job)["containers"][0]["resources"] = {"limits": {"nvidia.com/gpu": gpus}}
        assert not findings("quota-feasible", job, cluster)


def test_hundreds_of_pod_sets_over_many_flavors_end_quickly() -> None:
    flavors = ", ".join(f"f{number} 9" for number in range(40))
    made = queued(job_set)
    one = made["spec"]["replicatedJobs"][0]
    one["template"]["spec"]["template"]["spec"]["containers"][0]["resources"] = {"limits": {"nvidia.com/gpu": 5}}
    one["template"]["spec"].update(parallelism=1, completions=1)
    made["spec"]["replicatedJobs"] = [{**one, "name": f"r{number}", "replicas": 1} for number in range(300)]
    findings("quota-feasible", made, local_queue() + cluster_queue(flavors))


# quota-feasible: ResourceQuotas


def test_a_pod_that_no_quota_of_the_namespace_can_hold_is_refused() -> None:
    found = problems("quota-feasible", gpu_job(), quota("requests.nvidia.com/gpu: 4"))
    (only,) = found.values()
    assert only.refuses
    assert only.message == (
        "One of its Pods asks for 8 requests.nvidia.com/gpu; ResourceQuota team allows namespace research no more than 4, "
        "so that Pod can never be made."
    )


def test_pods_that_never_fit_in_at_once_are_a_warning_unless_they_start_together() -> None:
    job = gpu_job(gpus=4, parallelism=4, completions=4)
    pod_spec(job)["containers"][0]["command"] = ["python", "predict.py"]
    (only,) = problems("quota-feasible", job, quota("requests.nvidia.com/gpu: 8")).values()
    assert not only.refuses
    assert "so its Pods can never all run at once" in only.message
    pod_spec(job)["containers"][0]["command"] = ["torchrun", "--nnodes=4", "train.py"]
    (only,) = problems("quota-feasible", job, quota("requests.nvidia.com/gpu: 8")).values()
    assert only.refuses


@pytest.mark.parametrize(
    ("hard", "asked"),
    [
        ("cpu: 2", "3 cpu"),
        ("requests.cpu: 2", "3 requests.cpu"),
        ("limits.memory: 1Gi", "2Gi limits.memory"),
        ("pods: 0", "1 pods"),
    ],
)
def test_what_a_quota_counts(hard: str, asked: str) -> None:
    job = gpu_job()
    pod_spec(job)["containers"][0]["resources"] = {"requests": {"cpu": "3"}, "limits": {"cpu": "4", "memory": "2Gi"}}
    assert f"One of its Pods asks for {asked};" in message("quota-feasible", job, quota(hard))


@pytest.mark.parametrize(
    ("scope", "counts"),
    [
        (", scopes: [Terminating]", False),
        (", scopes: [NotTerminating]", True),
        (", scopes: [BestEffort]", None),
        (", scopes: [CrossNamespacePodAffinity]", False),
        (", scopes: [SomethingNew]", None),
        (", scopeSelector: {matchExpressions: [{scopeName: PriorityClass, operator: In, values: [high]}]}", True),
        (", scopeSelector: {matchExpressions: [{scopeName: PriorityClass, operator: NotIn, values: [high]}]}", False),
        (", scopeSelector: {matchExpressions: [{scopeName: PriorityClass, operator: Exists}]}", True),
    ],
)
def test_scopes_are_respected_as_far_as_they_are_known(scope: str, counts: bool | None) -> None:
    job = gpu_job()
    pod_spec(job)["priorityClassName"] = "high"
    found = findings("quota-feasible", job, quota("requests.nvidia.com/gpu: 4", scope))
    assert [one.result.value for one in found] == {True: ["fail"], False: [], None: ["not-judged"]}[counts]


def test_a_quota_that_may_not_be_for_these_pods_is_mentioned_only_where_it_is_exceeded() -> None:
    cluster = quota("requests.nvidia.com/gpu: 64", ", scopes: [BestEffort]")
    assert not findings("quota-feasible", gpu_job(), cluster)


# In a queue of requests


def test_init_containers_sidecars_and_overhead_are_counted_as_kubernetes_does() -> None:
    job = queued()
    pod_spec(job).update(
        overhead={"cpu": "1"},
        initContainers=[
            {"name": "side", "restartPolicy": "Always", "resources": {"requests": {"cpu": "2"}}},
            {"name": "first", "resources": {"requests": {"cpu": "4"}}},
        ],
        containers=[{"name": "main", "image": "i", "resources": {"limits": {"cpu": "3"}}}],
    )
    cluster = local_queue() + cluster_queue("h100 6", resources="cpu")
    # The sidecar runs beside the first init container: 2 + 4, and the overhead.
    assert message("quota-feasible", job, cluster).startswith("It asks for 7 cpu;")
    pod_spec(job)["resources"] = {"requests": {"cpu": "5"}}
    assert not findings("quota-feasible", job, cluster)
