"""What is injected, where, and what stays as its user wrote it."""

import copy
import json
from typing import Any

import pytest

from signalbox.engine import mutate, validate
from tests.manifests import deployment, gpu_job, job_set, pod_spec
from tests.world import NOW, Cluster, mutated, policy, request, setup, yaml

GPU = {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}
EVERYTHING = policy(
    """
match: {accelerators: {total: {min: 1}}}
inject:
  queue: training-large
  priorityClassName: train-normal
  tolerations: [{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}]
  terminationGracePeriodSeconds: 300
  labels: {workload.ai/team: research}
""",
    "research",
)


def patch_of(world: Any, asked: Any) -> Any:
    return list(mutate(world, asked, NOW).response.patch)


def test_a_job_gets_queue_suspend_priority_toleration_grace_and_labels() -> None:
    job = mutated(setup(EVERYTHING), request(gpu_job()))
    assert job["metadata"]["labels"] == {
        "kueue.x-k8s.io/queue-name": "training-large",
        "workload.ai/team": "research",
        "workload.ai/type": "fine-tuning",
        "workload.ai/framework": job["metadata"]["labels"]["workload.ai/framework"],
    }
    assert job["spec"]["suspend"] is True
    assert pod_spec(job)["priorityClassName"] == "train-normal"
    assert pod_spec(job)["tolerations"] == [GPU]
    assert pod_spec(job)["terminationGracePeriodSeconds"] == 300
    template = job["spec"]["template"]["metadata"]
    assert template["labels"]["workload.ai/team"] == "research"
    assert "kueue.x-k8s.io/queue-name" not in template["labels"], "a queue label on Pods makes each of them a workload"
    assert template["annotations"]["workload.ai/injected-labels"].split(",") == sorted(template["labels"])


def test_the_record_says_what_was_set_what_was_there_and_on_whose_word() -> None:
    job = mutated(setup(EVERYTHING), request(gpu_job()))
    record = json.loads(job["metadata"]["annotations"]["workload.ai/injected"])
    assert record["spec.template.spec.terminationGracePeriodSeconds"] == {"set": 300, "was": 30, "by": "research"}
    assert record["spec.template.spec.tolerations"] == {"set": [GPU], "was": None, "by": "research"}
    assert record["spec.suspend"] == {"set": True, "was": False, "by": "research"}
    assert record["metadata.labels[workload.ai/type]"]["by"] == "judgement"


