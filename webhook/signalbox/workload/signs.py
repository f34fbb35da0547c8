"""The words, labels and names that judgements rest on, as values the core is handed.

They come from ``WorkloadSigns`` documents (a default set is shipped in the package, a platform team adds its own), which
are read outside the core.
"""

import re
from dataclasses import dataclass, field
from fnmatch import translate
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from signalbox.workload.saving_signs import CheckpointSigns, ResumeSigns
from signalbox.workload.switched import OFF
from signalbox.workload.vocabulary import MAX_NAME, Vocabulary, name_words

if TYPE_CHECKING:
    from signalbox.workload.meaning import Meaning
    from signalbox.workload.naming import Named


@lru_cache(maxsize=4096)
def glob(pattern: str) -> re.Pattern[str]:
    """A shell glob (``nvidia.com/mig-*``) as a compiled, case-sensitive expression for ``match``."""
    return re.compile(translate(pattern))


@dataclass(frozen=True, slots=True)
class AcceleratorSign:
    """Resource names that are accelerators. ``toleration`` is the taint key its nodes usually carry.

    ``share``: its quantity is an amount of one device's memory or cores. ``percent``: it is in hundredths of a device.
    """

    resources: tuple[str, ...]
    vendor: str
    toleration: str = ""
    share: bool = False
    percent: bool = False


@dataclass(frozen=True, slots=True)
class SpotLabel:
    """A node label (and taint) that marks spot or preemptible capacity when it has one of ``values``.

    Empty ``values``: any but a false one. ``presence``: only spot nodes carry the key at all, so that ``Exists`` asks
    for one. ``others``: what every other node has there, so that ruling it out asks for spot. ``named``: the value is the
    name of a pool of nodes, of which ``values`` are words; any other name says nothing, nor does one with one of
    ``otherwise`` in it (``no-spot``).
    """

    key: str
    values: tuple[str, ...] = ()
    presence: bool = False
    others: tuple[str, ...] = ()
    named: bool = False
    otherwise: frozenset[str] = frozenset()

    def matches(self, value: str) -> bool:
        """Whether the label marks spot with this value."""
        if self.named:
            words = name_words(value[:MAX_NAME])
            return self.otherwise.isdisjoint(words) and any(word in self.values for word in words)
        lowered = value.lower().replace("_", "-")
        return lowered in self.values if self.values else lowered not in OFF

    def excludes(self, value: str) -> bool:
        """Whether a node that has this value is none of spot capacity."""
        return not self.named and (not self.others or self.is_other(value))

    def is_other(self, value: str) -> bool:
        """Whether the label marks any other capacity with this value."""
        return value.lower().replace("_", "-") in self.others


