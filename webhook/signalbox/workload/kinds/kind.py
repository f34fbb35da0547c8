"""What Signalbox must know of a kind to judge and to mutate it: one ``WorkloadKind`` a kind."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from signalbox.cluster.view import ClusterView
from signalbox.fieldpath import Path, value_at
from signalbox.quantity import is_placeholder, parse_quantity
from signalbox.review import JsonObject
from signalbox.workload.kinds.claim import Claim

Metadata = tuple[Path, ...]
Runs = Literal["once", "schedule", "forever", "pod", "open"]


@dataclass(frozen=True, slots=True)
class Asked:
    """Accelerators that one Pod gets by a field of the kind's own (SparkApplication ``executor.gpu``).

    ``quantity`` None: another object says how many, or the type of a machine, which is ``stands``.
    """

    path: Path
    resource: str
    quantity: Any
    stands: str = ""


@dataclass(frozen=True, slots=True)
class Program:
    """What is run by fields of the kind's own, in a mapping that is read like a container (TrainJob ``trainer``).

    ``path`` is where ``body`` stands; ``command`` and ``args`` are where those stand, if elsewhere. A command that is a
    string is shell text (RayJob ``entrypoint``). ``gathered``: where each member of a list of ``body`` stands that was put
    together from other places. ``beside``: a sidecar of what the template's ``asked`` is for. ``container``: the mapping is a
    container by another name, and what is written to containers is written to it (KServe ``predictor.model``).
    """

    path: Path
    body: JsonObject
    command: Path | None = None
    args: Path | None = None
    gathered: Mapping[str, tuple[Path, ...]] = field(default_factory=dict)
    beside: bool = False
    container: bool = False


@dataclass(frozen=True, slots=True)
class PodTemplate:
    """One pod template of a workload (for a Pod: the Pod itself).

    ``path`` leads to the mapping that holds ``metadata`` and ``spec``. ``pods`` is how many Pods it makes, None where
    only a placeholder or another object says so. ``name`` is that of the replicated job or role, empty where there is
    but one template. ``job`` leads to the JobSpec that runs it (``backoffLimit`` stands there), where there is one.

    inline
        the PodSpec itself stands at ``path``, without metadata (KServe).
    virtual
        no pod template: it only holds ``programs`` and ``asked``, or what is laid over a template that stands elsewhere.
        What the manifest does not say of it is not known.
    writable
        injectors may write to its PodSpec.
    partial
        volumes and mounts may be added from another object (a training or serving runtime).
    foreign
        the name of the other object that it stands in, which no fix of this one can change.
    whole
        that other object starts its Pods together, or not at all.
    apart
        its Pods only start the run or look after it, and take no part in it (RayJob's submitter).
    claims
        its ``resourceClaims`` by name, with what is known of each.
    everywhere
        persistent volume claims that its controller mounts into each container, by the path.
    spec, metadata
        the PodSpec and the template's metadata; empty where they are missing or no mapping.
    spec_path
        where the PodSpec stands in the object.
    """

    path: Path
    body: JsonObject
    pods: int | None = 1
    name: str = ""
    job: Path | None = None
    inline: bool = False
    virtual: bool = False
    writable: bool = True
    partial: bool = False
    programs: tuple[Program, ...] = ()
    asked: tuple[Asked, ...] = ()
    foreign: str = ""
    whole: bool = False
    apart: bool = False
    claims: Mapping[str, Claim] = field(default_factory=dict, compare=False, repr=False)
    everywhere: Mapping[str, JsonObject] = field(default_factory=dict)
    spec: JsonObject = field(init=False, compare=False, repr=False)
    metadata: JsonObject = field(init=False, compare=False, repr=False)
    spec_path: Path = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        # Asked for dozens of times a review.
        object.__setattr__(self, "spec", mapping(self.body.get("spec")))
        object.__setattr__(self, "metadata", mapping(self.body.get("metadata")))
        object.__setattr__(self, "spec_path", self.path if self.inline else (*self.path, "spec"))


@dataclass(frozen=True, slots=True)
class WorkloadKind:
    """One kind.

    templates
        the pod templates of an object; survives any JSON type anywhere (custom resources come before schema validation).
    runs
        ``once`` (Job, JobSet: ends by itself), ``schedule`` (CronJob), ``forever`` (its controller starts a finished
        Pod again), ``pod`` (a bare Pod), ``open`` (none of these: a RayCluster stands until somebody takes it away).
    labelled
        the metadata mappings, beside the object's own, where ``workload.ai/*`` labels must stand so that Jobs and Pods
        carry them.
    queue
        the metadata mapping where Kueue's queue label must stand; None: the kind is not queued by label.
    queued
        whether Kueue has a say in this object at all (a RayJob on a cluster that exists is none of its business).
    obstacle
        why Kueue would refuse this object under its label, in words; empty where it would not.
    queue_fields
        fields that name a queue of another scheduler (Volcano ``spec.queue``).
    suspend
        the field set to true together with a queue of ours; None: Kueue gates the Pods of this kind by itself, or
        nothing but Kueue may suspend it.
    priority
        fields that name the priority class of Pods whose template names none.
    defaulted
        a kind of Kubernetes' own: the API server has filled in its defaults, and validates it before /validate is asked.
    restarts
        the field that bounds how often the whole is started again (``spec.failurePolicy.maxRestarts``), if any, and
        ``restarts_default`` what its absence means; None: not known.
    injected_on_update
        templates of this kind may change, so a changed one is injected afresh.
    type
        what the kind is made for. It stands where nothing says otherwise, and where ``type_decides`` against everything
        but the user's label.
    named_by
        a field with the name of an object that says what is run (TrainJob ``runtimeRef.name``), heard where nothing else is.
    framework
        whose kind this is, where nothing else names one.
    completed
        the templates with what another object adds to them (TrainJob's runtime), as far as the cluster is known; given the
        object, its namespace and the cluster.
    namesake
        another kind is what its name alone means, in policies: this one is named with its group.
    wraps
        the kind of the object that this one holds (AppWrapper): how that runs is how this one does.
    holds
        the objects of known kinds that stand whole in this one, with their places (AppWrapper).
    steps
        each template is a step of its own (Workflow): its Pods have nothing to do with those of the others, and a kind whose
        steps may be anything is AI work by what they carry.
    """

    group: str
    kind: str
    templates: Callable[[JsonObject], tuple[PodTemplate, ...]]
    runs: Runs
    labelled: Callable[[JsonObject], Metadata]
    queue: Path | None = ("metadata",)
    queued: Callable[[JsonObject], bool] | None = None
    obstacle: Callable[[JsonObject], str] | None = None
    queue_fields: tuple[Path, ...] = ()
    suspend: Path | None = None
    priority: tuple[Path, ...] = ()
    defaulted: bool = True
    restarts: Path | None = None
    restarts_default: int | None = 0
    injected_on_update: bool = False
    type: str | None = None
    type_decides: bool = False
    named_by: Path | None = None
    framework: str | None = None
    completed: Callable[[JsonObject, str, ClusterView], tuple[PodTemplate, ...]] | None = None
    namesake: bool = False
    wraps: "Callable[[JsonObject], WorkloadKind | None] | None" = None
    holds: "Callable[[JsonObject], tuple[tuple[Path, WorkloadKind], ...]] | None" = None
    steps: bool = False

    @property
    def text(self) -> str:
        """The name policies use: ``Job``, ``JobSet.jobset.x-k8s.io``; core, apps and batch kinds by kind alone."""
        return self.kind if self.group in ("", "apps", "batch") else f"{self.kind}.{self.group}"


def mapping(value: Any) -> JsonObject:
    """``value`` if it is a mapping, else an empty one."""
    return value if type(value) is dict else {}


def members(value: Any) -> list[Any]:
    """``value`` if it is a list, else an empty one."""
    return value if type(value) is list else []


def scalar(value: Any) -> str:
    """``value`` as text; a list or mapping, which may be nested too deeply to be shown, as none."""
    return "" if value is None or isinstance(value, dict | list) else str(value)


def count(value: Any, default: int = 1) -> int | None:
    """A number of Pods: ``default`` where absent or nonsense, None for a placeholder."""
    if value is None:
        return default
    if is_placeholder(value):
        return None
    number = parse_quantity(value)
    if number is None or number < 0 or number.denominator != 1:
        return default
    return int(number)


def template_at(root: JsonObject, path: Path, pods: int | None = 1, name: str = "", job: Path | None = None) -> PodTemplate:
    """The pod template at ``path``, with an empty body where nothing usable stands there."""
    return PodTemplate(path, mapping(value_at(root, path)), pods, name, job)


def inline_at(root: JsonObject, path: Path, pods: int | None = 1, name: str = "") -> PodTemplate:
    """The template of a PodSpec that stands at ``path`` itself."""
    return PodTemplate(path, {"spec": mapping(value_at(root, path))}, pods, name, inline=True)


def product(*counts: int | None) -> int | None:
    """Counts multiplied; None where one is not known."""
    total = 1
    for number in counts:
        if number is None:
            return None
        total *= number
    return total


def below(prefix: Path, template: PodTemplate) -> PodTemplate:
    """A template of an object that stands at ``prefix`` in another."""
    return replace(
        template,
        path=(*prefix, *template.path),
        job=None if template.job is None else (*prefix, *template.job),
        programs=tuple([_program_below(prefix, program) for program in template.programs]),
        asked=tuple([replace(asked, path=(*prefix, *asked.path)) for asked in template.asked]),
    )


def _program_below(prefix: Path, program: Program) -> Program:
    command = None if program.command is None else (*prefix, *program.command)
    args = None if program.args is None else (*prefix, *program.args)
    gathered = {name: tuple([(*prefix, *path) for path in paths]) for name, paths in program.gathered.items()}
    path = (*prefix, *program.path)
    return replace(program, path=path, command=command, args=args, gathered=gathered)
