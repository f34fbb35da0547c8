"""The scan of a live cluster: what is judged, what is counted under its parent, and what happens when the server stumbles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from signalbox.audit.family import parents_first
from signalbox.audit.live import live_items, live_setup
from signalbox.audit.result import ScanSummary, Subject
from signalbox.audit.scan import Scan
from signalbox.configuration import SetupFiles
from signalbox.controllers import default_controllers
from signalbox.engine import Setup
from signalbox.finding import Result
from signalbox.policy.mode import Mode
from signalbox.workload.kinds.table import KINDS
from tests.audit_world import (
    GRACE,
    SMALL,
    deployment,
    found,
    install_job_sets,
    job,
    job_set,
    pod,
    replica_set,
    stored,
    subject_of,
)
from tests.fake_api_server import FakeApiServer
from tests.world import NOW, policy, setup


def scan_of(
    fake: FakeApiServer, by: Setup, namespaces: Sequence[str] = (), excluded: frozenset[tuple[str, str]] = frozenset()
) -> tuple[list[Subject], ScanSummary]:
    scan = Scan(by, NOW, excluded=excluded)
    subjects = list(scan.subjects(live_items(fake.api(), by, namespaces, excluded)))
    return subjects, scan.summary()


def names(subjects: list[Subject]) -> list[str]:
    return [f"{subject.kind} {subject.name}" for subject in subjects]


def test_children_are_counted_under_the_workload_that_made_them() -> None:
    with FakeApiServer() as fake:
        install_job_sets(fake)
        web, run = fake.put(deployment("web")), fake.put(job_set("run"))
        inner = fake.put(job("run-w-0", owner=run))
        middle = fake.put(replica_set("web-1", owner=web))
        for number in range(3):
            fake.put(pod(f"run-w-0-{number}", owner=inner))
            fake.put(pod(f"web-1-{number}", owner=middle))
        by = setup(SMALL)
        scan = Scan(by, NOW)
        subjects = list(scan.subjects(live_items(fake.api(), by)))
    assert sorted(names(subjects)) == ["Deployment web", "JobSet.jobset.x-k8s.io run"]
    assert dict(scan.summary().children) == {"Job": 1, "ReplicaSet": 1, "Pod": 6}
    assert {subject.name: scan.children_of(subject.uid) for subject in subjects} == {"web": 4, "run": 4}


def test_children_of_a_kind_that_is_not_known_are_judged_themselves() -> None:
    owner = {"apiVersion": "example.org/v1", "kind": "Trainer", "metadata": {"name": "t", "uid": "t-1"}}
    with FakeApiServer() as fake:
        fake.put(pod("worker-0", owner=owner))
        subjects, _ = scan_of(fake, setup(SMALL))
    assert [(one.name, one.owner, one.refused) for one in subjects] == [("worker-0", "Trainer t", True)]


def test_an_owner_that_is_not_there_hides_nothing() -> None:
    with FakeApiServer() as fake:
        fake.put(pod("stray", owner=job("long-gone")))
        subjects, summary = scan_of(fake, setup(SMALL))
    assert names(subjects) == ["Pod stray"]
    assert not summary.children


def test_a_child_made_while_the_scan_runs_belongs_to_a_parent_of_the_next_one() -> None:
    with FakeApiServer() as fake:
        fake.put(pod("fresh", owner=job("fresh"), metadata={"creationTimestamp": "2026-11-29T12:00:05Z"}))
        subjects, summary = scan_of(fake, setup(SMALL))
    assert not subjects
    assert summary.children == {"Pod": 1}


def test_workers_of_a_leader_pod_wait_until_it_has_been_listed() -> None:
    with FakeApiServer() as fake:
        fake.install("apps", "v1", "statefulsets", "StatefulSet")
        fake.install("leaderworkerset.x-k8s.io", "v1", "leaderworkersets", "LeaderWorkerSet")
        group = fake.put(stored("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", "llm", {"replicas": 1}))
        leaders = fake.put(stored("apps/v1", "StatefulSet", "llm", {}, owner=group))
        leader = fake.put(pod("llm-0", owner=leaders))
        workers = fake.put(stored("apps/v1", "StatefulSet", "llm-0", {}, owner=leader))
        fake.put(pod("llm-0-1", owner=workers))
        subjects, summary = scan_of(fake, setup(SMALL))
    assert names(subjects) == ["LeaderWorkerSet.leaderworkerset.x-k8s.io llm"]
    assert summary.children == {"StatefulSet": 2, "Pod": 2}


def test_owners_are_listed_before_what_they_make() -> None:
    order = parents_first(KINDS, default_controllers())
    place = {key: number for number, key in enumerate(order)}
    assert set(order) == set(KINDS)
    assert order[-1] == ("", "Pod")
    for owner, made in (
        (("batch", "CronJob"), ("batch", "Job")),
        (("apps", "Deployment"), ("apps", "ReplicaSet")),
        (("trainer.kubeflow.org", "TrainJob"), ("jobset.x-k8s.io", "JobSet")),
        (("jobset.x-k8s.io", "JobSet"), ("batch", "Job")),
        (("ray.io", "RayJob"), ("ray.io", "RayCluster")),
    ):
        assert place[owner] < place[made]


def test_what_has_ended_is_counted_apart() -> None:
    ended = {"status": {"conditions": [{"type": "Complete", "status": "True"}]}}
    with FakeApiServer() as fake:
        fake.put(job("done", **ended))
        fake.put(job("failed", status={"conditions": [{"type": "Failed", "status": "True"}]}))
        fake.put(job("runs", status={"conditions": [{"type": "Complete", "status": "False"}], "active": 1}))
        fake.put(pod("over", phase="Succeeded"))
        fake.put(deployment("goes", metadata={"deletionTimestamp": "2026-11-29T11:00:00Z"}))
        fake.put(deployment("failing", status={"conditions": [{"type": "ReplicaFailure", "status": "True"}]}))
        subjects, summary = scan_of(fake, setup(SMALL))
    assert sorted(names(subjects)) == ["Deployment failing", "Job runs"]
    assert summary.finished == {"Job": 2, "Pod": 1, "Deployment": 1}


def test_filters_by_namespace_and_kind() -> None:
    with FakeApiServer() as fake:
        for namespace in ("research", "serving", "other"):
            fake.put(job("run", namespace=namespace))
            fake.put(deployment("web", namespace=namespace))
        only_jobs = frozenset(KINDS) - {("batch", "Job")}
        subjects, summary = scan_of(fake, setup(SMALL), ["research", "serving"], only_jobs)
        assert fake.count("GET", "deployments") == 0
    assert [(one.kind, one.namespace) for one in subjects] == [("Job", "research"), ("Job", "serving")]
    assert summary.objects == 2


def test_pods_of_a_kind_that_is_left_out_are_still_its_children() -> None:
    with FakeApiServer() as fake:
        fake.put(pod("run-0", owner=fake.put(job("run"))))
        fake.put(pod("bare"))
        subjects, _ = scan_of(fake, setup(SMALL), excluded=frozenset(KINDS) - {("", "Pod")})
    assert names(subjects) == ["Pod bare"]


def test_only_kinds_that_are_installed_are_listed() -> None:
    with FakeApiServer() as fake:
        fake.put(job("run"))
        _, summary = scan_of(fake, setup(SMALL))
        assert fake.count("GET", "jobsets") == 0
    assert not summary.errors


def test_a_kind_in_several_versions_is_listed_once_in_the_preferred_one() -> None:
    with FakeApiServer() as fake:
        fake.install("jobset.x-k8s.io", "v1alpha1", "jobsets", "JobSet")
        install_job_sets(fake)
        fake.put(job_set("run"))
        scan_of(fake, setup(SMALL))
        assert fake.count("GET", "/jobsets?") == 1


def test_a_kind_that_may_not_be_listed_is_reported_and_the_others_are_judged() -> None:
    with FakeApiServer() as fake:
        install_job_sets(fake)
        fake.put(job("run"))
        fake.fail(403, path="/jobsets?")
        subjects, summary = scan_of(fake, setup(SMALL))
    assert names(subjects) == ["Job run"]
    assert [error.what for error in summary.errors] == ["JobSet.jobset.x-k8s.io"]
    assert summary.incomplete == {"JobSet.jobset.x-k8s.io"}


def test_the_children_of_a_kind_that_may_not_be_listed_are_judged_themselves() -> None:
    with FakeApiServer() as fake:
        fake.put(pod("run-0", owner=fake.put(job("run"))))
        fake.fail(403, path="/jobs?")
        subjects, _ = scan_of(fake, setup(SMALL))
    assert names(subjects) == ["Pod run-0"]


def test_a_list_that_expires_in_the_middle_begins_anew_and_counts_nothing_twice() -> None:
    with FakeApiServer() as fake:
        for number in range(1200):
            fake.put(job(f"run-{number:04}"))
        fake.fail(410, path="continue=1000")
        subjects, summary = scan_of(fake, setup(SMALL))
        assert fake.count("GET", "continue=500") == 2
    assert len({subject.name for subject in subjects}) == len(subjects) == 1200
    assert not summary.errors


def test_a_list_that_expires_again_and_again_is_reported_with_what_had_come() -> None:
    with FakeApiServer() as fake:
        for number in range(600):
            fake.put(job(f"run-{number:04}"))
        fake.fail(410, times=99, path="continue=500")
        subjects, summary = scan_of(fake, setup(SMALL))
    assert len(subjects) == 500
    assert summary.errors[0].text.startswith("500 came, then: ")
    assert summary.incomplete == {"Job"}


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_server_that_stumbles_is_asked_again(status: int) -> None:
    with FakeApiServer() as fake:
        for number in range(600):
            fake.put(job(f"run-{number:04}"))
        fake.fail(status, times=3, path="continue=500", Retry_After="1")
        subjects, summary = scan_of(fake, setup(SMALL))
    assert len(subjects) == 600
    assert not summary.errors


def test_a_server_that_goes_on_failing_is_reported_and_the_other_kinds_are_judged() -> None:
    with FakeApiServer() as fake:
        fake.put(job("run"))
        fake.put(deployment("web"))
        fake.fail(500, times=99, path="/jobs?")
        subjects, summary = scan_of(fake, setup(SMALL))
    assert names(subjects) == ["Deployment web"]
    assert [error.what for error in summary.errors] == ["Job"]


def test_a_server_that_cannot_say_what_kinds_it_has_is_one_error() -> None:
    with FakeApiServer() as fake:
        fake.fail(500, times=99)
        subjects, summary = scan_of(fake, setup(SMALL))
    assert not subjects
    assert [error.what for error in summary.errors] == ["the kinds of the cluster"]


def test_a_namespace_of_many_workloads_is_read_page_by_page() -> None:
    with FakeApiServer() as fake:
        for number in range(2500):
            fake.put(job(f"run-{number:04}", gpus=number % 8 + 1))
        subjects, _ = scan_of(fake, setup(SMALL))
        assert fake.count("GET", "/jobs?") == 5
    assert sum(subject.refused for subject in subjects) == sum(number % 8 + 1 > 4 for number in range(2500))


def test_a_stored_object_is_judged_as_it_stands_and_says_what_an_injector_would_mend() -> None:
    subject = subject_of(job("run", 2), GRACE)
    (finding,) = subject.findings
    assert (finding.rule, finding.mode, finding.fixed_by) == ("grace/grace", Mode.WARN, "termination-grace")
    assert not subject.refused_if_enforced


def test_what_no_policy_injects_mends_nothing() -> None:
    rule_alone = policy("rules:\n- {name: grace, check: termination-grace, with: {min: 300}, mode: enforce}")
    subject = subject_of(job("run", 2), rule_alone)
    assert subject.refused
    assert subject.findings[0].fixed_by == ""


def test_who_applied_it_is_not_known_so_rules_on_users_are_not_judged() -> None:
    rule = policy(
        "match: {groups: [interns]}\nrules:\n- {name: small, check: accelerator-limit, with: {maxTotal: 4}, mode: enforce}"
    )
    subject = subject_of(job("run"), rule)
    assert not subject.findings
    assert [(one.rule, one.reason) for one in subject.not_judged] == [("p/small", "not known: the user who asks")]


@pytest.mark.parametrize(
    ("mode", "today", "enforced"),
    [("enforce", True, True), ("warn", False, True), ("audit", False, True), ("disabled", False, False)],
)
def test_who_would_be_refused_is_told_before_the_rule_is_enforced(mode: str, today: bool, enforced: bool) -> None:
    subject = subject_of(
        job("run"), policy(f"rules:\n- {{name: r, check: accelerator-limit, with: {{maxTotal: 4}}, mode: {mode}}}")
    )
    assert (subject.refused, subject.refused_if_enforced) == (today, enforced)


def test_a_checkpoint_that_cannot_be_seen_would_not_refuse_even_if_enforced() -> None:
    rule = policy("rules:\n- {name: c, check: checkpoint, with: {unknown: warn}, mode: audit}")
    run = job("run")
    run["spec"]["template"]["spec"]["containers"][0]["command"] = ["torchrun", "train.py", "--output_dir=${OUT}"]
    subject = subject_of(run, rule)
    assert subject.findings
    assert not subject.refused_if_enforced


def test_an_exception_shows_and_refuses_nobody() -> None:
    excepted = """
