"""Workflow ``argoproj.io`` (Argo Workflows, and what Kubeflow Pipelines compiles to): steps of a pipeline, each a Pod."""

from signalbox.fieldpath import Path
from signalbox.workload.kinds.kind import WorkloadKind
from signalbox.workload.kinds.workflowsteps import GROUP, step_metadata, step_templates

_SPEC: Path = ("spec",)

WORKFLOW = WorkloadKind(
    group=GROUP,
    kind="Workflow",
    templates=lambda workflow: step_templates(workflow, _SPEC),
    runs="once",
    labelled=lambda workflow: step_metadata(_SPEC),
    queue=None,
    priority=((*_SPEC, "podPriorityClassName"),),
    defaulted=False,
    steps=True,
)
