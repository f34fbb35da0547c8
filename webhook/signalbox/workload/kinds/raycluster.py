"""RayCluster ``ray.io``: stands until somebody takes it away; what runs on it is submitted later."""

from signalbox.fieldpath import Path
from signalbox.workload.kinds.kind import WorkloadKind
from signalbox.workload.kinds.ray import cluster_metadata, cluster_obstacle, cluster_templates

_CLUSTER: Path = ("spec",)

RAY_CLUSTER = WorkloadKind(
    group="ray.io",
    kind="RayCluster",
    templates=lambda cluster: cluster_templates(cluster, _CLUSTER),
    runs="open",
    labelled=lambda cluster: cluster_metadata(cluster, _CLUSTER),
    obstacle=lambda cluster: cluster_obstacle(cluster, _CLUSTER),
    suspend=("spec", "suspend"),
    defaulted=False,
    framework="ray",
)
