"""Ranks of one run: what a launcher of data-parallel processes starts is mostly a training, whatever it is called.

So do several Pods with accelerators that run a script of no telling name and are told where to meet; that is only likely.

The launcher alone says nothing of the work (`torchrun main.py`): a model may be served or scored by several processes too.
In several Pods it trains, unless anything says what else it does. Settings that training has and other work may have too make
it no more than likely, under launchers of programs of any sort (`mpirun`) as well: such a type is thin.
"""

from typing import TYPE_CHECKING

from signalbox.workload.answering import by_port
from signalbox.workload.command import program_name
from signalbox.workload.containers import ContainerView
from signalbox.workload.distributed import is_elsewhere, makes_several_pods, meets_other_pods
from signalbox.workload.judgement import Evidence
from signalbox.workload.may_work import says_another
from signalbox.workload.said import Said, Strength
from signalbox.workload.started import Started
from signalbox.workload.target import Target
from signalbox.workload.vocabulary import MAX_NAME, Saying, name_words, option_name

if TYPE_CHECKING:
    from signalbox.workload.view import WorkloadView

_ENOUGH = 2
_PODS = "a launcher starts ranks of one run in several Pods"
_NAMED = "a launcher starts ranks of what is named for parts of one run"
_MEETS = "several Pods with accelerators are told where the ranks of one run meet"
_SETTINGS = "a launcher starts ranks of one run with settings that training has"


def by_ranks(container: ContainerView, view: "WorkloadView") -> Said | None:
    """The training of several ranks on accelerators, which a launcher starts or Pods are told to meet for; None else."""
    signs = view.signs
    if not (container.may_hold or view.accelerators.any) or says_another(container, signs):
        return None
    for started, said in zip(container.started, container.said, strict=True):
        target = started.target
        if said is not None or target is None or target.role not in ("script", "module") or not target.launchers:
            continue
        if why := _why(started, target, view):
            evidence = Evidence(started.invocation.field(0), f"{target.launchers[-1]} {target.name}"[:MAX_NAME], why)
            strength = Strength.WEAK if why == _PODS else Strength.CALLED
            return Said(Saying("training", why, 10_000), evidence, strength)
    return _by_meeting(container, view)


def _by_meeting(container: ContainerView, view: "WorkloadView") -> Said | None:
    """A script of no telling name on accelerators of several Pods, which are told where its ranks meet.

    What answers requests, or opens a port of its own, may be a server in parts.
    """
    scripts = any(one.target is not None and one.target.role in ("script", "module") for one in container.started)
    if not (scripts and container.accelerated and makes_several_pods(view)) or view.acts_as.steps or any(container.said):
        return None
    if container.probe is not None or by_port(container, view.signs) is not None:
        return None
    for index, name, _ in container.variables:
        if name in view.signs.distributed.environment and is_elsewhere(container.env.get(name, "")):
            evidence = Evidence(container.place("env", index), name, _MEETS)
            return Said(Saying("training", _MEETS, 10_000), evidence, Strength.CALLED, source="variable")
    return None


def _why(started: Started, target: Target, view: "WorkloadView") -> str:
    signs = view.signs
    of_ranks = not signs.commands.ranks.isdisjoint(target.launchers)
    met: set[str] = set()
    meets = False
    for option in started.options:
        meaning = option.meaning
        if option.at < started.at:
            meets = meets or meets_other_pods(started, option)
        elif meaning.type is not None:
            # What its options say of it was heard, and is something else.
            return ""
        elif meaning.hint is not None and (of_ranks or not meaning.hint.general):
            # `mpirun` starts simulations too, which have seeds and folders.
            met.add(option_name(started.name_of(option)))
    if of_ranks and (meets or (makes_several_pods(view) and view.distributed and not view.acts_as.steps)):
        return _PODS
    if len(met) >= _ENOUGH:
        return _SETTINGS
    named = not signs.distributed.words.isdisjoint(name_words(program_name(target.name)[:MAX_NAME]))
    return _NAMED if of_ranks and named else ""
