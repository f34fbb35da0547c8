"""Recorded requests through a changed policy set: who is newly refused, newly allowed, patched otherwise."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import orjson
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from signalbox.audit.compare import Kind
from signalbox.audit.ledger.building import build
from signalbox.audit.ledger.entry import Documents, Recorded
from signalbox.audit.ledger.options import Redaction
from signalbox.audit.ledger.waiting import Waiting
from signalbox.audit.replay import Replay, Replayed, ReplaySummary
from signalbox.engine import Setup, mutate, validate
from signalbox.policy.policy_set import PolicySet
from signalbox.review import parse_review
from signalbox.workload.kinds.table import KINDS
from tests.ledgers import review
from tests.manifests import deployment, gpu_job, job_set, pod_spec
from tests.test_engine_properties import WORLD, objects
from tests.world import NOW, Cluster, policy, setup, yaml


def arrived(body: Any) -> Any:
    """What the webhook reads of it: JSON knows neither infinity nor "not a number"."""
    return orjson.loads(orjson.dumps(body))


def recorded(world: Setup, obj: Any, old: Any = None, user: str = "ann", now: Any = NOW) -> Recorded:
    """What the ledger holds of a request that the webhook answered."""
    endpoint, body = "mutate", arrived(review(obj, old, user))
    first = parse_review(body)
    outcome = mutate(world, first, now)
    if outcome.response.allowed:
        stored = first.object if outcome.mutated is None else outcome.mutated
        endpoint, body = "validate", arrived(review(stored, old, user))
        outcome = validate(world, parse_review(body), now)
    waiting = Waiting(
        orjson.dumps(body), endpoint, now, world, outcome.findings, outcome.response.allowed, bool(outcome.errors), 1.0
    )
    built = build(waiting, Redaction(), 10**7)
    texts = (built.object, built.old_object)
    return Recorded(built.entry, Documents(*(None if text is None else orjson.loads(text) for text in texts)))


def limits(most: int, mode: str = "enforce", extra: str = "") -> Setup:
    return setup(
        policy(f"rules: [{{name: limit, check: accelerator-limit, with: {{maxTotal: {most}}}, mode: {mode}}}]\n{extra}")
    )


def replayed(before: Setup, after: Setup, obj: Any, **fields: Any) -> Replayed:
    return Replay(after).of(recorded(before, obj, **fields))


def test_a_stricter_rule_newly_refuses() -> None:
    found = replayed(limits(16), limits(4), gpu_job())
    assert found.change is not None
    assert found.change.kind is Kind.NEWLY_REFUSED
    assert [(rule.rule, rule.before.value, rule.after.value) for rule in found.change.rules] == [
        ("p/limit", "passes", "refuses")
    ]


@pytest.mark.parametrize(
    ("before", "after", "kind"),
    [
        (limits(4), limits(16), Kind.NEWLY_ALLOWED),
        (limits(4, "audit"), limits(4, "warn"), Kind.NEWLY_WARNED),
        (limits(4, "warn"), limits(4, "audit"), Kind.NO_LONGER_WARNED),
        (limits(4, "warn"), limits(4, "enforce"), Kind.NEWLY_REFUSED),
        (limits(16), limits(16, extra="inject: {queue: other}"), Kind.OTHER_PATCH),
    ],
)
def test_what_a_changed_set_does_has_a_name(before: Setup, after: Setup, kind: Kind) -> None:
    found = replayed(before, after, gpu_job())
    assert found.change is not None
    assert found.change.kind is kind


def test_the_same_set_changes_nothing() -> None:
    assert replayed(limits(4), limits(4), gpu_job()).change is None


def test_what_was_injected_is_taken_out_before_it_is_injected_anew() -> None:
    old = limits(16, extra="inject: {queue: old, priorityClassName: train-low, labels: {a: b}, env: {NCCL_DEBUG: WARN}}")
    new = limits(16, extra="inject: {queue: new, labels: {a: c}}")
    found = replayed(old, new, gpu_job())
    assert found.change is not None
    changed = {field.path: (field.before, field.after) for field in found.change.fields}
    assert changed["metadata.labels[kueue.x-k8s.io/queue-name]"] == ("old", "new")
    assert changed["metadata.labels.a"] == ("b", "c")
    assert changed["spec.template.spec.priorityClassName"] == ("train-low", None)
    assert not found.doubts


def test_a_users_own_value_is_no_injection_of_ours() -> None:
    job = gpu_job()
    job["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "mine"}
    assert replayed(limits(16, extra="inject: {queue: old}"), limits(16, extra="inject: {queue: new}"), job).change is None


def test_an_update_is_judged_against_the_object_as_it_was() -> None:
    old = gpu_job(gpus=8)
    assert (
        replayed(limits(16), limits(4), {**old, "metadata": {**old["metadata"], "labels": {"x": "y"}}}, old=old).change is None
    )
    grown = deployment(gpus=8)
    found = replayed(limits(32), limits(4), grown, old=deployment(gpus=1))
    assert found.change is not None
    assert found.change.kind is Kind.NEWLY_REFUSED


EXCEPTION = """
rules: [test/limit]
match: {names: ["llama-*"]}
until: 2026-11-29
reason: until the new queue is there
approvedBy: platform
"""


def excepted(world: Setup) -> Setup:
    from signalbox.policy.loading import load_policy_set
    from signalbox.source import read_documents
    from tests.world import PARAMETERS, SIGNS

    text = f"apiVersion: policy.workload.ai/v1alpha1\nkind: PolicyException\nmetadata: {{name: soon}}\nspec: {yaml(EXCEPTION)}"
    rules = """
