"""ElasticJob ``elastic.pytorch.org`` (TorchElastic ``kubernetes/api/v1alpha1``): roles in ``spec.replicaSpecs``.

It starts with as many workers as it says and goes on with any number from ``minReplicas`` on: without a number of its own,
those are what it needs. The run policy's fields stand in ``spec`` itself.
"""

from dataclasses import replace

from signalbox.fieldpath import Path
from signalbox.review import JsonObject
from signalbox.workload.kinds.kind import PodTemplate, count, mapping
from signalbox.workload.kinds.replicaspecs import replica_roles, replica_specs_kind, replica_templates

_FIELD = "replicaSpecs"
_SCHEDULING: Path = ("spec", "schedulingPolicy")


def _templates(job: JsonObject) -> tuple[PodTemplate, ...]:
    least = count(mapping(job.get("spec")).get("minReplicas"))
    roles = [role for _, role in replica_roles(job, _FIELD)]
    return tuple(
        [
            template if role.get("replicas") is not None else replace(template, pods=least)
            for template, role in zip(replica_templates(job, _FIELD), roles, strict=True)
        ]
    )


TORCH_ELASTIC_JOB = replace(
    replica_specs_kind("ElasticJob", _FIELD, "pytorch"),
    group="elastic.pytorch.org",
    namesake=True,
    templates=_templates,
    queue=None,
    queue_fields=((*_SCHEDULING, "queue"),),
    suspend=None,
    priority=((*_SCHEDULING, "priorityClass"),),
    restarts=("spec", "backoffLimit"),
)