def test_the_user_is_told_that_the_work_waits_in_a_queue_once_it_is_let_in() -> None:
    told = "queued in training-large, it starts when quota is free"
    world = setup(EVERYTHING)
    assert mutate(world, request(gpu_job()), NOW).response.warnings == ()
    assert validate(world, request(mutated(world, request(gpu_job()))), NOW).response.warnings == (told,)
    refusing = setup(
        EVERYTHING, policy("rules: [{name: r, check: spot-allowed, with: {allow: [demanded]}, mode: enforce}]", "r")
    )
    assert validate(refusing, request(mutated(refusing, request(gpu_job()))), NOW).response.warnings == ()
    own = gpu_job()
    own["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "mine"}
    assert validate(world, request(mutated(world, request(own))), NOW).response.warnings == ()


@pytest.mark.parametrize("make", [gpu_job, deployment, job_set])
def test_mutating_the_result_again_gives_an_empty_patch(make: Any) -> None:
    """kueue#2427: adding what is there already fails for ever on an immutable template."""
    world = setup(EVERYTHING)
    once = mutated(world, request(make()))
    assert patch_of(world, request(once)) == []


def test_a_toleration_the_user_wrote_in_another_spelling_is_not_added_again() -> None:
    job = gpu_job()
    for present in ({"operator": "Exists"}, {"key": "nvidia.com/gpu", "operator": "Exists"}, GPU):
        pod_spec(job)["tolerations"] = [present]
        assert pod_spec(mutated(setup(EVERYTHING), request(job)))["tolerations"] == [present]


def test_the_users_own_tolerations_keep_their_place() -> None:
    """gatekeeper#1358: assigning a list replaced the user's."""
    job = gpu_job()
    own = [{"key": "a", "operator": "Exists"}, {"key": "b", "operator": "Exists"}]
    pod_spec(job)["tolerations"] = copy.deepcopy(own)
    assert pod_spec(mutated(setup(EVERYTHING), request(job)))["tolerations"] == [*own, GPU]


@pytest.mark.parametrize(("own", "after"), [(30, 300), (60, 300), (300, 300), (600, 600), (0, 300)])
def test_grace_is_a_floor(own: int, after: int) -> None:
    job = gpu_job()
    pod_spec(job)["terminationGracePeriodSeconds"] = own
    assert pod_spec(mutated(setup(EVERYTHING), request(job)))["terminationGracePeriodSeconds"] == after


def test_a_grace_raised_by_somebody_after_us_stays() -> None:
    """istio#55691: on reinvocation the injector overwrote what a later webhook had set."""
    world = setup(EVERYTHING)
    job = mutated(world, request(gpu_job()))
    pod_spec(job)["terminationGracePeriodSeconds"] = 600
    assert pod_spec(mutated(world, request(job)))["terminationGracePeriodSeconds"] == 600


def test_a_users_queue_and_priority_stay() -> None:
    job = gpu_job()
    job["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "mine"}
    pod_spec(job)["priorityClassName"] = "train-low"
    result = mutated(setup(EVERYTHING), request(job))
    assert result["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "mine"
    assert result["spec"]["suspend"] is False, "Kueue suspends what had its label before"
    assert pod_spec(result)["priorityClassName"] == "train-low"


def test_force_overwrites_and_says_so() -> None:
    job = gpu_job()
    job["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "mine"}
    world = setup(policy("inject: {queue: training-large, force: true}"))
    outcome = mutate(world, request(job), NOW)
    assert mutated(world, request(job))["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "training-large"
    assert outcome.response.warnings == ("queue mine was replaced by training-large (policy p)",)


def test_a_pod_loses_the_computed_priority_with_the_new_class() -> None:
    """kubernetes#116363: a class set on a Pod beside `priority: 0` is refused by the Priority plugin's second pass."""
    pod = yaml("""
apiVersion: v1
kind: Pod
metadata: {name: sweep, namespace: research}
spec:
  priority: 0
  preemptionPolicy: PreemptLowerPriority
  terminationGracePeriodSeconds: 30
  containers: [{name: t, image: "i:1", resources: {limits: {nvidia.com/gpu: "1"}}}]
""")
    world = setup(EVERYTHING)
    once = mutated(world, request(pod))
    assert once["spec"]["priorityClassName"] == "train-normal"
    assert "priority" not in once["spec"]
    assert "preemptionPolicy" not in once["spec"]
    # The API server computes both anew before it calls us again: they must stay then.
    once["spec"].update(priority=10000, preemptionPolicy="PreemptLowerPriority")
    assert patch_of(world, request(once)) == []


def test_a_class_that_the_cluster_does_not_have_is_not_set() -> None:
    outcome = mutate(setup(EVERYTHING, cluster=Cluster(classes={})), request(gpu_job()), NOW)
    assert outcome.mutated is not None
    assert "priorityClassName" not in pod_spec(outcome.mutated)
    assert any("PriorityClass train-normal" in line for line in outcome.response.warnings)


def test_a_queue_that_does_not_exist_is_not_set() -> None:
    """kueue#13374: a queue label in a namespace without that queue leaves the Job suspended for ever."""
    outcome = mutate(setup(EVERYTHING, cluster=Cluster(queues=frozenset())), request(gpu_job()), NOW)
    assert outcome.mutated is not None
    assert "kueue.x-k8s.io/queue-name" not in outcome.mutated["metadata"].get("labels", {})
    assert outcome.mutated["spec"]["suspend"] is False


def test_no_namespace_no_queue() -> None:
    """kueue#13374, kueue#1527: excluded namespaces get no queue label."""
    world = setup(policy("match: {namespaces: [research]}\ninject: {queue: training-large}"))
    for namespace in ("kube-system", "other"):
        job = mutated(world, request(gpu_job(namespace=namespace)))
        assert "kueue.x-k8s.io/queue-name" not in job["metadata"].get("labels", {})
        assert job["spec"]["suspend"] is False


def test_only_the_templates_that_ask_for_gpus_get_their_toleration() -> None:
    jobs = mutated(setup(EVERYTHING), request(job_set()))["spec"]["replicatedJobs"]
    assert "tolerations" not in jobs[0]["template"]["spec"]["template"]["spec"]
    assert jobs[1]["template"]["spec"]["template"]["spec"]["tolerations"] == [GPU]


def test_a_jobset_carries_labels_to_its_jobs_and_pods() -> None:
    result = mutated(setup(EVERYTHING), request(job_set()))
    workers = result["spec"]["replicatedJobs"][1]["template"]
    assert workers["metadata"]["labels"]["workload.ai/type"] == "distributed-training"
    assert workers["spec"]["template"]["metadata"]["labels"]["workload.ai/type"] == "distributed-training"
    assert "kueue.x-k8s.io/queue-name" not in workers["metadata"]["labels"]
    assert result["spec"]["suspend"] is True


def test_a_custom_resource_that_says_suspend_false_is_not_suspended_against_its_word() -> None:
    """kueue#11931."""
    asked = job_set()
    asked["spec"]["suspend"] = False
    result = mutated(setup(EVERYTHING), request(asked))
    assert result["spec"]["suspend"] is False
    assert result["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "training-large"


def test_a_cronjobs_queue_goes_to_its_job_template() -> None:
    """kueue#1440: a label on the CronJob does nothing, and spec.suspend would stop its schedule."""
    cron_job = {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": "nightly", "namespace": "research"},
        "spec": {"schedule": "0 1 * * *", "suspend": False, "jobTemplate": {"spec": gpu_job()["spec"]}},
    }
    result = mutated(setup(EVERYTHING), request(cron_job))
    template = result["spec"]["jobTemplate"]
    assert result["spec"]["suspend"] is False
    assert template["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "training-large"
    assert template["spec"]["suspend"] is True
    assert "kueue.x-k8s.io/queue-name" not in result["metadata"]["labels"]
    assert template["spec"]["template"]["metadata"]["labels"]["workload.ai/team"] == "research"
    assert pod_spec(result)["containers"][0]["image"] == "registry.example/llm:1"


def test_a_patch_addresses_fields_only() -> None:
    """kyverno#2865: a container replaced as a whole lost its image."""
    for operation in patch_of(setup(EVERYTHING), request(gpu_job())):
        assert "/containers" not in operation["path"]


def test_no_gpu_no_gpu_toleration() -> None:
    """kubernetes#125426: a toleration was added for a quantity of "0"."""
    job = mutated(setup(EVERYTHING), request(gpu_job(gpus="0")))
    assert "tolerations" not in pod_spec(job)
    assert "workload.ai/team" not in job["metadata"]["labels"], "a match on GPUs does not see it"


def test_a_web_server_is_left_as_it_is() -> None:
    web = deployment()
    web["spec"]["template"]["spec"]["containers"] = [
        {"name": "nginx", "image": "nginx:1", "readinessProbe": {"httpGet": {"port": 80}}, "ports": [{"containerPort": 80}]}
    ]
    assert patch_of(setup(EVERYTHING), request(web)) == []


@pytest.mark.parametrize("metadata", [{}, {"metadata": None}, {"metadata": {"labels": None, "annotations": None}}])
def test_a_template_without_usable_metadata_gets_it(metadata: Any) -> None:
    """kubernetes#90623."""
    job = gpu_job()
    job["spec"]["template"].pop("metadata")
    job["spec"]["template"].update(metadata)
    result = mutated(setup(EVERYTHING), request(job))
    assert result["spec"]["template"]["metadata"]["labels"]["workload.ai/team"] == "research"


def test_precedence_decides_scalars_maps_merge_lists_unite_grace_is_the_highest() -> None:
    first = policy(
        "precedence: 1\ninject: {queue: a,"
        " terminationGracePeriodSeconds: 60, labels: {x: a}, tolerations: [{key: t1, operator: Exists}]}",
        "zz",
    )
    second = policy(
        "precedence: 2\ninject: {queue: b,"
        " terminationGracePeriodSeconds: 90, labels: {x: b, z: b}, tolerations: [{key: t2, operator: Exists}]}",
        "aa",
    )
    result = mutated(setup(first, second), request(gpu_job()))
    assert result["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "a"
    assert pod_spec(result)["terminationGracePeriodSeconds"] == 90
    assert (result["metadata"]["labels"]["x"], result["metadata"]["labels"]["z"]) == ("a", "b")
    assert [toleration["key"] for toleration in pod_spec(result)["tolerations"]] == ["t1", "t2"]


def test_checkpoint_required_is_written_where_a_checkpoint_rule_looks() -> None:
    rule = policy(
        "rules: [{name: c, check: checkpoint, when: {priority: {below: 5000}}, mode: warn}]\n"
        "inject: {priorityClassName: train-low}"
    )
    result = mutated(setup(rule), request(gpu_job()))
    assert result["metadata"]["labels"]["workload.ai/checkpoint"] == "required"


def test_a_bug_of_ours_allows_without_a_patch(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr("signalbox.engine.mutation.merge_injections", broken)
    outcome = mutate(setup(EVERYTHING), request(gpu_job()), NOW)
    assert outcome.response.allowed
    assert outcome.response.patch == ()
    assert [str(caught.error) for caught in outcome.errors] == ["a bug"]


def test_gpu_requests_are_refused_here_because_the_api_server_would_refuse_them_first() -> None:
    """kubernetes#57170, kai-scheduler#660: the second container is looked at as well."""
    job = gpu_job()
    job["spec"]["template"]["spec"]["containers"].insert(0, {"name": "istio-proxy", "image": "p:1"})
    job["spec"]["template"]["spec"]["containers"][1]["resources"]["requests"]["nvidia.com/gpu"] = "4"
    rule = policy("rules: [{name: equal, check: gpu-requests, mode: enforce}]", "gpus")
    outcome = mutate(setup(rule), request(job), NOW)
    assert not outcome.response.allowed
    assert "Container trainer has a limit of 8 nvidia.com/gpu but requests 4" in " ".join(outcome.response.message.split())
    warned = policy("rules: [{name: equal, check: gpu-requests, mode: warn}]", "gpus")
    assert mutate(setup(warned), request(job), NOW).response.allowed
    jobs = job_set()
    pod_spec({"kind": "JobSet", "spec": {"replicatedJobs": jobs["spec"]["replicatedJobs"][1:]}})["containers"][0]["resources"][
        "requests"
    ] = {"nvidia.com/gpu": 1}
    assert mutate(setup(rule), request(jobs), NOW).response.allowed, "a custom resource reaches /validate"


def test_what_is_refused_here_is_told_everything_else_that_is_wrong_with_it() -> None:
    job = gpu_job()
    job["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"]["nvidia.com/gpu"] = "4"
    rules = policy(
        "rules: [{name: equal, check: gpu-requests, mode: enforce}, "
        "{name: grace, check: termination-grace, with: {max: 10}, mode: enforce},"
        " {name: queue, check: queue-required, mode: enforce}]\ninject: {queue: q}",
        "gpus",
    )
    message = mutate(setup(rules), request(job), NOW).response.message
    assert message.startswith("2 problems")
    assert "[gpus/grace]" in message
    assert "[gpus/queue]" not in message, "the queue would have been injected"


def test_the_record_keeps_what_stood_there_before_the_first_of_several_writes() -> None:
    job = gpu_job()
    job["metadata"]["labels"] = {"app": "x"}
    record = json.loads(mutated(setup(EVERYTHING), request(job))["metadata"]["annotations"]["workload.ai/injected"])
    assert {field for field, entry in record.items() if entry["was"] == entry["set"]} == set()


def test_a_match_on_a_label_that_we_infer_does_not_see_our_own() -> None:
    world = setup(
        policy("inject: {labels: {workload.ai/team: a}}", "a"),
        policy("match: {labels: {workload.ai/type: fine-tuning}}\ninject: {queue: q}", "b"),
    )
    job = gpu_job()
    job["metadata"]["labels"] = {"app": "x"}
    once = mutated(world, request(job))
    assert "kueue.x-k8s.io/queue-name" not in once["metadata"]["labels"]
    assert patch_of(world, request(once)) == []


def test_a_disabled_checkpoint_rule_asks_for_no_checkpoint() -> None:
    rule = policy("rules: [{name: c, check: checkpoint, mode: disabled}]")
    assert "workload.ai/checkpoint" not in mutated(setup(rule), request(gpu_job()))["metadata"]["labels"]


def test_a_crashing_check_refuses_nothing_here_whatever_its_rule_says(monkeypatch: pytest.MonkeyPatch) -> None:
    from signalbox.check.check import Check
    from signalbox.check.table import CHECKS

    def broken(*_: Any) -> Any:
        raise RuntimeError("a bug")

    real = CHECKS["gpu-requests"]
    monkeypatch.setitem(CHECKS, "gpu-requests", Check(real.name, real.parameters, broken, real.doc, early=True))
    strict = policy("rules: [{name: r, check: gpu-requests, mode: enforce, onError: refuse}]\ninject: {queue: q}")
    outcome = mutate(setup(strict), request(gpu_job()), NOW)
    assert outcome.response.allowed
    assert outcome.response.patch
    assert [str(caught.error) for caught in outcome.errors] == ["a bug"]


def test_an_early_refusal_that_no_longer_holds_after_injection_is_none() -> None:
    job = gpu_job()
    job["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"]["nvidia.com/gpu"] = "4"
    rule = policy("rules: [{name: r, check: gpu-requests, when: {queues: ['']}, mode: enforce}]\ninject: {queue: q}")
    outcome = mutate(setup(rule), request(job), NOW)
    assert outcome.response.allowed
    assert outcome.response.patch


@pytest.mark.parametrize(
    "record",
    [
        {"metadata.labels[x]": {"set": ["a"] * 60_000, "was": None, "by": "p"}},
        {f"metadata.labels[x{index}]": {"set": "a", "was": None, "by": "p"} for index in range(20_000)},
        {f"spec.template.spec.containers[{'1' * 5000}].image": {"set": "a", "was": None, "by": "p"}},
        {"spec": {"set": gpu_job()["spec"], "was": 1, "by": "p"}, "spec.tolerations": {"set": [], "was": 1, "by": "p"}},
        {"spec.template.spec.tolerations": {"set": [], "was": None, "by": "p"}},
    ],
)
def test_a_forged_record_costs_nothing_and_breaks_nothing(record: Any) -> None:
    job = gpu_job()
    job["metadata"]["annotations"] = {"workload.ai/injected": json.dumps(record)}
    job["metadata"]["labels"] = {"x": "a"}
    mutated(setup(EVERYTHING), request(job))
    again = copy.deepcopy(job)
    again["spec"]["backoffLimit"] = 1
    mutated(setup(EVERYTHING), request(again, job))
