"""ElasticJob ``elastic.iml.github.io`` (DLRover): roles in ``spec.replicaSpecs`` (``dlrover/go/operator/api/v1alpha1``).

A master of DLRover's looks after the others. Where a role scales by itself and no number stands, nobody knows it beforehand.
"""

from dataclasses import replace

from signalbox.review import JsonObject
from signalbox.workload.kinds.kind import PodTemplate
from signalbox.workload.kinds.replicaspecs import replica_roles, replica_specs_kind, replica_templates

_FIELD = "replicaSpecs"
_MASTER = "dlrover-master"


def _templates(job: JsonObject) -> tuple[PodTemplate, ...]:
    roles = [role for _, role in replica_roles(job, _FIELD)]
    return tuple([_template(*one) for one in zip(replica_templates(job, _FIELD), roles, strict=True)])


def _template(template: PodTemplate, role: JsonObject) -> PodTemplate:
    if template.name == _MASTER:
        return replace(template, apart=True)
    return replace(template, pods=None) if role.get("autoScale") is True and role.get("replicas") is None else template


ELASTIC_JOB = replace(
    replica_specs_kind("ElasticJob", _FIELD, framework=None),
    group="elastic.iml.github.io",
    templates=_templates,
    queue=None,
    queue_fields=(),
    suspend=None,
    priority=(),
    restarts=None,
)
