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
from signalbox.fieldpath import Path
from signalbox.finding import CheckSubject, Edit, Fix, Problem
from signalbox.workload.judgement import Evidence
from signalbox.workload.priority import KUEUE_PRIORITY_LABEL, classes_by_label, named_class
from signalbox.workload.signs import glob


class PriorityAllowedParameters(Parameters):
    """Which classes may be named."""

    allow: list[str] = Field(min_length=1)
    unset: Literal["pass", "refuse"] = "pass"


def run(subject: CheckSubject, parameters: PriorityAllowedParameters) -> Iterator[Problem]:
    """One problem a class that is not allowed, keyed by the class."""
    view = subject.view
    instead = literal(parameters.allow)
    allowed = ", ".join(parameters.allow)
    # Every template that names the class is mended at once; a virtual one has no field to mend.
    named: dict[str, dict[Path, bool]] = {}
    for template in view.templates:
        name, path = named_class(view.object, template, view.kind.priority)
        if name or not template.virtual:
            named.setdefault(name, {}).setdefault(path, template.virtual)
    for name, paths in named.items():
        if any(glob(pattern).match(name) for pattern in parameters.allow) if name else parameters.unset == "pass":
            continue
        edits = tuple(Edit(path, instead) for path, virtual in paths.items() if not virtual) if instead else ()
        problem = f"Priority class {name} is not for this work" if name else "No priority class is given"
        yield Problem(
            f"{problem}; it may use {allowed}.",
            (Evidence(next(iter(paths)), name),) if name else (),
            Fix("" if instead else f"name one of {allowed}.", edits),
            key=name,
            fixed_by="" if name else "priority",
        )
    for name, labels in classes_by_label(view).items():
        if name in named or any(glob(pattern).match(name) for pattern in parameters.allow):
            continue
        whose = "Kueue priority class" if labels[0][-1] == KUEUE_PRIORITY_LABEL else "Priority class"
        yield Problem(
            f"{whose} {name} is not for this work; it may use {allowed}.",
            tuple(Evidence(path, name) for path in labels),
            Fix("", tuple(Edit(path, instead) for path in labels)) if instead else Fix(f"name one of {allowed}."),
            key=f"kueue:{name}",
        )


CHECK = Check("priority-allowed", PriorityAllowedParameters, run, __doc__)
