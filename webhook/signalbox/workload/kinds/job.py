"""Job ``batch``: one template, ``parallelism`` Pods at a time."""

from signalbox.fieldpath import Path
from signalbox.review import JsonObject
from signalbox.workload.kinds.kind import PodTemplate, WorkloadKind, count, mapping, template_at


def job_pods(spec: JsonObject) -> int | None:
    """How many Pods of a JobSpec run at once: ``parallelism``, but no more than ``completions``."""
    parallelism = count(spec.get("parallelism"))
    completions = count(spec.get("completions"), default=0)
    if parallelism is not None and completions:
        return min(parallelism, completions)
    return parallelism


_TEMPLATE: Path = ("spec", "template")


def _templates(job: JsonObject) -> tuple[PodTemplate, ...]:
    return (template_at(job, _TEMPLATE, job_pods(mapping(job.get("spec"))), job=("spec",)),)


JOB = WorkloadKind(
    group="batch",
    kind="Job",
    templates=_templates,
    runs="once",
    labelled=lambda job: ((*_TEMPLATE, "metadata"),),
    suspend=("spec", "suspend"),
)
