"""Kinds that have the name of another: whose they are is told by their group, in policies and in owner references."""

from typing import Any

import pytest

from signalbox.controllers import OWNERS, default_controllers
from signalbox.policy.match_document import kinds_named
from signalbox.workload.kinds.table import KINDS
from tests.world import judged, policy, request, setup

REFUSE = "rules: [{{name: r, check: accelerator-limit, with: {{maxTotal: 1}}, mode: enforce}}]\nmatch: {{kinds: [{}]}}"
BARE = setup(policy("rules: [{name: bare, check: controller-kind, with: {barePods: accelerators}, mode: enforce}]"))
GPUS = {"containers": [{"name": "c", "image": "r/x:1", "resources": {"limits": {"nvidia.com/gpu": 8}}}]}


def training_job(group: str, **spec: Any) -> dict[str, Any]:
    roles = {"pytorchReplicaSpecs": {"Worker": {"replicas": 2, "template": {"spec": GPUS}}}}
    return {"apiVersion": f"{group}/v1", "kind": "PyTorchJob", "metadata": {"name": "x"}, "spec": {**roles, **spec}}


def pod_of(version: str, kind: str) -> dict[str, Any]:
    owner = {"apiVersion": version, "kind": kind, "name": "x", "uid": "1", "controller": True}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x-0", "ownerReferences": [owner]}, "spec": GPUS}


@pytest.mark.parametrize("name", sorted({kind for _, kind in KINDS}))
def test_every_name_alone_means_one_kind(name: str) -> None:
    [key] = kinds_named(name)
    assert not KINDS[key].namesake
    assert [kinds_named(f"{kind}.{group}") for group, kind in KINDS if kind == name and group] == [
        ((group, kind),) for group, kind in KINDS if kind == name and group
    ]


@pytest.mark.parametrize(
    ("named", "group", "allowed"),
    [
        ("PyTorchJob", "kubeflow.org", False),
        ("PyTorchJob", "training.kubedl.io", True),
        ("PyTorchJob.training.kubedl.io", "training.kubedl.io", False),
        ("PyTorchJob.training.kubedl.io", "kubeflow.org", True),
    ],
)
def test_policy_for_a_kind_takes_no_other_of_its_name(named: str, group: str, allowed: bool) -> None:
    world = setup(policy(REFUSE.format(named)))
    assert judged(world, request(training_job(group))).response.allowed is allowed


@pytest.mark.parametrize(
    ("version", "kind", "kept_alive"),
    [
        ("kubeflow.org/v1", "PyTorchJob", False),
        ("training.kubedl.io/v1alpha1", "PyTorchJob", False),
        ("argoproj.io/v1alpha1", "Workflow", True),
        ("elastic.iml.github.io/v1alpha1", "ElasticJob", True),
        ("lab.example.com/v1", "Sweep", True),
    ],
)
def test_pod_of_a_kind_whose_maker_is_not_known_has_the_benefit_of_the_doubt(version: str, kind: str, kept_alive: bool) -> None:
    assert judged(BARE, request(pod_of(version, kind))).response.allowed is kept_alive


def test_pods_that_an_operator_makes_are_only_audited() -> None:
    for controller in default_controllers().known:
        assert controller.owners <= OWNERS
    kubedl = next(one for one in default_controllers().known if ("training.kubedl.io", "TFJob") in one.owners)
    pod = pod_of("training.kubedl.io/v1alpha1", "PyTorchJob")
    assert judged(BARE, request(pod, user=kubedl.username)).response.allowed


@pytest.mark.parametrize(
    ("group", "spec", "allowed"),
    [
        ("training.kubedl.io", {"activeDeadlineSeconds": 600}, True),
        ("training.kubedl.io", {"runPolicy": {"activeDeadlineSeconds": 600}}, False),
        ("kubeflow.org", {"runPolicy": {"activeDeadlineSeconds": 600}}, True),
        # Where it stood in the operators before the one for all.
        ("kubeflow.org", {"activeDeadlineSeconds": 600}, True),
        ("kubeflow.org", {}, False),
    ],
)
def test_time_limit_stands_where_each_keeps_it(group: str, spec: Any, allowed: bool) -> None:
    limits = "rules: [{name: t, check: time-limits, with: {max: 3600, unlimited: refuse}, mode: enforce}]"
    assert judged(setup(policy(limits)), request(training_job(group, **spec))).response.allowed is allowed
