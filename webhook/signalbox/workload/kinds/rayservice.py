"""RayService ``ray.io``: serves models from a Ray cluster of its own."""

from signalbox.fieldpath import Path
from signalbox.workload.kinds.kind import WorkloadKind
from signalbox.workload.kinds.ray import cluster_metadata, cluster_templates

_CLUSTER: Path = ("spec", "rayClusterConfig")

RAY_SERVICE = WorkloadKind(
    group="ray.io",
    kind="RayService",
    templates=lambda service: cluster_templates(service, _CLUSTER),
    runs="forever",
    labelled=lambda service: cluster_metadata(service, _CLUSTER),
    queue=None,
    defaulted=False,
    type="inference",
    type_decides=True,
    framework="ray",
)
