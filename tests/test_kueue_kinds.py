"""Where queues lead, which are spot, which TrainJobs they can hold, and what becomes of objects of an odd shape."""

from __future__ import annotations

from typing import Any

import pytest

from signalbox.cluster.resources import WATCHED_BY_KIND
from signalbox.cluster.state import ClusterState
from signalbox.source import read_documents
from tests.test_cluster_checks import findings
from tests.test_kueue_setups import FLAVORS, GPU, asking, cohort, group, job, queue, quota
from tests.world import cluster_of_yaml, view, yaml

LEADS: dict[str, tuple[str, str]] = {
    "any namespace": (queue(group(GPU, "h100 8")), ""),
    "its own team": (queue(group(GPU, "h100 8"), selector="{matchLabels: {team: research}}"), ""),
    "another team": (queue(group(GPU, "h100 8"), selector="{matchLabels: {team: serving}}"), "takes nothing from namespace"),
    "by the namespace's name": (
        queue(group(GPU, "h100 8"), selector="{matchLabels: {kubernetes.io/metadata.name: research}}"),
        "",
    ),
    "all but some tiers": (
        queue(group(GPU, "h100 8"), selector="{matchExpressions: [{key: tier, operator: NotIn, values: [gold]}]}"),
        "takes nothing from namespace",
    ),
    "no tier at all": (
        queue(group(GPU, "h100 8"), selector="{matchExpressions: [{key: tier, operator: DoesNotExist}]}"),
        "takes nothing from namespace",
    ),
    "no selector": (queue(group(GPU, "h100 8"), selector="null"), "takes nothing from namespace"),
    "held": (queue(group(GPU, "h100 8"), more=", stopPolicy: Hold"), "is stopped for now"),
    "drained": (queue(group(GPU, "h100 8"), more=", stopPolicy: HoldAndDrain"), "is stopped for now"),
    "not stopped": (queue(group(GPU, "h100 8"), more=", stopPolicy: None"), ""),
    "another ClusterQueue": (queue(group(GPU, "h100 8"), name="other"), "does not exist"),
}


@pytest.mark.parametrize("name", LEADS)
def test_where_a_queue_leads(name: str) -> None:
    cluster, expected = LEADS[name]
    found = [one.message for one in findings("queue-exists", job(), FLAVORS + cluster)]
    assert bool(found) is bool(expected)
    assert all(expected in message for message in found), found


SPOT: dict[str, tuple[str, Any, str]] = {
    "only spot": (queue(group(GPU, "cheap 64")), job(), "demanded"),
    "spot and not": (queue(group(GPU, "h100 8", "cheap 64")), job(), "permitted"),
    "spot that its Pods do not tolerate": (queue(group(GPU, "h100 8", "spot 64")), job(), "no"),
    "a spot flavor without quota": (queue(group(GPU, "h100 8", "cheap 0")), job(), "no"),
    "a spot flavor without quota, with a cohort that has none": (
        queue(group(GPU, "h100 8", "cheap 0"), cohort="c") + queue(group(GPU, "h100 8"), name="o", cohort="c"),
        job(),
        "no",
    ),
    "a spot flavor to borrow": (
        queue(group(GPU, "h100 8", "cheap 0"), cohort="c") + queue(group(GPU, "cheap 8"), name="o", cohort="c"),
        job(),
        "permitted",
    ),
    "what is left of the others is spot": (queue(group(GPU, "h100 0", "cheap 64")), job(), "demanded"),
    "the others are of another GPU": (queue(group(GPU, "a100 8", "cheap 64")), job(nodeSelector={"gpu": "h100"}), "demanded"),
    "cheap for CPU alone": (queue(group("cpu memory", "cheap 64 64Gi"), group(GPU, "h100 8")), job(), "no"),
    "no quota known for what is asked": (queue(group("cpu", "cheap 64")), job(), "no"),
}


@pytest.mark.parametrize("name", SPOT)
def test_which_queues_are_spot(name: str) -> None:
    cluster, workload, state = SPOT[name]
    assert view(workload, cluster_of_yaml(FLAVORS + cluster)).spot.state == state


RUNTIME = """
---
apiVersion: trainer.kubeflow.org/v1alpha1
kind: ClusterTrainingRuntime
metadata: {name: torch}
spec:
  mlPolicy: {numNodes: 4, torch: {}}
  template:
    spec:
      replicatedJobs:
        - name: dataset-initializer
          template:
            metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: dataset-initializer}}
            spec:
              template: {spec: {containers: [{name: dataset-initializer, image: i, resources: {limits: {cpu: 2}}}]}}
        - name: node
          template:
            metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
            spec:
              template:
                spec:
                  nodeSelector: {gpu: h100}
                  containers: [{name: node, image: torch, resources: {limits: {nvidia.com/gpu: 8}}}]
"""


