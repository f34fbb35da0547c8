"""What stands beside the workloads that a command was given, and they name: once it is applied, the cluster knows it too."""

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from signalbox.engine import Setup
    from signalbox.manifests import Manifest

_RUNTIMES = ("TrainingRuntime", "ClusterTrainingRuntime")
_CLAIMS = ("ResourceClaimTemplate", "ResourceClaim", "DeviceClass")


def is_runtime(manifest: "Manifest") -> bool:
    """Whether it is a training runtime: it makes no Pods by itself, and is known where a TrainJob names it."""
    from signalbox.cluster.resources import TRAINER

    return manifest.group == TRAINER and manifest.kind in _RUNTIMES


def knowing_what_is_beside(setup: "Setup", manifests: "Sequence[Manifest]", namespace: str) -> "Setup":
    """The setup with the runtimes, claims and device classes among these manifests known of its cluster.

    ``namespace``: that of those that name none.
    """
    from signalbox.cluster.state import ClusterState
    from signalbox.manifests import own_namespace

    beside = [one for one in manifests if is_runtime(one) or _is_claim(one)]
    if not beside:
        return setup
    cluster = setup.cluster if isinstance(setup.cluster, ClusterState) else ClusterState()
    for one in beside:
        metadata = one.value.get("metadata")
        where = own_namespace(one.value) or namespace or "default"
        named = {**metadata, "namespace": where} if isinstance(metadata, dict) else metadata
        cluster.put(one.group, one.kind, {**one.value, "metadata": named})
    return replace(setup, cluster=cluster)


def _is_claim(manifest: "Manifest") -> bool:
    """Whether it says what Pods claim: devices, or a volume."""
    from signalbox.cluster.resources import DEVICES

    if manifest.group == DEVICES:
        return manifest.kind in _CLAIMS
    return (manifest.group, manifest.kind) == ("", "PersistentVolumeClaim")
