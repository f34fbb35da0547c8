"""The words, labels and names that judgements rest on, as values the core is handed.

They come from ``WorkloadSigns`` documents (a default set is shipped in the package, a platform team adds its own), which
are read outside the core.
"""

import re
from dataclasses import dataclass, field
from fnmatch import translate
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

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
        return lowered in self.values if self.values else lowered not in ("false", "no", "0")

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
    ``ranks`` are launchers of processes that hold parts of one model or batch.
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
    several_words: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class NameSigns:
    """How the name of a script, module or program is read, whatever it speaks of.

    ``things`` are words that stand last and say what it is (``train_api``: an API), ``parts`` such that may be a part of
    a run as well (``train_worker``), ``errands`` stand first and say what is done to the rest (``prune_lora_adapters``).
    ``tasks`` stand last and say what a trained model does (``lora_inference``), unless an ``order`` to train stands first
    (``train_generation``). ``looks`` say that a program only looks
    whether something works. ``fillers`` add nothing, ``joins`` stand between two works, ``asides`` before what is not meant.
    ``agents`` stand last and say who trains, ``places`` anywhere, and say that somebody works there.
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
class CheckpointSigns:
    """Names of options and variables that say where progress is saved, and volumes that keep it.

    An option speaks of a checkpoint when its words hold one of ``subjects`` and one of ``places`` and none of
    ``never``, nor one of ``owners`` before the subject; with one of ``buckets``, its value is a bucket's name. Where its last
    word is one of ``folders``, a tool that tunes a known model and writes elsewhere reads that model there.
    Below one of ``never_around`` (``logger.save_dir``) nothing is the run's state.
    ``outputs`` are whole names that say where a run writes; ``outputs_when_saving`` do so only beside a save frequency
    (words of ``saving`` with ``frequency``), ``roots`` among them only with a folder that is named for it,
    ``outputs_by_path`` only as options with a whole path, ``outputs_of`` only for programs of the frameworks they lead to.
    ``switches`` turn saving off altogether when they say no.
    ``configuration`` names options that take a configuration file. A mount, or its volume, is a run's own with one of
    the words ``mounts`` and none of ``mounts_never``; those that are ``mounts_weak`` do not say so of a volume that is
    mounted as one of ``mounts_of_data``, nor of a folder on a volume named ``mounts_of_logs``.
    ``model_mounts`` are folders of a finished model. ``files`` are endings of files that hold the state of a model. An
    option that is not known is no place that is written to with one of the words ``reads``. ``calls`` are pieces of
    program text that save to one of their arguments, some only for programs of the frameworks in ``calls_of``, and
    ``upload_calls`` such that upload a model, none where what is saved is one of ``asides``; ``copiers`` copy from their
    first argument to their last, ``remote_copiers`` to a store's name, ``uploaders`` to one of models. ``tidiers`` put
    nothing into the folders they are given, ``mounters`` mount what outlives the Pod at the last. ``savers`` save without
    being told to, ``unsaved`` turn saving off, ``store_types`` say in which store paths are. By ``uploads`` a model is
    uploaded, ``made_models`` name the one which is made. With one of the words ``own`` an output is that of the run.
    ``schemes`` of URLs and ``hosts`` (ends of their names, or first words) are those of stores that outlive a Pod;
    ``rooted_schemes`` are those whose URLs may do without a host or bucket. The three ``*_volumes`` are fields of a volume that
    name its source: what is written to durable ones outlives the Pod and its node, to ephemeral ones it does not, and read-only
    ones take nothing. Of an inline CSI volume its driver says the same: ``storage_drivers`` (whole names, or the beginnings of
    words in them) keep what is written, ``ephemeral_drivers`` lose it with the Pod, ``read_only_drivers`` take nothing.
    """

    subjects: frozenset[str] = frozenset()
    places: frozenset[str] = frozenset()
    buckets: frozenset[str] = frozenset()
    never: frozenset[str] = frozenset()
    never_around: frozenset[str] = frozenset()
    owners: frozenset[str] = frozenset()
    folders: frozenset[str] = frozenset()
    switches: frozenset[str] = frozenset()
    outputs: frozenset[str] = frozenset()
    outputs_when_saving: frozenset[str] = frozenset()
    outputs_by_path: frozenset[str] = frozenset()
    roots: frozenset[str] = frozenset()
    outputs_of: dict[str, frozenset[str]] = field(default_factory=dict)
    saving: frozenset[str] = frozenset()
    frequency: frozenset[str] = frozenset()
    configuration: frozenset[str] = frozenset()
    mounts: frozenset[str] = frozenset()
    mounts_never: frozenset[str] = frozenset()
    mounts_weak: frozenset[str] = frozenset()
    mounts_of_data: frozenset[str] = frozenset()
    mounts_of_logs: frozenset[str] = frozenset()
    model_mounts: frozenset[str] = frozenset()
    own: frozenset[str] = frozenset()
    savers: frozenset[str] = frozenset()
    uploads: frozenset[str] = frozenset()
    made_models: frozenset[str] = frozenset()
    unsaved: frozenset[str] = frozenset()
    store_types: frozenset[str] = frozenset()
    mounters: frozenset[str] = frozenset()
    remote_copiers: frozenset[str] = frozenset()
    files: frozenset[str] = frozenset()
    reads: frozenset[str] = frozenset()
    calls: tuple[str, ...] = ()
    calls_of: dict[str, frozenset[str]] = field(default_factory=dict)
    upload_calls: tuple[str, ...] = ()
    asides: frozenset[str] = frozenset()
    copiers: frozenset[str] = frozenset()
    uploaders: frozenset[str] = frozenset()
    tidiers: frozenset[str] = frozenset()
    schemes: frozenset[str] = frozenset()
    rooted_schemes: frozenset[str] = frozenset()
    hosts: tuple[str, ...] = ()
    durable_volumes: frozenset[str] = frozenset()
    ephemeral_volumes: frozenset[str] = frozenset()
    read_only_volumes: frozenset[str] = frozenset()
    storage_drivers: tuple[str, ...] = ()
    ephemeral_drivers: frozenset[str] = frozenset()
    read_only_drivers: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class ResumeSigns:
    """What says that a run reads its own checkpoint back.

    ``words`` of options and variables, and whole ``options``; ``loads`` read a checkpoint that may be another's, ``anew``
    leaves what is there aside; with a word of ``never`` a name speaks of something else. Programs and
    packages ``by_itself`` need not be told; ``code`` holds pieces of program text.
    """

    words: frozenset[str] = frozenset()
    options: frozenset[str] = frozenset()
    loads: frozenset[str] = frozenset()
    anew: frozenset[str] = frozenset()
    never: frozenset[str] = frozenset()
    by_itself: frozenset[str] = frozenset()
    code: tuple[str, ...] = ()


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
    resume: ResumeSigns = ResumeSigns()
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
