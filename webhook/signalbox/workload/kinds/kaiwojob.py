"""KaiwoJob ``kaiwo.silogen.ai``: a job described by a number of GPUs and an entrypoint; its operator writes the Job or RayJob.

Where its GPUs go is decided there, and its own storage is mounted there, so a path that is not seen here may be on it.
"""

from signalbox.fieldpath import Path
from signalbox.review import JsonObject
from signalbox.workload.kinds.kind import Asked, PodTemplate, Program, WorkloadKind, count, mapping

_SPEC: Path = ("spec",)


def described_templates(job: JsonObject) -> tuple[PodTemplate, ...]:
    """The Pods of what is described by a number of GPUs, an image and an entrypoint."""
    spec = mapping(job.get("spec"))
    # Later versions hold both in one field of their own.
    resources = mapping(spec.get("gpuResources"))
    field: Path = ("spec", "gpuResources", "count")
    per_replica, total = spec.get("gpusPerReplica"), spec.get("gpus")
    if total is not None or per_replica is not None:
        field = ("spec", "gpus" if per_replica is None else "gpusPerReplica")
    vendor = spec.get("gpuVendor") or resources.get("vendor")
    resource = "nvidia.com/gpu" if isinstance(vendor, str) and vendor.upper() == "NVIDIA" else "amd.com/gpu"
    quantity = next((one for one in (per_replica, total, resources.get("count")) if one is not None), None)
    asked = () if quantity is None else (Asked(field, resource, quantity),)
    pods = count(spec.get("replicas")) if per_replica is not None else 1
    entrypoint = spec.get("entrypoint")
    body = {**spec, "command": entrypoint if isinstance(entrypoint, str) else None, "args": None}
    program = Program(_SPEC, body, command=("spec", "entrypoint"))
    return (PodTemplate(_SPEC, {}, pods, virtual=True, writable=False, partial=True, programs=(program,), asked=asked),)


KAIWO_JOB = WorkloadKind(
    group="kaiwo.silogen.ai",
    kind="KaiwoJob",
    templates=described_templates,
    runs="once",
    labelled=lambda job: (),
    queue=None,
    defaulted=False,
)
