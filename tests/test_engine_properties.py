"""What holds for every object, however odd: no fault of ours, a patch that applies, and nothing left to do afterwards."""

import copy
import gc
from typing import Any

import jsonpatch
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from signalbox.cluster.objects import LocalQueue
from signalbox.cluster.resources import KUEUE
from signalbox.cluster.state import ClusterState
from signalbox.engine import Setup, mutate, validate
from signalbox.workload.kinds.table import KINDS
from tests.mangled import BY_KIND, mangled
from tests.manifests import deployment, gpu_job, job_set
from tests.world import NOW, policy, request, setup


class Everywhere(ClusterState):
    """A cluster in which every namespace has every queue; each leads to flavors of which one is spot."""

    def local_queue(self, namespace: str, name: str) -> LocalQueue:
        return LocalQueue(name, "cq")

    def has_local_queue(self, namespace: str, name: str) -> bool:
        return True


def everywhere() -> ClusterState:
    """What is known of it; the quotas are small, so that much is refused."""
    amounts = [{"name": name, "nominalQuota": 1} for name in ("nvidia.com/gpu", "cpu")]
    flavors = [{"name": name, "resources": amounts} for name in ("spot", "plain")]
    queue = {"namespaceSelector": {}, "resourceGroups": [{"coveredResources": ["nvidia.com/gpu", "cpu"], "flavors": flavors}]}
    labels = {"spot": {"cloud.google.com/gke-spot": "true"}, "plain": {"pool": "a"}}
    cluster = Everywhere()
    cluster.put(KUEUE, "ClusterQueue", {"metadata": {"name": "cq"}, "spec": queue})
    for name, found in labels.items():
        cluster.put(KUEUE, "ResourceFlavor", {"metadata": {"name": name}, "spec": {"nodeLabels": found}})
    for kind in ("ClusterQueue", "ResourceFlavor", "WorkloadPriorityClass"):
        cluster.synced(KUEUE, kind)
    for namespace in ("default", "research", "a"):
        quota = {"hard": {"requests.nvidia.com/gpu": 2, "pods": 1}, "scopes": ["NotTerminating"]}
        cluster.put("", "ResourceQuota", {"metadata": {"name": "q", "namespace": namespace}, "spec": quota})
    cluster.synced("", "ResourceQuota")
    cluster.synced("scheduling.k8s.io", "PriorityClass")
    return cluster


WORLD = setup(
    policy(
        """
inject:
  queue: training-large
  priorityClassName: train-normal
  tolerations: [{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}, {key: spot, operator: Exists}]
  terminationGracePeriodSeconds: 300
  labels: {workload.ai/team: research, "a_b": "x"}
  annotations: {note/a: b}
  env: {NCCL_DEBUG: WARN, A_B: "x"}
  nodeSelector: {pool: training, cloud.google.com/gke-spot: "true"}
rules:
  - {name: checkpoint, check: checkpoint, mode: enforce}
  - {name: gpus, check: gpu-requests, mode: enforce}
  - {name: kind, check: controller-kind, with: {barePods: accelerators}, mode: enforce}
  - {name: priority, check: priority-allowed, with: {allow: [a], unset: refuse}, mode: enforce}
  - {name: queue, check: queue-required, mode: enforce}
  - {name: allowed, check: queue-allowed, with: {allow: [a]}, mode: enforce}
  - {name: budget, check: restart-budget, with: {min: 1, max: 3}, mode: enforce}
  - {name: grace, check: termination-grace, with: {min: 60, max: 100}, mode: enforce}
  - {name: limit, check: accelerator-limit, with: {maxTotal: 1, maxPerPod: 1}, mode: enforce}
  - {name: spot, check: spot-allowed, mode: enforce}
  - {name: labels, check: protected-labels, mode: enforce}
  - {name: time, check: time-limits, with: {min: 60, max: 100, maxKept: 10}, mode: enforce}
  - {name: cron, check: cron-concurrency, mode: enforce}
  - {name: serving, check: serving-availability, mode: enforce}
  - {name: gang, check: gang, with: {independent: refuse}, mode: enforce}
  - {name: storage, check: shared-storage, mode: enforce}
  - {name: image, check: image-tag, mode: enforce}
  - {name: pinned, check: image-tag, with: {require: digest}, mode: enforce}
  - {name: bypass, check: gpu-bypass, mode: enforce}
  - {name: label, check: label-contradicted, mode: enforce}
  - {name: queues, check: queue-exists, mode: enforce}
  - {name: classes, check: priority-exists, mode: enforce}
  - {name: quotas, check: quota-feasible, mode: enforce}
""",
        "everything",
    ),
    cluster=everywhere(),
)

