"""The workload view: one object as policies, checks and injectors see it, whatever its kind.

Every judgement is made when it is first asked for and kept; each carries its evidence. Where a workload has several
templates, accelerators are summed, spot is the strongest, priority the lowest, and checkpoint the best of any template
that trains.
"""

from dataclasses import dataclass, replace

from signalbox.cluster.view import ClusterView
from signalbox.fieldpath import Path, value_at
from signalbox.review import JsonObject
from signalbox.workload import checkpoint, framework, resume, spot
from signalbox.workload import type as type_judgement
from signalbox.workload.accelerators import Accelerators, TemplateAccelerators, sum_accelerators, template_accelerators
from signalbox.workload.claims import read_claims
from signalbox.workload.container_reading import read_containers
from signalbox.workload.containers import ContainerView
from signalbox.workload.copies import Copy, read_copies
from signalbox.workload.distributed import distributed_by
from signalbox.workload.judgement import TRAINING_TYPES, Evidence, Judgement
from signalbox.workload.kinds.kind import PodTemplate, WorkloadKind, mapping, members
from signalbox.workload.labels import INJECTED_LABELS, QUEUE_LABEL
from signalbox.workload.lazy import lazy
from signalbox.workload.mentions import filled_before
from signalbox.workload.priority import Priority, judge_priority
from signalbox.workload.queue import find_kueue_queues, find_scheduler_queues, standing_in
from signalbox.workload.signs import Signs
from signalbox.workload.volumes import Volumes, claimed_volumes, volumes_of


@dataclass(frozen=True, slots=True)
class Owner:
    """The controlling ownerReference, as written: anyone can write one, so it proves nothing."""

    group: str
    kind: str
    name: str


