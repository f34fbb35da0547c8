"""The queue that is named must be there, and lead somewhere.

Kueue accepts a queue name that nobody has: the work is suspended and waits for ever, and no event says why. The same
becomes of work in a LocalQueue whose ClusterQueue is missing, or takes nothing from the namespace. A queue that is stopped
is told, never refused: it will be started again. What is not known of the cluster is not judged; where GitOps applies a
queue together with its first Job, the queue may be known only a moment later, so `warn` is the mode to begin with.

Rule:
    check: queue-exists
Cluster:
    apiVersion: kueue.x-k8s.io/v1beta2
    kind: LocalQueue
    metadata: {name: training-large, namespace: research}
    spec: {clusterQueue: large}
Refused:
    apiVersion: batch/v1
    kind: Job
    metadata:
      name: sweep
      namespace: research
      labels: {kueue.x-k8s.io/queue-name: training-lage}
    spec:
      template:
        spec: {restartPolicy: Never, containers: [{name: trainer, image: "registry.example/llm:1"}]}
Passes:
    apiVersion: batch/v1
    kind: Job
    metadata:
      name: sweep
      namespace: research
      labels: {kueue.x-k8s.io/queue-name: training-large}
    spec:
      template:
        spec: {restartPolicy: Never, containers: [{name: trainer, image: "registry.example/llm:1"}]}
"""

from collections.abc import Iterator

from signalbox.check.check import Check, NoParameters, close_to, some_of
from signalbox.cluster.objects import LocalQueue
from signalbox.cluster.view import UNKNOWN
from signalbox.fieldpath import Path
from signalbox.finding import CheckSubject, Edit, Fix, Problem, Unjudged
from signalbox.policy.mode import Mode
from signalbox.workload.judgement import Evidence
from signalbox.workload.selector import selects
from signalbox.workload.view import WorkloadView


def run(subject: CheckSubject, parameters: NoParameters) -> Iterator[Problem | Unjudged]:
    """One problem a queue, keyed by the queue; wherever in the object it is named."""
    view = subject.view
    for queue, paths in view.kueue_queues.items():
        found = view.cluster.local_queue(view.namespace, queue)
        if found is UNKNOWN:
            yield Unjudged(f"the LocalQueues of namespace {view.namespace}")
        elif found is not None:
            yield from _leads_nowhere(view, found, paths)
        elif view.cluster.has_kueue() is False:
            yield Unjudged("the LocalQueues of this cluster, where Kueue is not installed")
        else:
            yield _missing(view, queue, paths)


def _missing(view: WorkloadView, queue: str, paths: list[Path]) -> Problem:
    names = view.cluster.local_queue_names(view.namespace)
    if not names:
        has, fix = "it has none", Fix(f"ask for a LocalQueue in namespace {view.namespace}, or leave the queue out.")
    else:
        has, meant = f"it has {some_of(names, queue)}", close_to(queue, names) or (names[0] if len(names) == 1 else "")
        fix = Fix("", tuple(Edit(path, meant) for path in paths)) if meant else Fix("name one of these.")
    message = f"There is no queue {queue} in namespace {view.namespace}, so this would wait for ever; {has}."
    return Problem(message, tuple(Evidence(path, queue) for path in paths), fix, key=queue)


def _leads_nowhere(view: WorkloadView, queue: LocalQueue, paths: list[Path]) -> Iterator[Problem | Unjudged]:
    evidence = tuple(Evidence(path, queue.name) for path in paths)
    behind = view.cluster.cluster_queue(queue.cluster_queue) if queue.cluster_queue else UNKNOWN
    if behind is UNKNOWN:
        yield Unjudged(f"ClusterQueue {queue.cluster_queue}" if queue.cluster_queue else f"where queue {queue.name} leads")
        return
    if behind is None:
        message = f"Queue {queue.name} leads to ClusterQueue {queue.cluster_queue}, which does not exist: nothing in it starts."
        fix = Fix("name another queue, or ask for that ClusterQueue.")
        yield Problem(message, evidence, fix, key=f"{queue.name} to {queue.cluster_queue}")
        return
    selector, labels = behind.namespace_selector, view.cluster.namespace_labels(view.namespace)
    if selector and labels is UNKNOWN:
        yield Unjudged(f"the labels of namespace {view.namespace}")
    elif selector is None or (selector and labels is not UNKNOWN and not selects(selector, labels)):
        message = (
            f"Queue {queue.name} leads to ClusterQueue {behind.name}, which takes nothing from namespace {view.namespace}."
        )
        fix = Fix("name another queue, or ask for this namespace to be let in (namespaceSelector of the ClusterQueue).")
        yield Problem(message, evidence, fix, key=f"{queue.name} to {behind.name} from {view.namespace}")
    elif queue.stopped or behind.stopped:
        what = f"Queue {queue.name}" if queue.stopped else f"ClusterQueue {behind.name}, behind queue {queue.name},"
        fix = Fix("wait, or name another queue.")
        yield Problem(
            f"{what} is stopped for now: this waits until it is started again.",
            evidence,
            fix,
            f"{queue.name} stopped",
            at_most=Mode.WARN,
        )


CHECK = Check("queue-exists", NoParameters, run, __doc__)