QUEUES = setup(
    policy("{precedence: 1, inject: {queue: training-large}}", "queue"),
    policy("{match: {spot: ['no']}, inject: {labels: {steady: 'yes'}}}", "steady"),
    policy("{match: {spot: [demanded, permitted]}, inject: {annotations: {note/b: c}}}", "interrupted"),
    cluster=everywhere(),
)

WORDS = st.sampled_from(
    [
        "",
        "a",
        "b",
        "true",
        "2",
        "NCCL_DEBUG",
        "A_B",
        "NVIDIA_VISIBLE_DEVICES",
        "all",
        "inference",
        "x:latest",
        "nvidia",
        "Indexed",
        "25%",
        "nvidia.com/gpu",
        "Exists",
        "NoSchedule",
        "torchrun",
        "train.py",
        "/tmp/x",
        "\x1b[31m",
        "${X}",
    ]
)
SCALARS = st.none() | st.booleans() | st.integers(-2, 10**6) | st.floats(allow_nan=False) | WORDS | st.text(max_size=4)
KEYS = st.sampled_from(
    [
        "name",
        "labels",
        "annotations",
        "metadata",
        "spec",
        "template",
        "containers",
        "initContainers",
        "resources",
        "limits",
        "requests",
        "nvidia.com/gpu",
        "tolerations",
        "key",
        "operator",
        "effect",
        "nodeSelector",
        "affinity",
        "volumes",
        "volumeMounts",
        "mountPath",
        "env",
        "value",
        "args",
        "command",
        "replicas",
        "parallelism",
        "suspend",
        "replicatedJobs",
        "jobTemplate",
        "backoffLimit",
        "priorityClassName",
        "priority",
        "terminationGracePeriodSeconds",
        "ownerReferences",
        "controller",
        "kind",
        "apiVersion",
        "workload.ai/type",
        "workload.ai/injected",
        "kueue.x-k8s.io/queue-name",
        "kueue.x-k8s.io/max-exec-time-seconds",
        "pool",
        "image",
        "runtimeClassName",
        "securityContext",
        "privileged",
        "hostPath",
        "path",
        "strategy",
        "maxSurge",
        "readinessProbe",
        "accessModes",
        "volumeClaim",
        "schedulingGroup",
        "schedulerName",
        "podAffinity",
        "activeDeadlineSeconds",
        "ttlSecondsAfterFinished",
        "concurrencyPolicy",
        "startingDeadlineSeconds",
        "scheduling.k8s.io/group-name",
        "cloud.google.com/gke-spot",
    ]
)
ANYTHING = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4), max_leaves=15
)
QUANTITIES = st.sampled_from([0, 1, 8, "1", "1k", "500m", "", "abc", "-1", None, True, "${GPUS}", 1.5, "2.0"])


def either(usual: Any) -> Any:
    """Mostly the usual shape, sometimes anything."""
    return st.one_of(usual, usual, usual, ANYTHING)


CONTAINERS = st.fixed_dictionaries(
    {"name": either(WORDS)},
    optional={
        "image": either(WORDS),
        "command": either(st.lists(WORDS, max_size=4)),
        "args": either(st.lists(WORDS, max_size=4)),
        "env": either(st.lists(st.fixed_dictionaries({"name": WORDS, "value": either(WORDS)}), max_size=2)),
        "resources": either(
            st.fixed_dictionaries(
                {},
                optional={
                    section: either(st.dictionaries(st.sampled_from(["nvidia.com/gpu", "cpu"]), QUANTITIES, max_size=2))
                    for section in ("limits", "requests")
                },
            )
        ),
        "restartPolicy": either(st.just("Always")),
        "volumeMounts": ANYTHING,
        "securityContext": ANYTHING,
    },
)
POD_SPECS = st.fixed_dictionaries(
    {"containers": either(st.lists(either(CONTAINERS), max_size=3))},
    optional={
        "initContainers": either(st.lists(either(CONTAINERS), max_size=2)),
        "tolerations": either(
            st.lists(st.fixed_dictionaries({}, optional={"key": WORDS, "operator": WORDS, "effect": WORDS}), max_size=3)
        ),
        "terminationGracePeriodSeconds": either(st.integers(-5, 900)),
        "priorityClassName": either(WORDS),
        "priority": either(st.integers(0, 5)),
        "nodeSelector": either(st.dictionaries(KEYS, WORDS, max_size=2)),
        "volumes": ANYTHING,
        "affinity": ANYTHING,
        "runtimeClassName": either(WORDS),
    },
)
METADATA = st.fixed_dictionaries(
    {},
    optional={
        "name": either(WORDS),
        "generateName": either(WORDS),
        "labels": either(st.dictionaries(KEYS, either(WORDS), max_size=3)),
        "annotations": either(st.dictionaries(KEYS, either(WORDS), max_size=3)),
        "ownerReferences": ANYTHING,
    },
)
TEMPLATES = st.fixed_dictionaries({"spec": either(POD_SPECS)}, optional={"metadata": either(METADATA)})
JOB_SPECS = st.fixed_dictionaries(
    {"template": either(TEMPLATES)},
    optional={
        "suspend": either(st.booleans()),
        "parallelism": either(st.integers(0, 9)),
        "backoffLimit": either(st.integers(0, 9)),
        "activeDeadlineSeconds": either(st.integers(0, 900)),
        "completionMode": either(WORDS),
        "strategy": ANYTHING,
    },
)
JOB_TEMPLATES = st.fixed_dictionaries({"spec": either(JOB_SPECS)}, optional={"metadata": either(METADATA)})
SPECS = {
    "Pod": POD_SPECS,
    "Job": JOB_SPECS,
    "CronJob": st.fixed_dictionaries({"jobTemplate": either(JOB_TEMPLATES)}),
    "JobSet": st.fixed_dictionaries(
        {
            "replicatedJobs": either(
                st.lists(either(st.fixed_dictionaries({"name": either(WORDS), "template": JOB_TEMPLATES})), max_size=3)
            )
        }
    ),
}


