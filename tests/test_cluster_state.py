"""The cluster in memory: what is unknown, what is known to be missing, and what no object can break."""

import threading
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signalbox.cluster.capacity import Capacity
from signalbox.cluster.objects import FlavorQuota, LocalQueue, NamespaceQuota, PriorityClass, ResourceFlavor, TrainingRuntime
from signalbox.cluster.resources import KUEUE, POLICY_OBJECTS, SCHEDULING, TRAINER, WATCHED, WATCHED_BY_KIND
from signalbox.cluster.state import ClusterState
from signalbox.cluster.view import UNKNOWN, ClusterView
from tests.world import yaml

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.sampled_from(["", "a", "1", "16Gi"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["name", "labels", "resourceGroups", "flavors", "resources", "hard", "scopes", "template", "nodeTaints"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)
CLUSTER_QUEUE = """
metadata: {name: large}
spec:
  cohortName: gpus
  stopPolicy: Hold
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [nvidia.com/gpu]
    flavors:
    - name: h100
      resources: [{name: nvidia.com/gpu, nominalQuota: "16", borrowingLimit: 8, lendingLimit: "4"}]
"""


def labelled(name: str, **fields: Any) -> dict[str, Any]:
    return {"metadata": {"name": name}, **fields}


def local(name: str, namespace: str = "research", queue: str = "large") -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": namespace}, "spec": {"clusterQueue": queue}}


def test_the_state_is_a_view() -> None:
    view: ClusterView = ClusterState()
    assert view.has_kueue() is UNKNOWN


def test_a_name_is_unknown_until_its_kind_was_told_whole() -> None:
    state = ClusterState()
    state.put(KUEUE, "LocalQueue", local("a"))
    assert state.has_local_queue("research", "a") is True
    assert state.has_local_queue("research", "b") is UNKNOWN
    state.synced(KUEUE, "LocalQueue")
    assert state.has_local_queue("research", "b") is False
    assert state.local_queue("other", "a") is None
    assert state.local_queue_names("research") == ("a",)


def test_a_kind_that_is_not_installed_has_no_object() -> None:
    state = ClusterState()
    state.put(KUEUE, "LocalQueue", local("a"))
    state.absent(KUEUE, "LocalQueue")
    assert state.has_kueue() is False
    assert state.has_local_queue("research", "a") is False
    assert state.local_queue_names("research") == ()


def test_what_is_forgotten_is_unknown_again() -> None:
    state = ClusterState()
    state.put(SCHEDULING, "PriorityClass", labelled("low", value=1, globalDefault=True))
    state.synced(SCHEDULING, "PriorityClass")
    assert state.default_priority_class() == PriorityClass("low", 1)
    state.forget(SCHEDULING, "PriorityClass")
    assert state.priority_class("low") is UNKNOWN
    assert state.default_priority_class() is UNKNOWN
    assert state.priority_class_names() == ()
    assert state.knows_nothing


def test_an_object_is_replaced_and_dropped() -> None:
    state = ClusterState()
    state.synced(KUEUE, "LocalQueue")
    for queue in ("large", "small"):
        state.put(KUEUE, "LocalQueue", local("a", queue=queue))
    state.put(KUEUE, "LocalQueue", local("b"))
    found = state.local_queue("research", "a")
    assert isinstance(found, LocalQueue)
    assert found.cluster_queue == "small"
    state.drop(KUEUE, "LocalQueue", "research", "a")
    assert state.local_queue_names("research") == ("b",)
    assert state.local_queue("research", "a") is None


def test_the_lowest_of_several_default_classes_counts_and_one_that_no_longer_is_does_not() -> None:
    state = ClusterState()
    for name, value in (("high", 9), ("low", 1)):
        state.put(SCHEDULING, "PriorityClass", labelled(name, value=value, globalDefault=True))
    state.synced(SCHEDULING, "PriorityClass")
    assert state.default_priority_class() == PriorityClass("low", 1)
    state.put(SCHEDULING, "PriorityClass", labelled("low", value=1))
    assert state.default_priority_class() == PriorityClass("high", 9)
    state.drop(SCHEDULING, "PriorityClass", "", "high")
    assert state.default_priority_class() is None


def test_a_namespace_that_is_not_there_may_be_made_at_this_moment() -> None:
    state = ClusterState()
    state.put("", "Namespace", {"metadata": {"name": "a", "labels": {"team": "x"}}})
    state.synced("", "Namespace")
    assert state.namespace_labels("a") == {"team": "x", "kubernetes.io/metadata.name": "a"}
    assert state.namespace_labels("b") is UNKNOWN


def test_a_cluster_queue_in_both_versions_of_kueue() -> None:
    new, old = yaml(CLUSTER_QUEUE), yaml(CLUSTER_QUEUE.replace("cohortName", "cohort"))
    found = []
    for manifest in (new, old):
        state = ClusterState()
        assert state.put(KUEUE, "ClusterQueue", manifest) is None
        found.append(state.cluster_queue("large"))
    assert found[0] == found[1]
    assert found[0]
    assert found[0] is not UNKNOWN
    assert (found[0].cohort, found[0].stopped, found[0].namespace_selector) == ("gpus", True, {})
    assert dict(found[0].groups[0].flavors)["h100"] == {"nvidia.com/gpu": FlavorQuota(16, 8, 4)}


def test_what_a_queue_can_give_is_worked_out_anew_after_each_change() -> None:
    state = ClusterState()
    state.put(KUEUE, "ClusterQueue", yaml(CLUSTER_QUEUE))
    state.synced(KUEUE, "ClusterQueue")
    assert state.capacity("large") is UNKNOWN, "what its cohort holds is not known"
    state.synced(KUEUE, "Cohort")
    assert capacity(state) == Capacity(16, 16)
    cohort = yaml(CLUSTER_QUEUE.replace("name: large", "name: gpus").replace("cohortName: gpus", "parentName: ''"))
    state.put(KUEUE, "Cohort", cohort)
    assert capacity(state) == Capacity(24, 16)
    state.drop(KUEUE, "Cohort", "", "gpus")
    assert capacity(state) == Capacity(16, 16)
    assert state.capacity("none") is UNKNOWN


def capacity(state: ClusterState) -> Capacity:
    found = state.capacity("large")
    assert found is not UNKNOWN
    return found[0].flavors["h100"]["nvidia.com/gpu"]


def test_a_queue_without_a_cohort_needs_no_other_object() -> None:
    state = ClusterState()
    state.put(KUEUE, "ClusterQueue", yaml(CLUSTER_QUEUE.replace("  cohortName: gpus\n", "")))
    assert capacity(state) == Capacity(16, 16)


def test_half_a_quota_is_no_quota() -> None:
    state = ClusterState()
    fault = state.put(KUEUE, "ClusterQueue", yaml(CLUSTER_QUEUE.replace('"16"', "plenty")))
    state.synced(KUEUE, "ClusterQueue")
    state.synced(KUEUE, "Cohort")
    assert fault is not None
    assert str(fault) == "ClusterQueue large: its nominalQuota is 'plenty', a quantity is expected"
    assert fault.path == ("spec", "resourceGroups", 0, "flavors", 0, "resources", 0, "nominalQuota")
    assert state.cluster_queue("large") is UNKNOWN
    assert state.capacity("large") is UNKNOWN


def test_an_unreadable_member_makes_its_cohorts_unknown() -> None:
    state = ClusterState()
    state.put(KUEUE, "ClusterQueue", yaml(CLUSTER_QUEUE))
    state.put(KUEUE, "ClusterQueue", yaml(CLUSTER_QUEUE.replace("name: large", "name: b").replace('"16"', "plenty")))
    state.synced(KUEUE, "ClusterQueue")
    state.synced(KUEUE, "Cohort")
    assert state.capacity("large") is UNKNOWN


def test_resource_quotas_of_a_namespace_are_known_all_or_not_at_all() -> None:
    state = ClusterState()
    good = {"metadata": {"name": "a", "namespace": "x"}, "spec": {"hard": {"pods": "4"}, "scopes": ["BestEffort"]}}
    state.put("", "ResourceQuota", good)
    assert state.resource_quotas("x") is UNKNOWN
    state.synced("", "ResourceQuota")
    assert state.resource_quotas("x") == (NamespaceQuota("a", {"pods": 4}, (("BestEffort", "Exists", ()),)),)
    assert state.resource_quotas("y") == ()
    state.put("", "ResourceQuota", {"metadata": {"name": "b", "namespace": "x"}, "spec": {"hard": {"pods": "many"}}})
    assert state.resource_quotas("x") is UNKNOWN


def test_flavors_and_training_runtimes() -> None:
    state = ClusterState()
    spec: dict[str, Any] = {"nodeLabels": {"a": "b"}, "nodeTaints": [{"key": "k"}]}
    state.put(KUEUE, "ResourceFlavor", {"metadata": {"name": "spot"}, "spec": spec})
    assert state.resource_flavor("spot") == ResourceFlavor("spot", {"a": "b"}, ({"key": "k"},))
    state.put(TRAINER, "TrainingRuntime", {"metadata": {"name": "r", "namespace": "x"}, "spec": {"mlPolicy": {"numNodes": 2}}})
    state.put(TRAINER, "ClusterTrainingRuntime", labelled("r", spec={"mlPolicy": {"numNodes": 3}}))
    for kind, nodes in (("TrainingRuntime", 2), ("ClusterTrainingRuntime", 3)):
        assert nodes_of(state.training_runtime(kind, "x", "r")) == nodes


def test_kinds_that_are_not_watched_are_passed_over() -> None:
    state = ClusterState()
    assert state.put("apps", "Deployment", {}) is None
    state.drop("apps", "Deployment", "", "a")
    state.synced("apps", "Deployment")
    assert state.knows_nothing


@given(st.sampled_from(WATCHED), JSON)
def test_no_object_whatever_it_holds_raises(kind: Any, value: Any) -> None:
    state = ClusterState()
    for obj in (value, {"metadata": {"name": "a", "namespace": "x"}, "spec": value}, {"metadata": value, "value": value}):
        state.put(kind.group, kind.kind, obj)
        kind.slim(obj)
    state.synced(kind.group, kind.kind)
    state.synced(KUEUE, "Cohort")
    state.capacity("a")
    state.resource_quotas("x")


@pytest.mark.parametrize("kind", WATCHED, ids=lambda kind: kind.kind)
def test_what_is_kept_of_an_object_says_the_same(kind: Any) -> None:
    full = {
        "metadata": {"name": "a", "namespace": "x", "labels": {"l": "v"}, "managedFields": [1] * 100},
        "value": 5,
        "globalDefault": True,
        "spec": {
            **yaml(CLUSTER_QUEUE)["spec"],
            "clusterQueue": "q",
            "parentName": "p",
            "hard": {"pods": 1},
            "scopes": ["BestEffort"],
            "nodeLabels": {"a": "b"},
            "mlPolicy": {"numNodes": 1},
            "devices": {"requests": [{"name": "g", "exactly": {"deviceClassName": "c", "count": 2}}]},
            "spec": {"devices": {"requests": [{"name": "g", "deviceClassName": "c"}]}},
            "extendedResourceName": "lab.example/gpu",
        },
        "status": {"long": "x" * 1000},
    }
    slim = kind.slim(full)
    assert len(str(slim)) < 500
    assert answers(kind, full) == answers(kind, slim)
    assert kind.slim(slim) == slim


def answers(kind: Any, obj: Any) -> list[Any]:
    state = ClusterState()
    state.put(kind.group, kind.kind, obj)
    state.synced(kind.group, kind.kind)
    return [
        state.namespace_labels("a"),
        state.priority_class("a"),
        state.default_priority_class(),
        state.workload_priority_class("a"),
        state.local_queue("x", "a"),
        state.cluster_queue("a"),
        state.capacity("a"),
        state.resource_flavor("a"),
        state.resource_quotas("x"),
        nodes_of(state.training_runtime("TrainingRuntime", "x", "a")),
        nodes_of(state.training_runtime("ClusterTrainingRuntime", "", "a")),
        state.resource_claim("ResourceClaim", "x", "a"),
        state.resource_claim("ResourceClaimTemplate", "x", "a"),
        state.device_class("a"),
        state.volume_claim("x", "a"),
    ]


def nodes_of(runtime: Any) -> Any:
    return runtime.spec["mlPolicy"]["numNodes"] if isinstance(runtime, TrainingRuntime) else runtime


def test_where_the_api_server_lists_them() -> None:
    paths = {kind.kind: kind.paths for kind in WATCHED}
    assert paths["Namespace"] == ("/api/v1/namespaces",)
    assert paths["Cohort"][0] == "/apis/kueue.x-k8s.io/v1beta2/cohorts"
    assert paths["ResourceClaimTemplate"][0] == "/apis/resource.k8s.io/v1/resourceclaimtemplates"
    assert WATCHED_BY_KIND[KUEUE, "LocalQueue"].text == "localqueues.kueue.x-k8s.io"


def test_a_policy_keeps_what_it_says_and_what_it_is() -> None:
    kind = next(kind for kind in POLICY_OBJECTS if kind.kind == "WorkloadPolicy")
    slim = kind.slim({"metadata": {"name": "a", "uid": "1"}, "spec": {"rules": []}, "status": {}})
    assert slim == {
        "apiVersion": "policy.workload.ai/v1alpha1",
        "kind": "WorkloadPolicy",
        "metadata": {"name": "a"},
        "spec": {"rules": []},
    }


def test_many_read_while_one_writes() -> None:
    state, faults, done = ClusterState(), [], threading.Event()
    state.synced(KUEUE, "LocalQueue")
    state.synced(KUEUE, "Cohort")

    def read() -> None:
        try:
            while not done.is_set():
                state.local_queue_names("research")
                state.capacity("q1")
                state.priority_class_names()
                state.resource_quotas("research")
        except Exception as error:  # noqa: BLE001 whatever it is, it is shown
            faults.append(error)

    readers = [threading.Thread(target=read) for _ in range(4)]
    for reader in readers:
        reader.start()
    for number in range(1500):
        name = f"q{number % 50}"
        state.put(KUEUE, "LocalQueue", local(name, queue=str(number)))
        state.put(KUEUE, "ClusterQueue", yaml_queue(name, number))
        state.put(SCHEDULING, "PriorityClass", labelled(name, value=number))
        if number % 3 == 0:
            state.drop(KUEUE, "ClusterQueue", "", name)
            state.drop(KUEUE, "LocalQueue", "research", name)
            state.drop(SCHEDULING, "PriorityClass", "", name)
    done.set()
    for reader in readers:
        reader.join()
    assert not faults


def yaml_queue(name: str, nominal: int) -> dict[str, Any]:
    quota = {"name": "nvidia.com/gpu", "nominalQuota": nominal}
    groups = [{"coveredResources": ["nvidia.com/gpu"], "flavors": [{"name": "f", "resources": [quota]}]}]
    return labelled(name, spec={"cohort": "c", "resourceGroups": groups})
