"""A disk or claim of one node that Pods of several nodes mount, wherever its access modes are known from."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from signalbox.cli.main import main
from signalbox.cluster.state import ClusterState
from signalbox.finding import Finding
from tests.manifests import gpu_job, pod_spec
from tests.world import cluster_of_yaml, judged, policy, request, setup

CLAIM = (
    "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {{name: ckpt, namespace: research}}\nspec: {{accessModes: {}}}\n"
)
MOUNT = {"name": "c", "persistentVolumeClaim": {"claimName": "ckpt"}}
DISK = {"name": "c", "gcePersistentDisk": {"pdName": "d"}}


def problems(manifest: Any, cluster: Any = None) -> dict[str, Finding]:
    asked = setup(policy("rules: [{name: r, check: shared-storage, mode: enforce}]"), cluster=cluster)
    return {one.key: one for one in judged(asked, request(manifest)).findings if one.result.value != "pass"}


def claim(*modes: str) -> ClusterState:
    return cluster_of_yaml(CLAIM.format(list(modes)))


def job(*volumes: Any, pods: int = 4, **spec: Any) -> Any:
    made = gpu_job(parallelism=pods, completions=pods)
    pod_spec(made).update(spec, volumes=list(volumes))
    return made


def roles(volume: Any, master: dict[str, Any] | None = None, worker: dict[str, Any] | None = None) -> Any:
    """A PyTorchJob with one master and one worker."""
    specs = {}
    for name, more in (("Master", master), ("Worker", worker)):
        pod = {**pod_spec(gpu_job()), "volumes": [volume], **(more or {})}
        specs[name] = {"replicas": 1, "template": {"spec": pod}}
    metadata = {"name": "p", "namespace": "research"}
    return {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": metadata, "spec": {"pytorchReplicaSpecs": specs}}


def test_a_named_claim_for_one_node_is_not_shared_by_several_pods() -> None:
    [found] = problems(job(MOUNT), claim("ReadWriteOnce")).values()
    assert found.message == "4 Pods share claim ckpt, which only one node can mount; the Pods on others wait for ever."
    assert "ReadWriteMany" in found.fix.text
    assert found.evidence[0].note == "its accessModes are ReadWriteOnce"


@pytest.mark.parametrize("modes", [("ReadWriteMany",), ("ReadOnlyMany",), ("ReadWriteOnce", "ReadWriteMany"), ()])
def test_a_claim_that_several_nodes_may_mount_passes(modes: tuple[str, ...]) -> None:
    assert not problems(job(MOUNT), claim(*modes))


def test_a_claim_that_is_not_known_passes_without_a_word() -> None:
    other = cluster_of_yaml(CLAIM.format("[ReadWriteOnce]").replace("ckpt", "other"))
    broken = ClusterState()
    broken.put(
        "", "PersistentVolumeClaim", {"metadata": {"name": "ckpt", "namespace": "research"}, "spec": {"accessModes": [7]}}
    )
    elsewhere = cluster_of_yaml(CLAIM.format("[ReadWriteOnce]").replace("research", "elsewhere"))
    for cluster in (None, ClusterState(), other, broken, elsewhere):
        assert not problems(job(MOUNT), cluster)


def test_one_pod_and_pods_of_one_node_may_have_a_claim_for_one_node() -> None:
    together = {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "kubernetes.io/hostname"}]}
    known = claim("ReadWriteOnce")
    assert not problems(job(MOUNT, pods=1), known)
    assert not problems(job(MOUNT, nodeName="n1"), known)
    assert not problems(job(MOUNT, affinity={"podAffinity": together}), known)


def test_a_claim_for_one_pod_is_for_one_pod_even_on_one_node() -> None:
    [found] = problems(job(MOUNT, nodeName="n1"), claim("ReadWriteOncePod")).values()
    assert found.message == "4 Pods share claim ckpt, which only one Pod can use; the others wait for ever."
    assert not problems(job(MOUNT, pods=1), claim("ReadWriteOncePod"))


def test_one_pod_each_of_two_roles_is_two() -> None:
    [found] = problems(roles(DISK)).values()
    assert found.message.startswith("2 Pods of Master and Worker share volume c")
    assert len(found.evidence) == len(found.fix.edits) == 2
    [found] = problems(roles(MOUNT), claim("ReadWriteOnce")).values()
    assert found.message.startswith("2 Pods of Master and Worker share claim ckpt")


def test_disks_of_two_names_are_two() -> None:
    made = roles(DISK, worker={"volumes": [{"name": "c", "gcePersistentDisk": {"pdName": "e"}}]})
    assert not problems(made)


def test_roles_that_are_kept_on_one_node_share_what_they_like() -> None:
    beside = {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "kubernetes.io/hostname"}]}
    assert not problems(roles(DISK, {"nodeName": "n1"}, {"nodeName": "n1"}))
    assert not problems(roles(DISK, None, {"affinity": {"podAffinity": beside}}))
    assert problems(roles(DISK, None, {"nodeName": "n1"}))


def test_what_waits_for_another_role_to_complete_may_have_its_disk() -> None:
    def replicated(name: str, **more: Any) -> Any:
        return {"name": name, "template": {"spec": {"template": {"spec": {**pod_spec(gpu_job()), "volumes": [DISK]}}}}, **more}

    made = {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": "s", "namespace": "research"},
        "spec": {"replicatedJobs": [replicated("fetch"), replicated("train")]},
    }
    assert problems(made)
    made["spec"]["replicatedJobs"][1] = replicated("train", dependsOn=[{"name": "fetch", "status": "Complete"}])  # type: ignore[index]
    assert not problems(made)


def test_a_volcano_job_that_names_a_claim_shares_it() -> None:
    made = {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": "v", "namespace": "research"},
        "spec": {
            "volumes": [{"mountPath": "/ckpt", "volumeClaimName": "ckpt"}],
            "tasks": [{"name": "w", "replicas": 2, "template": {"spec": pod_spec(gpu_job())}}],
        },
    }
    assert list(problems(made, claim("ReadWriteOnce"))) == ["claim//ckpt"]
    assert not problems(made, claim("ReadWriteMany"))
    assert not problems(made)


def test_a_claim_in_the_same_file_or_in_the_folder_of_the_cluster_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("policy.yaml").write_text(policy("rules: [{name: r, check: shared-storage, mode: enforce}]"))
    text = """\
