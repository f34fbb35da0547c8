"""Reads the golden cases of judgements: a short description of a workload in, the judgement out."""

from pathlib import Path
from typing import Any

from signalbox.cluster.view import EmptyClusterView
from signalbox.signs_loading import load_default_signs
from signalbox.workload.checkpoint import infer_checkpoint
from signalbox.workload.judgement import CHECKPOINT_STATES, RESUME_STATES, SPOT_STATES, TYPES
from signalbox.workload.kinds.table import KINDS
from signalbox.workload.type import heard, infer_type
from signalbox.workload.view import WorkloadView
from tests.yaml_files import read_yaml

FOLDER = Path(__file__).parent / "cases" / "judgements"
_API = {"Pod": "v1", "Job": "batch/v1", "CronJob": "batch/v1", "JobSet": "jobset.x-k8s.io/v1alpha2"}


def cases(name: str) -> list[Any]:
    """The cases of one file, unique by name."""
    found = read_yaml(FOLDER / f"{name}.yaml")
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
    metadata: dict[str, Any] = {"name": case.get("name", "x")}
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


def judge_everything(view: WorkloadView) -> None:
    """Asks a view for all it knows; what it answers is of the right kind and its evidence can be shown."""
    assert view.type.state in (None, *TYPES)
    assert infer_type(view).state in (None, *TYPES)
    assert view.spot.state in SPOT_STATES
    assert view.checkpoint.state in CHECKPOINT_STATES
    assert infer_checkpoint(view).state in CHECKPOINT_STATES
    assert view.resume.state in RESUME_STATES
    assert view.framework.state is None or isinstance(view.framework.state, str)
    assert view.priority.state in ("known", "unset", "unknown")
    assert view.accelerators.total >= 0
    assert view.pods is None or view.pods >= 0
    assert all(isinstance(name, str) for name in (view.queue, view.name, view.namespace, *view.queues))
    kind = view.kind
    assert all(isinstance(place, tuple) for place in kind.labelled(view.object))
    assert kind.obstacle is None or isinstance(kind.obstacle(view.object), str)
    assert isinstance(view.takes_queue, bool)
    together = view.distributed_by
    assert view.distributed is (together is not None)
    seen = [*(() if together is None else (together,)), *(one.said.evidence for one in heard(view))]
    for judgement in (view.type, view.spot, view.checkpoint, view.resume, view.framework, view.priority, view.accelerators):
        seen += judgement.evidence
    for evidence in seen:
        shown = evidence.as_json(view.object)
        assert set(shown) == {"path", "value", "note"}
        assert all(isinstance(text, str) for text in shown.values())