class Wrapper(NamedTuple):
    """What stands between a wrapper and the program it starts: ``words`` of its own, and ``options`` that take a word."""

    words: int = 0
    options: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class CommandSigns:
    """How a command line is read: which programs start others, and which say nothing by their arguments.

    Names may be a program or a program with its sub-command (``accelerate launch``). ``launchers`` start several
    processes of one run, ``wrappers`` just start another program, ``shells`` take a command line after ``-c``,
    ``interpreters`` run a script or a module. ``several_words`` are the first words of launchers and wrappers whose
    names have more than one. ``utilities`` are tools: neither they nor what they are given say anything. ``idle`` are whole
    commands that only wait (``sleep infinity``). ``selectors`` are options whose value says which of its works a program does,
    ``choices`` such whose value counts only where it is the plain name of one. ``generic_scripts`` are names of scripts that
    say nothing (``main``), so that their folder is asked. ``members`` join a cluster and take its work. ``asks`` are
    arguments by which a program answers a question and ends: a server's first ones, a trainer's last. ``variables`` are
    environment variables whose value is the command line, or the script, that a container's own program starts, ``ports``
    options and variables that say where one listens.
    ``ranks`` are launchers of processes that hold parts of one model or batch. ``overrides`` are words of options whose
    value is a list of settings.
    """

    launchers: frozenset[str] = frozenset()
    wrappers: dict[str, Wrapper] = field(default_factory=dict)
    shells: frozenset[str] = frozenset()
    interpreters: frozenset[str] = frozenset()
    utilities: frozenset[str] = frozenset()
    idle: frozenset[str] = frozenset()
    selectors: frozenset[str] = frozenset()
    choices: frozenset[str] = frozenset()
    asks: frozenset[str] = frozenset()
    generic_scripts: frozenset[str] = frozenset()
    members: frozenset[str] = frozenset()
    variables: frozenset[str] = frozenset()
    ports: frozenset[str] = frozenset()
    ranks: frozenset[str] = frozenset()
    overrides: frozenset[str] = frozenset()
    several_words: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class NameSigns:
    """How the name of a script, module or program is read, whatever it speaks of.

    ``things`` are words that stand last and say what it is (``train_api``: an API), ``parts`` such that may be a part of
    a run as well (``train_worker``), ``errands`` stand first and say what is done to the rest (``prune_lora_adapters``).
    ``tasks`` stand last and say what a trained model does (``lora_inference``), unless an ``order`` to train stands first
    (``train_generation``). ``looks`` say that a program only looks
    whether something works. ``fillers`` add nothing, ``joins`` stand between two works, ``asides`` before what is not meant.
    ``agents`` stand last and say who trains, ``places`` anywhere, and say that somebody works there. In a program text
    ``learning`` says that something may learn, and ``submitters`` are packages by which it says what others are to run.
    """

    things: frozenset[str] = frozenset()
    parts: frozenset[str] = frozenset()
    errands: frozenset[str] = frozenset()
    tasks: frozenset[str] = frozenset()
    orders: frozenset[str] = frozenset()
    looks: frozenset[str] = frozenset()
    fillers: frozenset[str] = frozenset()
    joins: frozenset[str] = frozenset()
    asides: frozenset[str] = frozenset()
    agents: frozenset[str] = frozenset()
    places: frozenset[str] = frozenset()
    learning: frozenset[str] = frozenset()
    submitters: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class DistributedSigns:
    """What says that several processes work on one run."""

    arguments: frozenset[str] = frozenset()
    environment: frozenset[str] = frozenset()
    processes: frozenset[str] = frozenset()
    words: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class PortSigns:
    """Ports that are no service of a model.

    ``rendezvous``: where processes of one run meet, and those of metrics, dashboards and remote desktops; they speak for
    nothing. ``interactive``: those of notebooks.
    """

    rendezvous: frozenset[int] = frozenset()
    interactive: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Signs:
    """All signs together.

    ``accelerator_claims`` are words of device classes and of claims for accelerators, ``device_vendors`` those that say whose
    they are, and ``other_devices`` those of classes of anything else.
    ``spot_values`` are values that mark spot capacity under a key that nobody knows, by the word of that key which says so;
    beside a word of ``spot_otherwise`` they mean something else.
    ``meanings`` and ``named`` remember what was worked out of them for options and names.
    """

    accelerators: tuple[AcceleratorSign, ...] = ()
    accelerator_annotations: tuple[str, ...] = ()
    accelerator_claims: frozenset[str] = frozenset()
    device_vendors: tuple[tuple[str, frozenset[str]], ...] = ()
    other_devices: frozenset[str] = frozenset()
    spot_labels: tuple[SpotLabel, ...] = ()
    spot_values: dict[str, tuple[str, ...]] = field(default_factory=dict)
    spot_otherwise: frozenset[str] = frozenset()
    spot_resources: tuple[str, ...] = ()
    commands: CommandSigns = field(default_factory=CommandSigns)
    names: NameSigns = NameSigns()
    distributed: DistributedSigns = DistributedSigns()
    ports: PortSigns = PortSigns()
    types: Vocabulary = field(default_factory=Vocabulary)
    frameworks: Vocabulary = field(default_factory=Vocabulary)
    checkpoint: CheckpointSigns = field(default_factory=CheckpointSigns)
    resume: ResumeSigns = field(default_factory=ResumeSigns)
    _spot_by_key: dict[str, SpotLabel] = field(default_factory=dict, compare=False, repr=False)
    _guessed_spot: dict[str, SpotLabel | None] = field(default_factory=dict, compare=False, repr=False)
    meanings: "dict[str, Meaning | None]" = field(default_factory=dict, compare=False, repr=False)
    named: "dict[str, Named | None]" = field(default_factory=dict, compare=False, repr=False)
    _accelerator_names: re.Pattern[str] | None = field(default=None, init=False, compare=False, repr=False)
    _resources: dict[str, AcceleratorSign | None] = field(default_factory=dict, compare=False, repr=False)
    _spot_resources: dict[str, bool] = field(default_factory=dict, compare=False, repr=False)

    def __post_init__(self) -> None:
        self._spot_by_key.update((label.key, label) for label in self.spot_labels)
        # All patterns at once: an object may hold ten thousands of names.
        names = "|".join([f"({'|'.join(map(translate, sign.resources))})" for sign in self.accelerators])
        object.__setattr__(self, "_accelerator_names", re.compile(names) if names else None)

    def spot_label(self, key: Any) -> SpotLabel | None:
        """What a node label or taint key says of spot capacity: its own sign, or what the words of its name may say.

        Who puts a domain before a key that is known (``acme.io/spot``) means the same by it.
        """
        if not isinstance(key, str):
            return None
        label = self._spot_by_key.get(key)
        if label is not None or len(key) > MAX_NAME:
            return label
        known = self._guessed_spot
        if key not in known:
            if len(known) > 1000:
                known.clear()
            known[key] = self._spot_by_key.get(key.rpartition("/")[2]) or self._guessed(key)
        return known[key]

    def _guessed(self, key: str) -> SpotLabel | None:
        words = name_words(key)
        if not self.spot_otherwise.isdisjoint(words):
            return None
        values = tuple(dict.fromkeys([value for word in words for value in self.spot_values.get(word, ())]))
        return SpotLabel(key, values, named=True, otherwise=self.spot_otherwise) if values else None

    def accelerator(self, resource: str) -> AcceleratorSign | None:
        """The sign a resource name fits, None where it is no accelerator (cpu, memory, ``vpc.amazonaws.com/efa``)."""
        # Every extended resource has a slash: cpu, memory and storage are ruled out without a look-up.
        if "/" not in resource:
            return None
        known = self._resources
        if resource not in known:
            if len(known) > 1000:
                known.clear()
            found = self._accelerator_names.match(resource) if self._accelerator_names is not None else None
            known[resource] = None if found is None else self.accelerators[(found.lastindex or 1) - 1]
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
