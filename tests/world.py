"""What tests of the engine stand on: policies and manifests as YAML, requests as the API server sends them."""

import copy
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import jsonpatch

from signalbox.check.table import PARAMETERS
from signalbox.cluster.folder import cluster_of
from signalbox.cluster.objects import LocalQueue, PriorityClass
from signalbox.cluster.state import ClusterState
from signalbox.cluster.view import UNKNOWN, EmptyClusterView, UnknownType
from signalbox.engine import Outcome, Setup, mutate, validate
from signalbox.manifests import FileBytes, PathBytes, parse_manifests
from signalbox.policy.loading import load_policy_set
from signalbox.policy.policy_set import PolicySet
from signalbox.review import Request, UserInfo
from signalbox.signs_loading import load_default_signs
from signalbox.source import read_documents
from signalbox.workload.kinds.table import KINDS
from signalbox.workload.view import WorkloadView

NOW = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)
SIGNS = load_default_signs()
CLASSES = {"train-low": 1000, "train-normal": 10000, "serving-high": 100000, "urgent": 1000000}


@dataclass(frozen=True)
class Cluster(EmptyClusterView):
    """A cluster that is known whole."""

    classes: dict[str, int] = field(default_factory=lambda: CLASSES)
    default: str = ""
    kueue_classes: dict[str, int] = field(default_factory=dict)
    queues: frozenset[str] | None = None
    labels: dict[str, dict[str, str]] = field(default_factory=dict)

    def namespace_labels(self, namespace: str) -> dict[str, str] | UnknownType:
        return self.labels.get(namespace, UNKNOWN)

    def priority_class(self, name: str) -> PriorityClass | None | UnknownType:
        return PriorityClass(name, self.classes[name]) if name in self.classes else None

    def default_priority_class(self) -> PriorityClass | None | UnknownType:
        return PriorityClass(self.default, self.classes[self.default]) if self.default else None

    def workload_priority_class(self, name: str) -> PriorityClass | None | UnknownType:
        return PriorityClass(name, self.kueue_classes[name]) if name in self.kueue_classes else None

    def has_local_queue(self, namespace: str, name: str) -> bool | UnknownType:
        return UNKNOWN if self.queues is None else name in self.queues

    def local_queue(self, namespace: str, name: str) -> LocalQueue | None | UnknownType:
        if self.queues is None:
            return UNKNOWN
        return LocalQueue(name) if name in self.queues else None


def yaml(text: str) -> Any:
    """The first document of a YAML text."""
    return read_documents(text, "test.yaml")[0].value


def cluster_of_yaml(text: str) -> ClusterState:
    """What is known of a cluster from YAML, as a folder of it tells; a problem in it fails the test."""
    cluster, problems = cluster_of(parse_manifests([PathBytes("cluster.yaml", (FileBytes("cluster.yaml", text.encode()),))]))
    assert not problems, problems
    return cluster


def policies(text: str) -> PolicySet:
    """A policy set; a problem in it fails the test."""
    loaded = load_policy_set(read_documents(text, "policies.yaml"), PARAMETERS)
    assert not loaded.problems, loaded.problems
    return loaded.policy_set


def policy(body: str, name: str = "p") -> str:
    """A WorkloadPolicy document whose spec is ``body``."""
    indented = "\n".join(f"  {line}" for line in body.strip("\n").splitlines())
    return f"apiVersion: policy.workload.ai/v1alpha1\nkind: WorkloadPolicy\nmetadata: {{name: {name}}}\nspec:\n{indented}\n"


def setup(*texts: str, cluster: Any = None, **options: Any) -> Setup:
    """A Setup of these policy documents in a cluster that is known whole."""
    text = "\n---\n".join(texts)
    return Setup(
        SIGNS,
        policies(text) if text else PolicySet(),
        cluster=cluster if cluster is not None else Cluster(),
        verify_patches=True,
        **options,
    )


def request(
    obj: dict[str, Any] | None,
    old: dict[str, Any] | None = None,
    user: str | None = "ann",
    groups: tuple[str, ...] = (),
    operation: str | None = None,
    sub_resource: str = "",
    kind: tuple[str, str] | None = None,
) -> Request:
    """A request about a manifest: UPDATE where the old object is given."""
    shown = obj if obj is not None else old or {}
    version = str(shown.get("apiVersion", ""))
    group = version.rpartition("/")[0]
    metadata = shown.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    namespace, name = metadata.get("namespace"), metadata.get("name")
    return Request(
        uid="uid-1",
        operation=operation or ("CREATE" if old is None else "UPDATE"),  # type: ignore[arg-type]
        group=kind[0] if kind else group,
        version="v1",
        kind=kind[1] if kind else str(shown.get("kind")),
        # The API server's own, always text, whatever stands in the object.
        namespace=namespace if isinstance(namespace, str) and namespace else "default",
        name=name if isinstance(name, str) else "",
        sub_resource=sub_resource,
        user=None if user is None else UserInfo(user, groups),
        object=obj,
        old_object=old,
    )


def mutated(world: Setup, asked: Request) -> dict[str, Any]:
    """The object after /mutate, its patch applied by somebody else's RFC 6902 library."""
    before = copy.deepcopy(asked.object)
    outcome = mutate(world, asked, NOW)
    assert not outcome.errors, outcome.errors
    assert outcome.response.allowed, outcome.response.message
    assert asked.object == before, "the request's object was changed"
    result: dict[str, Any] = jsonpatch.apply_patch(before, list(outcome.response.patch))
    return result


def judged(world: Setup, asked: Request) -> Outcome:
    """The answer of /validate, without a fault of ours on the way."""
    outcome = validate(world, asked, NOW)
    assert not outcome.errors, outcome.errors
    return outcome


def view(manifest: dict[str, Any], cluster: Any = None) -> WorkloadView:
    """The view of a manifest."""
    version = str(manifest.get("apiVersion", ""))
    kind = KINDS[version.rpartition("/")[0], manifest["kind"]]
    return WorkloadView(manifest, kind, SIGNS, cluster if cluster is not None else Cluster())
