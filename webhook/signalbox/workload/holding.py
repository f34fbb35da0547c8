"""What holding accelerators tells of a container whose programs say nothing: it waits for requests, or for a person."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from signalbox.workload.answering import by_address, by_port, by_told_port, joins_a_cluster
from signalbox.workload.borne_out import called_for_people
from signalbox.workload.containers import ContainerView
from signalbox.workload.judgement import Evidence
from signalbox.workload.kinds.kind import members
from signalbox.workload.meaning import Meaning
from signalbox.workload.named_settings import named_settings
from signalbox.workload.said import Said, Strength
from signalbox.workload.signs import Signs
from signalbox.workload.started import Started
from signalbox.workload.target import Target
from signalbox.workload.vocabulary import Saying, option_name

if TYPE_CHECKING:
    from signalbox.workload.view import WorkloadView

# Commands that only wait are short.
_MAX_IDLE = 16
# How code is fetched: a Job that only sleeps is a placeholder.
_FETCHES = (("clone",), ("install",))
# They wait for what was started in the background, and that may end.
_FOR_ANOTHER = ("wait", "trap")
_LOOPS = ("while ", "until ", "for ", "trap ")
_WAITS = Saying("interactive", "holds accelerators and waits for a person", 10_000)
_SAVES = ("place", "folder", "bucket", "output", "frequency", "switch", "upload")
_HOLDS = Saying("inference", "a model is given to what holds accelerators for ever", 10_000)


def by_listening(container: ContainerView, view: "WorkloadView") -> Iterator[Said]:
    """What holding accelerators for ever tells where nothing is said of the work: it waits for requests."""
    signs = view.signs
    if view.acts_as.runs == "forever" and not joins_a_cluster(container, signs):
        for said in (by_port(container, signs), by_address(container), by_told_port(container, signs)):
            if said is not None:
                yield said


def by_model(container: ContainerView, view: "WorkloadView") -> Said | None:
    """A model that is named to what holds accelerators for ever, with no setting of training beside it: it is served."""
    signs = view.signs
    found: Evidence | None = None
    launched = any(started.target is not None and started.target.launchers for started in container.started)
    if launched or view.acts_as.runs != "forever":
        return None
    for setting in named_settings(container, signs):
        meaning = setting.meaning
        said = None if setting.in_command else signs.types.environment.get(option_name(setting.name))
        if said is not None or (meaning is not None and _is_of_a_run(meaning)):
            return None
        if found is None and meaning is not None and meaning.base and "/" in setting.value:
            found = Evidence(setting.path, setting.shown, _HOLDS.reason)
    return None if found is None else Said(_HOLDS, found, Strength.WEAK)


def _is_of_a_run(meaning: Meaning) -> bool:
    """Whether a setting is one of what trains, or saves and goes on."""
    hints = meaning.hint is not None and not meaning.hint.general
    speaks = meaning.type is not None or meaning.pair is not None or hints
    return speaks or meaning.role in _SAVES or meaning.reads_back == "resume"


def waiting(container: ContainerView, view: "WorkloadView") -> Said | None:
    """What only sleeps on accelerators, if anything shows that it waits for a person; by a name alone it is thin.

    It may as well hold a place, or be an example of how devices are asked for.
    """
    waits = _idle(container, view.signs, view.acts_as.runs == "forever")
    if waits is None or container.body.get("stdin") is True or container.body.get("tty") is True:
        return waits
    port = by_port(container, view.signs)
    if port is not None and port.saying.says == "interactive":
        return waits
    return waits._replace(strength=Strength.CALLED) if called_for_people(container, view) else None


def left_open(container: ContainerView, signs: Signs) -> Said | None:
    """What was made ready and then left for somebody to come in, though it is a Job: code fetched, and ``sleep infinity``."""
    started = container.started
    fetched = any(one.invocation.words[1:2] in _FETCHES for one in started)
    if not fetched or (last := started[-1].target) is None:
        return None
    phrase = " ".join((last.name, *started[-1].invocation.words[last.at + 1 :][:2]))
    return _waits(started[-1], last) if last.role == "program" and phrase in signs.commands.idle and " " in phrase else None


def _idle(container: ContainerView, signs: Signs, forever: bool) -> Said | None:
    """``sleep infinity`` on accelerators, or nothing but naps again and again."""
    idle = signs.commands.idle
    nap: tuple[Started, Target] | None = None
    only_naps = True
    for started in container.started:
        target = started.target
        if target is None or target.role != "program":
            only_naps = False
            continue
        words = started.invocation.words
        phrase = " ".join((target.name, *words[target.at + 1 :])) if len(words) <= _MAX_IDLE else ""
        if phrase in idle and phrase not in _FOR_ANOTHER:
            return _waits(started, target)
        only_naps = only_naps and target.name in idle
        nap = nap or (started, target)
    return _waits(*nap) if only_naps and nap is not None and (forever or _loops(container)) else None


def _loops(container: ContainerView) -> bool:
    texts = (*members(container.body.get("command")), *members(container.body.get("args")))
    return any(isinstance(text, str) and text.lstrip().startswith(_LOOPS) for text in texts[:_MAX_IDLE])


def _waits(started: Started, target: Target) -> Said:
    evidence = Evidence(started.invocation.field(target.at), " ".join(started.invocation.words[:_MAX_IDLE]), _WAITS.reason)
    return Said(_WAITS, evidence, Strength.WEAK)
