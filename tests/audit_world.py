"""What tests of the audit stand on: stored objects as an API server lists them, and small policies."""

from __future__ import annotations

from typing import Any

from signalbox.audit.listing import Found
from signalbox.audit.result import Subject
from signalbox.audit.scan import Scan
from signalbox.engine import Setup
from signalbox.workload.kinds.kind import WorkloadKind
from signalbox.workload.kinds.table import KINDS
from tests.fake_api_server import FakeApiServer
from tests.world import NOW, policy, setup

Manifest = dict[str, Any]
SMALL = policy("rules:\n- {name: small, check: accelerator-limit, with: {maxTotal: 4}, mode: enforce}", "limits")
GRACE = policy(
    "inject: {terminationGracePeriodSeconds: 300}\n"
    "rules:\n- {name: grace, check: termination-grace, with: {min: 300}, mode: warn}",
    "grace",
)


def pod_spec(gpus: int = 8, **more: Any) -> Manifest:
    container = {"name": "trainer", "image": "registry.example/llm:1", "command": ["torchrun", "train.py"]}
    if gpus:
        container["resources"] = {"limits": {"nvidia.com/gpu": str(gpus)}, "requests": {"nvidia.com/gpu": str(gpus)}}
    return {
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 30,
        "dnsPolicy": "ClusterFirst",
        "schedulerName": "default-scheduler",
        "containers": [container],
        **more,
    }


def stored(
    api_version: str,
    kind: str,
    name: str,
    spec: Any,
    *,
    namespace: str = "research",
    owner: Manifest | None = None,
    **more: Any,
) -> Manifest:
    """An object as the API server holds it."""
    metadata: Manifest = {
        "name": name,
        "namespace": namespace,
        "uid": f"{kind.lower()}-{namespace}-{name}",
        "creationTimestamp": "2026-11-01T10:00:00Z",
        "managedFields": [{"manager": "kubectl", "operation": "Update", "fieldsV1": {"f:spec": {}}}],
    }
    if owner is not None:
        reference = {key: owner[key] for key in ("apiVersion", "kind")}
        uid, owner_name = owner["metadata"]["uid"], owner["metadata"]["name"]
        metadata["ownerReferences"] = [{**reference, "name": owner_name, "uid": uid, "controller": True}]
    metadata |= more.pop("metadata", {})
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec, **more}


def job(name: str, gpus: int = 8, **more: Any) -> Manifest:
    template = {"metadata": {"labels": {"job-name": name}}, "spec": pod_spec(gpus)}
    return stored("batch/v1", "Job", name, {"parallelism": 1, "completions": 1, "template": template}, **more)


def deployment(name: str, gpus: int = 0, **more: Any) -> Manifest:
    spec = {"replicas": 1, "template": {"metadata": {}, "spec": {**pod_spec(gpus), "restartPolicy": "Always"}}}
    return stored("apps/v1", "Deployment", name, spec, **more)


def replica_set(name: str, **more: Any) -> Manifest:
    return {**deployment(name, **more), "kind": "ReplicaSet"} | {
        "metadata": {**deployment(name, **more)["metadata"], "uid": f"replicaset-{name}"}
    }


def pod(name: str, gpus: int = 8, phase: str = "Running", **more: Any) -> Manifest:
    return stored("v1", "Pod", name, pod_spec(gpus), status={"phase": phase}, **more)


def job_set(name: str, gpus: int = 8, **more: Any) -> Manifest:
    inner = {"spec": {"parallelism": 2, "completions": 2, "template": {"spec": pod_spec(gpus)}}}
    return stored("jobset.x-k8s.io/v1alpha2", "JobSet", name, {"replicatedJobs": [{"name": "w", "template": inner}]}, **more)


def kind_of(obj: Manifest) -> WorkloadKind:
    return KINDS[obj["apiVersion"].rpartition("/")[0], obj["kind"]]


def found(obj: Manifest) -> Found:
    return Found(obj, kind_of(obj), obj["metadata"].get("namespace", ""))


def subject_of(obj: Manifest, *policies: str, by: Setup | None = None) -> Subject:
    """What a scan says of one stored object."""
    scan = Scan(by or setup(*policies), NOW)
    subjects = list(scan.subjects([found(obj)]))
    assert not scan.summary().errors, scan.summary().errors
    (subject,) = subjects
    return subject


def install_job_sets(fake: FakeApiServer) -> None:
    fake.install("jobset.x-k8s.io", "v1alpha2", "jobsets", "JobSet")
