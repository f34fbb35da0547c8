"""RayJob ``ray.io``: an entrypoint on a Ray cluster that is made for it, or on one that stands (``clusterSelector``).

On a cluster that stands it makes no Pods of its own, and Kueue has no say in it (kueue#7257). Otherwise Kueue takes it only
if the cluster goes with the job. The label stands on the RayJob alone: on the RayCluster it would count twice
(kuberay#4064).
"""

from dataclasses import replace

from signalbox.fieldpath import Path
from signalbox.review import JsonObject
from signalbox.workload.kinds.kind import Metadata, PodTemplate, WorkloadKind, mapping, template_at
from signalbox.workload.kinds.ray import cluster_metadata, cluster_obstacle, cluster_templates, driver

_CLUSTER: Path = ("spec", "rayClusterSpec")
_RUNTIME = "runtimeEnvYAML"
_SUBMITTER: Path = ("spec", "submitterPodTemplate")


def _stands(job: JsonObject) -> bool:
    return bool(mapping(job.get("spec")).get("clusterSelector"))


def _templates(job: JsonObject) -> tuple[PodTemplate, ...]:
    spec = mapping(job.get("spec"))
    cluster = () if _stands(job) else cluster_templates(job, _CLUSTER)
    found = cluster
    if isinstance(spec.get("submitterPodTemplate"), dict):
        found = (*found, replace(template_at(job, _SUBMITTER, 1, "submitter"), apart=True))
    runtime: Path = ("spec", _RUNTIME)
    return (*found, driver(("spec", "entrypoint"), spec.get("entrypoint"), cluster, runtime, spec.get(_RUNTIME)))


def _labelled(job: JsonObject) -> Metadata:
    found = () if _stands(job) else cluster_metadata(job, _CLUSTER)
    submits = isinstance(mapping(job.get("spec")).get("submitterPodTemplate"), dict)
    return (*found, (*_SUBMITTER, "metadata")) if submits else found


def _queued(job: JsonObject) -> bool:
    return not _stands(job)


def _obstacle(job: JsonObject) -> str:
    spec = mapping(job.get("spec"))
    if not isinstance(spec.get("rayClusterSpec"), dict):
        return "Kueue takes no RayJob without rayClusterSpec"
    if spec.get("shutdownAfterJobFinishes") is not True:
        return "Kueue takes a RayJob only with shutdownAfterJobFinishes: true"
    return cluster_obstacle(job, _CLUSTER)


RAY_JOB = WorkloadKind(
    group="ray.io",
    kind="RayJob",
    templates=_templates,
    runs="once",
    labelled=_labelled,
    queued=_queued,
    obstacle=_obstacle,
    suspend=("spec", "suspend"),
    defaulted=False,
    restarts=("spec", "backoffLimit"),
    framework="ray",
)
