"""CronWorkflow ``argoproj.io``: a Workflow on a schedule, its spec in ``spec.workflowSpec``."""

from signalbox.fieldpath import Path
from signalbox.workload.kinds.kind import WorkloadKind
from signalbox.workload.kinds.workflowsteps import GROUP, step_metadata, step_templates

_SPEC: Path = ("spec", "workflowSpec")

CRON_WORKFLOW = WorkloadKind(
    group=GROUP,
    kind="CronWorkflow",
    templates=lambda workflow: step_templates(workflow, _SPEC),
    runs="schedule",
    labelled=lambda workflow: (("spec", "workflowMetadata"), *step_metadata(_SPEC)),
    queue=None,
    priority=((*_SPEC, "podPriorityClassName"),),
    defaulted=False,
    steps=True,
)
