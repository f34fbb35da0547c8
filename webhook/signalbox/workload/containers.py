"""The containers of a workload that judgements read, with what each runs, read once and kept."""

from collections.abc import Sequence
from typing import Any, Literal
from weakref import ReferenceType, ref

from signalbox.fieldpath import Path
from signalbox.review import JsonObject
from signalbox.workload.accelerators import holds_accelerators
from signalbox.workload.budget import CODE_CHARACTER, MOUNT, Budget
from signalbox.workload.command import Invocation, Variable, literal_env, read_variables
from signalbox.workload.judgement import Evidence
from signalbox.workload.kinds.kind import PodTemplate, Program, mapping, members
from signalbox.workload.probes import find_probe
from signalbox.workload.program_says import what_it_says
from signalbox.workload.programs import is_command_line, read_programs, read_variable, starts_what_it_is_told, with_copier
from signalbox.workload.said import Said
from signalbox.workload.saving import Setting, saving_settings
from signalbox.workload.shell import TESTS
from signalbox.workload.signs import Signs
from signalbox.workload.started import Started, cost_within
from signalbox.workload.target import Target

# Of an object with more containers not all are read.
MAX_CONTAINERS = 256
_MAX_MOUNTS = 1024
TOO_LONG = "too long to be read to its end"


class Turns:
    """The order in which containers draw on their budget, whoever asks for which first.

    What a spent budget leaves unread would else hang on which judgement was made first. Those with accelerators come
    first: their work is the workload's. The containers are held weakly: they hold this, and a review must leave nothing
    to the collector, which would walk whole manifests for it.
    """

    __slots__ = ("_sorted", "_waiting", "budget", "left_out")

    def __init__(self) -> None:
        self.budget = Budget()
        self.left_out = False
        self._waiting: list[ReferenceType[ContainerView]] = []
        self._sorted = True

    def give(self, containers: Sequence["ContainerView"]) -> None:
        """Says whose turns these are."""
        self._waiting = [ref(container) for container in reversed(containers)]
        self._sorted = len(containers) < 2

    def read(self, wanted: "ContainerView") -> None:
        """Reads a container and all whose turn comes before."""
        if not self._sorted:
            # The last in the list comes first.
            self._waiting.sort(key=_has_accelerators)
            self._sorted = True
        while self._waiting:
            container = self._waiting.pop()()
            if container is not None:
                container.read(self.budget)
            if container is wanted:
                return


_RUNS = frozenset({"image", "command", "args", "env", "envFrom", "ports"})


