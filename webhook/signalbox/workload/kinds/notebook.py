"""Notebook ``kubeflow.org``: one Pod that a person works in. Its labels are handed to the Pod; its template has none."""

from signalbox.fieldpath import Path
from signalbox.workload.kinds.kind import WorkloadKind, template_at

_TEMPLATE: Path = ("spec", "template")

NOTEBOOK = WorkloadKind(
    group="kubeflow.org",
    kind="Notebook",
    templates=lambda notebook: (template_at(notebook, _TEMPLATE),),
    runs="forever",
    labelled=lambda notebook: (),
    queue=None,
    defaulted=False,
    type="interactive",
    type_decides=True,
)
