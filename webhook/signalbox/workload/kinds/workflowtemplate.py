"""WorkflowTemplate ``argoproj.io``: the steps of Workflows to come, judged where somebody writes them."""

from dataclasses import replace

from signalbox.workload.kinds.workflow import WORKFLOW
from signalbox.workload.kinds.workflowsteps import step_templates

# Whoever runs it gives other arguments, and may run any of its templates by itself.
WORKFLOW_TEMPLATE = replace(
    WORKFLOW, kind="WorkflowTemplate", templates=lambda template: step_templates(template, ("spec",), given=False)
)
