"""Runs of a schedule do not pile up on GPUs.

By default a CronJob starts the next run though the last one still holds its GPUs, so that one slow night fills the cluster.
`accept` lists the values of `concurrencyPolicy` that pass. Without `startingDeadlineSeconds` a run that was missed starts
however late it is, beside the runs of the day; below 10 seconds it may never start, because the controller looks every
10 seconds (`startingDeadline: optional` leaves it out). `maxHistory` bounds how many finished runs of each outcome are kept.
Only schedules of accelerator work are looked at.

Rule:
    check: cron-concurrency
Refused:
    apiVersion: batch/v1
    kind: CronJob
    metadata: {name: nightly-eval, namespace: research}
    spec:
      schedule: "0 1 * * *"
      successfulJobsHistoryLimit: 100
      jobTemplate:
        spec:
          template:
            spec:
              restartPolicy: Never
              containers: [{name: eval, image: "registry.example/llm:1", resources: {limits: {nvidia.com/gpu: 1}}}]
Passes:
    apiVersion: batch/v1
    kind: CronJob
    metadata: {name: nightly-eval, namespace: research}
    spec:
      schedule: "0 1 * * *"
      concurrencyPolicy: Forbid
      startingDeadlineSeconds: 3600
      jobTemplate:
        spec:
          template:
            spec:
              restartPolicy: Never
              containers: [{name: eval, image: "registry.example/llm:1", resources: {limits: {nvidia.com/gpu: 1}}}]
"""

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from signalbox.check.check import Check, Parameters
from signalbox.fieldpath import Path, value_at
from signalbox.finding import CheckSubject, Edit, Fix, Problem
from signalbox.workload.judgement import Evidence
from signalbox.workload.view import WorkloadView

_POLICY: Path = ("spec", "concurrencyPolicy")
_DEADLINE: Path = ("spec", "startingDeadlineSeconds")
_HISTORIES = ("successfulJobsHistoryLimit", "failedJobsHistoryLimit")
# The controller looks at its schedules this often (kubernetes pkg/controller/cronjob).
_SHORTEST_DEADLINE = 10
_AN_HOUR = 3600


class CronConcurrencyParameters(Parameters):
    """What a schedule of accelerator work must say."""

    accept: list[Literal["Allow", "Forbid", "Replace"]] = Field(default=["Forbid", "Replace"], min_length=1)
    starting_deadline: Literal["required", "optional"] = "required"
    max_history: Annotated[int, Field(ge=0)] = 10


def run(subject: CheckSubject, parameters: CronConcurrencyParameters) -> Iterator[Problem]:
    """One problem for runs at once, one for late runs, one for each history that is too long."""
    view = subject.view
    if not _looks_at(view):
        return
    policy = value_at(view.object, _POLICY)
    if policy is None:
        policy = "Allow"
    if policy in ("Allow", "Forbid", "Replace") and policy not in parameters.accept:
        yield Problem(
            _TOLD[policy],
            (Evidence(_POLICY, policy),),
            Fix("", (Edit(_POLICY, parameters.accept[0]),)),
            key="concurrency",
        )
    if parameters.starting_deadline == "required":
        yield from _late(view)
    for field in _HISTORIES:
        path = ("spec", field)
        kept = value_at(view.object, path)
        if type(kept) is int and kept > parameters.max_history:
            yield Problem(
                f"It keeps {kept} finished runs ({field}); at most {parameters.max_history} are allowed.",
                (Evidence(path, str(kept)),),
                Fix("", (Edit(path, parameters.max_history),)),
                key=field,
                amount=kept,
            )


def _looks_at(view: WorkloadView) -> bool:
    return view.kind.runs == "schedule" and view.accelerators.any


_TOLD = {
    "Allow": "The next run starts though the last one still holds its accelerators, and slow runs pile up.",
    "Forbid": "A run is left out while the last one still runs, which is not accepted here.",
    "Replace": "The next run stops the last one before it is done, which is not accepted here.",
}


def _late(view: WorkloadView) -> Iterator[Problem]:
    deadline = value_at(view.object, _DEADLINE)
    fix = Fix("", (Edit(_DEADLINE, _AN_HOUR),))
    if deadline is None:
        message = "A run that was missed starts however late it is: no startingDeadlineSeconds is set."
        yield Problem(message, (), fix, key="starting-deadline")
    elif type(deadline) is int and deadline < _SHORTEST_DEADLINE:
        message = (
            f"Runs may never start: they may be {deadline} s late, and the schedule is looked at every {_SHORTEST_DEADLINE} s."
        )
        yield Problem(message, (Evidence(_DEADLINE, str(deadline)),), fix, key="starting-deadline")


CHECK = Check("cron-concurrency", CronConcurrencyParameters, run, __doc__, looks_at=_looks_at)
