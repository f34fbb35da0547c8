"""Termination grace: time to write the last checkpoint, as a floor.

Raised to the policy's number of seconds, never lowered. For the kinds whose absent grace the API server fills in, 30
cannot be told from unset and is raised too.

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
from signalbox.inject.target import Target


def inject(plan: Plan, target: Target) -> None:
    """Raises every pod template to the floor."""
    planned = plan.termination_grace
    if planned is None:
        return
    for template in target.view.templates:
        path = (*template.spec_path, "terminationGracePeriodSeconds")
        present = value_at(target.recorder.object, path)
        if present is None or (isinstance(present, int) and not isinstance(present, bool) and present < planned.value):
            target.write(path, planned.value, planned.by)
