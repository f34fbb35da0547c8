"""``WorkloadSigns`` documents made into the signs that the core is handed."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from signalbox.policy.looked_up import as_words, phrase
from signalbox.policy.saving_signs_compile import checkpoint_signs, resume_signs
from signalbox.policy.signs_document import SignsSpec, TypeEntry, VocabularyEntry, WorkloadSignsDocument
from signalbox.policy.signs_roles import COMMANDS, NAMES, PORTS, Roles
from signalbox.workload.signs import (
    AcceleratorSign,
    CommandSigns,
    DistributedSigns,
    NameSigns,
    PortSigns,
    Signs,
    SpotLabel,
    Wrapper,
)
from signalbox.workload.vocabulary import Saying, Vocabulary, option_name

_OPTIONS = ("selector", "choice", "port")


def compile_signs(documents: Sequence[WorkloadSignsDocument]) -> Signs:
    """All documents as one set of signs.

    Later documents add to earlier ones. Where two say of one name what cannot both be, the later one wins: a sign speaks for
    one type and one framework, a resource is one accelerator, a label and a wrapper have one entry, and of roles that rule each
    other out (see ``signs_roles``) a name has the later ones. What has no other side to it only adds up: annotations, claims
    and device classes of accelerators, spot resources, ``distributed``, and host names of stores.
    """
    specs = [document.spec for document in documents]
    newest_first = specs[::-1]
    roles = Roles(map(_roles_of_commands, specs), COMMANDS)
    otherwise = [(name.lower(), entry.everywhere) for spec in specs for entry in spec.spot.otherwise for name in entry.words]
    everywhere = frozenset(name for name, in_all in otherwise if in_all)
    return Signs(
        accelerators=tuple(
            AcceleratorSign(tuple(entry.resources), entry.vendor, entry.toleration, entry.share, entry.percent)
            for spec in newest_first
            for entry in spec.accelerators
        ),
        accelerator_annotations=tuple(name for spec in specs for entry in spec.acceleratorAnnotations for name in entry.names),
        accelerator_claims=frozenset(
            as_words(name) for spec in specs for entry in spec.acceleratorClaims for name in entry.names
        ),
        device_vendors=tuple(
            (entry.vendor, frozenset(map(as_words, entry.words)))
            for spec in newest_first
            for entry in spec.deviceClasses.vendors
        ),
        other_devices=frozenset(
            as_words(word) for spec in specs for entry in spec.deviceClasses.others for word in entry.words
        ),
        spot_labels=tuple(
            SpotLabel(key, _lower(entry.values), entry.presence, _lower(entry.others), entry.named, everywhere)
            for spec in specs
            for entry in spec.spot.labels
            for key in entry.keys
        ),
        spot_values=_spot_values(specs),
        spot_otherwise=frozenset(name for name, _ in otherwise),
        spot_resources=tuple(name for spec in specs for entry in spec.spot.resources for name in entry.names),
        commands=_commands(specs, roles),
        names=_names(specs),
        distributed=DistributedSigns(
            arguments=_options(name for spec in specs for entry in spec.distributed for name in entry.arguments),
            environment=frozenset(name for spec in specs for entry in spec.distributed for name in entry.environment),
            processes=_options(name for spec in specs for entry in spec.distributed for name in entry.processes),
            words=frozenset(name.lower() for spec in specs for entry in spec.distributed for name in entry.words),
        ),
        ports=_ports(specs),
        types=_heard("type", _vocabulary([(entry.type, entry) for spec in newest_first for entry in spec.types]), roles),
        frameworks=_heard(
            "framework", _vocabulary([(entry.framework, entry) for spec in newest_first for entry in spec.frameworks]), roles
        ),
        checkpoint=checkpoint_signs([spec.checkpoint for spec in specs]),
        resume=resume_signs(specs),
    )


def _commands(specs: Sequence[SignsSpec], roles: Roles[str]) -> CommandSigns:
    launchers, wrapping = roles["launcher"], roles["wrapper"]
    # The last entry of a name says what stands behind it.
    wrappers = {
        name: Wrapper(entry.words, frozenset(entry.options))
        for spec in specs
        for entry in spec.commands
        if entry.role == "wrapper"
        for name in entry.names
        if name in wrapping
    }
    return CommandSigns(
        launchers=launchers,
        wrappers=wrappers,
        shells=roles["shell"],
        interpreters=roles["interpreter"],
        utilities=roles["utility"],
        idle=roles["idle"],
        selectors=roles["selector"],
        choices=roles["choice"],
        asks=roles["ask"],
        generic_scripts=roles["generic-script"],
        members=roles["member"],
        variables=roles["variable"],
        ports=roles["port"],
        ranks=roles["ranks"],
        overrides=roles["override"],
        several_words=frozenset(_program(name) for name in (*launchers, *wrappers) if " " in name),
    )


def _roles_of_commands(spec: SignsSpec) -> Iterator[tuple[str, str]]:
    """What a document says of commands, and of which of them it says that they speak for a type or framework."""
    for entry in spec.commands:
        for name in entry.names:
            yield entry.role, option_name(name) if entry.role in _OPTIONS else name
    said: list[tuple[str, VocabularyEntry]] = [("type", entry) for entry in spec.types]
    said += [("framework", entry) for entry in spec.frameworks]
    for role, speaking in said:
        for name in speaking.commands:
            yield role, name.lower()
            yield f"{role}-program", _program(name.lower())


def _heard(says: str, vocabulary: Vocabulary, roles: Roles[str]) -> Vocabulary:
    """A vocabulary without the commands that a later document takes for something else."""
    names, programs = roles[says], roles[f"{says}-program"]
    kept = {name: saying for name, saying in vocabulary.commands.items() if name in names and _program(name) in programs}
    return replace(vocabulary, commands=kept)


def _names(specs: Sequence[SignsSpec]) -> NameSigns:
    roles = Roles((((entry.role, as_words(word)) for entry in spec.names for word in entry.words) for spec in specs), NAMES)
    return NameSigns(
        things=roles["thing"],
        parts=roles["part"],
        errands=roles["errand"],
        tasks=roles["task"],
        orders=roles["order"],
        looks=roles["look"],
        fillers=roles["filler"],
        joins=roles["join"],
        asides=roles["aside"],
        agents=roles["agent"],
        places=roles["place"],
        learning=roles["learning"],
        submitters=roles["submitter"],
    )


def _ports(specs: Sequence[SignsSpec]) -> PortSigns:
    roles = Roles((((entry.meaning, port) for entry in spec.ports for port in entry.ports) for spec in specs), PORTS)
    return PortSigns(rendezvous=roles["rendezvous"], interactive=roles["interactive"])


def _vocabulary(entries: Sequence[tuple[str, VocabularyEntry]]) -> Vocabulary:
    """One look-up table for each place a sign is met. ``rank`` is the order of the entries: the first word wins."""
    vocabulary = Vocabulary()
    for rank, (says, entry) in enumerate(entries):
        saying = Saying(says, entry.reason, rank, entry.general)
        tables: list[tuple[dict[str, Saying], Iterable[str]]] = [
            (vocabulary.commands, (name.lower() for name in entry.commands)),
            (vocabulary.modules, (name.lower() for name in entry.modules)),
            (vocabulary.words, map(as_words, entry.words)),
            (vocabulary.arguments, map(option_name, entry.arguments)),
            (vocabulary.images, map(phrase, entry.images)),
            (vocabulary.environment, map(option_name, entry.environment)),
            (vocabulary.code, entry.code),
        ]
        if isinstance(entry, TypeEntry):
            tables += [
                (vocabulary.switches, map(option_name, entry.switches)),
                (vocabulary.hints, map(option_name, entry.hints)),
                (vocabulary.bases, map(option_name, entry.bases)),
                (vocabulary.pairs, map(option_name, entry.pairs)),
                (vocabulary.besides, entry.besides),
                (vocabulary.adapters, (option_name(name) for name in entry.adapters if name[-1] != "(")),
                (vocabulary.adapter_calls, (name for name in entry.adapters if name[-1] == "(")),
            ]
        for table, names in tables:
            for name in names:
                table.setdefault(name, saying)
    # The longer of two pieces is looked for first.
    return replace(vocabulary, code=dict(sorted(vocabulary.code.items(), key=lambda item: -len(item[0]))))


def _program(command: str) -> str:
    """The program of a command with sub-commands."""
    return command.partition(" ")[0]


def _spot_values(specs: Sequence[SignsSpec]) -> dict[str, tuple[str, ...]]:
    """The values that mark spot, by word of a key; those of several entries for one word add up."""
    found: dict[str, tuple[str, ...]] = {}
    for entry in (entry for spec in specs for entry in spec.spot.anyKey):
        for word in _lower(entry.words):
            found[word] = (*found.get(word, ()), *_lower(entry.values))
    return found


def _lower(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(value.lower().replace("_", "-") for value in values)


def _options(names: Iterable[str]) -> frozenset[str]:
    return frozenset(map(option_name, names))
