"""A cluster as a folder of YAML shows it: what is not there at all is unknown, not absent."""

from pathlib import Path

import pytest

from signalbox.cluster.folder import read_cluster
from signalbox.cluster.objects import PriorityClass
from signalbox.cluster.state import ClusterState
from signalbox.cluster.view import UNKNOWN, ClusterView

NAMESPACE = "apiVersion: v1\nkind: Namespace\nmetadata: {name: research, labels: {team: a, odd: 1}}\n"
CLASS = "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: low}\nvalue: 10\npreemptionPolicy: Never\n"
DEFAULT = "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: normal}\nvalue: 20\nglobalDefault: true\n"
KUEUE_CLASS = "apiVersion: kueue.x-k8s.io/v1beta2\nkind: WorkloadPriorityClass\nmetadata: {name: batch}\nvalue: -5\n"
LOCAL_QUEUE = "apiVersion: kueue.x-k8s.io/v1beta2\nkind: LocalQueue\nmetadata: {name: lq, namespace: research}\n"
CLUSTER_QUEUE = "apiVersion: kueue.x-k8s.io/v1beta2\nkind: ClusterQueue\nmetadata: {name: cq}\n"


def cluster(folder: Path, *documents: str) -> ClusterState:
    (folder / "cluster.yaml").write_text("---\n".join(documents))
    view, problems = read_cluster(str(folder))
    assert not problems
    return view


def test_an_empty_folder_knows_nothing(tmp_path: Path) -> None:
    view: ClusterView = cluster(tmp_path, "")
    assert view.namespace_labels("research") is UNKNOWN
    assert view.priority_class("low") is UNKNOWN
    assert view.default_priority_class() is UNKNOWN
    assert view.workload_priority_class("batch") is UNKNOWN
    assert view.has_local_queue("research", "lq") is UNKNOWN


def test_the_labels_of_a_namespace(tmp_path: Path) -> None:
    view = cluster(tmp_path, NAMESPACE)
    assert view.namespace_labels("research") == {"team": "a", "kubernetes.io/metadata.name": "research"}
    assert view.namespace_labels("other") is UNKNOWN


def test_with_one_priority_class_there_a_missing_one_is_absent(tmp_path: Path) -> None:
    view = cluster(tmp_path, CLASS)
    assert view.priority_class("low") == PriorityClass("low", 10, "Never")
    assert view.priority_class("high") is None
    assert view.default_priority_class() is None
    assert view.workload_priority_class("low") is UNKNOWN


def test_the_default_priority_class(tmp_path: Path) -> None:
    assert cluster(tmp_path, CLASS, DEFAULT).default_priority_class() == PriorityClass("normal", 20)


def test_kubernetes_own_classes_are_always_there(tmp_path: Path) -> None:
    for documents in ((), (CLASS,)):
        assert cluster(tmp_path, *documents).priority_class("system-node-critical") == PriorityClass(
            "system-node-critical", 2_000_001_000
        )


def test_kueues_priority_classes_are_apart(tmp_path: Path) -> None:
    view = cluster(tmp_path, KUEUE_CLASS)
    assert view.workload_priority_class("batch") == PriorityClass("batch", -5)
    assert view.workload_priority_class("other") is None
    assert view.priority_class("batch") is UNKNOWN


@pytest.mark.parametrize(("documents", "known"), [((LOCAL_QUEUE,), True), ((CLUSTER_QUEUE,), False)])
def test_local_queues_are_known_once_any_queue_is_there(tmp_path: Path, documents: tuple[str, ...], known: bool) -> None:
    view = cluster(tmp_path, *documents)
    assert view.has_local_queue("research", "lq") is known
    assert view.has_local_queue("other", "lq") is False


def test_a_list_as_kubectl_prints_it(tmp_path: Path) -> None:
    items = "".join("- " + text.rstrip("\n").replace("\n", "\n  ") + "\n" for text in (NAMESPACE, CLASS, LOCAL_QUEUE))
    view = cluster(tmp_path, f"apiVersion: v1\nitems:\n{items}kind: List\nmetadata: {{resourceVersion: ''}}\n")
    assert view.has_local_queue("research", "lq") is True
    assert view.priority_class("low") == PriorityClass("low", 10, "Never")


def test_what_cannot_be_read_is_told_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(
        "kind: PriorityClass\napiVersion: scheduling.k8s.io/v1\nmetadata: null\nvalue: many\n---\na: [\n"
    )
    _, problems = read_cluster(str(tmp_path))
    # What YAML cannot read comes first.
    assert [(problem.line, problem.column) for problem in problems] == [(7, 1), (4, 8)]
    assert "a number is expected" in problems[1].message


def test_a_missing_folder_is_a_problem(tmp_path: Path) -> None:
    _, problems = read_cluster(str(tmp_path / "nowhere"))
    assert len(problems) == 1
