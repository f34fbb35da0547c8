"""What the API server fills in, as far as policies look at it."""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signalbox.cluster.state import ClusterState
from signalbox.cluster.view import EmptyClusterView
from signalbox.defaults import apply_defaults
from signalbox.fieldpath import parse_path, resolve_path, value_at
from signalbox.workload.kinds.table import KINDS

NOTHING_KNOWN = EmptyClusterView()


def manifest(kind: str, spec: Any, **metadata: Any) -> dict[str, Any]:
    group = {"Pod": "v1", "JobSet": "jobset.x-k8s.io/v1alpha2"}.get(kind, "batch/v1" if "Job" in kind else "apps/v1")
    return {"apiVersion": group, "kind": kind, "metadata": {"name": "x", **metadata}, "spec": spec}


def defaulted(obj: dict[str, Any], field: str, cluster: Any = NOTHING_KNOWN) -> Any:
    filled = apply_defaults(obj, "research", cluster)
    return value_at(filled, resolve_path(parse_path(field), filled))


def pod_spec(**fields: Any) -> dict[str, Any]:
    return {"containers": [{"name": "main", "image": "registry.example/web:1"}], **fields}


@pytest.mark.parametrize(
    ("kind", "spec", "template"),
    [
        ("Pod", pod_spec(), "spec"),
        ("Job", {"template": {"spec": pod_spec()}}, "spec.template.spec"),
        ("CronJob", {"jobTemplate": {"spec": {"template": {"spec": pod_spec()}}}}, "spec.jobTemplate.spec.template.spec"),
        ("Deployment", {"template": {"spec": pod_spec()}}, "spec.template.spec"),
        ("StatefulSet", {"template": {"spec": pod_spec()}}, "spec.template.spec"),
        ("ReplicaSet", {"template": {"spec": pod_spec()}}, "spec.template.spec"),
        ("DaemonSet", {"template": {"spec": pod_spec()}}, "spec.template.spec"),
    ],
)
def test_every_built_in_pod_template_gets_a_grace_of_30_and_restart_policy_always(
    kind: str, spec: dict[str, Any], template: str
) -> None:
    obj = manifest(kind, spec)
    assert defaulted(obj, f"{template}.terminationGracePeriodSeconds") == 30
    assert defaulted(obj, f"{template}.restartPolicy") == "Always"


@pytest.mark.parametrize(
    ("spec", "field", "value"),
    [
        ({}, "spec.parallelism", 1),
        ({}, "spec.completions", 1),
        ({"parallelism": 4}, "spec.completions", None),
        ({}, "spec.backoffLimit", 6),
        ({"backoffLimitPerIndex": 1}, "spec.backoffLimit", 2**31 - 1),
        ({"backoffLimit": 0}, "spec.backoffLimit", 0),
        ({}, "spec.suspend", False),
        ({"suspend": True}, "spec.suspend", True),
    ],
)
def test_a_job_gets_what_it_leaves_out(spec: dict[str, Any], field: str, value: Any) -> None:
    assert defaulted(manifest("Job", {**spec, "template": {"spec": pod_spec()}}), field) == value


def test_the_job_inside_a_cron_job_gets_only_its_pods_defaults() -> None:
    obj = manifest("CronJob", {"jobTemplate": {"spec": {"template": {"spec": pod_spec()}}}})
    assert defaulted(obj, "spec.jobTemplate.spec.backoffLimit") is None
    assert defaulted(obj, "spec.suspend") is False


def test_a_deployment_runs_one_replica_unless_it_says_so() -> None:
    assert defaulted(manifest("Deployment", {"template": {"spec": pod_spec()}}), "spec.replicas") == 1
    assert defaulted(manifest("Deployment", {"replicas": 0, "template": {"spec": pod_spec()}}), "spec.replicas") == 0


def test_a_job_without_labels_takes_its_templates() -> None:
    template = {"metadata": {"labels": {"app": "llm"}}, "spec": pod_spec()}
    assert defaulted(manifest("Job", {"template": template}), "metadata.labels") == {"app": "llm"}
    assert defaulted(manifest("Job", {"template": template}, labels=None), "metadata.labels") == {"app": "llm"}
    assert defaulted(manifest("Job", {"template": template}, labels={"own": "x"}), "metadata.labels") == {"own": "x"}
    assert defaulted(manifest("Deployment", {"template": template}), "metadata.labels") is None


