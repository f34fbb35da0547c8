"""A TrainJob together with its runtime, where the cluster's view has it; without, as if there were none."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from signalbox.cluster.resources import TRAINER, WATCHED
from signalbox.cluster.state import ClusterState
from signalbox.cluster.view import EmptyClusterView
from signalbox.fieldpath import format_path
from signalbox.fix import apply_fixes
from tests.test_cluster_state import JSON
from tests.world import judged, mutated, policy, request, setup, view, yaml

TORCH = """
metadata: {name: torch-distributed}
spec:
  mlPolicy: {numNodes: 2, torch: {}}
  template:
    spec:
      replicatedJobs:
        - name: node
          template:
            metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
            spec:
              template:
                spec:
                  nodeSelector: {cloud.google.com/gke-spot: "true"}
                  volumes: [{name: out, persistentVolumeClaim: {claimName: out}}]
                  containers:
                    - name: node
                      image: pytorch/pytorch:2.10.0
                      command: [torchrun, train.py, --output_dir=/out]
                      volumeMounts: [{name: out, mountPath: /out}]
                      resources: {limits: {nvidia.com/gpu: 8, cpu: 4}}
                    - {name: logs, image: "fluent/bit:1", resources: {requests: {cpu: 1}}}
"""
MPI = """
metadata: {name: deepspeed}
spec:
  mlPolicy: {numNodes: 1, mpi: {runLauncherAsNode: true}}
  template:
    spec:
      replicatedJobs:
        - name: dataset
          template:
            metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: dataset-initializer}}
            spec: {template: {spec: {containers: [{name: dataset-initializer, image: "init:1"}]}}}
        - name: launcher
          template:
            metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
            spec: {template: {spec: {containers: [{name: node, image: "deepspeed:1"}]}}}
        - name: node
          template: {spec: {template: {spec: {containers: [{name: node, image: "deepspeed:1", command: [/usr/sbin/sshd]}]}}}}
