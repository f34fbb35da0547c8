"""KaiwoJob ``kaiwo.silogen.ai``: a job described by a number of GPUs and an entrypoint; its operator writes the Job or RayJob.

Where its GPUs go is decided there, and its own storage is mounted there, so a path that is not seen here may be on it.
"""

from signalbox.fieldpath import Path
from signalbox.review import JsonObject
from signalbox.workload.kinds.kind import Asked, PodTemplate, Program, WorkloadKind, count, mapping

_SPEC: Path = ("spec",)


def _templates(job: JsonObject) -> tuple[PodTemplate, ...]:
    spec = mapping(job.get("spec"))
    per_replica, total = spec.get("gpusPerReplica"), spec.get("gpus")
    field = "gpusPerReplica" if per_replica is not None else "gpus"
    resource = "nvidia.com/gpu" if spec.get("gpuVendor") == "NVIDIA" else "amd.com/gpu"
    quantity = per_replica if per_replica is not None else total
    asked = () if quantity is None else (Asked(("spec", field), resource, quantity),)
    pods = count(spec.get("replicas")) if per_replica is not None else 1
    entrypoint = spec.get("entrypoint")
    body = {**spec, "command": entrypoint if isinstance(entrypoint, str) else None, "args": None}
    program = Program(_SPEC, body, command=("spec", "entrypoint"))
    return (PodTemplate(_SPEC, {}, pods, virtual=True, writable=False, partial=True, programs=(program,), asked=asked),)


KAIWO_JOB = WorkloadKind(
    group="kaiwo.silogen.ai",
    kind="KaiwoJob",
    templates=_templates,
    runs="once",
    labelled=lambda job: (),
    queue=None,
    defaulted=False,
)
