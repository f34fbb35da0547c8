"""Work for a shared cluster must stand in a queue.

Kueue leaves work without a queue label alone: it starts at once and takes GPUs that the queued work of others was
promised. `suggest` is the queue that the fix names.

Rule:
    check: queue-required
    with: {suggest: training-large}
Refused:
    apiVersion: batch/v1
    kind: CronJob
    metadata: {name: nightly, namespace: research}
    spec:
      schedule: "0 1 * * *"
      jobTemplate:
        spec:
          template:
            spec:
              restartPolicy: Never
              containers: [{name: eval, image: "registry.example/llm:1", resources: {limits: {nvidia.com/gpu: 1}}}]
Passes:
    apiVersion: batch/v1
    kind: CronJob
    metadata: {name: nightly, namespace: research}
    spec:
      schedule: "0 1 * * *"
      jobTemplate:
        metadata: {labels: {kueue.x-k8s.io/queue-name: eval-batch}}
        spec:
          template:
            spec:
              restartPolicy: Never
              containers: [{name: eval, image: "registry.example/llm:1", resources: {limits: {nvidia.com/gpu: 1}}}]
"""

from signalbox.check.check import Check, Parameters
from signalbox.finding import CheckSubject, Edit, Fix, Problem
from signalbox.workload.labels import QUEUE_LABEL


class QueueRequiredParameters(Parameters):
    """Which queue the fix suggests."""

    suggest: str = ""


def run(subject: CheckSubject, parameters: QueueRequiredParameters) -> list[Problem]:
    """One problem at most. Kinds that Kueue does not queue by a label pass."""
    view = subject.view
    if not view.takes_queue or view.queue:
        return []
    path = (*view.queue_metadata, "labels", QUEUE_LABEL)
    if parameters.suggest:
        fix = Fix("", (Edit(path, parameters.suggest),))
    else:
        fix = Fix("name your queue:", (Edit(path, "QUEUE", to_fill_in=True),))
    return [Problem("It stands in no queue.", (), fix, key="queue", fixed_by="queue")]


CHECK = Check("queue-required", QueueRequiredParameters, run, __doc__, looks_at=lambda view: view.takes_queue)
