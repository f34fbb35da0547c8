"""PodTemplate: a template that others make Pods from (Kueue's ProvisioningRequests do). It makes none itself, so nothing is
written to it but labels of its own: what is made of it comes by again.
"""

from dataclasses import replace

from signalbox.fieldpath import Path
from signalbox.review import JsonObject
from signalbox.workload.kinds.kind import PodTemplate, WorkloadKind, template_at

_TEMPLATE: Path = ("template",)


def _templates(pod_template: JsonObject) -> tuple[PodTemplate, ...]:
    return (replace(template_at(pod_template, _TEMPLATE), writable=False),)


POD_TEMPLATE = WorkloadKind(
    group="",
    kind="PodTemplate",
    templates=_templates,
    runs="open",
    labelled=lambda pod_template: (),
    queue=None,
)
