"""The jobs of Kubeflow's training-operator: a mapping of roles (``Master``, ``Worker``) to replicas and a pod template.

The labels of the job reach no Pod, those of each role's template do. ``runPolicy.backoffLimit`` bounds failures only where
the role's restartPolicy lets Pods fail, so its absence says nothing.
"""

from signalbox.fieldpath import Path
from signalbox.review import JsonObject
from signalbox.workload.kinds.kind import Metadata, PodTemplate, WorkloadKind, count, mapping, template_at

SUSPEND: Path = ("spec", "runPolicy", "suspend")
_SCHEDULING: Path = ("spec", "runPolicy", "schedulingPolicy")


def replica_specs_kind(kind: str, field: str, framework: str | None, made_for: str | None = "training") -> WorkloadKind:
    """A kind of group ``kubeflow.org`` whose roles stand in ``spec.<field>``."""
    return WorkloadKind(
        group="kubeflow.org",
        kind=kind,
        templates=lambda job: replica_templates(job, field),
        runs="once",
        labelled=lambda job: replica_metadata(job, field),
        queue_fields=((*_SCHEDULING, "queue"),),
        suspend=SUSPEND,
        priority=((*_SCHEDULING, "priorityClass"),),
        defaulted=False,
        restarts=("spec", "runPolicy", "backoffLimit"),
        restarts_default=None,
        type=made_for,
        framework=framework,
    )


def replica_roles(job: JsonObject, field: str) -> list[tuple[str, JsonObject]]:
    """The roles in ``spec.<field>``, by name."""
    roles = mapping(mapping(job.get("spec")).get(field))
    return [(name, role) for name, role in roles.items() if isinstance(name, str) and isinstance(role, dict)]


def replica_templates(job: JsonObject, field: str) -> tuple[PodTemplate, ...]:
    """The template of each role in ``spec.<field>``."""
    return tuple(
        [
            template_at(job, ("spec", field, name, "template"), count(role.get("replicas")), name)
            for name, role in replica_roles(job, field)
        ]
    )


def replica_metadata(job: JsonObject, field: str) -> Metadata:
    """Where the labels of each role's Pods stand."""
    return tuple([("spec", field, name, "template", "metadata") for name, _ in replica_roles(job, field)])
