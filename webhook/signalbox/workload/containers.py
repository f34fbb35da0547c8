"""The containers of a workload that judgements read, with what each runs, read once and kept."""

from signalbox.fieldpath import Path
from signalbox.review import JsonObject
from signalbox.workload.accelerators import claimed_accelerators, container_accelerators, containers_of
from signalbox.workload.command import literal_env, read_command
from signalbox.workload.kinds.kind import PodTemplate, members
from signalbox.workload.said import Said, what_it_says
from signalbox.workload.signs import Signs
from signalbox.workload.started import Started
from signalbox.workload.target import find_target

# Bounds what one object can cost: containers beyond this many are not read, nor commands beyond this many characters.
_MAX_READ = 64
_MAX_TEXT = 128 * 1024


class _Budget:
    """How many characters of commands may still be read, shared by the containers of one object."""

    __slots__ = ("left",)

    def __init__(self) -> None:
        self.left = _MAX_TEXT


class ContainerView:
    """One container. Everything is worked out when first asked for, and kept."""

    __slots__ = ("_accelerated", "_budget", "_env", "_said", "_signs", "_started", "body", "path", "template")

    def __init__(self, template: PodTemplate, path: Path, body: JsonObject, signs: Signs, budget: _Budget) -> None:
        self.template = template
        self.path = path
        self.body = body
        self._signs = signs
        self._budget = budget
        self._accelerated: bool | None = None
        self._env: dict[str, str] | None = None
        self._started: tuple[Started, ...] | None = None
        self._said: tuple[Said | None, ...] | None = None

    @property
    def accelerated(self) -> bool:
        """Whether it holds accelerators, as a resource or as a claim."""
        if self._accelerated is None:
            # A quantity of zero holds nothing; a placeholder may hold some.
            held = container_accelerators(self.body, self._signs)
            self._accelerated = any(str(quantity) not in ("0", "") for _, _, quantity in held) or any(
                claimed_accelerators(self.body, self.template, self._signs)
            )
        return self._accelerated

    @property
    def env(self) -> dict[str, str]:
        """Environment variables whose values stand in the manifest."""
        if self._env is None:
            self._env = literal_env(self.body)
        return self._env

    @property
    def started(self) -> tuple[Started, ...]:
        """What it runs, in order."""
        if self._started is None:
            self._started = self._read() if self._budget.left > 0 else ()
        return self._started

    @property
    def said(self) -> tuple[Said | None, ...]:
        """What each of ``started`` says about the type."""
        if self._said is None:
            self._said = tuple([what_it_says(started, self._signs) for started in self.started])
        return self._said

    @property
    def image(self) -> str:
        """Its image, empty where there is none."""
        image = self.body.get("image")
        return image if isinstance(image, str) else ""

    def _read(self) -> tuple[Started, ...]:
        found = []
        for field in ("command", "args"):
            self._budget.left -= sum(len(word) for word in members(self.body.get(field)) if isinstance(word, str))
        for invocation in read_command(self.body, self.path, self.env):
            found.append(Started(invocation, find_target(invocation, self._signs.commands), self._signs))
        return tuple(found)


def read_containers(templates: tuple[PodTemplate, ...], signs: Signs) -> tuple[ContainerView, ...]:
    """The containers that run while the workload does, init containers and sidecars left out."""
    found: list[ContainerView] = []
    budget = _Budget()
    for template in templates:
        for path, body, role in containers_of(template):
            if role == "container" and len(found) < _MAX_READ:
                found.append(ContainerView(template, path, body, signs, budget))
    return tuple(found)