"""


def cluster(text: str, kind: str = "ClusterTrainingRuntime") -> ClusterState:
    state = ClusterState()
    state.put(TRAINER, kind, yaml(text))
    state.synced(TRAINER, kind)
    return state


def train_job(name: str = "torch-distributed", reference: Any = None, **trainer: Any) -> Any:
    spec = {"runtimeRef": {"name": name, **(reference or {})}, **({"trainer": trainer} if trainer else {})}
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": "llm", "namespace": "research"},
        "spec": spec,
    }


def test_what_the_job_leaves_out_comes_from_its_runtime() -> None:
    seen = view(train_job(), cluster(TORCH))
    assert (seen.pods, seen.accelerators.per_pod, seen.accelerators.total) == (2, 8, 16)
    assert not seen.accelerators.placeholder
    assert seen.spot.state == "demanded"
    assert seen.type.state == "distributed-training"
    assert seen.checkpoint.state == "durable"


def test_evidence_names_the_runtime() -> None:
    job = train_job()
    seen = view(job, cluster(TORCH))
    assert [format_path(one.path, job) for one in (*seen.spot.evidence, *seen.accelerators.evidence)] == [
        "spec.runtimeRef[ClusterTrainingRuntime torch-distributed].node.nodeSelector[cloud.google.com/gke-spot]",
        "spec.runtimeRef[ClusterTrainingRuntime torch-distributed].node.containers[0].resources.limits[nvidia.com/gpu]",
    ]


def test_what_the_job_says_counts_before_its_runtime() -> None:
    job = train_job(
        numNodes=4,
        resourcesPerNode={"limits": {"nvidia.com/gpu": 1}},
        command=["python", "evaluate.py"],
        image="eval:1",
        env=[{"name": "A", "value": "b"}],
    )
    seen = view(job, cluster(TORCH))
    assert (seen.pods, seen.accelerators.total) == (4, 4)
    (container,) = [one for one in seen.containers if one.accelerated]
    assert [word for started in container.started for word in started.invocation.words] == ["python", "evaluate.py"]
    assert container.env == {"A": "b"}
    assert format_path(seen.accelerators.evidence[0].path, job) == "spec.trainer.resourcesPerNode.limits[nvidia.com/gpu]"


def test_under_mpi_the_launcher_is_one_of_the_nodes() -> None:
    seen = view(train_job("deepspeed", numNodes=4, resourcesPerNode={"limits": {"nvidia.com/gpu": 8}}), cluster(MPI))
    assert {template.name: template.pods for template in seen.templates} == {"dataset": 1, "launcher": 1, "node": 3}
    assert seen.accelerators.total == 32


def test_a_runtime_of_the_namespace_is_another_than_that_of_the_cluster() -> None:
    own = cluster(
        TORCH.replace("{name: torch-distributed}", "{name: torch-distributed, namespace: research}"), "TrainingRuntime"
    )
    assert view(train_job(reference={"kind": "TrainingRuntime"}), own).pods == 2
    assert view(train_job(), own).pods is None


@pytest.mark.parametrize(
    ("job", "known"),
    [
        (train_job(), EmptyClusterView()),
        (train_job("other"), cluster(TORCH)),
        (train_job(reference={"apiGroup": "example.com"}), cluster(TORCH)),
        (train_job(), cluster(TORCH.replace("trainjob-ancestor-step: trainer", "x: y"))),
    ],
    ids=["nothing known", "another name", "another group", "no trainer in it"],
)
def test_a_runtime_that_is_not_known_leaves_everything_as_it_was(job: Any, known: Any) -> None:
    seen = view(job, known)
    assert seen.pods is None
    assert seen.accelerators.placeholder
    assert [template.path for template in seen.templates] == [("spec", "trainer")]


def test_volumes_of_a_patch_are_mounted_in_the_runtimes_container() -> None:
    job = train_job(command=["torchrun", "train.py", "--output_dir=/ckpt"])
    patch = {
        "containers": [{"name": "node", "volumeMounts": [{"name": "ckpt", "mountPath": "/ckpt"}]}],
        "volumes": [{"name": "ckpt", "persistentVolumeClaim": {"claimName": "c"}}],
    }
    job["spec"]["podTemplateOverrides"] = [{"targetJobs": [{"name": "node"}], "spec": patch}]
    assert view(job, cluster(TORCH)).checkpoint.state == "durable"
    without = train_job(command=["torchrun", "train.py", "--output_dir=/ckpt"])
    assert view(without, cluster(TORCH)).checkpoint.state == "ephemeral"


def test_a_claim_that_a_runtime_makes_for_its_jobset_keeps_what_is_written() -> None:
    job = train_job(command=["torchrun", "train.py", "--output_dir=/out"])
    claim = "volumeClaimPolicies: [{templates: [{metadata: {name: out}}]}]\n      replicatedJobs:"
    claimed = TORCH.replace("replicatedJobs:", claim, 1).replace(
        "volumes: [{name: out, persistentVolumeClaim: {claimName: out}}]", "volumes: []"
    )
    assert view(job, cluster(claimed)).checkpoint.state == "durable"
    without = claimed.replace("metadata: {name: out}", "metadata: {name: other}")
    assert view(job, cluster(without)).checkpoint.state != "durable"


def test_a_runtime_that_grew_while_the_job_was_suspended_is_judged_when_it_starts() -> None:
    small = setup(
        policy("rules: [{name: few, check: accelerator-limit, with: {maxTotal: 8}, mode: enforce}]"), cluster=cluster(TORCH)
    )
    old, started, same = train_job(), train_job(), train_job()
    old["spec"]["suspend"], started["spec"]["suspend"], same["spec"]["suspend"] = True, False, True
    same["metadata"]["labels"] = {"a": "b"}
    assert judged(small, request(same, old)).response.allowed
    assert "[p/few]" in judged(small, request(started, old)).response.message


def test_no_fix_writes_into_a_runtime() -> None:
    rules = "rules: [{name: s, check: spot-allowed, mode: enforce}, {name: g, check: gpu-requests, mode: enforce}]"
    found = judged(setup(policy(rules), cluster=cluster(TORCH)), request(train_job())).findings
    (spot,) = [finding for finding in found if finding.check == "spot-allowed"]
    assert spot.fix.text == "change it in ClusterTrainingRuntime torch-distributed."
    assert apply_fixes(train_job(), found) == train_job()


def test_a_mismatch_in_a_runtime_names_the_runtime() -> None:
    odd = TORCH.replace("limits: {nvidia.com/gpu: 8, cpu: 4}", "limits: {nvidia.com/gpu: 8}, requests: {nvidia.com/gpu: 4}")
    rule = "rules: [{name: g, check: gpu-requests, mode: enforce}]"
    (found,) = judged(setup(policy(rule), cluster=cluster(odd)), request(train_job())).findings
    assert found.message.startswith("node of ClusterTrainingRuntime torch-distributed has a limit of 8 nvidia.com/gpu but")
    assert found.fix.text == "change it in ClusterTrainingRuntime torch-distributed."
    own = train_job(resourcesPerNode={"limits": {"nvidia.com/gpu": 8}})
    assert not judged(setup(policy(rule), cluster=cluster(odd)), request(own)).findings


def test_several_nodes_of_a_runtime_are_started_whole_by_its_policy_or_by_a_queue() -> None:
    rule = policy("rules: [{name: g, check: gang, mode: enforce}]")

    def found(runtime: str, job: Any) -> Any:
        return judged(setup(rule, cluster=cluster(runtime)), request(job)).findings

    (missing,) = found(TORCH, train_job(numNodes=4))
    assert missing.message.startswith("Nothing starts its 4 Pods together")
    mended = apply_fixes(train_job(numNodes=4), [missing])
    assert mended["metadata"]["labels"].keys() == {"kueue.x-k8s.io/queue-name"}
    assert not found(TORCH, mended)
    assert not found(TORCH, train_job(numNodes=1))
    for gang in ("podGroupPolicy: {coscheduling: {}}", "podGroupPolicy: {volcano: {networkTopology: {mode: hard}}}"):
        grouped = TORCH.replace("  mlPolicy:", f"  {gang}\n  mlPolicy:")
        assert not found(grouped, train_job(numNodes=4))
    odd = TORCH.replace("  mlPolicy:", "  podGroupPolicy: 7\n  mlPolicy:")
    assert found(odd, train_job(numNodes=4))


def test_what_the_watch_keeps_of_a_runtime_says_how_its_pods_are_started() -> None:
    grouped = yaml(TORCH.replace("  mlPolicy:", "  podGroupPolicy: {coscheduling: {}}\n  mlPolicy:"))
    (kind,) = (one for one in WATCHED if one.kind == "ClusterTrainingRuntime")
    kept = ClusterState()
    kept.put(TRAINER, kind.kind, kind.slim(grouped))
    rule = policy("rules: [{name: g, check: gang, mode: enforce}]")
    assert not judged(setup(rule, cluster=kept), request(train_job(numNodes=4))).findings


def test_nothing_is_injected_into_a_runtime() -> None:
    inject = """
