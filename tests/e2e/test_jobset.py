"""JobSets: raw custom resources of any shape, refused at apply instead of failing for ever, children never judged twice."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from .golden import assert_golden
from .kubectl import Kubectl
from .objects import GPU, QUEUE, SPOT, Manifest, job_set, template
from .outage import stopped
from .reapply import check_one_field, check_theirs, check_unchanged, matrix
from .stricter import stricter_policy
from .waiting import eventually
from .webhook import Webhook

DURABLE = "torchrun train.py --output_dir=s3://bucket/llm"
UNSAFE = "torchrun train.py --output_dir=/tmp/out"

pytestmark = pytest.mark.usefixtures("jobset")


def _mismatch(namespace: str) -> Manifest:
    body = template(2, DURABLE)
    body["spec"]["containers"][0]["resources"]["requests"] = {GPU: 1}
    return job_set("llm", namespace, body)


def test_a_gpu_mismatch_is_refused_at_apply_instead_of_holding_quota_for_ever(kubectl: Kubectl, research: str) -> None:
    printed = kubectl.apply(_mismatch(research))
    assert printed.code == 1
    assert_golden("refused-jobset-gpu-mismatch", printed.text)


def test_spot_without_a_checkpoint_is_refused(kubectl: Kubectl, research: str) -> None:
    printed = kubectl.apply(job_set("llm", research, template(8, UNSAFE, nodeSelector=SPOT)))
    assert printed.code == 1
    assert_golden("refused-jobset-spot-without-checkpoint", printed.text)


def test_queue_suspend_and_labels_stand_where_the_pods_carry_them(kubectl: Kubectl, research: str) -> None:
    printed = kubectl.apply(job_set("llm", research, template(8, DURABLE)))
    assert printed.code == 0, printed.text
    found = kubectl.read("jobset", "llm", research)
    assert found["metadata"]["labels"][QUEUE] == "training-large"
    assert found["spec"]["suspend"] is True
    inner = found["spec"]["replicatedJobs"][0]["template"]
    assert QUEUE not in inner["metadata"].get("labels", {})
    assert inner["spec"]["template"]["metadata"]["labels"]["workload.ai/team"] == "research"
    assert inner["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] == 300


@pytest.mark.parametrize(("kind", "own", "mode"), matrix("jobset"))
@pytest.mark.parametrize("check", [check_unchanged, check_one_field, check_theirs], ids=["unchanged", "one-field", "theirs"])
def test_a_jobset_applied_again(
    kubectl: Kubectl, research: str, check: Callable[[Kubectl, str, str, str, str], None], kind: str, own: str, mode: str
) -> None:
    check(kubectl, research, kind, own, mode)


@pytest.mark.parametrize(
    "spec",
    [
        {"replicatedJobs": "x"},
        {"replicatedJobs": ["a"]},
        {"replicatedJobs": None},
        {"replicatedJobs": [{"name": "w", "template": "x"}]},
        {
            "replicatedJobs": [
                {"name": "w", "replicas": "many", "template": {"spec": {"template": {"spec": {"containers": 7}}}}}
            ]
        },
        "text",
        None,
        [],
    ],
    ids=repr,
)
def test_any_json_type_anywhere_gets_an_answer_and_no_fault_of_ours(kubectl: Kubectl, research: str, spec: object) -> None:
    manifest = job_set("odd", research)
    manifest["spec"] = spec
    printed = kubectl.apply(manifest, arguments=("--validate=false",), verb="create")
    assert "resulted in error" not in printed.err
    assert "failed calling webhook" not in printed.err


def test_child_jobs_and_their_pods_are_made_and_carry_no_queue(webhook: Webhook, kubectl: Kubectl, namespace: str) -> None:
    assert kubectl.apply(job_set("llm", namespace, template(2, DURABLE))).code == 0
    child = eventually(lambda: webhook.cluster.api.list("jobs", namespace), "the child Job is made")[0]
    assert QUEUE not in child["metadata"].get("labels", {})
    assert "workload.ai/injected" not in child["metadata"].get("annotations", {})
    made = eventually(lambda: webhook.cluster.api.list("pods", namespace), "its Pod is made")[0]
    assert QUEUE not in made["metadata"]["labels"]
    assert made["spec"]["terminationGracePeriodSeconds"] == 300


def test_a_jobset_that_was_there_before_a_rule_goes_on_with_all_its_children(
    webhook: Webhook, kubectl: Kubectl, namespace: str
) -> None:
    assert kubectl.apply(job_set("llm", namespace, template(2, DURABLE), suspend=True)).code == 0
    eventually(lambda: webhook.cluster.api.list("jobs", namespace), "the child Job is made")
    with stricter_policy(webhook):
        kubectl("patch", "jobset", "llm", "-n", namespace, "--type=merge", "-p", '{"spec":{"suspend":false}}')
        eventually(lambda: webhook.cluster.api.list("pods", namespace), "its Pod is made")
        made = webhook.cluster.api.list("jobs", namespace)[0]["metadata"]["name"]
        webhook.cluster.api.delete("jobs", namespace, made)
        again = eventually(lambda: webhook.cluster.api.list("jobs", namespace), "the child Job is made again")
        assert again


def test_children_of_a_jobset_are_made_again_while_nobody_answers(webhook: Webhook, kubectl: Kubectl, namespace: str) -> None:
    assert kubectl.apply(job_set("llm", namespace, template(2, DURABLE))).code == 0
    first = eventually(lambda: webhook.cluster.api.list("jobs", namespace), "the child Job is made")[0]["metadata"]
    with stopped(webhook):
        webhook.cluster.api.delete("jobs", namespace, first["name"])
        eventually(
            lambda: [one for one in webhook.cluster.api.list("jobs", namespace) if one["metadata"]["uid"] != first["uid"]],
            "another takes its place",
        )


def test_every_jobset_waits_while_nobody_answers(webhook: Webhook, kubectl: Kubectl, namespace: str) -> None:
    with stopped(webhook):
        printed = kubectl.apply(job_set("llm", namespace))
        assert 'failed calling webhook "validate.policy.workload.ai"' in printed.err
