"""The words, labels and names that judgements rest on, as values the core is handed.

They come from ``WorkloadSigns`` documents (a default set is shipped in the package, a platform team adds its own), which
are read outside the core.
"""

import re
from dataclasses import dataclass, field
from fnmatch import translate
from functools import lru_cache
from typing import TYPE_CHECKING

from signalbox.workload.vocabulary import Vocabulary

if TYPE_CHECKING:
    from signalbox.workload.meaning import Meaning


@lru_cache(maxsize=4096)
def glob(pattern: str) -> re.Pattern[str]:
    """A shell glob (``nvidia.com/mig-*``) as a compiled, case-sensitive expression for ``match``."""
    return re.compile(translate(pattern))


@dataclass(frozen=True, slots=True)
class AcceleratorSign:
    """Resource names that are accelerators. ``toleration`` is the taint key its nodes usually carry."""

    resources: tuple[str, ...]
    vendor: str
    toleration: str = ""

    def matches(self, resource: str) -> bool:
        """Whether a resource name is one of these."""
        return any(glob(pattern).match(resource) for pattern in self.resources)


@dataclass(frozen=True, slots=True)
class SpotLabel:
    """A node label (and taint) that marks spot or preemptible capacity when it has one of ``values``.

    Empty ``values``: any but a false one. ``presence``: only spot nodes carry the key at all, so that ``Exists`` asks
    for one.
    """

    key: str
    values: tuple[str, ...] = ()
    presence: bool = False

    def matches(self, value: str) -> bool:
        """Whether the label marks spot with this value."""
        lowered = value.lower()
        return lowered in self.values if self.values else lowered not in ("false", "no", "0")


@dataclass(frozen=True, slots=True)
class CommandSigns:
    """How a command line is read: which programs start others, and which say nothing by their arguments.

    Names may be a program or a program with its sub-command (``accelerate launch``). ``launchers`` start several
    processes of one run, ``wrappers`` just start another program, ``interpreters`` run a script or a module.
    ``several_words`` are the first words of launchers and wrappers whose names have more than one.
    """

    launchers: frozenset[str] = frozenset()
    wrappers: frozenset[str] = frozenset()
    interpreters: frozenset[str] = frozenset()
    utilities: frozenset[str] = frozenset()
    idle: frozenset[str] = frozenset()
    selectors: frozenset[str] = frozenset()
    generic_scripts: frozenset[str] = frozenset()
    several_words: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class DistributedSigns:
    """What says that several processes work on one run."""

    arguments: frozenset[str] = frozenset()
    environment: frozenset[str] = frozenset()
    processes: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class PortSigns:
    """Ports that processes of one run meet at (they speak for nothing), and ports of notebooks."""

    rendezvous: frozenset[int] = frozenset()
    interactive: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class CheckpointSigns:
    """Names of options and variables that say where progress is saved, and volumes that keep it.

    An option speaks of a checkpoint when its words hold one of ``subjects`` and one of ``places`` and none of
    ``never``; with one of ``buckets``, its value is a bucket's name. ``outputs`` are whole names that say where a run
    writes; ``outputs_when_saving`` do so only beside a save frequency (words of ``saving`` with ``frequency``),
    ``outputs_of`` only for programs of the frameworks they lead to.
    ``configuration`` names options that take a configuration file, ``mounts`` the last parts of telling mount paths.
    """

    subjects: frozenset[str] = frozenset()
    places: frozenset[str] = frozenset()
    buckets: frozenset[str] = frozenset()
    never: frozenset[str] = frozenset()
    outputs: frozenset[str] = frozenset()
    outputs_when_saving: frozenset[str] = frozenset()
    outputs_of: dict[str, frozenset[str]] = field(default_factory=dict)
    saving: frozenset[str] = frozenset()
    frequency: frozenset[str] = frozenset()
    configuration: frozenset[str] = frozenset()
    mounts: frozenset[str] = frozenset()
    schemes: frozenset[str] = frozenset()
    hosts: tuple[str, ...] = ()
    durable_volumes: frozenset[str] = frozenset()
    ephemeral_volumes: frozenset[str] = frozenset()
    read_only_volumes: frozenset[str] = frozenset()
    ephemeral_drivers: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Signs:
    """All signs together. ``meanings`` remembers what was worked out of them for each option that was met."""

    accelerators: tuple[AcceleratorSign, ...] = ()
    accelerator_annotations: tuple[str, ...] = ()
    accelerator_claims: frozenset[str] = frozenset()
    spot_labels: tuple[SpotLabel, ...] = ()
    spot_resources: tuple[str, ...] = ()
    commands: CommandSigns = CommandSigns()
    distributed: DistributedSigns = DistributedSigns()
    ports: PortSigns = PortSigns()
    types: Vocabulary = field(default_factory=Vocabulary)
    frameworks: Vocabulary = field(default_factory=Vocabulary)
    checkpoint: CheckpointSigns = field(default_factory=CheckpointSigns)
    spot_by_key: dict[str, SpotLabel] = field(default_factory=dict, compare=False, repr=False)
    meanings: "dict[str, Meaning | None]" = field(default_factory=dict, compare=False, repr=False)
    _resources: dict[str, AcceleratorSign | None] = field(default_factory=dict, compare=False, repr=False)
    _spot_resources: dict[str, bool] = field(default_factory=dict, compare=False, repr=False)

    def __post_init__(self) -> None:
        self.spot_by_key.update((label.key, label) for label in self.spot_labels)

    def accelerator(self, resource: str) -> AcceleratorSign | None:
        """The sign a resource name fits, None where it is no accelerator (cpu, memory, ``vpc.amazonaws.com/efa``)."""
        # Every extended resource has a slash: cpu, memory and storage are ruled out without a look-up.
        if "/" not in resource:
            return None
        known = self._resources
        if resource not in known:
            if len(known) > 1000:
                known.clear()
            known[resource] = next((sign for sign in self.accelerators if sign.matches(resource)), None)
        return known[resource]

    def is_spot_resource(self, resource: str) -> bool:
        """Whether a resource name itself is preemptible capacity (``cloud-tpus.google.com/preemptible-v3``)."""
        if "/" not in resource:
            return False
        known = self._spot_resources
        if resource not in known:
            if len(known) > 1000:
                known.clear()
            known[resource] = any(glob(pattern).match(resource) for pattern in self.spot_resources)
        return known[resource]
