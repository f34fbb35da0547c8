"""Whether pod sets find room in flavors: the search against trying everything."""

from itertools import product
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from signalbox.cluster.capacity import Capacity, GroupCapacity
from signalbox.workload.fitting import PODS, pod_sets, queue_shortages
from signalbox.workload.requests import pod_limits, pod_requests
from tests.manifests import gpu_job, pod_spec
from tests.world import view, yaml

RESOURCES = ("nvidia.com/gpu", "cpu")


def job_set(asked: list[tuple[int, int, int]]) -> Any:
    """A JobSet with a replicated job for each ``(pods, gpus, cpus)``."""
    made = yaml("{apiVersion: jobset.x-k8s.io/v1alpha2, kind: JobSet, metadata: {name: a}, spec: {}}")
    made["spec"]["replicatedJobs"] = [
        {"name": f"r{index}", "template": {"spec": {"parallelism": pods, "completions": pods, "template": {"spec": spec}}}}
        for index, (pods, gpus, cpus) in enumerate(asked)
        for spec in ({"containers": [{"name": "c", "resources": {"limits": {"nvidia.com/gpu": gpus, "cpu": cpus}}}]},)
    ]
    return made


def group(flavors: list[tuple[int, int]]) -> GroupCapacity:
    """A resource group with a flavor for each ``(gpus, cpus)``."""
    quotas = {
        f"f{index}": {name: Capacity(amount, amount) for name, amount in zip(RESOURCES, amounts, strict=True)}
        for index, amounts in enumerate(flavors)
    }
    return GroupCapacity(RESOURCES, quotas)


def fits(asked: list[tuple[int, int, int]], flavors: list[tuple[int, int]]) -> bool:
    """By trying every flavor for every pod set."""
    for chosen in product(range(len(flavors)), repeat=len(asked)):
        used = [[0, 0] for _ in flavors]
        for (pods, gpus, cpus), flavor in zip(asked, chosen, strict=True):
            used[flavor][0] += pods * gpus
            used[flavor][1] += pods * cpus
        if all(one[0] <= room[0] and one[1] <= room[1] for one, room in zip(used, flavors, strict=True)):
            return True
    return False


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 3), st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=4),
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=3),
)
def test_what_is_short_is_what_no_assignment_of_flavors_can_hold(
    asked: list[tuple[int, int, int]], flavors: list[tuple[int, int]]
) -> None:
    seen = view(job_set(asked))
    found = list(queue_shortages(seen, pod_sets(seen), [group(flavors)]))
    assert bool(found) is not fits(asked, flavors)
    for shortage in found:
        assert shortage.asked > 0
        assert shortage.capacity is not None


def test_a_workload_that_makes_no_pods_needs_no_room() -> None:
    seen = view(gpu_job(parallelism=0, completions=0))
    assert pod_sets(seen) == ()


def test_an_unknown_number_of_pods_is_at_least_one() -> None:
    (only,) = pod_sets(view(gpu_job(parallelism="${PODS}", completions=None)))
    assert only.pods == 1
    assert only.total("nvidia.com/gpu") == 8
    assert only.total(PODS) == 1


def test_a_limit_alone_is_a_request_and_a_request_alone_no_limit() -> None:
    job = gpu_job()
    pod_spec(job)["containers"] = [
        {"name": "a", "resources": {"limits": {"cpu": "2", "memory": "1Gi"}, "requests": {"cpu": "500m"}}},
        {"name": "b", "resources": {"requests": {"cpu": "500m"}}},
        {"name": "c", "resources": {"requests": {"cpu": None, "memory": "many", "nvidia.com/gpu": "${N}"}}},
    ]
    (template,) = view(job).templates
    assert pod_requests(template) == {"cpu": 1, "memory": 2**30}
    assert pod_limits(template) == {"cpu": 2, "memory": 2**30}


def test_fields_of_a_kinds_own_are_requests() -> None:
    job = yaml("""
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: a, namespace: research}
spec:
  runtimeRef: {name: torch}
  trainer: {numNodes: 2, resourcesPerNode: {limits: {nvidia.com/gpu: 8, memory: 2Gi}, requests: {memory: 1Gi}}}
""")
    (only,) = pod_sets(view(job))
    assert (only.pods, only.per_pod) == (2, {"nvidia.com/gpu": 8, "memory": 2**30})
