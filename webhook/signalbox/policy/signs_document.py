"""``WorkloadSigns`` documents: the words, labels and names behind the judgements, as a platform team writes them."""

from typing import Annotated, Literal

from pydantic import Field, ValidationInfo, field_validator

from signalbox.policy.saving_signs_document import CheckpointSection, ResumeEntry
from signalbox.policy.signs_entry import Entry, Name, Names, NamesEntry, SingleWords, Strict
from signalbox.workload.judgement import TRAINING_TYPES, SignedType

_ONE_PROGRAM = ("utility", "interpreter", "shell")


class AcceleratorEntry(Entry):
    """Extended resources (globs) that are accelerators, and the taint key their nodes usually carry.

    ``share``: an amount of memory or of cores of one device, no count of devices. ``percent``: hundredths of a device.
    """

    vendor: Name
    resources: Names
    toleration: str = ""
    share: bool = False
    percent: bool = False


class DeviceVendorEntry(Entry):
    """Words in the name of a device class, or of its driver, that say whose its accelerators are."""

    vendor: Name
    words: Names


class DeviceWordsEntry(Entry):
    """Words in the name of a device class, or of its driver, that say what its devices are."""

    words: Names


class DeviceClassSection(Strict):
    """Signs of device classes. ``others``: their devices are no accelerators, whatever else stands in the name."""

    vendors: list[DeviceVendorEntry] = []
    others: list[DeviceWordsEntry] = []


class SpotLabelEntry(Entry):
    """Node labels, and taints of the same key, of spot capacity.

    ``values``: those that mark spot; none given: any but a false one. ``presence``: only spot nodes carry the key.
    ``others``: what all other nodes have there. ``named``: the value is a name, of which ``values`` are words.
    """

    keys: Names
    values: list[Name] = []
    presence: bool = False
    others: list[Name] = []
    named: bool = False


class SpotValuesEntry(Entry):
    """Values that mark spot capacity under keys that nobody knows, if one of ``words`` stands in the key."""

    words: SingleWords
    values: SingleWords


class SpotOtherwiseEntry(Entry):
    """Words beside which a word for spot means something else; ``everywhere``: in the names of pools as well."""

    words: SingleWords
    everywhere: bool = False


class SpotSection(Strict):
    """Signs of capacity that is taken back without notice.

    ``otherwise``: words beside which a value that is a name (of ``named`` labels, and of ``anyKey``) says nothing.
    """

    labels: list[SpotLabelEntry] = []
    anyKey: list[SpotValuesEntry] = []
    otherwise: list[SpotOtherwiseEntry] = []
    resources: list[NamesEntry] = []