apiVersion: batch/v1
kind: Job
metadata: {name: x}
spec:
  parallelism: 4
  template:
    spec:
      restartPolicy: Never
      containers: [{name: a, image: registry.example/llm}]
      volumes: [{name: c, persistentVolumeClaim: {claimName: ckpt}}]
"""
    held = CLAIM.format("[ReadWriteOnce]")
    asked = ("check", "job.yaml", "--policies", "policy.yaml", "-n", "research")
    Path("job.yaml").write_text(text)
    assert main(asked) == 0
    assert "not judged" not in capsys.readouterr().out
    Path("claims.yaml").write_text(held)
    assert main((*asked, "--cluster", "claims.yaml")) == 1
    Path("job.yaml").write_text(text + "---\n" + held.replace(", namespace: research", ""))
    assert main(asked) == 1
    assert "only one node can mount" in " ".join(capsys.readouterr().out.split())


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(["ckpt", "d", "ReadWriteOnce", "Worker"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["name", "persistentVolumeClaim", "claimName", "gcePersistentDisk", "pdName", "rbd", "pool", "image", "fc"]
            ),
            inner,
            max_size=3,
        )
    ),
    max_leaves=15,
)


@settings(max_examples=80, deadline=None)
@given(volume=_JSON, spec=_JSON, modes=_JSON)
def test_any_json_in_volumes_and_claims(volume: Any, spec: Any, modes: Any) -> None:
    state = ClusterState()
    for body in (spec, {"accessModes": modes}):
        state.put("", "PersistentVolumeClaim", {"metadata": {"name": "ckpt", "namespace": "research"}, "spec": body})
        for made in (roles(volume), job(volume, volume), job(spec)):
            assert not [one for one in problems(made, state).values() if one.result.value == "error"]


def volcano(*pods: dict[str, Any], modes: str = "ReadWriteOnce", kind: str = "Job") -> dict[str, Any]:
    spec: dict[str, Any] = {
        "volumes": [{"mountPath": "/ckpt", "volumeClaim": {"accessModes": [modes]}}],
        "tasks": [
            {
                "name": f"t{at}",
                "replicas": one.pop("replicas"),
                "template": {"spec": {"containers": [{"name": "a", "image": "i:1"}], **one}},
            }
            for at, one in enumerate(pods)
        ],
    }
    if kind == "CronJob":
        spec = {"schedule": "0 0 * * *", "jobTemplate": {"spec": spec}}
    metadata = {"name": "llm", "namespace": "research"}
    return {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": kind, "metadata": metadata, "spec": spec}


NODE: dict[str, Any] = {"nodeSelector": {"kubernetes.io/hostname": "n1"}}


def test_what_volcano_mounts_into_every_task_is_shared_by_all_their_pods() -> None:
    assert list(problems(volcano({"replicas": 4}))) == ["claim//ckpt"]
    assert list(problems(volcano({"replicas": 4}, kind="CronJob"))) == ["claim//ckpt"]
    assert list(problems(volcano({"replicas": 1, **NODE}, {"replicas": 20}))) == ["claim//ckpt"]


def test_pods_that_are_kept_on_one_node_share_what_only_it_mounts() -> None:
    assert not problems(volcano({"replicas": 4, **NODE}))
    term = {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": ["n1"]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    assert not problems(volcano({"replicas": 4, "affinity": {"nodeAffinity": required}}))


def test_pods_that_are_kept_on_different_nodes_do_not() -> None:
    other = {"nodeSelector": {"kubernetes.io/hostname": "n2"}}
    assert list(problems(volcano({"replicas": 1, **NODE}, {"replicas": 1, **other}))) == ["claim//ckpt"]


def test_a_claim_for_one_pod_is_shared_on_no_node() -> None:
    assert list(problems(volcano({"replicas": 2, **NODE}, modes="ReadWriteOncePod"))) == ["claim//ckpt"]
