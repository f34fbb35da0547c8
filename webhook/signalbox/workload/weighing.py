"""What one container's work is: every sign of it, weighed against the others.

The order in which they speak is that of docs/judgement.md ("What speaks for a type"). Whatever answers HTTP for ever is no
training, so thin signs of training beside a readiness probe say nothing.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from signalbox.workload.answering import by_port, probe, scalar, serves
from signalbox.workload.borne_out import borne_out, called, called_another, only_looks
from signalbox.workload.command import program_name
from signalbox.workload.containers import TOO_LONG, ContainerView
from signalbox.workload.holding import by_listening, by_model, left_open, waiting
from signalbox.workload.judgement import Evidence
from signalbox.workload.kinds.kind import members
from signalbox.workload.meaning import meaning_of
from signalbox.workload.naming import read_name
from signalbox.workload.options_say import ordered_by
from signalbox.workload.programs import starts_what_it_is_told
from signalbox.workload.ranks import by_ranks
from signalbox.workload.said import Said, Strength
from signalbox.workload.signs import Signs
from signalbox.workload.vocabulary import MAX_NAME, MAX_PHRASE, Saying, name_words, option_name

if TYPE_CHECKING:
    from signalbox.workload.view import WorkloadView

# What one container runs in turn, and what several do side by side: the first of these that was found is the whole.
PRECEDENCE = {
    "fine-tuning": 0,
    "training": 1,
    "inference": 2,
    "interactive": 3,
    "evaluation": 4,
    "benchmark": 5,
    "batch-inference": 6,
    "data-processing": 7,
}
_USES_A_MODEL = ("inference", "batch-inference")
_SEVERAL = 2
_ANSWERS = Saying("inference", "answers requests on accelerators", 10_000)
_DOUBTFUL = "what runs like a service does not train by that alone"
_OWN_COMMAND = "the container has a command of its own"
_ONLY_LOOKS = "it is called a look whether something works"
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
    signs, runs = view.signs, view.acts_as.runs
    ends, taken_back = _ends(container, view), False
    said = _by_commands(container, ends, signs)
    if container.unread and (said is None or not said.trains):
        # Whatever follows could only turn it into training, so nothing else is said of a program that was not read to
        # its end: evaluation in front of it excuses from no rule. Nor is it called training: a name that says nothing
        # hides as much.
        return _UNDECIDED
    if said is None and not _has_command(container):
        said = _by_image(container, signs, ends)
        if said is not None and said.trains and called_another(container, view):
            said, taken_back = None, True
    if container.role == "init":
        return Decision(said, by_name=taken_back)
    # What ends may report its health, and what prepares in it may prepare for ranks of one run.
    answers, doubted = probe(container, signs), None
    asked = None if ends else answers
    if said is None and asked is None:
        said = _by_environment(container, signs)
    if ends and (said is None or said.saying.says == "data-processing"):
        said = by_ranks(container, view) or said
    if said is not None and said.trains and not ends and _is_doubtful(said, container, asked, runs == "forever", signs):
        called_so = borne_out(container, view, ends, asked)
        if called_so is not None and called_so.trains:
            return Decision(called_so)
        said, doubted = None, said
        if asked is None and not (container.accelerated and runs == "forever"):
            return Decision(None, doubted)
    called_so = borne_out(container, view, ends, asked) if said is None and doubted is None else None
    if called_so is not None and called_so.trains and container.accelerated:
        return Decision(called_so, by_name=taken_back)
    if said is None and container.accelerated:
        waits = waiting(container, view) if answers is None and not ends else None
        if waits is not None and only_looks(view):
            waits, taken_back = None, True
        said = waits or _by_holding(container, view, answers, ends)
    return Decision(said or called_so, doubted, taken_back)


def _by_holding(container: ContainerView, view: "WorkloadView", answers: Evidence | None, ends: bool) -> Said | None:
    """What holding accelerators tells where nothing that runs says anything."""
    signs = view.signs
    if answers is not None:
        port = by_port(container, signs)
        by_hand = port is not None and port.saying.says == "interactive"
        return port if by_hand else Said(_ANSWERS, answers, Strength.WEAK)
    if ends:
        return left_open(container, signs)
    return next(by_listening(container, view), None) or by_model(container, view)


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
    by_name = called(container, view) if said is None or said.strength is not Strength.CALLED else None
    if by_name is not None:
        yield Heard(by_name, _ONLY_A_NAME if said is None else "")


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
    image = _by_image(container, signs, ends)
    if image is not None:
        yield Heard(image, _OWN_COMMAND if _has_command(container) else "")
    if container.role == "init":
        return
    for by_settings in (_by_environment(container, signs), by_ranks(container, view) if ends else None):
        if by_settings is not None:
            yield Heard(by_settings)
    if container.accelerated:
        answers = probe(container, signs)
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


def _is_doubtful(said: Said, container: ContainerView, answers: Evidence | None, forever: bool, signs: Signs) -> bool:
    """Whether what runs until it is stopped is rather a service, though words of training stand in it.

    A service that takes orders to train is no training, nor is an image named for the training of people. A script that
    trains may well report its health.
    """
    answering = serves(container, signs, answers)
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


def _by_commands(container: ContainerView, ends: bool, signs: Signs) -> Said | None:
    best: Said | None = None
    server: Said | None = None
    for said in container.said:
        if said is None:
            continue
        if _serves(said):
            server = said
            continue
        if said.trains and not said.background:
            # The script went on behind the server: that is not what it is for.
            server = None
        if best is None or _order(said) < _order(best):
            best = said
    trained = best is not None and best.trains and not best.background
    if trained and not ends and server is None and _serves_at_last(container, signs):
        # `python train.py && gunicorn app:app`: whatever it is that answers then, it goes on for ever.
        return None
    if server is None or best is None or not best.trains:
        # It serves until it is stopped: whatever stood before it only prepared that.
        return server or best
    if server.strength is not Strength.KNOWN and not best.background:
        return best
    # A server that comes last in what is to end by itself is no reason to overlook a run before it.
    return best if ends and (best.backed or best.strength is Strength.KNOWN) else server


def _serves_at_last(container: ContainerView, signs: Signs) -> bool:
    """Whether the last of several programs is one that serves, be it a model or a page."""
    last = container.started[-1]
    target = last.target
    if len(container.started) < _SEVERAL or target is None or last.invocation.background:
        return False
    words = (program_name(target.name).lower(), *last.invocation.words[target.at + 1 : target.at + 2])
    if words[-1] in signs.commands.asks:
        return False
    saying = signs.types.of_module(target.name.lower()) if target.role == "module" else signs.types.of_command(words)
    return saying is not None and saying.says == "inference"


def _serves(said: Said) -> bool:
    return said.saying.says == "inference" and not said.background and said.strength is not Strength.WEAK


def _order(said: Said) -> int:
    # A server in the background is there for what runs in front of it.
    return 10 if said.background and said.saying.says == "inference" else PRECEDENCE[said.saying.says]


def _by_image(container: ContainerView, signs: Signs, ends: bool) -> Said | None:
    """What the image says. Options alone are given to the image's own program, so it still speaks."""
    image = container.image
    if not image or _is_beside(image, signs):
        return None
    saying = signs.types.of_image(image)
    by_name = None
    if saying is None and _runs_its_own(container):
        repository, _, tag = image.partition("@")[0].rpartition("/")[2].partition(":")
        by_name = read_name(repository, signs)
        saying = by_name.saying if container.accelerated else by_name.plain
        if saying is None and not by_name.refused and tag.isalpha():
            # `credit-risk:inference`: one image for each work of a project.
            saying = read_name(tag, signs).plain
    handed = saying is not None and by_name is not None and members(container.body.get("args"))
    if saying is not None and handed and saying.says in _USES_A_MODEL and (ends or saying.says != "inference"):
        # Given options, it may do anything with the model that it is named for: convert it, load it somewhere.
        return None
    # What a program is called may be general; an image of a Job is mostly named for what it comes from.
    if saying is None or (saying.general and (ends or not container.accelerated)):
        return None
    return Said(saying, Evidence((*container.path, "image"), image, saying.reason), Strength.WEAK, source="image")


