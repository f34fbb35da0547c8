"""Environment variables: settings that every container with accelerators of a cluster needs, such as those of its network.

They go to the containers that ask for accelerators, init containers and KServe's `predictor.model` among them, and to no
others. A variable that its user has set stays, whatever its value and wherever it comes from, `force: true` or not. Values
are literal.

Example:
    inject: {env: {NCCL_SOCKET_IFNAME: eth0, NCCL_DEBUG: WARN}}
Before:
    apiVersion: batch/v1
    kind: Job
    metadata: {name: sweep, namespace: research}
    spec:
      template:
        spec:
          restartPolicy: Never
          containers:
            - name: trainer
              image: registry.example/llm:1
              env: [{name: NCCL_DEBUG, value: INFO}]
              resources: {limits: {nvidia.com/gpu: 8}}
            - {name: logs, image: "registry.example/logs:1"}
After:
    spec.template.spec.containers[trainer].env[NCCL_DEBUG].value: INFO
    spec.template.spec.containers[trainer].env[NCCL_SOCKET_IFNAME].value: eth0
    spec.template.spec.containers[logs].env: absent
"""

from collections.abc import Iterator
from itertools import islice

from signalbox.fieldpath import Path, value_at
from signalbox.inject.plan import Plan
from signalbox.inject.target import InjectionTarget
from signalbox.workload.accelerators import holds_accelerators
from signalbox.workload.containers import MAX_CONTAINERS
from signalbox.workload.kinds.kind import members
from signalbox.workload.pod_containers import containers_of


def inject(plan: Plan, target: InjectionTarget) -> None:
    """Appends what is missing to each container with accelerators."""
    if not plan.env:
        return
    for path in islice(_accelerated(target), MAX_CONTAINERS):
        users = {
            entry.get("name")
            for entry in members(value_at(target.view.object, path))
            if isinstance(entry, dict) and isinstance(entry.get("name"), str)
        }
        wanted = [
            ({"name": name, "value": planned.value}, planned.by) for name, planned in plan.env.items() if name not in users
        ]
        if wanted:
            target.write_named(path, wanted)


def _accelerated(target: InjectionTarget) -> Iterator[Path]:
    """Where the variables of each container with accelerators stand."""
    signs = target.view.signs
    for template in target.view.templates:
        if not template.writable:
            continue
        # A program that fields of the kind's own describe is no container of this template, unless it is one in all but name.
        programs = {program.path for program in template.programs if not program.container}
        for path, container, _ in containers_of(template, with_resources=True):
            if path in programs:
                continue
            if holds_accelerators(container, template, signs):
                yield (*path, "env")
