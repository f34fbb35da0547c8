"""WorkflowTemplate ``argoproj.io``: the steps of Workflows to come, judged where somebody writes them."""

from dataclasses import replace

from signalbox.workload.kinds.workflow import WORKFLOW

WORKFLOW_TEMPLATE = replace(WORKFLOW, kind="WorkflowTemplate")
