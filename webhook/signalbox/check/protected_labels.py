"""Labels that decisions rest on do not change once the work is admitted.

Queue, type and team labels were judged when the work came in; whoever changes them afterwards changes what was promised
to others, or gets round a rule. `labels` lists the names as globs. A workload that is still suspended may be moved to
another queue: it is judged there anew.

Rule:
    check: protected-labels
Refused:
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: chat, namespace: serving, labels: {workload.ai/type: training}}
    spec: {template: {spec: {containers: [{name: server, image: "registry.example/vllm:1"}]}}}
Before:
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: chat, namespace: serving, labels: {workload.ai/type: inference}}
    spec: {template: {spec: {containers: [{name: server, image: "registry.example/vllm:1"}]}}}
Passes:
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: chat, namespace: serving, labels: {workload.ai/type: inference, app: chat}}
    spec: {template: {spec: {containers: [{name: server, image: "registry.example/vllm:1"}]}}}
"""

from collections.abc import Iterator

from pydantic import Field

from signalbox.check.check import Check, Parameters, plain_labels
from signalbox.fieldpath import value_at
from signalbox.finding import CheckSubject, Edit, Fix, Problem
from signalbox.workload.judgement import Evidence
from signalbox.workload.kinds.kind import mapping
from signalbox.workload.labels import QUEUE_LABEL
from signalbox.workload.signs import glob
from signalbox.workload.view import WorkloadView


class ProtectedLabelsParameters(Parameters):
    """Which labels."""

    labels: list[str] = Field(default=["workload.ai/*", QUEUE_LABEL], min_length=1)


def run(subject: CheckSubject, parameters: ProtectedLabelsParameters) -> Iterator[Problem]:
    """One problem a label that was added, changed or removed, keyed by its name."""
    view, old = subject.view, subject.old
    if old is None:
        return
    # On a template they are what its Pods carry, and the user's word as much as on the object.
    places = dict.fromkeys((("metadata",), view.queue_metadata, *view.kind.labelled(view.object)))
    for place in places:
        before = plain_labels(mapping(value_at(old.object, place)))
        after = plain_labels(mapping(value_at(view.object, place)))
        for name in sorted(before.keys() | after.keys()):
            was, now = before.get(name), after.get(name)
            if was == now or not any(glob(pattern).match(name) for pattern in parameters.labels):
                continue
            if name == QUEUE_LABEL and _suspended(old):
                continue
            path = (*place, "labels", name)
            # A changed template of an older object is injected afresh: its user did not write that.
            if subject.is_ours(path):
                continue
            change = "was added" if was is None else "was removed" if now is None else f"was changed from {was} to {now}"
            fix = Fix("leave it out.", (Edit(path, removes=True),)) if was is None else Fix("", (Edit(path, was),))
            yield Problem(
                f"Label {name} {change} after the work was admitted.",
                (Evidence(path, now),) if now is not None else (),
                fix,
                key=f"{name}={now}",
            )


def _suspended(view: WorkloadView) -> bool:
    return view.kind.suspend is not None and value_at(view.object, view.kind.suspend) is True


CHECK = Check("protected-labels", ProtectedLabelsParameters, run, __doc__, of_change=True)
