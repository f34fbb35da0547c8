"""CronJob ``batch``: a Job template on a schedule.

Kueue reads the queue from ``jobTemplate.metadata``; a label on the CronJob does nothing, and ``spec.suspend`` would stop
the schedule (kueue#1440).
"""

from signalbox.fieldpath import Path, value_at
from signalbox.review import JsonObject
from signalbox.workload.kinds.job import job_pods
from signalbox.workload.kinds.kind import PodTemplate, WorkloadKind, mapping, template_at

_JOB_TEMPLATE: Path = ("spec", "jobTemplate")
_JOB_SPEC: Path = (*_JOB_TEMPLATE, "spec")
_TEMPLATE: Path = (*_JOB_SPEC, "template")


def _templates(cron_job: JsonObject) -> tuple[PodTemplate, ...]:
    return (template_at(cron_job, _TEMPLATE, job_pods(mapping(value_at(cron_job, _JOB_SPEC))), job=_JOB_SPEC),)


CRON_JOB = WorkloadKind(
    group="batch",
    kind="CronJob",
    templates=_templates,
    runs="schedule",
    labelled=lambda cron_job: ((*_JOB_TEMPLATE, "metadata"), (*_TEMPLATE, "metadata")),
    queue=(*_JOB_TEMPLATE, "metadata"),
    suspend=(*_JOB_SPEC, "suspend"),
    injected_on_update=True,
)
