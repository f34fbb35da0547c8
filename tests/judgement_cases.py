"""Reads the golden cases of judgements: a short description of a workload in, the judgement out."""

from pathlib import Path
from typing import Any

import yaml

from signalbox.cluster.view import EmptyClusterView
from signalbox.signs_loading import load_default_signs
from signalbox.workload.kinds.table import KINDS
from signalbox.workload.view import WorkloadView

FOLDER = Path(__file__).parent / "cases" / "judgements"
_API = {"Pod": "v1", "Job": "batch/v1", "CronJob": "batch/v1", "JobSet": "jobset.x-k8s.io/v1alpha2"}


def cases(name: str) -> list[Any]:
    """The cases of one file, unique by name."""
    found = yaml.safe_load((FOLDER / f"{name}.yaml").read_text())
    names = [case["case"] for case in found]
    assert len(set(names)) == len(names), "two cases have one name"
    return found


def view_of(manifest: dict[str, Any]) -> WorkloadView:
    """The view of a whole manifest."""
    group = manifest["apiVersion"].rpartition("/")[0]
    return WorkloadView(manifest, KINDS[group, manifest["kind"]], load_default_signs(), EmptyClusterView())


def manifest_of(case: dict[str, Any]) -> dict[str, Any]:
    """The manifest that a case describes: whole (`manifest`), by its PodSpec (`pod`) or its only container."""
    if "manifest" in case:
        return dict(case["manifest"])
    pod = case.get("pod")
    if pod is None:
        container = {"name": "main", **case["container"]}
        gpus = case.get("gpus", 1)
        if gpus:
            container.setdefault("resources", {"limits": {"nvidia.com/gpu": gpus}})
        pod = {"containers": [container], **case.get("with", {})}
    return workload(case.get("kind", "Job"), pod, case)


def workload(kind: str, pod: Any, case: dict[str, Any]) -> dict[str, Any]:
    """A minimal manifest of a kind around a PodSpec."""
    metadata: dict[str, Any] = {"name": "x"}
    for key in ("labels", "annotations"):
        if key in case:
            metadata[key] = case[key]
    template = {"spec": pod}
    spec: dict[str, Any] = {"template": template, **case.get("spec", {})}
    if kind == "Pod":
        return {"apiVersion": "v1", "kind": kind, "metadata": metadata, "spec": pod}
    if kind == "CronJob":
        spec = {"jobTemplate": {"spec": spec}}
    if kind == "JobSet":
        spec = {"replicatedJobs": [{"name": "w", "replicas": 1, "template": {"spec": spec}}]}
    return {"apiVersion": _API.get(kind, "apps/v1"), "kind": kind, "metadata": metadata, "spec": spec}
