"""JobSet ``jobset.x-k8s.io``: replicated Jobs that start, fail and are queued as one.

Child Jobs take their labels only from ``replicatedJobs[].template.metadata`` and Pods only from
``…template.spec.template.metadata``; the JobSet's own labels are not inherited (JobSet ``pkg/controllers``).
"""

from collections.abc import Iterator

from signalbox.fieldpath import Path
from signalbox.review import JsonObject
from signalbox.workload.kinds.job import job_pods
from signalbox.workload.kinds.kind import Metadata, PodTemplate, WorkloadKind, count, mapping, members, template_at


def _replicated_jobs(job_set: JsonObject) -> Iterator[tuple[Path, JsonObject]]:
    for index, replicated in enumerate(members(mapping(job_set.get("spec")).get("replicatedJobs"))):
        if isinstance(replicated, dict):
            yield ("spec", "replicatedJobs", index), replicated


def _templates(job_set: JsonObject) -> tuple[PodTemplate, ...]:
    found = []
    for path, replicated in _replicated_jobs(job_set):
        job_spec = mapping(mapping(replicated.get("template")).get("spec"))
        replicas, pods = count(replicated.get("replicas")), job_pods(job_spec)
        total = None if replicas is None or pods is None else replicas * pods
        name = replicated.get("name")
        job_path: Path = (*path, "template", "spec")
        found.append(template_at(job_set, (*job_path, "template"), total, name if isinstance(name, str) else "", job_path))
    return tuple(found)


def _labelled(job_set: JsonObject) -> Metadata:
    paths: list[Path] = []
    for path, _ in _replicated_jobs(job_set):
        paths += [(*path, "template", "metadata"), (*path, "template", "spec", "template", "metadata")]
    return tuple(paths)


JOB_SET = WorkloadKind(
    group="jobset.x-k8s.io",
    kind="JobSet",
    templates=_templates,
    runs="once",
    labelled=_labelled,
    suspend=("spec", "suspend"),
    defaulted=False,
    restarts=("spec", "failurePolicy", "maxRestarts"),
)
