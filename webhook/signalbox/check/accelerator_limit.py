"""How many accelerators one workload may ask for, in total and per Pod.

`maxTotal`, `minTotal`, `maxPerPod` and `minPerPod` bound the counts. `instead` is the queue that the fix names for work
that is too large (or too small) for this one. Where a placeholder stands for part of the count, what is written beside it
still counts.

Rule:
    check: accelerator-limit
    with: {maxTotal: 2, instead: training-large}
    when: {queues: [interactive-dev]}
Refused:
    apiVersion: v1
    kind: Pod
    metadata:
      name: notebook
      namespace: research
      labels: {kueue.x-k8s.io/queue-name: interactive-dev}
    spec:
      containers: [{name: jupyter, image: "registry.example/lab:1", resources: {limits: {nvidia.com/gpu: 8}}}]
Passes:
    apiVersion: v1
    kind: Pod
    metadata:
      name: notebook
      namespace: research
      labels: {kueue.x-k8s.io/queue-name: interactive-dev}
    spec:
      containers: [{name: jupyter, image: "registry.example/lab:1", resources: {limits: {nvidia.com/gpu: 2}}}]
"""

from collections.abc import Iterator
from typing import Annotated, Self

from pydantic import Field, model_validator

from signalbox.check.check import Check, Parameters
from signalbox.finding import CheckSubject, Edit, Fix, Problem
from signalbox.quantity import Quantity, format_quantity
from signalbox.workload.labels import QUEUE_LABEL
from signalbox.workload.view import WorkloadView

_Bound = Annotated[int, Field(ge=0)] | None


class AcceleratorLimitParameters(Parameters):
    """The bounds; at least one."""

    max_total: _Bound = None
    min_total: _Bound = None
    max_per_pod: _Bound = None
    min_per_pod: _Bound = None
    instead: str = ""

    @model_validator(mode="after")
    def _bounds(self) -> Self:
        if self.max_total is self.min_total is self.max_per_pod is self.min_per_pod is None:
            raise ValueError("give at least one of maxTotal, minTotal, maxPerPod, minPerPod")
        return self


def run(subject: CheckSubject, parameters: AcceleratorLimitParameters) -> Iterator[Problem]:
    """One problem a bound that is broken, keyed by the bound."""
    view = subject.view
    accelerators = view.accelerators
    if not accelerators.any:
        return
    for what, asked, low, high in (
        ("in total", accelerators.total, parameters.min_total, parameters.max_total),
        ("a Pod", accelerators.per_pod, parameters.min_per_pod, parameters.max_per_pod),
    ):
        where = f"in queue {view.queue}" if parameters.instead and view.queue else "here"
        if high is not None and asked > high:
            message = f"At most {high} accelerators {what} are allowed {where}, this asks for {_sum(view, asked)}."
            fix = _fix(view, parameters.instead, f"ask for at most {high} {what}.")
            yield Problem(message, accelerators.evidence, fix, key=f"max {what}", amount=_amount(asked))
        elif low is not None and asked < low and not accelerators.placeholder:
            message = f"At least {low} accelerators {what} are expected {where}, this asks for {_sum(view, asked)}."
            fix = _fix(view, parameters.instead, f"ask for at least {low} {what}.")
            yield Problem(message, accelerators.evidence, fix, key=f"min {what}", amount=_amount(low - asked))


def _amount(count: Quantity) -> float:
    # A quantity may have any exponent, a float has not.
    return float(min(count, 10**15))


def _sum(view: WorkloadView, asked: Quantity) -> str:
    """The count, with the sum it came from where that is a simple one."""
    pods, per_pod = view.pods, view.accelerators.per_pod
    if pods is not None and pods > 1 and asked == pods * per_pod:
        return f"{format_quantity(asked)} ({pods} Pods of {format_quantity(per_pod)})"
    return format_quantity(asked)


def _fix(view: WorkloadView, instead: str, text: str) -> Fix:
    if not instead:
        return Fix(text)
    return Fix("", (Edit((*view.queue_metadata, "labels", QUEUE_LABEL), instead),))


CHECK = Check("accelerator-limit", AcceleratorLimitParameters, run, __doc__)