inject:
  queue: q
  tolerations: [{key: a, operator: Exists}]
  terminationGracePeriodSeconds: 300
  priorityClassName: p
  env: {A: b}
  nodeSelector: {c: d}
  labels: {team: x}
"""
    result = mutated(setup(policy(inject), cluster=cluster(TORCH)), request(train_job()))
    assert result["spec"] == train_job()["spec"]
    assert result["metadata"]["labels"]["workload.ai/type"] == "distributed-training"


def wrapped(*jobs: Any) -> Any:
    return {
        "apiVersion": "workload.codeflare.dev/v1beta2",
        "kind": "AppWrapper",
        "metadata": {"name": "wrapped", "namespace": "research"},
        "spec": {"components": [{"template": job} for job in jobs]},
    }


@pytest.mark.parametrize("trainer", [{}, {"numNodes": 3, "resourcesPerNode": {"limits": {"nvidia.com/gpu": 4}}}])
def test_a_job_in_an_app_wrapper_is_completed_from_its_runtime_as_a_bare_one(trainer: Any) -> None:
    alone = view(train_job(**trainer), cluster(TORCH))
    seen = view(wrapped(train_job(**trainer)), cluster(TORCH))
    assert (seen.pods, seen.accelerators.total, seen.accelerators.placeholder) == (
        alone.pods,
        alone.accelerators.total,
        alone.accelerators.placeholder,
    )
    for judgement in ("type", "framework", "spot", "checkpoint"):
        assert getattr(seen, judgement).state == getattr(alone, judgement).state
    prefix = ("spec", "components", 0, "template")
    assert [template.path for template in seen.templates] == [(*prefix, *template.path) for template in alone.templates]


def test_jobs_beside_each_other_in_an_app_wrapper_are_completed_each_from_its_own_runtime() -> None:
    known = cluster(TORCH)
    known.put(TRAINER, "ClusterTrainingRuntime", yaml(MPI))
    other = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": {}}
    seen = view(wrapped(other, train_job(), train_job("deepspeed", numNodes=4)), known)
    assert {(template.foreign, template.name): template.pods for template in seen.templates} == {
        ("ClusterTrainingRuntime torch-distributed", "node"): 2,
        ("ClusterTrainingRuntime deepspeed", "dataset"): 1,
        ("ClusterTrainingRuntime deepspeed", "launcher"): 1,
        ("ClusterTrainingRuntime deepspeed", "node"): 3,
    }


def test_without_its_runtime_a_wrapped_job_is_read_as_it_stands() -> None:
    seen = view(wrapped(train_job()), EmptyClusterView())
    assert (seen.pods, seen.accelerators.placeholder) == (None, True)


def test_no_fix_of_an_app_wrapper_writes_into_a_runtime() -> None:
    rules = "rules: [{name: s, check: spot-allowed, mode: enforce}, {name: g, check: gpu-requests, mode: enforce}]"
    found = judged(setup(policy(rules), cluster=cluster(TORCH)), request(wrapped(train_job()))).findings
    (spot,) = [finding for finding in found if finding.check == "spot-allowed"]
    assert spot.fix.text == "change it in ClusterTrainingRuntime torch-distributed."
    assert apply_fixes(wrapped(train_job()), found) == wrapped(train_job())


@settings(max_examples=150, deadline=None)
@given(
    JSON, JSON, st.sampled_from([("template",), ("mlPolicy",), ("template", "spec"), ("template", "spec", "replicatedJobs")])
)
def test_whatever_stands_in_runtime_or_job_no_judgement_fails(runtime: Any, trainer: Any, place: tuple[str, ...]) -> None:
    odd = yaml(TORCH)
    here = odd["spec"]
    for step in place[:-1]:
        here = here[step]
    here[place[-1]] = runtime
    job = train_job()
    job["spec"]["trainer"] = trainer
    for known in (cluster(TORCH), ClusterState()):
        known.put(TRAINER, "ClusterTrainingRuntime", odd)
        seen = view(job, known)
        for name in ("type", "spot", "checkpoint", "framework", "priority", "accelerators", "pods", "queues"):
            getattr(seen, name)
