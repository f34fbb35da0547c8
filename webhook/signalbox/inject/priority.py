"""Priority class: gives work that names none the class of its namespace.

On a Pod the API server has already computed `priority` and `preemptionPolicy` from the cluster's default, and refuses the
Pod when they do not fit the class: both are dropped in the same patch and computed anew. A class that is known to be
missing is not set: the Pods could not be created.

Example:
    inject: {priorityClassName: train-normal}
Before:
    apiVersion: v1
    kind: Pod
    metadata: {name: sweep, namespace: research}
    spec:
      priority: 0
      preemptionPolicy: PreemptLowerPriority
      containers: [{name: trainer, image: "registry.example/llm:1"}]
After:
    spec.priorityClassName: train-normal
    spec.priority: absent
    spec.preemptionPolicy: absent
"""

from signalbox.fieldpath import value_at
from signalbox.inject.plan import Plan
from signalbox.inject.target import InjectionTarget
from signalbox.review import json_name
from signalbox.workload.priority import named_class


def inject(plan: Plan, target: InjectionTarget) -> None:
    """Sets the class on every pod template without one. Children of another object are left alone."""
    planned, view = plan.priority_class_name, target.view
    if planned is None or view.owner is not None:
        return
    if view.cluster.priority_class(planned.value) is None:
        target.warnings.append(
            f"no priority set: PriorityClass {planned.value} (policy {planned.by}) does not exist in this cluster"
        )
        return
    for template in view.templates:
        if not template.writable:
            continue
        # A class that stands for the whole (Volcano `spec.priorityClassName`) is the user's word for each template.
        present = template.spec.get("priorityClassName") or named_class(view.object, template, view.kind.priority)[0]
        path = (*template.spec_path, "priorityClassName")
        if present and not planned.force:
            continue
        # Ours from an earlier pass: the API server has computed the number since, and it must stay.
        if value_at(target.recorder.object, path) == planned.value:
            target.write(path, planned.value, planned.by)
            continue
        if not target.write(path, planned.value, planned.by):
            continue
        if present:
            shown = present if isinstance(present, str) else json_name(present)
            target.warnings.append(f"priority class {shown} was replaced by {planned.value} (policy {planned.by})")
        if view.kind.runs == "pod":
            for computed in ("priority", "preemptionPolicy"):
                target.recorder.remove((*template.spec_path, computed))
