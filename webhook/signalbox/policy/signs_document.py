"""``WorkloadSigns`` documents: the words, labels and names behind the judgements, as a platform team writes them."""

from collections.abc import Iterable, Sequence
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from signalbox.workload.signs import (
    AcceleratorSign,
    CheckpointSigns,
    CommandSigns,
    DistributedSigns,
    PortSigns,
    Signs,
    SpotLabel,
)
from signalbox.workload.vocabulary import Saying, Vocabulary, option_name

Name = Annotated[str, Field(min_length=1)]
Names = Annotated[list[Name], Field(min_length=1)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class _Entry(_Strict):
    """``reason`` says, for any reader, why the names below it mean what they are taken for."""

    reason: Name


class AcceleratorEntry(_Entry):
    """Extended resources (globs) that are accelerators, and the taint key their nodes usually carry."""

    vendor: Name
    resources: Names
    toleration: str = ""


class NamesEntry(_Entry):
    """Names (globs) with one meaning."""

    names: Names


class SpotLabelEntry(_Entry):
    """Node labels, and taints of the same key, of spot capacity.

    ``values``: those that mark spot; none given: any but a false one. ``presence``: only spot nodes carry the key.
    """

    keys: Names
    values: list[Name] = []
    presence: bool = False


class SpotSection(_Strict):
    """Signs of capacity that is taken back without notice."""

    labels: list[SpotLabelEntry] = []
    resources: list[NamesEntry] = []


class CommandEntry(_Entry):
    """How programs are read when a command line is taken apart."""

    role: Literal["launcher", "wrapper", "interpreter", "utility", "idle", "selector", "generic-script"]
    names: Names


class _VocabularyEntry(_Entry):
    commands: list[Name] = []
    modules: list[Name] = []
    words: list[Name] = []
    arguments: list[Name] = []
    images: list[Name] = []
    environment: list[Name] = []
    code: list[Name] = []
    general: bool = False


class TypeEntry(_VocabularyEntry):
    """What speaks for one type. Earlier entries are more specific: they win over later ones."""

    type: Literal[
        "training", "fine-tuning", "evaluation", "batch-inference", "data-processing", "benchmark", "interactive", "inference"
    ]


class FrameworkEntry(_VocabularyEntry):
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

    ``frameworks``: an output only for programs of these.
    """

    role: Literal[
        "subject", "place", "bucket", "never", "output", "output-when-saving", "saving", "frequency", "configuration", "mount"
    ]
    names: Names
    frameworks: list[Name] = []


class StoreEntry(_Entry):
    """URL schemes, and parts of host names, of stores that outlive a Pod."""

    schemes: list[Name] = []
    hosts: list[Name] = []


class VolumeEntry(_Entry):
    """Volume sources by the name of their field in ``spec.volumes``, and CSI drivers, by what they keep."""

    kept: Literal["durable", "ephemeral", "read-only"]
    sources: list[Name] = []
    drivers: list[Name] = []


class CheckpointSection(_Strict):
    """Signs of where progress is saved."""

    names: list[CheckpointNameEntry] = []
    stores: list[StoreEntry] = []
    volumes: list[VolumeEntry] = []


class SignsSpec(_Strict):
    """All signs; a document may hold any of them."""

    accelerators: list[AcceleratorEntry] = []
    acceleratorAnnotations: list[NamesEntry] = []
    acceleratorClaims: list[NamesEntry] = []
    spot: SpotSection = SpotSection()
    commands: list[CommandEntry] = []
    types: list[TypeEntry] = []
    frameworks: list[FrameworkEntry] = []
    distributed: list[DistributedEntry] = []
    ports: list[PortEntry] = []
    checkpoint: CheckpointSection = CheckpointSection()


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


def compile_signs(documents: Sequence[WorkloadSignsDocument]) -> Signs:
    """All documents as one set of signs. Later documents add to earlier ones, and their words win where both speak."""
    specs = [document.spec for document in documents]
    newest_first = specs[::-1]
    return Signs(
        accelerators=tuple(
            AcceleratorSign(tuple(entry.resources), entry.vendor, entry.toleration)
            for spec in newest_first
            for entry in spec.accelerators
        ),
        accelerator_annotations=tuple(name for spec in specs for entry in spec.acceleratorAnnotations for name in entry.names),
        accelerator_claims=frozenset(name for spec in specs for entry in spec.acceleratorClaims for name in entry.names),
        spot_labels=tuple(
            SpotLabel(key, tuple(value.lower() for value in entry.values), entry.presence)
            for spec in specs
            for entry in spec.spot.labels
            for key in entry.keys
        ),
        spot_resources=tuple(name for spec in specs for entry in spec.spot.resources for name in entry.names),
        commands=_commands([entry for spec in specs for entry in spec.commands]),
        distributed=DistributedSigns(
            arguments=_options(name for spec in specs for entry in spec.distributed for name in entry.arguments),
            environment=frozenset(name for spec in specs for entry in spec.distributed for name in entry.environment),
            processes=_options(name for spec in specs for entry in spec.distributed for name in entry.processes),
        ),
        ports=_ports([entry for spec in specs for entry in spec.ports]),
        types=_vocabulary([(entry.type, entry) for spec in newest_first for entry in spec.types]),
        frameworks=_vocabulary([(entry.framework, entry) for spec in newest_first for entry in spec.frameworks]),
        checkpoint=_checkpoint([spec.checkpoint for spec in specs]),
    )


def _commands(entries: list[CommandEntry]) -> CommandSigns:
    def named(role: str) -> frozenset[str]:
        return frozenset(name for entry in entries if entry.role == role for name in entry.names)

    return CommandSigns(
        launchers=named("launcher"),
        wrappers=named("wrapper"),
        interpreters=named("interpreter"),
        utilities=named("utility"),
        idle=named("idle"),
        selectors=_options(named("selector")),
        generic_scripts=named("generic-script"),
        several_words=frozenset(name.partition(" ")[0] for name in named("launcher") | named("wrapper") if " " in name),
    )


def _ports(entries: list[PortEntry]) -> PortSigns:
    def meaning(meaning: str) -> frozenset[int]:
        return frozenset(port for entry in entries if entry.meaning == meaning for port in entry.ports)

    return PortSigns(rendezvous=meaning("rendezvous"), interactive=meaning("interactive"))


def _vocabulary(entries: Sequence[tuple[str, _VocabularyEntry]]) -> Vocabulary:
    """One look-up table for each place a sign is met. ``rank`` is the order of the entries: the first word wins."""
    vocabulary = Vocabulary()
    for rank, (says, entry) in enumerate(entries):
        saying = Saying(says, entry.reason, rank, entry.general)
        for table, names in (
            (vocabulary.commands, (name.lower() for name in entry.commands)),
            (vocabulary.modules, (name.lower() for name in entry.modules)),
            (vocabulary.words, _phrases(entry.words)),
            (vocabulary.arguments, _options(entry.arguments)),
            (vocabulary.images, _phrases(entry.images)),
            (vocabulary.environment, _options(entry.environment)),
            (vocabulary.code, entry.code),
        ):
            for name in names:
                table.setdefault(name, saying)
    return Vocabulary(
        vocabulary.commands,
        vocabulary.modules,
        vocabulary.words,
        vocabulary.arguments,
        vocabulary.images,
        vocabulary.environment,
        # The longer of two pieces is looked for first.
        dict(sorted(vocabulary.code.items(), key=lambda item: -len(item[0]))),
    )


def _checkpoint(sections: list[CheckpointSection]) -> CheckpointSigns:
    entries = [entry for section in sections for entry in section.names]
    outputs_of: dict[str, frozenset[str]] = {}
    for entry in entries:
        for name in entry.names if entry.frameworks else ():
            option = option_name(name)
            outputs_of[option] = outputs_of.get(option, frozenset()) | frozenset(entry.frameworks)

    def named(role: str) -> frozenset[str]:
        return frozenset(name for entry in entries if entry.role == role and not entry.frameworks for name in entry.names)

    def sources(kept: str) -> frozenset[str]:
        return frozenset(
            name for section in sections for entry in section.volumes if entry.kept == kept for name in entry.sources
        )

    return CheckpointSigns(
        subjects=named("subject"),
        places=named("place"),
        buckets=named("bucket"),
        never=named("never"),
        outputs=_options(named("output")),
        outputs_when_saving=_options(named("output-when-saving")),
        outputs_of=outputs_of,
        saving=named("saving"),
        frequency=named("frequency"),
        configuration=_options(named("configuration")),
        mounts=named("mount"),
        schemes=frozenset(name for section in sections for entry in section.stores for name in entry.schemes),
        hosts=tuple(name for section in sections for entry in section.stores for name in entry.hosts),
        durable_volumes=sources("durable"),
        ephemeral_volumes=sources("ephemeral"),
        read_only_volumes=sources("read-only"),
        ephemeral_drivers=frozenset(
            name for section in sections for entry in section.volumes if entry.kept != "durable" for name in entry.drivers
        ),
    )


def _options(names: Iterable[str]) -> frozenset[str]:
    return frozenset(option_name(name) for name in names)


def _phrases(names: Iterable[str]) -> frozenset[str]:
    return frozenset(name.replace("-", "_").replace(" ", "_").lower() for name in names)
