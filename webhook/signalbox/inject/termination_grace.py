"""Termination grace: time to write the last checkpoint, as a floor.

Raised to the policy's number of seconds, never lowered, whoever set it: a number that its user wrote cannot be told from the
30 that the API server fills in. A longer one stays.

Example:
    inject: {terminationGracePeriodSeconds: 300}
Before:
    apiVersion: batch/v1
    kind: Job
    metadata: {name: sweep, namespace: research}
    spec:
      template:
        spec:
          terminationGracePeriodSeconds: 30
          restartPolicy: Never
          containers: [{name: trainer, image: "registry.example/llm:1"}]
After:
    spec.template.spec.terminationGracePeriodSeconds: 300
"""

from signalbox.fieldpath import value_at
from signalbox.inject.plan import Plan
from signalbox.inject.target import InjectionTarget


def inject(plan: Plan, target: InjectionTarget) -> None:
    """Raises every pod template to the floor."""
    planned = plan.termination_grace
    if planned is None:
        return
    for template in target.view.templates:
        if not template.writable:
            continue
        path = (*template.spec_path, "terminationGracePeriodSeconds")
        present = value_at(target.recorder.object, path)
        if present is None or (isinstance(present, int) and not isinstance(present, bool) and present <= planned.value):
            target.write(path, planned.value, planned.by)
