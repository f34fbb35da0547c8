"""Spot by the queue: what the flavors behind a Kueue queue say of the work that stands in it."""

import copy
from typing import Any

import pytest

from signalbox.cluster.view import EmptyClusterView
from signalbox.fieldpath import format_path
from tests.manifests import gpu_job, pod_spec
from tests.world import cluster_of_yaml, judged, mutated, policy, request, setup, view, yaml

QUEUE = "kueue.x-k8s.io/queue-name"
FLAVORS = {
    "ondemand": "{nodeLabels: {karpenter.sh/capacity-type: on-demand}}",
    "spot": "{nodeLabels: {karpenter.sh/capacity-type: spot}}",
    "tainted": "{nodeTaints: [{key: cloud.google.com/gke-spot, value: 'true', effect: NoSchedule}]}",
    "let-in": "{nodeTaints: [{key: cloud.google.com/gke-spot, value: 'true', effect: NoSchedule}], "
    "tolerations: [{key: cloud.google.com/gke-spot, operator: Exists}]}",
    "a100": "{nodeLabels: {gpu: a100, cloud.google.com/gke-spot: 'true'}}",
    "h100": "{nodeLabels: {gpu: h100}}",
    "plain": "{}",
}


def cluster(*flavors: str, resources: str = "nvidia.com/gpu", known: bool = True) -> Any:
    listed = ", ".join(f"{{name: {name}, resources: [{{name: {resources}, nominalQuota: 64}}]}}" for name in flavors)
    found = [
        "{apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {name: q, namespace: research}, "
        "spec: {clusterQueue: cq}}",
        "{apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue, metadata: {name: cq}, spec: {namespaceSelector: {}, "
        f"resourceGroups: [{{coveredResources: [{resources}], flavors: [{listed}]}}]}}}}",
    ]
    for name in flavors if known else ():
        found.append(
            f"{{apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: {{name: {name}}}, spec: {FLAVORS[name]}}}"
        )
    return cluster_of_yaml("\n---\n".join(found))


def queued(**spec: Any) -> Any:
    job = gpu_job()
    job["metadata"]["labels"] = {QUEUE: "q"}
    pod_spec(job).update(spec)
    return job


TOLERATES: Any = [{"key": "cloud.google.com/gke-spot", "operator": "Exists"}]


@pytest.mark.parametrize(
    ("flavors", "spec", "state"),
    [
        (("ondemand",), {}, "no"),
        (("spot",), {}, "demanded"),
        (("spot", "ondemand"), {}, "permitted"),
        (("let-in",), {}, "demanded"),
        (("tainted",), {}, "no"),
        (("tainted",), {"tolerations": TOLERATES}, "demanded"),
        (("tainted", "plain"), {}, "no"),
        (("a100", "h100"), {}, "permitted"),
        (("a100", "h100"), {"nodeSelector": {"gpu": "h100"}}, "no"),
        (("a100", "h100"), {"nodeSelector": {"gpu": "a100"}}, "demanded"),
        (("spot",), {"nodeSelector": {"cloud.google.com/gke-spot": "false"}}, "no"),
        (("ondemand",), {"nodeSelector": {"cloud.google.com/gke-spot": "true"}}, "demanded"),
    ],
)
def test_the_flavors_that_the_pods_can_be_given_decide(flavors: tuple[str, ...], spec: Any, state: str) -> None:
    assert view(queued(**spec), cluster(*flavors)).spot.state == state


def test_the_evidence_names_the_queue_and_the_flavor() -> None:
    job = queued()
    (seen,) = view(job, cluster("spot", "ondemand")).spot.evidence
    assert (format_path(seen.path, job), seen.value, seen.note) == (f"metadata.labels[{QUEUE}]", "q", "its flavor spot is spot")


def test_flavors_of_resources_it_does_not_ask_for_say_nothing() -> None:
    assert view(queued(), cluster("spot", resources="amd.com/gpu")).spot.state == "no"


def test_work_without_accelerators_goes_where_its_cpus_are() -> None:
    job = queued()
    pod_spec(job)["containers"][0]["resources"] = {"requests": {"cpu": "1"}}
    assert view(job, cluster("spot", resources="cpu")).spot.state == "demanded"
    assert view(job, cluster("spot")).spot.state == "no"


def test_what_is_not_known_says_nothing() -> None:
    assert view(queued(), EmptyClusterView()).spot.state == "no"
    assert view(queued(), cluster("spot", known=False)).spot.state == "no"
    assert view(gpu_job(), cluster("spot")).spot.state == "no"


def test_the_workers_count_not_what_only_starts_them() -> None:
    job_set = yaml("""
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: a, namespace: research, labels: {kueue.x-k8s.io/queue-name: q}}
spec:
  replicatedJobs:
    - {name: driver, template: {spec: {template: {spec: {containers: [{name: a}]}}}}}
    - name: workers
      template:
        spec:
          template:
            spec:
              nodeSelector: {gpu: h100}
              containers: [{name: a, resources: {limits: {nvidia.com/gpu: 8}}}]
""")
    assert view(job_set, cluster("a100", "h100")).spot.state == "no"


def test_spot_allowed_names_the_queue_and_takes_nothing_out() -> None:
    world = setup(policy("rules: [{name: r, check: spot-allowed, mode: enforce}]"), cluster=cluster("spot"))
    outcome = judged(world, request(queued()))
    (found,) = outcome.findings
    assert found.message.startswith("Its queue leads to spot nodes alone")
    assert not found.fix.edits


INJECTING = (
    policy("{precedence: 1, inject: {queue: q}}", "queue"),
    policy("{match: {spot: ['no']}, inject: {labels: {steady: 'yes'}, tolerations: [{key: a, operator: Exists}]}}", "steady"),
    policy("{match: {spot: [demanded, permitted]}, inject: {labels: {taken-back: 'yes'}}}", "interrupted"),
)


@pytest.mark.parametrize("flavors", [("spot",), ("spot", "ondemand"), ("ondemand",)])
@pytest.mark.parametrize("own", [True, False], ids=["the user's queue", "our queue"])
def test_a_second_pass_matches_what_the_first_did(flavors: tuple[str, ...], own: bool) -> None:
    """A queue that we inject changes where the work runs, but not which policies inject into it."""
    world = setup(*INJECTING, cluster=cluster(*flavors))
    job = queued() if own else gpu_job()
    first = mutated(world, request(job))
    assert mutated(world, request(copy.deepcopy(first))) == first
    assert first["metadata"]["labels"][QUEUE] == "q"
    by_queue = own and "spot" in flavors
    assert ("taken-back" in first["metadata"]["labels"]) is by_queue
    assert ("steady" in first["metadata"]["labels"]) is not by_queue


def test_work_in_a_queue_of_spot_nodes_needs_checkpoints() -> None:
    """Judged of the result: the label is the same in every pass."""
    world = setup(policy("inject: {queue: q}"), cluster=cluster("spot"))
    first = mutated(world, request(gpu_job()))
    assert first["metadata"]["labels"]["workload.ai/checkpoint"] == "required"
    assert mutated(world, request(copy.deepcopy(first))) == first
    steady = setup(policy("inject: {queue: q}"), cluster=cluster("ondemand"))
    assert "workload.ai/checkpoint" not in mutated(steady, request(gpu_job()))["metadata"]["labels"]
