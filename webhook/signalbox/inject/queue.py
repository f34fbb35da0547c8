"""Queue: puts the work into its Kueue queue, suspended until the queue lets it start.

Kueue only suspends what carries its label when its own webhook runs; a label added later leaves a Job running unqueued
for a moment. So `suspend: true` is set together with the label, on the kinds that have it. Children of another object are
left alone: a label there would make each of them a workload of its own (kueue#1568). A queue that is known to be missing
is not set: the work would wait for ever (kueue#13374).

Example:
    inject: {queue: training-large}
Before:
    apiVersion: batch/v1
    kind: Job
    metadata: {name: sweep, namespace: research}
    spec: {template: {spec: {restartPolicy: Never, containers: [{name: trainer, image: "registry.example/llm:1"}]}}}
After:
    metadata.labels[kueue.x-k8s.io/queue-name]: training-large
    spec.suspend: true
"""

from signalbox.fieldpath import value_at
from signalbox.inject.plan import Plan
from signalbox.inject.target import InjectionTarget
from signalbox.workload.labels import QUEUE_LABEL


def inject(plan: Plan, target: InjectionTarget) -> None:
    """Sets the label and suspends. A queue of the user's own stays, unless the policy forces its own."""
    planned, view = plan.queue, target.view
    if planned is None or view.kind.queue is None or not view.takes_queue:
        return
    if view.owner is not None and (view.owner.group, view.owner.kind) != ("batch", "CronJob"):
        return
    if view.queue and not planned.force:
        return
    if view.cluster.has_local_queue(view.namespace, planned.value) is False:
        target.warnings.append(
            f"not queued: queue {planned.value} (policy {planned.by}) does not exist in namespace {view.namespace}"
        )
        return
    obstacle = view.kind.obstacle(view.object) if view.kind.obstacle is not None else ""
    if obstacle:
        target.warnings.append(f"not queued in {planned.value} (policy {planned.by}): {obstacle}")
        return
    if not target.write((*view.kind.queue, "labels", QUEUE_LABEL), planned.value, planned.by):
        return
    if view.queue:
        target.warnings.append(f"queue {view.queue} was replaced by {planned.value} (policy {planned.by})")
    suspend = view.kind.suspend
    if suspend is None:
        return
    # False is the API server's default for its own kinds; in a custom resource somebody wrote it.
    if value_at(view.object, suspend) is False and not view.kind.defaulted:
        return
    target.write(suspend, True, planned.by)
