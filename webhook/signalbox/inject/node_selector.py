"""Node selector: keeps work on the nodes that its namespace is for.

Merged key by key; a key that its user has set stays. Where a workload asks for accelerators, only the pod templates that do
get it: the CPU coordinator of a JobSet has no business on a GPU node. Otherwise every template gets it. What contradicts the
node labels of a Kueue flavor is never admitted, so leave those to Kueue.

Example:
    inject: {nodeSelector: {pool: training, tier: gold}}
Before:
    apiVersion: batch/v1
    kind: Job
    metadata: {name: sweep, namespace: research}
    spec:
      template:
        spec:
          restartPolicy: Never
          nodeSelector: {tier: silver}
          containers: [{name: trainer, image: "registry.example/llm:1", resources: {limits: {nvidia.com/gpu: 1}}}]
After:
    spec.template.spec.nodeSelector: {tier: silver, pool: training}
"""

from signalbox.inject.plan import Plan
from signalbox.inject.target import InjectionTarget
from signalbox.workload.kinds.kind import mapping


def inject(plan: Plan, target: InjectionTarget) -> None:
    """Sets the keys that are missing."""
    if not plan.node_selector:
        return
    view = target.view
    only_accelerated = view.accelerators.any
    for template, accelerators in zip(view.templates, view.template_accelerators, strict=True):
        if not template.writable or (only_accelerated and not accelerators.evidence):
            continue
        users = mapping(template.spec.get("nodeSelector"))
        wanted = {}
        for key, planned in plan.node_selector.items():
            own = users.get(key)
            if own is not None and not planned.force:
                continue
            wanted[key] = planned
            if own not in (None, planned.value):
                target.warnings.append(f"node selector {key} was set to {planned.value} (policy {planned.by})")
        if wanted:
            target.write_keys((*template.spec_path, "nodeSelector"), wanted)
