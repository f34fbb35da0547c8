"""PathwaysJob ``pathways-job.pathways.domain``: one program that drives TPU slices, whose workers Google's operator adds.

``controller.template`` is the user's program; each member of ``workers`` is a number of slices of a machine type, and how many
Pods and chips a slice has only its topology says (google/pathways-job ``api/v1``). Its operator writes a JobSet.
"""

from signalbox.fieldpath import Path
from signalbox.review import JsonObject
from signalbox.workload.kinds.kind import Asked, PodTemplate, WorkloadKind, mapping, members, template_at

_PROGRAM: Path = ("spec", "controller", "template")


def _templates(job: JsonObject) -> tuple[PodTemplate, ...]:
    found = [template_at(job, _PROGRAM)]
    for index, worker in enumerate(members(mapping(job.get("spec")).get("workers"))):
        if isinstance(worker, dict):
            path: Path = ("spec", "workers", index)
            machine = worker.get("type")
            asked = (Asked((*path, "type"), "google.com/tpu", None, machine),) if isinstance(machine, str) and machine else ()
            found.append(
                PodTemplate(path, {"spec": worker}, None, "worker", inline=True, virtual=True, writable=False, asked=asked)
            )
    return tuple(found)


PATHWAYS_JOB = WorkloadKind(
    group="pathways-job.pathways.domain",
    kind="PathwaysJob",
    templates=_templates,
    runs="once",
    labelled=lambda job: (),
    queue=None,
    defaulted=False,
    restarts=("spec", "maxRestarts"),
)
