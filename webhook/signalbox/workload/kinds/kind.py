"""What Signalbox must know of a kind to judge and to mutate it: one ``WorkloadKind`` a kind."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from signalbox.fieldpath import Path, value_at
from signalbox.quantity import is_placeholder, parse_quantity
from signalbox.review import JsonObject

Metadata = tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class PodTemplate:
    """One pod template of a workload (for a Pod: the Pod itself).

    ``path`` leads to the mapping that holds ``metadata`` and ``spec``. ``pods`` is how many Pods it makes, None where
    only a placeholder says so. ``name`` is that of the replicated job or role, empty where there is but one template.
    ``job`` leads to the JobSpec that runs it (``backoffLimit`` stands there), where there is one.
    """

    path: Path
    body: JsonObject
    pods: int | None = 1
    name: str = ""
    job: Path | None = None

    @property
    def spec(self) -> JsonObject:
        """The PodSpec; empty where it is missing or no mapping."""
        return mapping(self.body.get("spec"))

    @property
    def metadata(self) -> JsonObject:
        """The template's metadata; empty where it is missing or no mapping."""
        return mapping(self.body.get("metadata"))

    @property
    def spec_path(self) -> Path:
        """Where the PodSpec stands in the object."""
        return (*self.path, "spec")


@dataclass(frozen=True, slots=True)
class WorkloadKind:
    """One kind.

    templates
        the pod templates of an object; survives any JSON type anywhere (custom resources come before schema validation).
    runs
        ``once`` (Job, JobSet: ends by itself), ``schedule`` (CronJob), ``forever`` (its controller starts a finished
        Pod again), ``pod`` (a bare Pod).
    queue
        the metadata mapping where Kueue's queue label must stand; None: the kind is not queued by label.
    suspend
        the field set to true together with a queue of ours; None: Kueue gates the Pods of this kind by itself.
    labelled
        the metadata mappings, beside the object's own, where ``workload.ai/*`` labels must stand so that Jobs and Pods
        carry them.
    defaulted
        the API server fills in a grace of 30 s, so 30 counts as unset.
    restarts
        the field that bounds how often the whole is started again (``spec.failurePolicy.maxRestarts``), if any.
    injected_on_update
        templates of this kind may change, so a changed one is injected afresh.
    """

    group: str
    kind: str
    templates: Callable[[JsonObject], tuple[PodTemplate, ...]]
    runs: Literal["once", "schedule", "forever", "pod"]
    labelled: Callable[[JsonObject], Metadata]
    queue: Path | None = ("metadata",)
    suspend: Path | None = None
    defaulted: bool = True
    restarts: Path | None = None
    injected_on_update: bool = False

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
