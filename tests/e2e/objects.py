"""Manifests as people write them, small, and varied by a test in what it is about."""

from __future__ import annotations

from typing import Any

Manifest = dict[str, Any]
IMAGE = "registry.example/llm:1"
QUEUE = "kueue.x-k8s.io/queue-name"
GPU = "nvidia.com/gpu"
SPOT = {"cloud.google.com/gke-spot": "true"}


def template(gpus: int | str = 0, command: str = "", restart: str | None = "Never", **spec: Any) -> Manifest:
    """A Pod template of one container."""
    container: Manifest = {"name": "main", "image": IMAGE}
    if command:
        container["command"] = command.split()
    if gpus:
        container["resources"] = {"limits": {GPU: gpus}}
    body: Manifest = {"containers": [container], **spec}
    if restart is not None:
        body["restartPolicy"] = restart
    return {"spec": body}


def job(name: str, namespace: str, body: Manifest | None = None, labels: dict[str, str] | None = None, **spec: Any) -> Manifest:
    """A Job."""
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": _metadata(name, namespace, labels),
        "spec": {"template": body or template(), **spec},
    }


def cron_job(name: str, namespace: str, body: Manifest | None = None, schedule: str = "0 3 * * *", **job_spec: Any) -> Manifest:
    """A CronJob."""
    return {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": _metadata(name, namespace, None),
        "spec": {"schedule": schedule, "jobTemplate": {"spec": {"template": body or template(), **job_spec}}},
    }


def pod(name: str, namespace: str, body: Manifest | None = None, labels: dict[str, str] | None = None) -> Manifest:
    """A bare Pod."""
    spec = (body or template())["spec"]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": _metadata(name, namespace, labels), "spec": spec}


def deployment(name: str, namespace: str, body: Manifest | None = None, replicas: int = 1) -> Manifest:
    """A Deployment; a web server unless told otherwise."""
    return _replicated("Deployment", name, namespace, body or template(restart=None), replicas)


def stateful_set(name: str, namespace: str, body: Manifest | None = None, replicas: int = 1) -> Manifest:
    """A StatefulSet."""
    found = _replicated("StatefulSet", name, namespace, body or template(restart=None), replicas)
    found["spec"]["serviceName"] = name
    return found


def daemon_set(name: str, namespace: str, body: Manifest | None = None) -> Manifest:
    """A DaemonSet."""
    found = _replicated("DaemonSet", name, namespace, body or template(restart=None), 1)
    del found["spec"]["replicas"]
    return found


def replica_set(name: str, namespace: str, body: Manifest | None = None, replicas: int = 1) -> Manifest:
    """A ReplicaSet that somebody made by hand."""
    return _replicated("ReplicaSet", name, namespace, body or template(restart=None), replicas)


def replication_controller(name: str, namespace: str, body: Manifest | None = None) -> Manifest:
    """A ReplicationController, the ReplicaSet of before."""
    found = _replicated("ReplicationController", name, namespace, body or template(restart=None), 1)
    return {**found, "apiVersion": "v1", "spec": {**found["spec"], "selector": {"app": name}}}


def pod_template(name: str, namespace: str, body: Manifest | None = None) -> Manifest:
    """A PodTemplate, which holds a template and runs nothing."""
    made = {"apiVersion": "v1", "kind": "PodTemplate", "metadata": _metadata(name, namespace, None)}
    return {**made, "template": body or template()}


def job_set(
    name: str, namespace: str, body: Manifest | None = None, labels: dict[str, str] | None = None, **spec: Any
) -> Manifest:
    """A JobSet of one replicated job."""
    # JobSet fills in completionMode on CREATE alone, and then refuses a manifest that leaves it out: without us, too.
    job_spec = {"parallelism": 1, "completions": 1, "completionMode": "Indexed", "template": body or template()}
    workers = {"name": "w", "replicas": 1, "template": {"spec": job_spec}}
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": _metadata(name, namespace, labels),
        "spec": {"replicatedJobs": [workers], **spec},
    }


def gpu_mismatch(name: str = "mismatch", namespace: str = "default") -> Manifest:
    """A Job that Signalbox always refuses: limits and requests of GPUs differ."""
    body = template(2)
    body["spec"]["containers"][0]["resources"]["requests"] = {GPU: 1}
    return job(name, namespace, body)


def _replicated(kind: str, name: str, namespace: str, body: Manifest, replicas: int) -> Manifest:
    body.setdefault("metadata", {}).setdefault("labels", {})["app"] = name
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": _metadata(name, namespace, None),
        "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": name}}, "template": body},
    }


def _metadata(name: str, namespace: str, labels: dict[str, str] | None) -> Manifest:
    key = "generateName" if name.endswith("-") else "name"
    return {key: name, "namespace": namespace, **({"labels": labels} if labels else {})}
