"""CronJob ``batch.volcano.sh``: a Volcano Job on a schedule. Not to be taken for the CronJob of ``batch``."""

from signalbox.fieldpath import Path
from signalbox.review import JsonObject
from signalbox.workload.kinds.kind import Metadata, WorkloadKind
from signalbox.workload.kinds.volcanotasks import GROUP, RETRIES, task_metadata, task_templates

_JOB_TEMPLATE: Path = ("spec", "jobTemplate")
_SPEC: Path = (*_JOB_TEMPLATE, "spec")


def _labelled(cron_job: JsonObject) -> Metadata:
    return ((*_JOB_TEMPLATE, "metadata"), *task_metadata(cron_job, _SPEC))


VOLCANO_CRON_JOB = WorkloadKind(
    group=GROUP,
    kind="CronJob",
    templates=lambda cron_job: task_templates(cron_job, _SPEC),
    runs="schedule",
    labelled=_labelled,
    queue=None,
    queue_fields=((*_SPEC, "queue"),),
    priority=((*_SPEC, "priorityClassName"),),
    defaulted=False,
    restarts=(*_SPEC, "maxRetry"),
    restarts_default=RETRIES,
)