def test_null_labels_arrive_as_absent() -> None:
    filled = apply_defaults(manifest("Pod", pod_spec(), labels=None), "research", NOTHING_KNOWN)
    assert "labels" not in filled["metadata"]


def test_a_pods_requests_are_copied_from_its_limits() -> None:
    spec = pod_spec(
        containers=[{"name": "main", "resources": {"limits": {"nvidia.com/gpu": 2, "cpu": "1"}, "requests": {"cpu": "500m"}}}]
    )
    requests = defaulted(manifest("Pod", spec), "spec.containers[main].resources.requests")
    assert requests == {"nvidia.com/gpu": 2, "cpu": "500m"}


def test_a_templates_requests_are_not_copied() -> None:
    spec = pod_spec(containers=[{"name": "main", "resources": {"limits": {"nvidia.com/gpu": 2}}}])
    obj = manifest("Job", {"template": {"spec": spec}})
    assert defaulted(obj, "spec.template.spec.containers[main].resources.requests") is None


def cluster_with(name: str, **fields: Any) -> ClusterState:
    cluster = ClusterState()
    cluster.put("scheduling.k8s.io", "PriorityClass", {"metadata": {"name": name}, **fields})
    cluster.synced("scheduling.k8s.io", "PriorityClass")
    return cluster


def test_a_pods_priority_comes_from_its_class_where_the_cluster_is_known() -> None:
    cluster = cluster_with("low", value=10, preemptionPolicy="Never")
    obj = manifest("Pod", pod_spec(priorityClassName="low"))
    assert defaulted(obj, "spec.priority", cluster) == 10
    assert defaulted(obj, "spec.preemptionPolicy", cluster) == "Never"
    assert defaulted(obj, "spec.priority") is None


def test_a_pod_without_a_class_gets_the_default_one_by_name() -> None:
    cluster = cluster_with("normal", value=7, globalDefault=True)
    obj = manifest("Pod", pod_spec())
    assert defaulted(obj, "spec.priorityClassName", cluster) == "normal"
    assert defaulted(obj, "spec.priority", cluster) == 7


def test_a_pod_has_priority_0_where_there_is_no_default_class() -> None:
    cluster = cluster_with("low", value=10)
    assert defaulted(manifest("Pod", pod_spec()), "spec.priority", cluster) == 0


def test_a_pod_tolerates_its_node_being_away_for_five_minutes() -> None:
    own = {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 10}
    keys = [toleration["key"] for toleration in defaulted(manifest("Pod", pod_spec(tolerations=[own])), "spec.tolerations")]
    assert keys == ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"]


def test_custom_resources_get_their_namespace_and_nothing_else() -> None:
    obj = manifest("JobSet", {"replicatedJobs": [{"name": "a", "template": {"spec": {"template": {"spec": pod_spec()}}}}]})
    filled = apply_defaults(obj, "research", NOTHING_KNOWN)
    assert filled["spec"] is obj["spec"]
    assert filled["metadata"]["namespace"] == "research"


def test_the_manifests_own_namespace_stays() -> None:
    assert defaulted(manifest("Pod", pod_spec(), namespace="own"), "metadata.namespace") == "own"


FIELDS = (
    *("metadata", "labels", "annotations", "namespace", "spec", "template", "jobTemplate", "containers", "initContainers"),
    *("resources", "limits", "requests", "nvidia.com/gpu", "tolerations", "priorityClassName", "suspend", "parallelism"),
)
ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(FIELDS), inner, max_size=4),
    max_leaves=20,
)
KIND = st.sampled_from(sorted(KINDS))


@given(KIND, ANY_JSON, ANY_JSON)
def test_any_json_anywhere_is_survived_left_alone_and_defaulted_once(kind: tuple[str, str], metadata: Any, spec: Any) -> None:
    group, name = kind
    obj = {"apiVersion": f"{group}/v1" if group else "v1", "kind": name, "metadata": metadata, "spec": spec}
    before = copy.deepcopy(obj)
    filled = apply_defaults(obj, "research", NOTHING_KNOWN)
    assert obj == before
    assert apply_defaults(filled, "research", NOTHING_KNOWN) == filled
