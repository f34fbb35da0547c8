"""``WorkloadSigns`` documents: the words, labels and names behind the judgements, as a platform team writes them."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from signalbox.workload.judgement import SignedType

Name = Annotated[str, Field(min_length=1)]
Names = Annotated[list[Name], Field(min_length=1)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class _Entry(_Strict):
    """``reason`` says, for any reader, why the names below it mean what they are taken for."""

    reason: Name


class AcceleratorEntry(_Entry):
    """Extended resources (globs) that are accelerators, and the taint key their nodes usually carry.

    ``share``: an amount of memory or of cores of one device, no count of devices.
    """

    vendor: Name
    resources: Names
    toleration: str = ""
    share: bool = False


class NamesEntry(_Entry):
    """Names (globs) with one meaning."""

    names: Names


class SpotLabelEntry(_Entry):
    """Node labels, and taints of the same key, of spot capacity.

    ``values``: those that mark spot; none given: any but a false one. ``presence``: only spot nodes carry the key.
    ``others``: what all other nodes have there. ``named``: the value is a name, of which ``values`` are words.
    """

    keys: Names
    values: list[Name] = []
    presence: bool = False
    others: list[Name] = []
    named: bool = False


class SpotSection(_Strict):
    """Signs of capacity that is taken back without notice."""

    labels: list[SpotLabelEntry] = []
    resources: list[NamesEntry] = []


class CommandEntry(_Entry):
    """How programs are read when a command line is taken apart.

    ``words`` of its own stand between a wrapper and the program it starts, and ``options`` take one more each.
    """

    role: Literal[
        "launcher",
        "wrapper",
        "shell",
        "interpreter",
        "utility",
        "idle",
        "selector",
        "choice",
        "ask",
        "generic-script",
        "member",
        "variable",
    ]
    names: Names
    words: Annotated[int, Field(ge=0)] = 0
    options: list[Name] = []


class NameEntry(_Entry):
    """Words that say how the name they stand in is read (see NameSigns)."""

    role: Literal["thing", "part", "errand", "task", "order", "look", "filler", "join", "aside", "agent"]
    words: Names


class VocabularyEntry(_Entry):
    """Where the signs of a type or framework are met."""

    commands: list[Name] = []
    modules: list[Name] = []
    words: list[Name] = []
    arguments: list[Name] = []
    images: list[Name] = []
    environment: list[Name] = []
    code: list[Name] = []
    switches: list[Name] = []
    hints: list[Name] = []
    bases: list[Name] = []
    general: bool = False


class TypeEntry(VocabularyEntry):
    """What speaks for one type. Earlier entries are more specific: they win over later ones."""

    type: SignedType


class FrameworkEntry(VocabularyEntry):
    """What speaks for one framework. Earlier entries are more specific."""

    framework: Name


class DistributedEntry(_Entry):
    """What says that several processes work on one run.

    ``processes`` are options of launchers that say how many; ``arguments`` and ``environment`` how Pods meet.
    """

    processes: list[Name] = []
    arguments: list[Name] = []
    environment: list[Name] = []


class PortEntry(_Entry):
    """Ports that are no service (``rendezvous``), or that are a notebook's (``interactive``)."""

    meaning: Literal["rendezvous", "interactive"]
    ports: Annotated[list[Annotated[int, Field(ge=1, le=65535)]], Field(min_length=1)]


class CheckpointNameEntry(_Entry):
    """Words of options and variables, and what they have to do with saving (see CheckpointSigns).

    ``frameworks``: an output, or a call that saves, only for programs of these.
    """

    role: Literal[
        "subject",
        "place",
        "folder",
        "bucket",
        "never",
        "never-around",
        "owner",
        "output",
        "output-when-saving",
        "root",
        "switch",
        "saving",
        "frequency",
        "configuration",
        "mount",
        "mount-never",
        "mount-weak",
        "mount-data",
        "mount-log",
        "model-mount",
        "file",
        "read",
        "call",
        "aside",
        "copier",
        "tidier",
    ]
    names: Names
    frameworks: list[Name] = []


class StoreEntry(_Entry):
    """URL schemes, and the ends of host names, of stores that outlive a Pod.

    ``rooted``: a URL may do without a host or bucket (``hdfs:///user``).
    """

    schemes: list[Name] = []
    hosts: list[Name] = []
    rooted: bool = False


class VolumeEntry(_Entry):
    """Volume sources by the name of their field in ``spec.volumes``, and CSI drivers, by what they keep.

    ``drivers`` of a durable entry are the beginnings of words in a driver's name, else whole names.
    """

    kept: Literal["durable", "ephemeral", "read-only"]
    sources: list[Name] = []
    drivers: list[Name] = []


class CheckpointSection(_Strict):
    """Signs of where progress is saved."""

    names: list[CheckpointNameEntry] = []
    stores: list[StoreEntry] = []
    volumes: list[VolumeEntry] = []


class ResumeEntry(_Entry):
    """What says that a run reads its own checkpoint back (see ResumeSigns)."""

    role: Literal["word", "option", "load", "anew", "never", "by-itself", "code"]
    names: Names


class SignsSpec(_Strict):
    """All signs; a document may hold any of them."""

    accelerators: list[AcceleratorEntry] = []
    acceleratorAnnotations: list[NamesEntry] = []
    acceleratorClaims: list[NamesEntry] = []
    spot: SpotSection = SpotSection()
    commands: list[CommandEntry] = []
    names: list[NameEntry] = []
    types: list[TypeEntry] = []
    frameworks: list[FrameworkEntry] = []
    distributed: list[DistributedEntry] = []
    ports: list[PortEntry] = []
    checkpoint: CheckpointSection = CheckpointSection()
    resume: list[ResumeEntry] = []


class Metadata(_Strict):
    """A Kubernetes object's metadata, as far as a document of ours uses it."""

    name: Name
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}


class WorkloadSignsDocument(_Strict):
    """One document."""

    apiVersion: Literal["policy.workload.ai/v1alpha1"]
    kind: Literal["WorkloadSigns"]
    metadata: Metadata
    spec: SignsSpec
