"""Training runtimes that stand beside the TrainJobs a command was given: once they are applied, the cluster knows them too."""

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from signalbox.engine import Setup
    from signalbox.manifests import Manifest

_RUNTIMES = ("TrainingRuntime", "ClusterTrainingRuntime")


def is_runtime(manifest: "Manifest") -> bool:
    """Whether it is a training runtime: it makes no Pods by itself, and is known where a TrainJob names it."""
    from signalbox.cluster.resources import TRAINER

    return manifest.group == TRAINER and manifest.kind in _RUNTIMES


def knowing_runtimes(setup: "Setup", manifests: "Sequence[Manifest]", namespace: str) -> "Setup":
    """The setup with the runtimes among these manifests known of its cluster. ``namespace``: that of those that name none."""
    from signalbox.cluster.resources import TRAINER
    from signalbox.cluster.state import ClusterState
    from signalbox.manifests import own_namespace

    runtimes = [one for one in manifests if is_runtime(one)]
    if not runtimes:
        return setup
    cluster = setup.cluster if isinstance(setup.cluster, ClusterState) else ClusterState()
    for runtime in runtimes:
        metadata = runtime.value.get("metadata")
        where = own_namespace(runtime.value) or namespace or "default"
        named = {**metadata, "namespace": where} if isinstance(metadata, dict) else metadata
        cluster.put(TRAINER, runtime.kind, {**runtime.value, "metadata": named})
    return replace(setup, cluster=cluster)
