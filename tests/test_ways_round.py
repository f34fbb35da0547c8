"""Ways round the rules that somebody tried, and that are closed."""

import copy
import json
from typing import Any

import pytest

from signalbox.record import Entry, still_ours
from tests.manifests import deployment, gpu_job, job_set, pod_spec
from tests.world import Cluster, judged, mutated, policy, request, setup, view

INJECTING = policy(
    "inject:\n  queue: q\n  labels: {workload.ai/team: a}\n  tolerations: [{key: t, operator: Exists}]\n"
    "  terminationGracePeriodSeconds: 300"
)


def forged(manifest: dict[str, Any], record: dict[str, Any]) -> dict[str, Any]:
    manifest["metadata"]["annotations"] = {"workload.ai/injected": json.dumps(record)}
    return manifest


@pytest.mark.parametrize("created_under_us", [True, False])
@pytest.mark.parametrize(
    ("field", "evil", "good"),
    [
        ("spec.template.spec.containers[server].image", "registry.example/evil:1", "registry.example/good:1"),
        ("spec.replicas", 6, 0),
        ("spec.template.spec.hostNetwork", True, False),
        ("metadata.labels[team]", "evil", "good"),
        ("metadata.annotations[role]", "evil", "good"),
    ],
)
def test_a_forged_record_does_not_make_us_undo_other_peoples_changes(
    field: str, evil: Any, good: Any, created_under_us: bool
) -> None:
    made = forged(deployment(), {field: {"set": evil, "was": good, "by": "p"}})
    spec = pod_spec(made)
    spec["hostNetwork"] = True
    spec["containers"][0]["image"] = "registry.example/evil:1"
    made["spec"]["replicas"] = 6
    made["metadata"]["labels"] = {"team": "evil"}
    made["metadata"]["annotations"]["role"] = "evil"
    world = setup(INJECTING)
    stored = mutated(world, request(made)) if created_under_us else made
    mended = copy.deepcopy(stored)
    pod_spec(mended).update(hostNetwork=False)
    pod_spec(mended)["containers"][0]["image"] = "registry.example/good:1"
    mended["spec"]["replicas"] = 0
    mended["metadata"]["labels"]["team"] = "good"
    mended["metadata"]["annotations"]["role"] = "good"
    result = mutated(world, request(mended, stored))
    assert result["spec"]["replicas"] == 0
    assert pod_spec(result)["hostNetwork"] is False
    assert pod_spec(result)["containers"][0]["image"] == "registry.example/good:1"
    assert (result["metadata"]["labels"]["team"], result["metadata"]["annotations"]["role"]) == ("good", "good")


def test_a_record_on_create_keeps_only_what_an_injector_writes_today() -> None:
    made = forged(
        gpu_job(),
        {
            "spec.template.spec.priorityClassName": {"set": "urgent", "was": "train-low", "by": "p"},
            "spec.template.spec.tolerations": {"set": [{"key": "evil", "operator": "Exists"}], "was": None, "by": "p"},
        },
    )
    pod_spec(made).update(priorityClassName="urgent", tolerations=[{"key": "evil", "operator": "Exists"}])
    record = json.loads(mutated(setup(INJECTING), request(made))["metadata"]["annotations"]["workload.ai/injected"])
    assert "spec.template.spec.priorityClassName" not in record
    assert record["spec.template.spec.tolerations"]["set"] == [{"key": "t", "operator": "Exists"}]


def test_a_queue_named_on_the_pods_alone_is_judged_as_a_queue() -> None:
    rule = policy("match: {queues: [urgent]}\nrules: [{name: r, check: queue-allowed, with: {deny: [urgent]}, mode: enforce}]")
    work = deployment()
    work["spec"]["template"]["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] = "urgent"
    assert list(view(work).queues) == ["urgent"]
    assert not judged(setup(rule), request(work)).response.allowed


GROUPS = policy(
    "match: {queues: [urgent], not: {groups: [release]}}\n"
    "rules: [{name: r, check: queue-allowed, with: {deny: [urgent]}, mode: enforce}]"
)


def test_whoever_puts_other_work_into_anothers_queue_needs_the_right_to_it() -> None:
    old = gpu_job(suspend=True)
    old["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "urgent"}
    for change in ("image", "label"):
        new = copy.deepcopy(old)
        if change == "image":
            pod_spec(new)["containers"][0]["image"] = "registry.example/other:1"
        else:
            new["metadata"]["labels"]["a"] = "b"
        assert judged(setup(GROUPS), request(new, old)).response.allowed is (change == "label")
        assert judged(setup(GROUPS), request(new, old, groups=("release",))).response.allowed


def test_a_checkpoint_that_was_doubtful_and_is_now_lost_is_refused() -> None:
    rule = policy("rules: [{name: c, check: checkpoint, mode: enforce}]")
    old = gpu_job()
    pod_spec(old)["containers"][0]["command"] = ["torchrun", "train.py", "--output_dir=${OUT}"]
    new = copy.deepcopy(old)
    pod_spec(new)["containers"][0]["command"] = ["torchrun", "train.py", "--output_dir=/tmp/out"]
    assert view(old).checkpoint.state == "unknown"
    assert not judged(setup(rule), request(new, old)).response.allowed


def test_a_placeholder_beside_a_real_count_hides_nothing() -> None:
    rule = policy("rules: [{name: l, check: accelerator-limit, with: {maxTotal: 4}, mode: enforce}]")
    jobs = job_set()
    second = jobs["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]["containers"][0]
    second["resources"] = {"limits": {"amd.com/gpu": "${MORE}"}}
    assert not judged(setup(rule), request(jobs)).response.allowed


def test_a_class_nobody_knows_does_not_hide_a_low_one() -> None:
    rule = policy("rules: [{name: c, check: checkpoint, when: {priority: {below: 5000}}, mode: enforce}]")
    job = gpu_job()
    pod_spec(job)["priorityClassName"] = "train-low"
    job["metadata"]["labels"] = {"kueue.x-k8s.io/priority-class": "bogus"}
    assert view(job, Cluster()).priority.state == "unknown"
    assert not judged(setup(rule), request(job)).response.allowed


def test_labels_of_pod_templates_are_protected_too() -> None:
    rule = policy("rules: [{name: l, check: protected-labels, mode: enforce}]")
    new = deployment()
    new["spec"]["template"]["metadata"]["labels"]["workload.ai/type"] = "inference"
    assert not judged(setup(rule), request(new, deployment())).response.allowed


def test_a_field_is_compared_once_however_often_a_record_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """``[spec]`` and ``["spec"]`` are one field, and a long list is compared with each of what we are said to have appended."""
    compared: list[Any] = []
    monkeypatch.setattr("signalbox.record.is_ours", lambda entry, value: compared.append(value) or True)
    job = gpu_job()
    pod_spec(job)["tolerations"] = [{"key": f"k{at}"} for at in range(3)]
    entry = Entry([{"key": "k2"}], None, "p")
    names = [f"{a}.template.{b}.tolerations" for a in ("spec", "[spec]", '["spec"]') for b in ("spec", "[spec]", '["spec"]')]
    kept = still_ours({name.replace(".[", "["): entry for name in names}, job)
    assert list(kept) == ["spec.template.spec.tolerations"]
    assert len(compared) == 1


def test_a_list_that_nobody_has_is_not_compared_at_all() -> None:
    job = gpu_job()
    pod_spec(job)["tolerations"] = list(range(200_000))
    field = "spec.template.spec.tolerations"
    assert still_ours({field: Entry([7], None, "p")}, job)
    assert not still_ours({field: Entry(list(range(9)), None, "p")}, job)
