"""The priority class must be one this place may use.

Any namespace can name any PriorityClass, `system-node-critical` included, and a class above its own preempts everybody
else's work. `allow` lists the classes as names or globs; no class at all passes unless `unset: refuse` (the cluster's
default, or the injector, then gives one).

Rule:
    check: priority-allowed
    with: {allow: [train-normal, "train-low*"]}
Refused:
    apiVersion: batch/v1
    kind: Job
    metadata: {name: sweep, namespace: research}
    spec:
      template:
        spec:
          restartPolicy: Never
          priorityClassName: system-node-critical
          containers: [{name: trainer, image: "registry.example/llm:1"}]
Passes:
    apiVersion: batch/v1
    kind: Job
    metadata: {name: sweep, namespace: research}
    spec:
      template:
        spec:
          restartPolicy: Never
          priorityClassName: train-low
          containers: [{name: trainer, image: "registry.example/llm:1"}]
"""

from collections.abc import Iterator
from typing import Literal

from pydantic import Field

from signalbox.check.check import Check, Parameters, literal
from signalbox.finding import CheckSubject, Edit, Fix, Problem
from signalbox.workload.judgement import Evidence
from signalbox.workload.priority import KUEUE_PRIORITY_LABEL, named_class
from signalbox.workload.signs import glob


class PriorityAllowedParameters(Parameters):
    """Which classes may be named."""

    allow: list[str] = Field(min_length=1)
    unset: Literal["pass", "refuse"] = "pass"


def run(subject: CheckSubject, parameters: PriorityAllowedParameters) -> Iterator[Problem]:
    """One problem a class that is not allowed, keyed by the class."""
    view = subject.view
    instead = literal(parameters.allow)
    seen: set[str] = set()
    for template in view.templates:
        name, path = named_class(view.object, template, view.kind.priority)
        if (
            (template.virtual and not name)
            or name in seen
            or any(glob(pattern).match(name) for pattern in parameters.allow if name)
        ):
            continue
        if not name and parameters.unset == "pass":
            continue
        seen.add(name)
        # Every template that names the class is mended at once.
        edits = tuple(
            Edit(place, instead)
            for place in dict.fromkeys(
                where
                for other, (own, where) in ((one, named_class(view.object, one, view.kind.priority)) for one in view.templates)
                if own == name and not other.virtual
            )
        )
        allowed = ", ".join(parameters.allow)
        problem = f"Priority class {name} is not for this work" if name else "No priority class is given"
        yield Problem(
            f"{problem}; it may use {allowed}.",
            (Evidence(path, name),) if name else (),
            Fix("" if instead else f"name one of {allowed}.", edits if instead else ()),
            key=name,
            fixed_by="" if name else "priority",
        )
    kueue = view.priority.kueue_class
    if kueue and kueue not in seen and not any(glob(pattern).match(kueue) for pattern in parameters.allow):
        path = (*view.queue_metadata, "labels", KUEUE_PRIORITY_LABEL)
        yield Problem(
            f"Kueue priority class {kueue} is not for this work; it may use {', '.join(parameters.allow)}.",
            (Evidence(path, kueue),),
            Fix("", (Edit(path, instead),)) if instead else Fix(f"name one of {', '.join(parameters.allow)}."),
            key=f"kueue:{kueue}",
        )


CHECK = Check("priority-allowed", PriorityAllowedParameters, run, __doc__)
