"""Job ``batch.volcano.sh``: tasks that Volcano starts together. Not to be taken for the Job of ``batch``.

Kueue does not know it. Once made, only replicas, minAvailable and priorityClassName may change.
"""

from signalbox.fieldpath import Path
from signalbox.workload.kinds.kind import WorkloadKind
from signalbox.workload.kinds.volcanotasks import GROUP, RETRIES, task_metadata, task_templates

_SPEC: Path = ("spec",)

VOLCANO_JOB = WorkloadKind(
    group=GROUP,
    kind="Job",
    templates=lambda job: task_templates(job, _SPEC),
    runs="once",
    labelled=lambda job: task_metadata(job, _SPEC),
    queue=None,
    queue_fields=(("spec", "queue"),),
    priority=(("spec", "priorityClassName"),),
    defaulted=False,
    restarts=("spec", "maxRetry"),
    restarts_default=RETRIES,
)
