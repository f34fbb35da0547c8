"""What one container's work is: every sign of it, weighed against the others.

The order in which they speak is that of docs/judgement.md ("What speaks for a type"). Whatever answers HTTP for ever is no
training, so thin signs of training beside a readiness probe say nothing.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from signalbox.workload.answering import by_port, serves
from signalbox.workload.borne_out import borne_out, called, called_another, each_called, only_looks
from signalbox.workload.commands_say import by_commands
from signalbox.workload.containers import TOO_LONG, ContainerView
from signalbox.workload.holding import by_listening, by_model, left_open, waiting
from signalbox.workload.image_says import by_image
from signalbox.workload.judgement import Evidence
from signalbox.workload.kinds.kind import members
from signalbox.workload.ranks import by_ranks
from signalbox.workload.said import Said, Strength
from signalbox.workload.variables_say import by_one_variable, by_variables
from signalbox.workload.vocabulary import Saying

if TYPE_CHECKING:
    from signalbox.workload.view import WorkloadView

_ANSWERS = Saying("inference", "answers requests on accelerators", 10_000)
_DOUBTFUL = "what runs like a service does not train by that alone"
_OWN_COMMAND = "the container has a command of its own"
_ONLY_LOOKS = "it is called a look whether something works"
_ONE_ALONE = "one setting alone is thin"
_NAMES_DISAGREE = "its names do not agree"
_ONLY_A_NAME = "a name counts only where something else bears it out"


class Heard(NamedTuple):
    """One sign. ``outdone``: why it has no say there, whatever others say."""

    said: Said
    outdone: str = ""


class Decision(NamedTuple):
    """What a container's work is, if that is known, and a sign of training that did not count for what it stands beside.

    ``by_name``: a sign was left out for what object or container are called.
    """

    said: Said | None
    doubted: Said | None = None
    by_name: bool = False


_UNDECIDED = Decision(None)


def decide(container: ContainerView, view: "WorkloadView") -> Decision:
    """What one container's work is."""
    signs, ends = view.signs, _ends(container, view)
    said, taken_back = _by_what_runs(container, view, ends)
    if container.unread and (said is None or not said.trains):
        # Whatever follows could only turn it into training, so nothing else is said of a program that was not read to
        # its end: evaluation in front of it excuses from no rule. Nor is it called training: a name that says nothing
        # hides as much.
        return _UNDECIDED
    if container.role == "init":
        return Decision(said, by_name=taken_back)
    answers = container.probe
    # What ends may report its health.
    asked = None if ends else answers
    if said is None and asked is None:
        said = by_variables(container, signs)
    if ends and (said is None or said.saying.says == "data-processing"):
        # What prepares in it may prepare for ranks of one run.
        said = by_ranks(container, view) or said
    if said is not None and said.trains and not ends and _is_doubtful(said, container, asked, view):
        decision = _where_doubted(said, container, view, answers)
        return decision._replace(by_name=decision.by_name or taken_back)
    if _prepares(said) and container.accelerated and not ends:
        # What fetches a model, is told of it and listens for ever serves it.
        said = _served(container, view) or said
    if said is not None:
        return Decision(said, by_name=taken_back)
    called_so = borne_out(container, view, ends, asked)
    if container.accelerated and not (called_so is not None and called_so.trains):
        held, only_looked = _by_holding(container, view, answers, ends)
        return Decision(held or called_so, by_name=taken_back or only_looked)
    return Decision(called_so, by_name=taken_back)


def _by_what_runs(container: ContainerView, view: "WorkloadView", ends: bool) -> tuple[Said | None, bool]:
    """What its programs say, or its image where it has no command; and whether a name took the word of the image back."""
    said = by_commands(container, ends, view.signs)
    if said is not None or _has_command(container):
        return said, False
    said = by_image(container, view.signs, ends)
    if said is not None and said.trains and called_another(container, view):
        return None, True
    return said, False


def _where_doubted(doubted: Said, container: ContainerView, view: "WorkloadView", answers: Evidence | None) -> Decision:
    """What never ends, and is no training by the sign that it has: it is called so as well, or something else."""
    called_so = borne_out(container, view, False, answers)
    if called_so is not None and called_so.trains:
        return Decision(called_so)
    if not container.accelerated or (answers is None and view.acts_as.runs != "forever"):
        return Decision(None, doubted)
    held, only_looked = _by_holding(container, view, answers, False)
    return Decision(held, doubted, only_looked)