def _is_beside(image: str, signs: Signs) -> bool:
    """Whether an image is of something that goes with what it names: ``model-server-exporter``, ``notebook-controller``."""
    name = image.partition("@")[0].rpartition("/")[2].partition(":")[0]
    if not read_name(name, signs).thing:
        return False
    words = name_words(name[:MAX_NAME])
    if len(words) < 2 or words[-1] not in signs.names.things or words[-1] in signs.types.words:
        return False
    return all("_".join(words[-length:]) not in signs.types.images for length in range(1, MAX_PHRASE + 1))


def _runs_its_own(container: ContainerView) -> bool:
    """Whether the image's own program is what runs: it is given nothing, or options."""
    args = members(container.body.get("args"))
    return not args or (isinstance(args[0], str) and args[0][:1] == "-")


def _may_be_told(container: ContainerView, signs: Signs) -> bool:
    """Whether a variable may say what it does: its image's own program, or one that is named for nothing."""
    return all(starts_what_it_is_told(started.target, signs) for started in container.started)


def _by_environment(container: ContainerView, signs: Signs) -> Said | None:
    """Two settings that only such work has, or one beside others that it has as well: one alone is thin.

    One is enough that says which of its works a program does, if that is to train (`MODE=train`).
    """
    best: Said | None = None
    met: set[str] = set()
    ordered = False
    for index, name, entry in container.variables:
        saying = signs.types.environment.get(option_name(name))
        meaning = meaning_of(name, signs)
        if saying is None and meaning is not None:
            if meaning.selects or meaning.choice:
                saying = ordered_by(container.env.get(name, ""), signs) if _may_be_told(container, signs) else None
                ordered = ordered or saying is not None
            elif meaning.hint is not None and not meaning.hint.general:
                met.add(name)
        if saying is None or (saying.general and not container.accelerated):
            continue
        met.add(name)
        if best is None or saying.rank < best.saying.rank:
            shown = f"{name}={scalar(entry.get('value'))}"
            evidence = Evidence(container.place("env", index), shown, saying.reason)
            best = Said(saying, evidence, Strength.WEAK, source="variable")
    return best if ordered or len(met) > 1 else None