class ContainerView:
    """One container. Everything is worked out when first asked for, and kept."""

    __slots__ = (
        "__weakref__",
        "_accelerated",
        "_env",
        "_is_read",
        "_mounts",
        "_probe",
        "_program",
        "_said",
        "_saving",
        "_signs",
        "_started",
        "_stopped_by",
        "_tests",
        "_turns",
        "_unread",
        "_variables",
        "body",
        "path",
        "role",
        "template",
    )

    def __init__(
        self,
        template: PodTemplate,
        path: Path,
        body: JsonObject,
        signs: Signs,
        turns: Turns,
        program: Program | None = None,
        accelerated: bool | None = None,
        role: str = "container",
    ) -> None:
        self.template = template
        self.path = path
        self.body = body
        self.role = role
        self._signs = signs
        self._turns = turns
        self._program = program
        self._accelerated = accelerated
        self._env: dict[str, str] = {}
        self._variables: tuple[Variable, ...] = ()
        self._mounts: list[Any] = []
        self._is_read = self._unread = False
        self._started: tuple[Started, ...] = ()
        self._stopped_by: tuple[Started, ...] = ()
        self._tests: tuple[Invocation, ...] = ()
        self._said: tuple[Said | None, ...] | None = None
        self._saving: tuple[Setting, ...] | None = None
        self._probe: Evidence | None | Literal[False] = False

    @property
    def speaks(self) -> bool:
        """Whether it may run something: what is laid over a container that stands elsewhere may only mount."""
        return not self.template.virtual or self._program is not None or not _RUNS.isdisjoint(self.body)

    @property
    def accelerated(self) -> bool:
        """Whether it holds accelerators, as a resource or as a claim."""
        if self._accelerated is None:
            self._accelerated = holds_accelerators(self.body, self.template, self._signs)
        return self._accelerated

    @property
    def may_hold(self) -> bool:
        """Whether it holds accelerators, or may hold those of a cluster that stands and that it is submitted to."""
        return self.accelerated or (self.template.virtual and self.template.partial)

    @property
    def probe(self) -> Evidence | None:
        """The probe by which requests of a kind that a service answers are sent to it."""
        if self._probe is False:
            self._probe = find_probe(self.body, self.path, self._signs)
        return self._probe

    def place(self, section: str, index: int) -> Path:
        """Where a member of ``env`` or ``volumeMounts`` stands."""
        elsewhere = self._program.gathered.get(section, ()) if self._program is not None else ()
        return elsewhere[index] if index < len(elsewhere) else (*self.path, section, index)

    @property
    def tests(self) -> tuple[Invocation, ...]:
        """What its scripts test before they go on (``[ -d /ckpt ]``): no programs of theirs."""
        if not self._is_read:
            self._turns.read(self)
        return self._tests

    @property
    def stopped_by(self) -> tuple[Started, ...]:
        """What is run in it when it is stopped (`lifecycle.preStop`)."""
        if not self._is_read:
            self._turns.read(self)
        return self._stopped_by

    @property
    def started(self) -> tuple[Started, ...]:
        """What it runs, in order."""
        if not self._is_read:
            self._turns.read(self)
        return self._started

    @property
    def variables(self) -> tuple[Variable, ...]:
        """Its environment variables."""
        if not self._is_read:
            self._turns.read(self)
        return self._variables

    @property
    def mounts(self) -> list[Any]:
        """Its ``volumeMounts``."""
        if not self._is_read:
            self._turns.read(self)
        return self._mounts

    @property
    def env(self) -> dict[str, str]:
        """Environment variables whose values stand in the manifest."""
        if not self._is_read:
            self._turns.read(self)
        return self._env

    @property
    def unread(self) -> bool:
        """Whether there is more in it, or in containers that were left out, than was read."""
        if not self._is_read:
            self._turns.read(self)
        return self._unread

    @property
    def said(self) -> tuple[Said | None, ...]:
        """What each of ``started`` says about the type."""
        if self._said is None:
            held, written = self.may_hold, ""
            found: list[Said | None] = []
            for started in self.started:
                said = what_it_says(started, self._signs, held)
                target = started.target
                if started.invocation.document and target is not None and target.role == "program":
                    written = started.invocation.document if started.whole else ""
                elif said is None and written and target is not None and target.role == "script":
                    # `cat > run.py <<EOF`, and then `python run.py`.
                    code = Target("code", written, target.at, target.launchers)
                    said = what_it_says(Started(started.invocation, code, self._signs), self._signs, held)
                    # Searched once: a script may be started a thousand times.
                    written = ""
                found.append(said)
            self._said = tuple(found)
        return self._said

    @property
    def saving(self) -> tuple[Setting, ...]:
        """What it says about saving."""
        if self._saving is None:
            self._saving = tuple(saving_settings(self, self._signs))
        return self._saving

    @property
    def image(self) -> str:
        """Its image, empty where there is none."""
        image = self.body.get("image")
        return image if isinstance(image, str) else ""

    def read(self, budget: Budget) -> None:
        """Reads what it runs, as far as the budget goes."""
        budget.unread = self._turns.left_out
        mounts = members(self.body.get("volumeMounts"))
        if mounts:
            self._mounts = budget.members(mounts, MOUNT, _MAX_MOUNTS)
        self._variables = read_variables(self.body, budget)
        if self._variables:
            self._env = literal_env(self._variables, budget)
        signs, own = self._signs, self._program
        paths = (None, None) if own is None else (own.command, own.args)
        found = []
        tests = []
        for invocation, target in read_programs(
            with_copier(self.body, signs), self.path, self._env, *paths, signs.commands, budget
        ):
            if invocation.words[0] in TESTS:
                tests.append(invocation)
                continue
            if target is not None and target.role == "code":
                target = target._replace(name=budget.text(target.name, CODE_CHARACTER))
            found.append(_started(invocation, target, signs, budget))
        told: list[Started] = []
        for index, name, _ in self._variables:
            if name in signs.commands.variables and is_command_line(text := self._env.get(name, "")):
                programs = read_variable(text, self.place("env", index), self._env, signs.commands, budget)
                told += [_started(invocation, target, signs, budget, told=True) for invocation, target in programs]
        if told and all(starts_what_it_is_told(one.target, signs) for one in found):
            found += told
        if self.body.get("lifecycle"):
            hook = mapping(mapping(mapping(self.body["lifecycle"]).get("preStop")).get("exec"))
            path = (*self.path, "lifecycle", "preStop", "exec")
            last = read_programs(hook, path, self._env, None, None, signs.commands, budget)
            self._stopped_by = tuple([_started(invocation, target, signs, budget) for invocation, target in last])
        self._started = tuple(found)
        self._tests = tuple(tests)
        self._unread = budget.unread
        self._is_read = True


def _started(invocation: Invocation, target: Target | None, signs: Signs, budget: Budget, told: bool = False) -> Started:
    cost = cost_within(invocation, target, signs)
    return Started(invocation, target, signs, whole=not cost or budget.pay(cost), told=told)


def _has_accelerators(reference: ReferenceType[ContainerView]) -> bool:
    container = reference()
    return container is not None and container.accelerated