apiVersion: policy.workload.ai/v1alpha1
kind: PolicyException
metadata: {name: big}
spec: {rules: [limits/small], match: {namespaces: [research]}, until: 2027-01-31, reason: r, approvedBy: a}
"""
    subject = subject_of(job("run"), SMALL, excepted)
    assert [(one.result, one.excepted_by) for one in subject.findings] == [(Result.SKIP, "big")]
    assert not subject.refused_if_enforced


def test_the_team_is_the_label_else_the_namespace() -> None:
    assert subject_of(job("run")).team == "research"
    assert subject_of(job("run", metadata={"labels": {"workload.ai/team": "nlp"}})).team == "nlp"
    assert subject_of(job("run", metadata={"labels": {"workload.ai/team": 7}})).team == "research"


def test_accelerators_are_summed_by_resource() -> None:
    mixed = job_set("run")
    other = {"spec": {"parallelism": 3, "completions": 3, "template": {"spec": job("x")["spec"]["template"]["spec"]}}}
    other["spec"]["template"]["spec"]["containers"][0]["resources"] = {"limits": {"google.com/tpu": "4"}}
    mixed["spec"]["replicatedJobs"].append({"name": "tpu", "template": other})
    asked = subject_of(mixed).accelerators
    assert (asked.total, asked.by_resource) == (28, {"nvidia.com/gpu": 16, "google.com/tpu": 12})


def test_a_fault_over_one_object_is_reported_and_the_others_are_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    from signalbox.audit import judging

    real = judging.judge

    def broken(setup: Setup, request: Any, *rest: Any, **more: Any) -> Any:
        if request.object["metadata"]["name"] == "odd":
            raise RuntimeError("\x1b[31mboom")
        return real(setup, request, *rest, **more)

    monkeypatch.setattr(judging, "judge", broken)
    scan = Scan(setup(SMALL), NOW)
    subjects = list(scan.subjects([found(job("odd")), found(job("even"))]))
    assert names(subjects) == ["Job even"]
    (error,) = scan.summary().errors
    assert (error.what, error.text) == ("Job research/odd", "fault of Signalbox: RuntimeError: [31mboom")


@pytest.mark.parametrize("odd", [None, 7, "text", [], [None], {"template": 7}, {"replicatedJobs": "x"}], ids=repr)
def test_any_json_type_anywhere_is_judged_or_reported(odd: Any) -> None:
    for name, key in (("Job", "batch/v1"), ("JobSet", "jobset.x-k8s.io/v1alpha2")):
        for obj in (
            stored(key, name, "odd", odd),
            stored(key, name, "odd", {}, status=odd),
            stored(key, name, "odd", {}, metadata={"ownerReferences": odd, "labels": odd, "annotations": odd}),
        ):
            scan = Scan(setup(SMALL), NOW)
            assert len(list(scan.subjects([found(obj)]))) + scan.summary().error_count == 1


def test_a_live_cluster_is_asked_what_it_knows() -> None:
    rule = policy("match: {namespaceSelector: {matchLabels: {tier: prod}}}\nrules:\n- {name: r, check: image-tag, mode: audit}")
    with FakeApiServer() as fake:
        fake.put({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "research", "labels": {"tier": "dev"}}})
        fake.put({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "low"}, "value": 7})
        fake.fail(403, path="/resourcequotas")
        loaded, errors = live_setup(fake.api(), SetupFiles(()), NOW)
    view = loaded.setup.cluster
    assert [error.what for error in errors] == ["resourcequotas"]
    assert view.namespace_labels("research") == {"tier": "dev", "kubernetes.io/metadata.name": "research"}
    assert view.has_kueue() is False
    subject = subject_of(job("run"), by=setup(rule, cluster=view))
    assert not subject.not_judged


def test_policies_that_stand_in_the_cluster_count_too() -> None:
    with FakeApiServer() as fake:
        fake.install("policy.workload.ai", "v1alpha1", "workloadpolicies", "WorkloadPolicy", namespaced=False)
        fake.put(
            {
                "apiVersion": "policy.workload.ai/v1alpha1",
                "kind": "WorkloadPolicy",
                "metadata": {"name": "limits"},
                "spec": {"rules": [{"name": "small", "check": "accelerator-limit", "with": {"maxTotal": 4}, "mode": "audit"}]},
            }
        )
        with_objects, _ = live_setup(fake.api(), SetupFiles(()), NOW)
        without, _ = live_setup(fake.api(), SetupFiles(()), NOW, policy_objects=False)
    assert [one.name for one in with_objects.setup.policies.policies] == ["limits"]
    assert not without.setup.policies.policies
