"""A cluster view from files: what ``kubectl get namespaces,priorityclasses,localqueues,… -A -o yaml`` prints, in a folder.

A kind of which the folder holds no object was not asked for, so all of it is unknown. Where it holds one, the list is taken
as whole, and a name that is not in it is known to be absent. Some kinds often have no object at all: where there is a
ClusterQueue, LocalQueues, Cohorts and ResourceQuotas were asked for too. Namespaces are the exception: one that is missing
may be made together with the workload, so its labels stay unknown.
"""

from signalbox.cluster.resources import KUEUE, READ_FROM_FILES
from signalbox.cluster.state import ClusterState
from signalbox.manifests import Manifests, read_manifests
from signalbox.source import SourceProblem

_CLUSTER_QUEUE = (KUEUE, "ClusterQueue")
_ASKED_FOR_WITH_IT = ((KUEUE, "LocalQueue"), (KUEUE, "Cohort"), ("", "ResourceQuota"))


def read_cluster(folder: str) -> tuple[ClusterState, tuple[SourceProblem, ...]]:
    """The view of a folder (or of one file), and what in it could not be read."""
    return cluster_of(read_manifests([folder]))


def cluster_of(found: Manifests) -> tuple[ClusterState, tuple[SourceProblem, ...]]:
    """The view of manifests that were read already."""
    problems = list(found.problems)
    cluster = ClusterState()
    kinds: dict[tuple[str, str], None] = {}
    for manifest in found.objects:
        key = (manifest.group, manifest.kind)
        if key not in READ_FROM_FILES:
            continue
        kinds[key] = None
        fault = cluster.put(*key, manifest.value)
        if fault is not None:
            at = manifest.document.position(fault.path)
            problems.append(SourceProblem(manifest.file, at.line, at.column, fault.text))
    if _CLUSTER_QUEUE in kinds:
        kinds.update(dict.fromkeys(_ASKED_FOR_WITH_IT))
    for key in kinds:
        cluster.synced(*key)
    return cluster, tuple(problems)
