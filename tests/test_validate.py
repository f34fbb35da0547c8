"""What is refused, warned of and recorded; what an UPDATE is judged by."""

import copy
import json
from typing import Any

import pytest

from signalbox.engine import mutate, validate
from signalbox.policy.mode import Mode
from tests.manifests import deployment, gpu_job, job_set, pod_spec
from tests.world import NOW, judged, policy, request, setup

SPOT = policy(
    """
match: {trains: true}
rules:
  - name: restartable
    check: checkpoint
    when: {any: [{spot: [demanded, preferred]}, {priority: {below: 5000}}]}
    mode: enforce
""",
    "spot",
)
QUEUES = policy("rules: [{name: allowed, check: queue-allowed, with: {allow: [a, b]}, mode: enforce}]", "queues")
SMALL = policy("rules: [{name: small, check: accelerator-limit, with: {maxTotal: 8}, mode: enforce}]", "size")


def spot_job(**keywords: Any) -> dict[str, Any]:
    job = gpu_job(**keywords)
    pod_spec(job)["nodeSelector"] = {"cloud.google.com/gke-spot": "true"}
    return job


def test_what_rests_on_a_name_warns_and_refuses_nothing() -> None:
    job = spot_job()
    job["metadata"]["name"] = "nightly-retrain"
    pod_spec(job)["containers"][0] |= {"command": ["python", "main.py"], "args": []}
    response = judged(setup(SPOT), request(job)).response
    assert response.allowed
    assert "[spot/restartable] Spot work is interrupted without notice" in response.warnings[0]
    assert "(By its name it is training: not refused. If not, set workload.ai/type.)" in response.warnings[0]
    assert response.warnings[0].endswith("metadata.annotations[workload.ai/checkpoint-uri]: s3://BUCKET/nightly-retrain")


def test_spot_job_without_checkpoint_is_refused() -> None:
    response = judged(setup(SPOT), request(spot_job())).response
    assert not response.allowed
    assert (response.code, response.reason) == (403, "Forbidden")
    assert "[spot/restartable] Spot work is interrupted without notice" in response.message
    assert 'spec.template.spec.nodeSelector[cloud.google.com/gke-spot] = "true"' in response.message
    assert "workload.ai/checkpoint-uri: s3://BUCKET/llama-sft" in response.message


def test_low_priority_job_without_checkpoint_is_refused() -> None:
    job = gpu_job()
    pod_spec(job)["priorityClassName"] = "train-low"
    response = judged(setup(SPOT), request(job)).response
    assert not response.allowed
    assert "Work of priority 1000 can be preempted" in response.message


def test_a_declared_checkpoint_passes() -> None:
    job = spot_job()
    job["metadata"]["annotations"] = {"workload.ai/checkpoint-uri": "s3://bucket/run"}
    assert judged(setup(SPOT), request(job)).response.allowed