class WorkloadView:
    """One object of a known kind.

    ``ours`` names the ``workload.ai/*`` labels on the object that Signalbox set: they are inferred again instead of
    believed.
    """

    def __init__(
        self,
        obj: JsonObject,
        kind: WorkloadKind,
        signs: Signs,
        cluster: ClusterView,
        namespace: str = "",
        ours: frozenset[str] = frozenset(),
    ) -> None:
        self.object = obj
        self.kind = kind
        self.signs = signs
        self.cluster = cluster
        self.metadata = mapping(obj.get("metadata"))
        self._namespace = namespace
        self.ours = ours

    def after_injection(self, obj: JsonObject, ours: frozenset[str], declared: bool) -> "WorkloadView":
        """The view of this workload once injectors have written to it; what they cannot change is not judged again.

        ``declared``: labels or annotations that judgements read may be among what was written.
        """
        view = WorkloadView(obj, self.kind, self.signs, self.cluster, self._namespace, ours)
        kept = _KEPT_BY_INJECTION if declared else _KEPT_BY_INJECTION + _KEPT_UNLESS_DECLARED
        known = self.__dict__
        view.__dict__.update({name: known[name] for name in kept if name in known})
        return view

    @lazy
    def namespace(self) -> str:
        """The request's namespace, else the object's."""
        own = self.metadata.get("namespace")
        return self._namespace or (own if isinstance(own, str) else "")

    @property
    def name(self) -> str:
        """metadata.name, else metadata.generateName (``llm-``), else empty."""
        return self.named[1]

    @property
    def named(self) -> tuple[Path, str]:
        """Where its name stands, and the name as ``name`` gives it."""
        for key in ("name", "generateName"):
            value = self.metadata.get(key)
            if isinstance(value, str) and value:
                return ("metadata", key), value
        return ("metadata", "name"), ""

    @lazy
    def labels(self) -> JsonObject:
        """The object's own labels."""
        return mapping(self.metadata.get("labels"))

    @lazy
    def annotations(self) -> JsonObject:
        """The object's own annotations."""
        return mapping(self.metadata.get("annotations"))

    def user_label(self, name: str) -> tuple[str, Path]:
        """A ``workload.ai/*`` label if it is the user's word, and where it stands: on the object, else on a pod template.

        Empty where there is none but ours, with the place where one would stand.
        """
        path: Path = ("metadata", "labels", name)
        value = self.labels.get(name)
        if isinstance(value, str) and value and name not in self.ours and name not in _recorded_names(self.metadata):
            return value, path
        for template in self.templates:
            value = mapping(template.metadata.get("labels")).get(name)
            if isinstance(value, str) and value and template.path and name not in _recorded_names(template.metadata):
                return value, (*template.path, *path)
        return "", path

    @lazy
    def owner(self) -> Owner | None:
        """The ownerReference with ``controller: true``."""
        for reference in members(self.metadata.get("ownerReferences")):
            if isinstance(reference, dict) and reference.get("controller") is True:
                version = reference.get("apiVersion")
                group = version.rpartition("/")[0] if isinstance(version, str) else ""
                return Owner(group, str(reference.get("kind")), str(reference.get("name")))
        return None

    @lazy
    def templates(self) -> tuple[PodTemplate, ...]:
        """Every pod template, with what the cluster is known to add to it."""
        completed = self.kind.completed
        found = self.kind.templates(self.object) if completed is None else completed(self.object, self.namespace, self.cluster)
        return tuple([self._with_claims(template) if template.spec.get("resourceClaims") else template for template in found])

    def _with_claims(self, template: PodTemplate) -> PodTemplate:
        return replace(template, claims=read_claims(template.spec, self.namespace, self.cluster, self.signs))

    @lazy
    def pods(self) -> int | None:
        """How many Pods all templates make; None where a placeholder says so."""
        counts = [template.pods for template in self.templates]
        return None if None in counts else sum(pods for pods in counts if pods is not None)

    @lazy
    def running_templates(self) -> tuple[PodTemplate, ...]:
        """The templates that make Pods: what one says of which none are made counts nowhere, unless no other is there.

        What runs for ever is scaled later, and nobody asks us then.
        """
        templates = self.templates
        if len(templates) == 1 or self.acts_as.runs not in ("once", "schedule"):
            return templates
        running = tuple([template for template in templates if template.pods != 0 or template.virtual])
        return running if any(template.pods != 0 for template in running) else templates

    @lazy
    def containers(self) -> tuple[ContainerView, ...]:
        """The containers that run while the workload does, with what each starts."""
        return read_containers(self.running_templates, self.signs)

    @lazy
    def volumes(self) -> dict[Path, Volumes]:
        """The volumes of each template, by its path."""
        return {template.path: volumes_of(template.spec) for template in self.templates}

    @lazy
    def claimed_volumes(self) -> Volumes:
        """The volumes that the controllers claim by templates (of a StatefulSet for each Pod, of a JobSet for all)."""
        return claimed_volumes(self.object, [template.path for template in self.templates])

    @lazy
    def accelerators(self) -> Accelerators:
        """Accelerators per Pod and in total."""
        return sum_accelerators(self.templates, self.template_accelerators, self.signs)

    @lazy
    def template_accelerators(self) -> tuple[TemplateAccelerators, ...]:
        """What one Pod of each template asks for, in their order."""
        return tuple([template_accelerators(template, self.signs) for template in self.templates])

    @lazy
    def acts_as(self) -> WorkloadKind:
        """The kind that says how this runs: its own, or that of the object it wraps."""
        wraps = self.kind.wraps
        return self.kind if wraps is None else wraps(self.object) or self.kind

    @lazy
    def objects(self) -> tuple[tuple[Path, WorkloadKind], ...]:
        """The object itself and those of known kinds that stand whole in it: where each stands, and its kind."""
        holds = self.kind.holds
        return (((), self.kind), *(() if holds is None else holds(self.object)))

    @property
    def queue_metadata(self) -> Path:
        """Where queue and Kueue priority labels of this object stand."""
        return self.kind.queue or ("metadata",)

    @property
    def takes_queue(self) -> bool:
        """Whether Kueue queues this object by a label."""
        kind = self.kind
        return kind.queue is not None and (kind.queued is None or kind.queued(self.object))

    @lazy
    def kueue_queue(self) -> str:
        """Kueue's queue, by the label that counts; empty where there is none."""
        value = mapping(mapping(value_at(self.object, self.queue_metadata)).get("labels")).get(QUEUE_LABEL)
        return value if isinstance(value, str) else ""

    @lazy
    def _scheduler_queues(self) -> dict[str, list[Path]]:
        return find_scheduler_queues(self)

    @property
    def queue(self) -> str:
        """Kueue's queue, else that of another scheduler; empty where there is none."""
        return self.kueue_queue or standing_in(self, self._scheduler_queues)

    @lazy
    def kueue_queues(self) -> dict[str, list[Path]]:
        """Every Kueue queue that is named anywhere in the object, with the paths of its labels, the one that counts first."""
        return find_kueue_queues(self)

    @lazy
    def queues(self) -> dict[str, list[Path]]:
        """Every queue that is named, Kueue's and another scheduler's, and where; the one that counts first."""
        first, second = self._scheduler_queues, self.kueue_queues
        if not first:
            return second
        if self.kueue_queue:
            first, second = second, first
        return {name: [*first.get(name, ()), *second.get(name, ())] for name in (first | second)}

    @lazy
    def priority(self) -> Priority:
        """The lowest priority that counts."""
        return judge_priority(self.object, self.running_templates, self.queue_metadata, self.cluster, self.kind.priority)

    @lazy
    def spot(self) -> Judgement:
        """``demanded``, ``preferred``, ``permitted`` or ``no``."""
        return spot.judge_spot(self)

    @lazy
    def type(self) -> Judgement:
        """One of TYPES, or None where the evidence is thin."""
        return type_judgement.judge_type(self)

    @property
    def trains(self) -> bool:
        """Whether progress is made that an interruption would lose."""
        return self.type.state in TRAINING_TYPES

    @lazy
    def distributed_by(self) -> Evidence | None:
        """What says that several processes work on one run; None where nothing does."""
        return distributed_by(self)

    @property
    def distributed(self) -> bool:
        """Whether several processes work on one run."""
        return self.distributed_by is not None

    @lazy
    def framework(self) -> Judgement:
        """The framework's name, or None."""
        return framework.judge_framework(self)

    @lazy
    def checkpoint(self) -> Judgement:
        """``durable``, ``ephemeral``, ``none`` or ``unknown``."""
        return checkpoint.judge_checkpoint(self)

    @lazy
    def copies(self) -> tuple[Copy, ...]:
        """What its containers copy elsewhere."""
        return read_copies(self)

    @lazy
    def filled(self) -> frozenset[tuple[Path, str]]:
        """The volumes that something is put on before the run starts, by template and name."""
        return filled_before(self)

    @lazy
    def resume(self) -> Judgement:
        """``resumes``, ``starts-over``, ``unsaid`` or ``unknown``."""
        return resume.judge_resume(self)


# What injectors cannot change: they write labels, annotations, tolerations, node selectors, priority, grace, queue. Where
# they write environment variables, the view is made anew.
_KEPT_BY_INJECTION = ("containers", "accelerators", "owner", "namespace")
# What rests on the containers, and on labels and annotations of ours alone.
_KEPT_UNLESS_DECLARED = ("type", "distributed_by", "framework", "checkpoint", "resume")


def _recorded_names(metadata: JsonObject) -> tuple[str, ...]:
    names = mapping(metadata.get("annotations")).get(INJECTED_LABELS)
    return tuple(names.split(",")) if isinstance(names, str) else ()