@st.composite
def objects(draw: Any, kind: Any = None) -> Any:
    key = kind or draw(st.sampled_from(sorted(KINDS)))
    if key in BY_KIND and draw(st.integers(0, 3)):
        return draw(mangled(ANYTHING, key))
    group, name = key
    spec = draw(either(SPECS.get(name, JOB_SPECS)))
    return {"apiVersion": f"{group}/v1" if group else "v1", "kind": name, "metadata": draw(either(METADATA)), "spec": spec}


def assert_one_pass_is_enough(world: Setup, obj: Any) -> None:
    before = copy.deepcopy(obj)
    outcome = mutate(world, request(obj), NOW)
    assert not outcome.errors, outcome.errors
    assert obj == before
    if not outcome.response.allowed:
        return
    result = jsonpatch.apply_patch(obj, copy.deepcopy(list(outcome.response.patch)))
    again = mutate(world, request(result), NOW)
    assert list(again.response.patch) == []


@settings(max_examples=150, deadline=None)
@given(objects())
def test_any_object_is_mutated_without_a_fault_and_a_second_time_without_a_change(obj: Any) -> None:
    assert_one_pass_is_enough(WORLD, obj)


@settings(max_examples=120, deadline=None)
@given(objects())
def test_a_queue_of_spot_nodes_that_we_inject_changes_nothing_for_the_second_pass(obj: Any) -> None:
    assert_one_pass_is_enough(QUEUES, obj)


@settings(max_examples=150, deadline=None)
@given(objects())
def test_any_object_is_judged_without_a_fault_in_a_text_that_a_terminal_can_show(obj: Any) -> None:
    outcome = validate(WORLD, request(obj), NOW)
    assert not outcome.errors, outcome.errors
    message = outcome.response.message
    assert all(character == "\n" or character.isprintable() for character in message)
    assert len(message.encode()) <= 4096
    for warning in outcome.response.warnings:
        assert warning
        assert warning.isprintable()


@settings(max_examples=120, deadline=None)
@given(st.sampled_from(sorted(KINDS)).flatmap(lambda kind: st.tuples(objects(kind), objects(kind))))
def test_any_update_is_answered_without_a_fault(pair: Any) -> None:
    old, new = pair
    asked = request(new, old)
    outcome = mutate(WORLD, asked, NOW)
    assert not outcome.errors, outcome.errors
    jsonpatch.apply_patch(new, copy.deepcopy(list(outcome.response.patch)))
    assert not validate(WORLD, asked, NOW).errors


@settings(max_examples=120, deadline=None)
@given(objects())
def test_an_object_sent_again_unchanged_is_neither_patched_nor_refused(obj: Any) -> None:
    first = mutate(WORLD, request(obj), NOW)
    if not first.response.allowed:
        return
    stored = jsonpatch.apply_patch(obj, copy.deepcopy(list(first.response.patch)))
    asked = request(copy.deepcopy(stored), stored)
    assert list(mutate(WORLD, asked, NOW).response.patch) == []
    assert validate(WORLD, asked, NOW).response.allowed


@pytest.mark.parametrize("make", [gpu_job, job_set, deployment])
def test_a_review_leaves_nothing_to_the_garbage_collector(make: Any) -> None:
    """A cycle would keep the whole manifest until the collector walks it: at a thousand reviews a second that is felt."""
    asked = request(make())
    stored = request(mutate(WORLD, asked, NOW).mutated or make())
    for judge in (mutate, validate):
        gc.collect()
        gc.disable()
        try:
            judge(WORLD, stored if judge is validate else asked, NOW)
            assert gc.collect() == 0
        finally:
            gc.enable()