def test_every_problem_is_told_at_once() -> None:
    """Of several denials the API server shows only the first that arrives."""
    job = spot_job(gpus=16)
    job["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "c"}
    response = judged(setup(SPOT, QUEUES, SMALL), request(job)).response
    assert response.message.startswith("3 problems with Job research/llama-sft (fine-tuning, 1 Pod, 16 GPUs, spot)")
    for rule in ("spot/restartable", "queues/allowed", "size/small"):
        assert f"[{rule}]" in response.message


def test_a_warning_is_one_line_and_allows() -> None:
    response = judged(setup(SPOT.replace("mode: enforce", "mode: warn")), request(spot_job())).response
    assert response.allowed
    assert len(response.warnings) == 1
    assert response.warnings[0].isprintable()


def test_an_audited_rule_is_only_recorded() -> None:
    response = judged(setup(SPOT.replace("mode: enforce", "mode: audit")), request(spot_job())).response
    assert response.allowed
    assert response.warnings == ()
    recorded = json.loads(response.audit["findings"])
    assert recorded == [{"rule": "spot/restartable", "mode": "audit", "result": "fail", "key": "checkpoint"}]


def test_max_mode_caps_every_rule() -> None:
    response = judged(setup(SPOT, max_mode=Mode.AUDIT), request(spot_job())).response
    assert response.allowed
    assert response.warnings == ()


def test_an_exception_is_seen_as_skip() -> None:
    exception = """apiVersion: policy.workload.ai/v1alpha1
kind: PolicyException
metadata: {name: legacy}
spec:
  rules: [spot/restartable]
  match: {names: ["llama-*"]}
  until: 2026-12-31
  reason: moves in January
  approvedBy: oncall
"""
    outcome = judged(setup(SPOT, exception), request(spot_job()))
    assert outcome.response.allowed
    assert [finding.excepted_by for finding in outcome.findings] == ["legacy"]
    assert json.loads(outcome.response.audit["findings"])[0]["result"] == "skip"
    assert not judged(setup(SPOT, exception), request(spot_job(name="other"))).response.allowed
    expired = exception.replace("2026-12-31", "2026-11-28")
    assert not judged(setup(SPOT, expired), request(spot_job())).response.allowed


def test_what_the_view_does_not_know_is_not_judged_and_said() -> None:
    rule = policy(
        "match: {namespaceSelector: {matchLabels: {tier: gold}}}\nrules: [{name: r, check: queue-required, mode: enforce}]"
    )
    response = judged(setup(rule), request(gpu_job())).response
    assert response.allowed
    assert response.warnings[0].startswith("not judged: p/r (not known: ")
    assert "research" in response.warnings[0]


def test_a_crashing_check_warns_and_refuses_only_where_the_rule_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    from signalbox.check.check import Check
    from signalbox.check.table import CHECKS

    def broken(*_: Any) -> Any:
        raise RuntimeError("a bug")

    real = CHECKS["queue-required"]
    monkeypatch.setitem(CHECKS, "queue-required", Check(real.name, real.parameters, broken, real.doc))
    rule = policy("rules: [{name: r, check: queue-required, mode: enforce}]")
    outcome = validate(setup(rule), request(gpu_job()), NOW)
    assert outcome.response.allowed
    assert "fault in Signalbox" in outcome.response.warnings[0]
    assert [caught.where for caught in outcome.errors] == ["p/r"]
    strict = policy("rules: [{name: r, check: queue-required, mode: enforce, onError: refuse}]")
    assert not validate(setup(strict), request(gpu_job()), NOW).response.allowed


@pytest.mark.parametrize("decoys", [("1e999", "0.5"), ("9e999", "1e-999"), (2**70, "1n")])
def test_amounts_that_no_node_has_open_no_way_round_a_rule(decoys: tuple[Any, Any]) -> None:
    """A custom resource's quantities reach a webhook unchecked."""
    job = job_set(gpus=16)
    first = job["spec"]["replicatedJobs"][0]
    for index, amount in enumerate(decoys):
        decoy = copy.deepcopy(first) | {"name": f"decoy-{index}"}
        limits = {"nvidia.com/gpu": amount}
        decoy["template"]["spec"]["template"]["spec"]["containers"][0]["resources"] = {"limits": limits, "requests": limits}
        job["spec"]["replicatedJobs"].append(decoy)
    rules = policy(
        "rules: [{name: queued, check: queue-required, mode: enforce}, "
        "{name: few, cel: workload.accelerators.total <= 8, mode: enforce, "
        "message: 'at most 8, not {workload.accelerators.total}'}]"
    )
    response = judged(setup(rules), request(job)).response
    assert not response.allowed
    assert "[p/queued]" in response.message
    assert "[p/few] at most 8, not " in response.message


def test_what_is_refused_stays_refused_if_it_cannot_be_said_why(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> Any:
        raise OverflowError("a bug")

    monkeypatch.setattr("signalbox.message.describe", broken)
    rules = policy("rules: [{name: r, check: queue-required, mode: enforce}, {name: w, check: queue-required, mode: warn}]")
    outcome = validate(setup(rules), request(gpu_job()), NOW)
    assert not outcome.response.allowed
    assert outcome.response.message == "refused by p/r (Signalbox could not say why: OverflowError)"
    assert outcome.response.warnings == ("p/w (Signalbox could not say why: OverflowError)",)
    assert [caught.where for caught in outcome.errors] == ["message"]


def test_what_has_more_templates_than_are_judged_is_no_way_round_a_rule() -> None:
    job = job_set()
    job["spec"]["replicatedJobs"] *= 501
    enforced = setup(policy("rules: [{name: r, check: queue-required, mode: enforce}]"))
    told = "JobSet research/pretrain has 1002 pod templates, and no more than 1000 are judged: make it several"
    response = judged(enforced, request(job)).response
    assert (response.allowed, response.message) == (False, told)
    assert not list(mutate(enforced, request(job), NOW).response.patch)
    for lenient in (setup(policy("rules: [{name: r, check: queue-required, mode: warn}]")), setup()):
        response = judged(lenient, request(job)).response
        assert (response.allowed, response.warnings) == (True, (told,))
    others = setup(policy("match: {kinds: [Deployment]}\nrules: [{name: r, check: queue-required, mode: enforce}]"))
    assert judged(others, request(job)).response.allowed
    again = copy.deepcopy(job)
    again["metadata"]["labels"] = {"phase": "running"}
    assert judged(enforced, request(again, job)).response.allowed, "it was as large before"
    fewer = copy.deepcopy(job)
    fewer["spec"]["replicatedJobs"] = fewer["spec"]["replicatedJobs"][:2]
    assert "[p/r]" in judged(enforced, request(fewer, job)).response.message


# An UPDATE is judged by what it changes.


def test_an_update_is_refused_only_for_what_it_brings() -> None:
    old = spot_job()
    new = copy.deepcopy(old)
    new["spec"]["parallelism"] = 2
    assert judged(setup(SPOT), request(new, old)).response.allowed
    pod_spec(old).pop("nodeSelector")
    assert not judged(setup(SPOT), request(new, old)).response.allowed


def test_an_update_that_makes_it_worse_is_refused() -> None:
    old, new = gpu_job(gpus=16), gpu_job(gpus=16)
    new["spec"]["backoffLimit"] = 3
    assert judged(setup(SMALL), request(new, old)).response.allowed
    assert not judged(setup(SMALL), request(gpu_job(gpus=32), old)).response.allowed


def test_a_suspended_job_relabelled_into_another_queue_is_judged_there() -> None:
    old, new = gpu_job(suspend=True), gpu_job(suspend=True)
    old["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "a"}
    new["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "urgent"}
    assert not judged(setup(QUEUES), request(new, old)).response.allowed


@pytest.mark.parametrize(
    "change",
    [
        {"finalizers": None},
        {"managedFields": [{"manager": "x"}]},
        {"annotations": {"example.com/a": "b"}},
        {"resourceVersion": "2"},
    ],
)
def test_what_no_judgement_reads_may_change(change: Any) -> None:
    old = spot_job()
    new = copy.deepcopy(old)
    new["metadata"].update(change)
    new["status"] = {"active": 1}
    outcome = judged(setup(SPOT, SPOT.replace("name: spot", "name: s2")), request(new, old))
    assert outcome.response.allowed
    assert outcome.findings == ()


def test_an_object_that_is_being_deleted_may_lose_its_finalizer() -> None:
    """hazelcast-platform-operator#923, cosign#803, gardener/kupid#29: it could not be deleted."""
    old = spot_job()
    old["metadata"].update(deletionTimestamp="2026-11-29T00:00:00Z", finalizers=["foregroundDeletion"])
    new = copy.deepcopy(old)
    new["metadata"]["finalizers"] = []
    new["metadata"]["labels"] = {"a": "b"}
    assert judged(setup(SPOT), request(new, old)).response.allowed


def test_deleting_is_no_pass_for_a_changed_spec() -> None:
    old = gpu_job()
    old["metadata"]["deletionTimestamp"] = "2026-11-29T00:00:00Z"
    new = spot_job()
    new["metadata"]["deletionTimestamp"] = "2026-11-29T00:00:00Z"
    assert not judged(setup(SPOT), request(new, old)).response.allowed


def test_kueues_own_updates_are_never_judged() -> None:
    """kueue#2691, jobset#624, kubernetes#48388: a webhook that refuses them leaves quota held and no event."""
    old, new = spot_job(suspend=True), spot_job()
    pod_spec(new)["priorityClassName"] = "train-low"
    kueue = "system:serviceaccount:kueue-system:kueue-controller-manager"
    assert judged(setup(SPOT), request(new, old, user=kueue)).findings == ()
    old.pop("spec")
    assert not judged(setup(SPOT), request(new, old, user="ann")).response.allowed


# What controllers make from a parent that was judged.


def child(kind: str, owner: str, group: str = "batch/v1") -> dict[str, Any]:
    pod = {
        "apiVersion": "v1" if kind == "Pod" else "batch/v1",
        "kind": kind,
        "metadata": {
            "generateName": "llama-",
            "namespace": "research",
            "ownerReferences": [{"apiVersion": group, "kind": owner, "name": "llama", "controller": True}],
        },
        "spec": spot_job()["spec"] if kind == "Job" else pod_spec(spot_job()),
    }
    return pod


def test_a_pod_of_a_job_is_audited_not_refused() -> None:
    controller = "system:serviceaccount:kube-system:job-controller"
    outcome = judged(setup(SPOT), request(child("Pod", "Job"), user=controller))
    assert outcome.response.allowed
    assert outcome.response.warnings == ()
    assert json.loads(outcome.response.audit["findings"])[0]["mode"] == "audit"


@pytest.mark.parametrize(
    "user",
    [
        "ann",
        "system:serviceaccount:evil:job-controller",
        "system:serviceaccount:kube-system:cronjob-controller",
    ],
)
def test_a_forged_owner_gets_no_free_pass(user: str) -> None:
    assert not judged(setup(SPOT), request(child("Pod", "Job"), user=user)).response.allowed


def test_a_refusal_of_a_child_says_which_parent_to_mend() -> None:
    message = judged(setup(SPOT), request(child("Pod", "RayCluster", "ray.io/v1"))).response.message
    assert "It was made by RayCluster llama: mend that one, not this." in message


def test_a_job_of_a_jobset_is_not_refused_again() -> None:
    controller = "system:serviceaccount:jobset-system:jobset-controller-manager"
    asked = request(child("Job", "JobSet", "jobset.x-k8s.io/v1alpha2"), user=controller)
    assert judged(setup(SPOT), asked).response.allowed


# Requests that are none of our business.


@pytest.mark.parametrize("sub_resource", ["scale", "ephemeralcontainers", "status", "resize", "binding", "eviction"])
def test_subresources_are_let_through(sub_resource: str) -> None:
    """kubernetes#92557, kyverno#4716: kubectl debug and kubectl scale were refused."""
    scale = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "x"}, "spec": {"replicas": 9}}
    assert judged(setup(SPOT), request(scale, scale, sub_resource=sub_resource)).response.allowed
    assert judged(setup(SPOT), request(spot_job(), gpu_job(), sub_resource=sub_resource)).response.allowed


def test_deletion_is_let_through() -> None:
    assert judged(setup(SPOT), request(None, spot_job(), operation="DELETE")).response.allowed


def test_a_job_of_another_group_is_not_taken_for_ours() -> None:
    """Volcano's `kind: Job` is no batch Job."""
    job = spot_job()
    job["apiVersion"] = "batch.example.io/v1"
    assert judged(setup(SPOT), request(job)).findings == ()


def test_dry_run_gives_the_same_answer() -> None:
    from dataclasses import replace

    asked = request(spot_job())
    assert validate(setup(SPOT), replace(asked, dry_run=True), NOW).response == validate(setup(SPOT), asked, NOW).response


def test_the_same_object_gives_the_same_audit_annotation() -> None:
    world = setup(SPOT, QUEUES, SMALL)
    job = spot_job(gpus=16)
    assert judged(world, request(job)).response.audit == judged(world, request(copy.deepcopy(job))).response.audit


def test_no_name_yet_is_no_fault() -> None:
    """kubernetes#76680, gatekeeper#404: generateName objects have no metadata.name at admission."""
    job = spot_job()
    job["metadata"] = {"generateName": "llama-", "namespace": "research"}
    message = judged(setup(SPOT), request(job)).response.message
    assert "Job research/llama-" in message


def test_serving_is_left_alone_by_training_rules() -> None:
    assert judged(setup(SPOT), request(deployment())).response.allowed
    assert judged(setup(SPOT), request(job_set())).response.allowed


# A fault of ours outside any rule, and what is not known of an exception.


def nested(depth: int) -> Any:
    value: Any = {}
    for _ in range(depth):
        value = {"a": value}
    return value


def test_an_object_too_deep_to_compare_is_judged_all_the_same() -> None:
    old, new = gpu_job(), spot_job()
    old["spec"]["deep"], new["spec"]["deep"] = nested(5000), nested(5000)
    outcome = validate(setup(SPOT), request(new, old), NOW)
    assert not outcome.response.allowed
    assert "[spot/restartable]" in outcome.response.message
    assert not outcome.errors


EXCEPTION = """apiVersion: policy.workload.ai/v1alpha1
kind: PolicyException
metadata: {name: legacy}
spec:
  rules: [spot/restartable]
  match: {MATCH}
  until: 2026-12-31
  reason: moves in January
  approvedBy: oncall
"""


def test_an_exception_for_one_person_is_none_for_who_puts_other_work_in() -> None:
    world = setup(SPOT, EXCEPTION.replace("MATCH", "users: [alice]"))
    old, same, other = spot_job(), spot_job(backoffLimit=1), spot_job(gpus=4)
    assert judged(world, request(old, user="alice")).response.allowed
    assert judged(world, request(same, old, user="mallory")).response.allowed
    assert not judged(world, request(other, old, user="mallory")).response.allowed
    assert judged(world, request(other, old, user="alice")).response.allowed


def test_what_an_exception_no_longer_covers_is_judged() -> None:
    world = setup(SPOT, EXCEPTION.replace("MATCH", "labels: {matchLabels: {moving: 'yes'}}"))
    old = spot_job()
    old["metadata"]["labels"] = {"moving": "yes"}
    assert judged(world, request(old)).response.allowed
    assert not judged(world, request(spot_job(), old)).response.allowed
    late = setup(SPOT, EXCEPTION.replace("MATCH", "labels: {matchLabels: {moving: 'yes'}}").replace("2026-12-31", "2026-11-28"))
    assert judged(late, request(spot_job(), old)).response.allowed, "what outlived its exception was let in all the same"


def test_a_rule_that_is_strict_refuses_what_is_padded_beyond_judging() -> None:
    job = gpu_job()
    pod_spec(job)["containers"][0]["env"] = [{"name": f"N{at}", "value": "x"} for at in range(1001)]
    cel = "object.spec.template.spec.containers.all(c, c.image.startsWith('r/'))"
    rule = f'rules: [{{name: r, cel: "{cel}", message: elsewhere, mode: enforce'
    lenient, strict = (setup(policy(rule + more)) for more in ("}]", ", onError: refuse}]"))
    assert judged(lenient, request(job)).response.allowed
    assert not judged(strict, request(job)).response.allowed


@pytest.mark.parametrize("cel", ["'cost/center' in object.metadata.annotations", "'cost/center' in workload.annotations"])
def test_an_annotation_that_a_rule_asks_for_is_not_taken_off_again(cel: str) -> None:
    world = setup(policy(f'rules: [{{name: r, cel: "{cel}", message: name who pays, mode: enforce}}]'))
    old, new = gpu_job(), gpu_job()
    old["metadata"]["annotations"] = {"cost/center": "42"}
    new["metadata"]["annotations"] = {"other": "x"}
    assert judged(world, request(old)).response.allowed
    assert not judged(world, request(new, old)).response.allowed


def test_whether_an_exception_covers_is_not_known_so_nobody_is_refused_on_a_guess() -> None:
    exception = """apiVersion: policy.workload.ai/v1alpha1
kind: PolicyException
metadata: {name: pilot}
spec:
  rules: [spot/restartable]
  match: {namespaceSelector: {matchLabels: {pilot: "yes"}}}
  until: 2026-12-31
  reason: a pilot
  approvedBy: oncall
"""
    response = judged(setup(SPOT, exception), request(spot_job())).response
    assert response.allowed
    assert response.warnings[0].startswith("not judged: spot/restartable (not known: the labels of namespace research")


def test_thousands_of_findings_do_not_fill_the_audit_log() -> None:
    job = job_set()
    container = {"image": "i", "resources": {"limits": {"nvidia.com/gpu": 1}, "requests": {"nvidia.com/gpu": 2}}}
    pods = job["spec"]["replicatedJobs"][1]["template"]["spec"]["template"]["spec"]
    pods["containers"] = [{**container, "name": f"c{index}"} for index in range(5000)]
    rule = policy("rules: [{name: gpus, check: gpu-requests, mode: enforce}]")
    response = judged(setup(rule), request(job)).response
    assert len(response.audit["findings"]) < 10_000
    assert len(response.message.encode()) <= 4096


def test_thousands_of_warnings_are_the_first_and_their_number() -> None:
    job = job_set()
    container = {"image": "i", "resources": {"limits": {"nvidia.com/gpu": 1}, "requests": {"nvidia.com/gpu": 2}}}
    pods = job["spec"]["replicatedJobs"][1]["template"]["spec"]["template"]["spec"]
    pods["containers"] = [{**container, "name": f"c{index}"} for index in range(3000)]
    response = judged(setup(policy("rules: [{name: gpus, check: gpu-requests, mode: warn}]")), request(job)).response
    assert response.allowed
    assert "c0" in response.warnings[0]
    assert response.warnings[-1] == "and 2980 more warnings"
    assert len(response.warnings) == 21


@pytest.mark.parametrize(("amount", "allowed"), [("amount: workload.accelerators.total", False), ("", True)])
def test_what_broke_an_expression_before_may_stay_and_grows_only_where_no_amount_is_written(amount: str, allowed: bool) -> None:
    world = setup(
        policy(f"""
rules:
  - name: small
    cel: workload.accelerators.total <= 2
    {amount}
    message: takes at most 2.
    mode: enforce
""")
    )
    old, same, more = gpu_job(gpus=4), gpu_job(gpus=4, backoffLimit=1), gpu_job(gpus=8)
    assert not judged(world, request(old)).response.allowed
    assert judged(world, request(same, old)).response.allowed
    assert judged(world, request(more, old)).response.allowed is allowed
    assert judged(world, request(gpu_job(gpus=3), more)).response.allowed