def train_job(trainer: str = "{}", runtime: str = "torch", more: str = "") -> Any:
    return yaml(
        "{apiVersion: trainer.kubeflow.org/v1alpha1, kind: TrainJob, metadata: {name: t, namespace: research, "
        "labels: {kueue.x-k8s.io/queue-name: training}}, "
        f"spec: {{runtimeRef: {{name: {runtime}{more}}}, trainer: {trainer}}}}}"
    )


TRAIN_JOBS: dict[str, tuple[str, Any, bool]] = {
    "as the runtime says": (queue(group(GPU, "h100 31")), train_job(), False),
    "as the runtime says, with room": (queue(group(GPU, "h100 32")), train_job(), True),
    "fewer nodes": (queue(group(GPU, "h100 16")), train_job("{numNodes: 2}"), True),
    "more nodes": (queue(group(GPU, "h100 32")), train_job("{numNodes: 5}"), False),
    "smaller nodes": (queue(group(GPU, "h100 4")), train_job("{resourcesPerNode: {limits: {nvidia.com/gpu: 1}}}"), True),
    "nodes without GPUs": (queue(group(GPU, "h100 0")), train_job("{resourcesPerNode: {requests: {cpu: 1}}}"), True),
    "the runtime's node selector": (queue(group(GPU, "a100 64", "h100 8")), train_job(), False),
    "CPU of the initializer beside the nodes": (queue(group(f"cpu {GPU}", "h100 1 64")), train_job(), False),
    "a runtime that is not there": (queue(group(GPU, "h100 0")), train_job(runtime="other"), True),
    "a runtime of the namespace that is not there": (
        queue(group(GPU, "h100 0")),
        train_job(more=", kind: TrainingRuntime"),
        True,
    ),
}


@pytest.mark.parametrize("name", TRAIN_JOBS)
def test_which_train_jobs_can_ever_start(name: str) -> None:
    cluster, workload, fits = TRAIN_JOBS[name]
    found = [one for one in findings("quota-feasible", workload, FLAVORS + RUNTIME + cluster) if one.result.value == "fail"]
    assert (not found) is fits, found


PLAIN = (
    queue(group(f"cpu {GPU}", "h100 64/8/8 8", "a100 64 8"), cohort="c")
    + queue(group(GPU, "h100 8"), name="o", cohort="c")
    + cohort("c", "org", group(GPU, "h100 0"))
    + quota(
        "requests.nvidia.com/gpu: 64", ", scopeSelector: {matchExpressions: [{scopeName: NotBestEffort, operator: Exists}]}"
    )
)
OTHER_SHAPES: tuple[Any, ...] = (None, True, [], [7], {}, {"a": [1]}, [{"name": []}])


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    listed = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(found for key, one in listed for found in places(one, (*path, key)))]


def with_value(obj: Any, path: tuple[Any, ...], value: Any) -> Any:
    if not path:
        return value
    copied = list(obj) if isinstance(obj, list) else dict(obj)
    copied[path[0]] = with_value(copied[path[0]], path[1:], value)
    return copied


def value_of(obj: Any, path: tuple[Any, ...]) -> Any:
    for step in path:
        obj = obj[step]
    return obj


def test_an_object_of_another_shape_refuses_nothing_that_its_right_shape_lets_in() -> None:
    """Wherever something of another JSON type stands: no crash, and at the most *not judged*."""
    objects = [one.value for one in read_documents(FLAVORS + PLAIN, "cluster.yaml") if one.value]
    workload = asking("{limits: {cpu: 8, nvidia.com/gpu: 16}}", nodeSelector={"gpu": "h100"})
    tried = 0
    for number, obj in enumerate(objects):
        for path in places(obj)[1:]:
            for odd in OTHER_SHAPES:
                if path[:1] in (("apiVersion",), ("kind",)) or type(odd) is type(value_of(obj, path)):
                    continue
                state = ClusterState()
                for at, one in enumerate(objects):
                    group_of = one["apiVersion"].rpartition("/")[0]
                    kind = WATCHED_BY_KIND[group_of, one["kind"]]
                    state.put(group_of, one["kind"], kind.slim(with_value(one, path, odd) if at == number else one))
                for group_of, kind_name in WATCHED_BY_KIND:
                    state.synced(group_of, kind_name)
                for check in ("quota-feasible", "queue-exists", "priority-exists"):
                    for found in findings(check, workload, state):
                        absent = odd is None or path[:1] == ("metadata",)
                        assert found.result.value != "fail" or absent, (path, odd, found.message)
                        assert found.result.value != "error", (path, odd, found)
                tried += 1
    assert tried > 500