class CommandEntry(Entry):
    """How programs are read when a command line is taken apart.

    ``words`` of its own stand between a wrapper and the program it starts, and ``options`` take one more each. A utility, an
    interpreter and a shell are one program, whatever sub-command follows it.
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
        "port",
        "ranks",
        "override",
    ]
    names: Names
    words: Annotated[int, Field(ge=0)] = 0
    options: list[Name] = []

    @field_validator("names")
    @classmethod
    def _one_word(cls, names: list[str], info: ValidationInfo) -> list[str]:
        role = info.data.get("role")
        several = next((name for name in names if " " in name), None)
        if several is not None and role in _ONE_PROGRAM:
            raise ValueError(
                f"role {role} is that of a program with all its sub-commands, {several!r} is never met: "
                f"write {several.partition(' ')[0]}, or leave it out"
            )
        return names

    @field_validator("words", "options")
    @classmethod
    def _of_a_wrapper(cls, value: int | list[str], info: ValidationInfo) -> int | list[str]:
        role = info.data.get("role")
        if value and role not in (None, "wrapper"):
            raise ValueError(f"{info.field_name} are those of a wrapper, this entry is of role {role}: leave them out")
        return value


class NameEntry(Entry):
    """Words that say how the name they stand in is read (see NameSigns)."""

    role: Literal[
        "thing",
        "part",
        "errand",
        "task",
        "order",
        "look",
        "filler",
        "join",
        "aside",
        "agent",
        "place",
        "learning",
        "submitter",
    ]
    words: Names


class VocabularyEntry(Entry):
    """Where the signs of a type or framework are met."""

    commands: list[Name] = []
    modules: list[Name] = []
    words: list[Name] = []
    arguments: list[Name] = []
    images: list[Name] = []
    environment: list[Name] = []
    code: list[Name] = []
    general: bool = False


class TypeEntry(VocabularyEntry):
    """What speaks for one type. Earlier entries are more specific: they win over later ones.

    ``switches`` turn one of a program's works on. ``hints`` bear out a name of training, ``pairs`` say training two together.
    What trains is fine-tuning with one of ``bases``, which name the model to begin with, or of ``adapters``. ``besides`` are
    pieces of a program text that training has as well, and that speak only where nothing else does.
    """

    type: SignedType
    switches: list[Name] = []
    hints: list[Name] = []
    pairs: list[Name] = []
    bases: list[Name] = []
    adapters: list[Name] = []
    besides: list[Name] = []

    @field_validator("hints", "pairs")
    @classmethod
    def _of_training(cls, names: list[str], info: ValidationInfo) -> list[str]:
        said = info.data.get("type")
        if names and said not in (None, *TRAINING_TYPES):
            does = "bear out training" if info.field_name == "hints" else "say training two together"
            raise ValueError(f"{info.field_name} {does} only, this entry is of {said}: write arguments, or type: training")
        return names

    @field_validator("bases", "adapters")
    @classmethod
    def _of_fine_tuning(cls, names: list[str], info: ValidationInfo) -> list[str]:
        said = info.data.get("type")
        if names and said not in (None, "fine-tuning"):
            what = "name the model that is trained further" if info.field_name == "bases" else "say that a model is tuned"
            raise ValueError(f"{info.field_name} {what}, this entry is of {said}: write them in an entry of type: fine-tuning")
        return names


class FrameworkEntry(VocabularyEntry):
    """What speaks for one framework. Earlier entries are more specific."""

    framework: Name


class DistributedEntry(Entry):
    """What says that several processes work on one run.

    ``processes`` are options of launchers that say how many; ``arguments`` and ``environment`` how Pods meet; ``words`` are
    those of names of what is made of several Pods.
    """

    processes: list[Name] = []
    arguments: list[Name] = []
    environment: list[Name] = []
    words: list[Name] = []


class PortEntry(Entry):
    """Ports that are no service of a model.

    ``rendezvous``: where processes meet, or that of metrics, a dashboard or a remote desktop. ``interactive``: a notebook's.
    """

    meaning: Literal["rendezvous", "interactive"]
    ports: Annotated[list[Annotated[int, Field(ge=1, le=65535)]], Field(min_length=1)]


class SignsSpec(Strict):
    """All signs; a document may hold any of them."""

    accelerators: list[AcceleratorEntry] = []
    acceleratorAnnotations: list[NamesEntry] = []
    acceleratorClaims: list[NamesEntry] = []
    deviceClasses: DeviceClassSection = DeviceClassSection()
    spot: SpotSection = SpotSection()
    commands: list[CommandEntry] = []
    names: list[NameEntry] = []
    types: list[TypeEntry] = []
    frameworks: list[FrameworkEntry] = []
    distributed: list[DistributedEntry] = []
    ports: list[PortEntry] = []
    checkpoint: CheckpointSection = CheckpointSection()
    resume: list[ResumeEntry] = []


class Metadata(Strict):
    """A Kubernetes object's metadata, as far as a document of ours uses it."""

    name: Name
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}


class WorkloadSignsDocument(Strict):
    """One document."""

    apiVersion: Literal["policy.workload.ai/v1alpha1"]
    kind: Literal["WorkloadSigns"]
    metadata: Metadata
    spec: SignsSpec