apiVersion: policy.workload.ai/v1alpha1
kind: WorkloadPolicy
metadata: {name: test}
spec: {rules: [{name: limit, check: accelerator-limit, with: {maxTotal: 4}, mode: enforce}]}
"""
    documents = [*read_documents(rules, "p.yaml"), *read_documents(text.replace("'", '"'), "e.yaml")]
    loaded = load_policy_set(documents, PARAMETERS, SIGNS)
    assert not loaded.problems, loaded.problems
    found: PolicySet = loaded.policy_set
    return replace(world, policies=found)


def test_an_exception_counts_as_of_the_time_of_the_request_unless_told_otherwise() -> None:
    world = excepted(limits(4))
    entry = recorded(limits(16), gpu_job())
    assert entry.entry.at == NOW
    at_the_time, today = Replay(world).of(entry), Replay(world, NOW + timedelta(days=2)).of(entry)
    assert at_the_time.change is not None
    assert at_the_time.change.after.value == "excepted"
    assert today.change is not None
    assert today.change.kind is Kind.NEWLY_REFUSED


def test_what_is_not_known_here_is_no_change_but_is_told() -> None:
    rule = "rules: [{name: p, check: priority-allowed, with: {allow: [a]}, when: {priority: {below: 5}}, mode: enforce}]"
    known = setup(policy(rule), cluster=Cluster(classes={"train-low": 1}))
    blind = replace(known, cluster=Cluster(classes={}, default=""))
    job = gpu_job()
    pod_spec(job)["priorityClassName"] = "train-low"
    from signalbox.cluster.view import EmptyClusterView

    found = Replay(replace(blind, cluster=EmptyClusterView())).of(recorded(known, job))
    assert found.change is None
    assert found.unknown
    assert "train-low" in found.unknown[0]


def test_a_difference_that_may_come_from_what_was_removed_is_doubted() -> None:
    job = gpu_job()
    pod_spec(job)["containers"][0]["env"] = [{"name": "A_TOKEN", "value": "x"}]
    pod_spec(job)["containers"][0]["command"] = ["torchrun", "sft.py", "--output_dir=s3://b/$(A_TOKEN)/x"]
    found = replayed(limits(16), limits(4), job)
    assert found.doubts == ("the value of A_TOKEN was not kept",)


def test_an_expression_that_reads_the_object_is_doubted_where_values_were_removed() -> None:
    cel = setup(policy("rules: [{name: c, cel: 'object.metadata.name == \"x\"', message: m, mode: enforce}]"))
    job = gpu_job()
    assert replayed(limits(16), cel, job).doubts == ()
    pod_spec(job)["containers"][0]["env"] = [{"name": "COLOUR", "value": "blue"}]
    assert replayed(limits(16), cel, job).doubts == ("values were not kept that p/c may read",)


def test_an_entry_without_its_object_is_counted_and_not_judged() -> None:
    entry = recorded(limits(4), gpu_job())
    found = Replay(limits(4)).of(Recorded(replace(entry.entry, doubts=("the object, which is too large to keep",))))
    assert found.unusable == "the object, which is too large to keep"
    kinds = {key: kind for key, kind in KINDS.items() if key != ("batch", "Job")}
    assert Replay(replace(limits(4), kinds=kinds)).of(entry).unusable == "Job.batch is no kind that is known here"


def summed(found: Sequence[Replayed]) -> ReplaySummary:
    summary = ReplaySummary()
    for one in found:
        summary.add(one)
    return summary


def test_a_replay_is_summed_up_and_samples_are_told_apart_from_what_they_stand_for() -> None:
    sampled = recorded(limits(16), gpu_job())
    sampled = replace(sampled, entry=replace(sampled.entry, weight=20.0))
    summary = summed([Replay(limits(4)).of(one) for one in (sampled, recorded(limits(4), gpu_job()))])
    assert (summary.judged, summary.newly_refused, summary.as_before) == (2, 1, 1)
    assert summary.estimated[Kind.NEWLY_REFUSED] == 20


@settings(max_examples=150, deadline=None)
@given(objects())
def test_a_recorded_request_is_answered_again_as_it_was(obj: Any) -> None:
    found = Replay(WORLD).of(recorded(WORLD, obj))
    assert found.change is None, (found.change, found.doubts)
    assert not found.unusable


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(sorted(KINDS)).flatmap(lambda kind: st.tuples(objects(kind), objects(kind))))
@example(
    (
        gpu_job(),
        {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j", "annotations": float("inf")}, "spec": {}},
    )
)
def test_a_recorded_update_is_answered_again_as_it_was(pair: Any) -> None:
    old, new = pair
    stored = mutate(WORLD, parse_review(review(old)), NOW).mutated or old
    found = Replay(WORLD).of(recorded(WORLD, new, stored))
    assert found.change is None, (found.change, found.doubts)


@pytest.mark.parametrize("make", [gpu_job, deployment, job_set])
def test_every_usual_workload_is_answered_again_as_it_was(make: Any) -> None:
    assert Replay(WORLD).of(recorded(WORLD, make())).change is None