def _by_holding(
    container: ContainerView, view: "WorkloadView", answers: Evidence | None, ends: bool
) -> tuple[Said | None, bool]:
    """What holding accelerators tells where nothing that runs says anything; and whether a name took that it waits back."""
    signs = view.signs
    if answers is not None:
        port = by_port(container, signs)
        by_hand = port is not None and port.saying.says == "interactive"
        return (port if by_hand else Said(_ANSWERS, answers, Strength.WEAK)), False
    if ends:
        return left_open(container, signs), False
    waits = waiting(container, view)
    if waits is not None and not only_looks(view):
        return waits, False
    return next(by_listening(container, view), None) or by_model(container, view), waits is not None


def _prepares(said: Said | None) -> bool:
    return said is not None and said.saying.says == "data-processing" and said.strength is Strength.KNOWN


def _served(container: ContainerView, view: "WorkloadView") -> Said | None:
    """What holding accelerators tells of what is told both of a model and where to listen."""
    return next(by_listening(container, view), None) if by_model(container, view) is not None else None


def weigh(container: ContainerView, view: "WorkloadView") -> Iterator[Heard]:
    """Every sign of a container, the one that decides before all others, if any does; some come twice."""
    said, doubted, _ = decide(container, view)
    if doubted is not None:
        yield Heard(doubted, _DOUBTFUL)
    if said is not None:
        yield Heard(said)
    outdone = TOO_LONG if container.unread and said is None else ""
    for one in _all(container, view):
        yield one._replace(outdone=outdone or one.outdone)
    if said is not None and said.strength is Strength.CALLED:
        return
    by_name = called(container, view)
    if by_name is not None:
        yield Heard(by_name, _ONLY_A_NAME if said is None else "")
    else:
        yield from (Heard(one, _NAMES_DISAGREE) for one in each_called(container, view))


def _ends(container: ContainerView, view: "WorkloadView") -> bool:
    # An init container ends, whatever it prepares.
    return view.acts_as.runs in ("once", "schedule") or container.role == "init"


def _has_command(container: ContainerView) -> bool:
    return bool(members(container.body.get("command")))


def _all(container: ContainerView, view: "WorkloadView") -> Iterator[Heard]:
    signs, ends = view.signs, _ends(container, view)
    for said in container.said:
        if said is not None:
            yield Heard(said)
    image = by_image(container, signs, ends)
    if image is not None:
        yield Heard(image, _OWN_COMMAND if _has_command(container) else "")
    if container.role == "init":
        return
    for by_settings in (by_variables(container, signs), by_ranks(container, view) if ends else None):
        if by_settings is not None:
            yield Heard(by_settings)
    alone = by_one_variable(container, signs)
    if alone is not None:
        yield Heard(alone, _ONE_ALONE)
    if container.accelerated:
        answers = container.probe
        if answers is not None:
            yield Heard(Said(_ANSWERS, answers, Strength.WEAK))
        if not ends:
            waits = waiting(container, view)
            if waits is not None:
                yield Heard(waits, _ONLY_LOOKS if only_looks(view) else "")
            yield from (Heard(said) for said in by_listening(container, view))
            model = by_model(container, view)
            if model is not None:
                yield Heard(model)
        elif (left := left_open(container, signs)) is not None:
            yield Heard(left)


def _is_doubtful(said: Said, container: ContainerView, answers: Evidence | None, view: "WorkloadView") -> bool:
    """Whether what runs until it is stopped is rather a service, though words of training stand in it.

    A service that takes orders to train is no training, nor is an image named for the training of people. A script that
    trains may well report its health.
    """
    forever, answering = view.acts_as.runs == "forever", serves(container, view.signs, answers)
    if answering and (said.source == "variable" or said.saying.general):
        # A service may be told what it starts when it is asked to train, and be named for the data that it shows.
        return True
    if said.strength is Strength.KNOWN:
        return False
    if said.strength is Strength.WEAK:
        return answering or (forever and (not container.accelerated or said.source == "image"))
    if said.backed:
        return False
    if container.accelerated:
        # `train_llm.py` trains though it reports its health; `reward_model.py` behind a port is one that is asked.
        return answering and not (said.ordered or said.order)
    return answering or (forever and not said.order)
