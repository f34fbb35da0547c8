"""The Pod must get time to write its last checkpoint before it is killed.

Kubernetes sends SIGTERM, waits `terminationGracePeriodSeconds`, then kills. The default of 30 seconds is not enough to
write the weights of a large model. `min` and `max` are seconds.

Rule:
    check: termination-grace
    with: {min: 120}
Refused:
    apiVersion: jobset.x-k8s.io/v1alpha2
    kind: JobSet
    metadata: {name: pretrain, namespace: research}
    spec:
      replicatedJobs:
        - name: workers
          template:
            spec:
              template:
                spec:
                  terminationGracePeriodSeconds: 10
                  containers: [{name: trainer, image: "registry.example/llm:1"}]
Passes:
    apiVersion: jobset.x-k8s.io/v1alpha2
    kind: JobSet
    metadata: {name: pretrain, namespace: research}
    spec:
      replicatedJobs:
        - name: workers
          template:
            spec:
              template:
                spec:
                  terminationGracePeriodSeconds: 300
                  containers: [{name: trainer, image: "registry.example/llm:1"}]
"""

from collections.abc import Iterator

from signalbox.check.check import Bounds, Check
from signalbox.finding import CheckSubject, Edit, Fix, Problem
from signalbox.workload.judgement import Evidence
from signalbox.workload.view import WorkloadView

API_DEFAULT = 30


class TerminationGraceParameters(Bounds):
    """The bounds in seconds; either may be left out."""


def run(subject: CheckSubject, parameters: TerminationGraceParameters) -> Iterator[Problem]:
    """One problem a template, keyed by the template's name."""
    view: WorkloadView = subject.view
    for template in view.templates:
        if template.virtual:
            # What is not seen here may well have a grace of its own.
            continue
        value = template.spec.get("terminationGracePeriodSeconds")
        if value is None:
            value = API_DEFAULT
        if isinstance(value, bool) or not isinstance(value, int):
            continue
        path = (*template.spec_path, "terminationGracePeriodSeconds")
        who = f"Pods of {template.name} get" if template.name else "Its Pods get"
        if parameters.min is not None and value < parameters.min:
            yield Problem(
                f"{who} {value} s to save their work before they are killed; at least {parameters.min} s are needed.",
                (Evidence(path, str(value)),),
                Fix("", (Edit(path, parameters.min),)),
                key=f"{template.name}/short",
                amount=parameters.min - value,
                fixed_by="termination-grace",
            )
        elif parameters.max is not None and value > parameters.max:
            yield Problem(
                f"{who} {value} s before they are killed and hold their node so long; at most {parameters.max} s are allowed.",
                (Evidence(path, str(value)),),
                Fix("", (Edit(path, parameters.max),)),
                key=f"{template.name}/long",
                amount=value,
            )


def _looks_at(view: WorkloadView) -> bool:
    return any(not template.virtual for template in view.templates)


CHECK = Check("termination-grace", TerminationGraceParameters, run, __doc__, looks_at=_looks_at)
