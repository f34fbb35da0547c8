"""Tolerations: lets accelerator work onto the tainted nodes that carry its accelerators.

A toleration whose key is an accelerator's taint goes only to the pod templates that ask for that accelerator: the CPU
coordinator of a JobSet has no business on a GPU node. Others go to every template. What the object tolerates already, in
whatever spelling, is not added again; the user's own list keeps its members and their order.

Example:
    inject:
      tolerations: [{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}]
Before:
    apiVersion: batch/v1
    kind: Job
    metadata: {name: sweep, namespace: research}
    spec:
      template:
        spec:
          restartPolicy: Never
          containers: [{name: trainer, image: "registry.example/llm:1", resources: {limits: {nvidia.com/gpu: 1}}}]
After:
    spec.template.spec.tolerations: [{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}]
"""

from signalbox.fieldpath import value_at
from signalbox.inject.plan import Plan, covers
from signalbox.inject.target import InjectionTarget
from signalbox.workload.accelerators import TemplateAccelerators
from signalbox.workload.kinds.kind import members
from signalbox.workload.signs import Signs


def inject(plan: Plan, target: InjectionTarget) -> None:
    """Appends what is not tolerated yet."""
    if not plan.tolerations:
        return
    signs = target.view.signs
    accelerator_taints = {sign.toleration for sign in signs.accelerators}
    for template, accelerators in zip(target.view.templates, target.view.template_accelerators, strict=True):
        if not template.writable:
            continue
        path = (*template.spec_path, "tolerations")
        asked: set[str] | None = None
        for planned in plan.tolerations:
            key = planned.value.get("key")
            if key in accelerator_taints:
                if asked is None:
                    asked = taints_of(accelerators, signs)
                if key not in asked:
                    continue
            present = value_at(target.recorder.object, path)
            covering = [toleration for toleration in members(present) if covers(toleration, planned.value)]
            if covering:
                for toleration in covering:
                    target.keep(path, toleration)
                continue
            target.append(path, planned.value, planned.by)


def taints_of(accelerators: TemplateAccelerators, signs: Signs) -> set[str]:
    """The taints of the nodes that have what a template asks for."""
    found = {sign.toleration for resource in accelerators.resources if (sign := signs.accelerator(resource)) is not None}
    # Nodes have their taints whichever way their devices are asked for.
    claimed = set(accelerators.vendors.values())
    return found.union([sign.toleration for sign in signs.accelerators if sign.vendor in claimed]) if claimed else found
