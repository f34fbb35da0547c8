"""The queue must be one this work may use.

`allow` lists queues by name or glob; `deny` takes single ones out (with a `when` on users or groups it keeps a queue for
named people). Work without a queue passes: that is queue-required's business. `instead` is the queue that the fix names,
`note` a sentence for the user, such as whom the queue is for.

Rule:
    check: queue-allowed
    with: {deny: [urgent-release], instead: training-large, note: It is kept for releases.}
Refused:
    apiVersion: batch/v1
    kind: Job
    metadata:
      name: sweep
      namespace: research
      labels: {kueue.x-k8s.io/queue-name: urgent-release}
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
from typing import Self

from pydantic import model_validator

from signalbox.check.check import Check, Parameters, literal
from signalbox.finding import CheckSubject, Edit, Fix, Problem
from signalbox.workload.judgement import Evidence
from signalbox.workload.signs import glob


class QueueAllowedParameters(Parameters):
    """Which queues may be named."""

    allow: list[str] = []
    deny: list[str] = []
    instead: str = ""
    note: str = ""

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if not self.allow and not self.deny:
            raise ValueError("give allow, deny or both")
        return self


def run(subject: CheckSubject, parameters: QueueAllowedParameters) -> Iterator[Problem]:
    """One problem a queue that is not allowed, wherever in the object it is named, keyed by the queue."""
    view = subject.view
    instead = parameters.instead or literal(parameters.allow)
    for queue, paths in view.queues.items():
        denied = any(glob(pattern).match(queue) for pattern in parameters.deny)
        allowed = not parameters.allow or any(glob(pattern).match(queue) for pattern in parameters.allow)
        if allowed and not denied:
            continue
        words = f"; it may use {', '.join(parameters.allow)}" if parameters.allow else ""
        note = f" {parameters.note}" if parameters.note else ""
        if instead:
            fix = Fix("", tuple(Edit(path, instead) for path in paths))
        else:
            fix = Fix("leave the queue out.", tuple(Edit(path, removes=True) for path in paths))
        evidence = tuple(Evidence(path, queue) for path in paths)
        yield Problem(f"Queue {queue} is not for this work{words}.{note}", evidence, fix, key=queue)


CHECK = Check("queue-allowed", QueueAllowedParameters, run, __doc__)
