"""``WorkloadSigns`` documents made into the signs that the core is handed."""

from collections.abc import Iterable, Sequence

from signalbox.policy.signs_document import (
    CheckpointSection,
    CommandEntry,
    NameEntry,
    PortEntry,
    ResumeEntry,
    VocabularyEntry,
    WorkloadSignsDocument,
)
from signalbox.workload.signs import (
    AcceleratorSign,
    CheckpointSigns,
    CommandSigns,
    DistributedSigns,
    NameSigns,
    PortSigns,
    ResumeSigns,
    Signs,
    SpotLabel,
    Wrapper,
)
from signalbox.workload.vocabulary import Saying, Vocabulary, option_name


def compile_signs(documents: Sequence[WorkloadSignsDocument]) -> Signs:
    """All documents as one set of signs. Later documents add to earlier ones, and their words win where both speak."""
    specs = [document.spec for document in documents]
    newest_first = specs[::-1]
    return Signs(
        accelerators=tuple(
            AcceleratorSign(tuple(entry.resources), entry.vendor, entry.toleration, entry.share)
            for spec in newest_first
            for entry in spec.accelerators
        ),
        accelerator_annotations=tuple(name for spec in specs for entry in spec.acceleratorAnnotations for name in entry.names),
        accelerator_claims=frozenset(name for spec in specs for entry in spec.acceleratorClaims for name in entry.names),
        spot_labels=tuple(
            SpotLabel(key, _lower(entry.values), entry.presence, _lower(entry.others), entry.named)
            for spec in specs
            for entry in spec.spot.labels
            for key in entry.keys
        ),
        spot_resources=tuple(name for spec in specs for entry in spec.spot.resources for name in entry.names),
        commands=_commands([entry for spec in specs for entry in spec.commands]),
        names=_names([entry for spec in specs for entry in spec.names]),
        distributed=DistributedSigns(
            arguments=_options(name for spec in specs for entry in spec.distributed for name in entry.arguments),
            environment=frozenset(name for spec in specs for entry in spec.distributed for name in entry.environment),
            processes=_options(name for spec in specs for entry in spec.distributed for name in entry.processes),
        ),
        ports=_ports([entry for spec in specs for entry in spec.ports]),
        types=_vocabulary([(entry.type, entry) for spec in newest_first for entry in spec.types]),
        frameworks=_vocabulary([(entry.framework, entry) for spec in newest_first for entry in spec.frameworks]),
        checkpoint=_checkpoint([spec.checkpoint for spec in specs]),
        resume=_resume([entry for spec in specs for entry in spec.resume]),
    )


def _commands(entries: list[CommandEntry]) -> CommandSigns:
    def named(role: str) -> frozenset[str]:
        return frozenset(name for entry in entries if entry.role == role for name in entry.names)

    wrappers = {
        name: Wrapper(entry.words, frozenset(entry.options))
        for entry in entries
        if entry.role == "wrapper"
        for name in entry.names
    }
    return CommandSigns(
        launchers=named("launcher"),
        wrappers=wrappers,
        shells=named("shell"),
        interpreters=named("interpreter"),
        utilities=named("utility"),
        idle=named("idle"),
        selectors=_options(named("selector")),
        choices=_options(named("choice")),
        asks=named("ask"),
        generic_scripts=named("generic-script"),
        members=named("member"),
        variables=named("variable"),
        several_words=frozenset(name.partition(" ")[0] for name in (*named("launcher"), *wrappers) if " " in name),
    )


def _names(entries: list[NameEntry]) -> NameSigns:
    def words(role: str) -> frozenset[str]:
        return _phrases(word for entry in entries if entry.role == role for word in entry.words)

    return NameSigns(
        things=words("thing"),
        parts=words("part"),
        errands=words("errand"),
        tasks=words("task"),
        orders=words("order"),
        looks=words("look"),
        fillers=words("filler"),
        joins=words("join"),
        asides=words("aside"),
        agents=words("agent"),
    )


def _ports(entries: list[PortEntry]) -> PortSigns:
    def meaning(meaning: str) -> frozenset[int]:
        return frozenset(port for entry in entries if entry.meaning == meaning for port in entry.ports)

    return PortSigns(rendezvous=meaning("rendezvous"), interactive=meaning("interactive"))


def _vocabulary(entries: Sequence[tuple[str, VocabularyEntry]]) -> Vocabulary:
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
            (vocabulary.switches, _options(entry.switches)),
            (vocabulary.hints, _options(entry.hints)),
            (vocabulary.bases, _options(entry.bases)),
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
        vocabulary.switches,
        vocabulary.hints,
        vocabulary.bases,
    )


def _checkpoint(sections: list[CheckpointSection]) -> CheckpointSigns:
    entries = [entry for section in sections for entry in section.names]
    outputs_of: dict[str, frozenset[str]] = {}
    calls_of: dict[str, frozenset[str]] = {}
    for entry in entries:
        for name in entry.names if entry.frameworks else ():
            table, key = (calls_of, name) if entry.role == "call" else (outputs_of, option_name(name))
            table[key] = table.get(key, frozenset()) | frozenset(entry.frameworks)

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
        never_around=named("never-around"),
        owners=named("owner"),
        folders=named("folder"),
        switches=_options(named("switch")),
        outputs=_options(named("output")),
        outputs_when_saving=_options(named("output-when-saving")),
        roots=_options(named("root")),
        outputs_of=outputs_of,
        saving=named("saving"),
        frequency=named("frequency"),
        configuration=_options(named("configuration")),
        mounts=named("mount"),
        mounts_never=named("mount-never"),
        mounts_weak=named("mount-weak"),
        mounts_of_data=named("mount-data"),
        mounts_of_logs=named("mount-log"),
        model_mounts=_phrases(named("model-mount")),
        files=named("file"),
        reads=named("read"),
        calls=tuple(sorted(named("call") | calls_of.keys())),
        calls_of=calls_of,
        asides=named("aside"),
        copiers=named("copier"),
        tidiers=named("tidier"),
        schemes=frozenset(name for section in sections for entry in section.stores for name in entry.schemes),
        rooted_schemes=frozenset(
            name for section in sections for entry in section.stores if entry.rooted for name in entry.schemes
        ),
        hosts=tuple(name for section in sections for entry in section.stores for name in entry.hosts),
        durable_volumes=sources("durable"),
        ephemeral_volumes=sources("ephemeral"),
        read_only_volumes=sources("read-only"),
        ephemeral_drivers=frozenset(
            name for section in sections for entry in section.volumes if entry.kept != "durable" for name in entry.drivers
        ),
        storage_drivers=tuple(
            name for section in sections for entry in section.volumes if entry.kept == "durable" for name in entry.drivers
        ),
    )


def _resume(entries: list[ResumeEntry]) -> ResumeSigns:
    def named(role: str) -> frozenset[str]:
        return frozenset(name for entry in entries if entry.role == role for name in entry.names)

    return ResumeSigns(
        words=named("word"),
        options=_options(named("option")),
        loads=_options(named("load")),
        anew=_options(named("anew")),
        never=named("never"),
        by_itself=named("by-itself"),
        code=tuple(name for entry in entries if entry.role == "code" for name in entry.names),
    )


def _lower(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(value.lower().replace("_", "-") for value in values)


def _options(names: Iterable[str]) -> frozenset[str]:
    return frozenset(option_name(name) for name in names)


def _phrases(names: Iterable[str]) -> frozenset[str]:
    return frozenset(name.replace("-", "_").replace(" ", "_").lower() for name in names)
