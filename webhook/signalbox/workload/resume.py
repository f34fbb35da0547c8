"""Resume: does anything say that progress is read back after an interruption?

An option or variable may say so (``--resume``), a load from the very place that is saved to, a program that looks there by
itself whenever it starts, or a script that tests whether a checkpoint is there. A load from elsewhere is a model to begin
with, and says nothing of the run's own progress.
"""

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

from signalbox.workload.checkpoint import that_train
from signalbox.workload.container_paths import ONLY_PLACEHOLDER, same_place
from signalbox.workload.containers import TOO_LONG, ContainerView
from signalbox.workload.judgement import Evidence, Judgement
from signalbox.workload.meaning import ReadBack, meaning_of
from signalbox.workload.saving_role import IS_PLACE
from signalbox.workload.signs import Signs
from signalbox.workload.switched import ON, is_off
from signalbox.workload.vocabulary import MAX_NAME, name_words

if TYPE_CHECKING:
    from signalbox.workload.view import WorkloadView

# The first of these that was found stands.
_PRECEDENCE = ("resumes", "unknown", "starts-over")
_READ_BACK = ON | {"auto", "allow", "must", "latest", "last", "best"}
_PARTS = re.compile(r"[./]")
_LOOKS = frozenset({"-d", "-e", "-f", "-s", "-r"})
_MAX_EVIDENCE = 16
# A run that saves to more places, or loads from more, is nobody's; each of one is held against each of the other.
_MOST_PLACES = 16
_UNSAID = Judgement("unsaid")
_Found = tuple[str, Evidence]


def judge_resume(view: "WorkloadView") -> Judgement:
    """One of RESUME_STATES, for the containers whose progress counts."""
    found: list[_Found] = []
    for container in that_train(view):
        found += _of_container(container, view.signs)
        if container.unread:
            found.append(("unknown", Evidence(container.path, "", TOO_LONG)))
    states = {state for state, _ in found}
    if not states & {"resumes", "starts-over"}:
        by_itself = _by_itself(view)
        if by_itself is not None:
            return Judgement("resumes", (by_itself,))
    for state in _PRECEDENCE:
        if state in states:
            return Judgement(state, tuple([seen for one, seen in found if one == state][:_MAX_EVIDENCE]))
    return _UNSAID


def _by_itself(view: "WorkloadView") -> Evidence | None:
    """A trainer that looks for a checkpoint where it saves, each time it starts."""
    if view.checkpoint.state == "none":
        return None
    by_itself = view.signs.resume.by_itself
    for container in that_train(view):
        for started in container.started:
            target = started.target
            if target is None or target.role not in ("module", "script", "program"):
                continue
            # `-m torchtitan.train`, `torchtitan/train.py`
            name = next((word for word in _PARTS.split(target.name[:MAX_NAME].lower()) if word in by_itself), None)
            if name is not None:
                note = f"{name} goes on by itself from what it finds where it saves"
                path = started.invocation.field(min(target.at, len(started.invocation.words) - 1))
                return Evidence(path, target.name[:MAX_NAME], note)
    return None


def _of_container(container: ContainerView, signs: Signs) -> Iterator[_Found]:
    places: dict[str, None] = {}
    loaded: dict[str, Evidence] = {}
    for meaning, value, _, seen, _ in container.saving:
        if meaning.role in IS_PLACE and not meaning.reads_back:
            if len(places) < _MOST_PLACES:
                places[value] = None
        elif meaning.role == "configuration":
            yield "unknown", Evidence(seen.path, seen.value, "a configuration file that is not in the manifest")
    for reads_back, value, seen in _settings(container, signs):
        if reads_back == "load":
            if len(loaded) < _MOST_PLACES:
                loaded.setdefault(value, seen)
        else:
            yield _said(reads_back, value, seen)
    saved = list(places)
    for value, seen in loaded.items():
        if value.lower() in _READ_BACK or any(same_place(value, place) for place in saved):
            yield "resumes", Evidence(seen.path, seen.value, "reads what it saves")
        elif ONLY_PLACEHOLDER.match(value):
            yield "unknown", seen
    yield from _by_code(container, signs)
    yield from _by_test(container, saved, signs)


def _said(reads_back: ReadBack, value: str, seen: Evidence) -> _Found:
    if ONLY_PLACEHOLDER.match(value):
        return "unknown", seen
    if reads_back == "anew":
        return ("unknown" if is_off(value) else "starts-over"), seen
    return ("starts-over" if is_off(value) else "resumes"), seen


def _settings(container: ContainerView, signs: Signs) -> Iterator[tuple[ReadBack, str, Evidence]]:
    """Every option and variable that speaks of reading back, with its value."""
    for index, name, entry in container.variables:
        meaning = meaning_of(name, signs)
        if meaning is None or not meaning.reads_back:
            continue
        value = container.env.get(name)
        path = container.place("env", index)
        if value is None and entry.get("valueFrom") is not None:
            yield meaning.reads_back, "$(valueFrom)", Evidence(path, name)
        elif value:
            yield meaning.reads_back, value, Evidence(path, f"{name}={value}")
    for started, said in zip(container.started, container.said, strict=True):
        target = started.target
        if target is not None and target.role == "program" and target.name in signs.commands.utilities:
            continue
        if said is not None and not said.trains:
            continue
        for option in started.options:
            reads_back = option.meaning.reads_back
            if not reads_back or option.at < started.at:
                # The launcher's own options are about processes.
                continue
            # What follows a switch belongs to something else.
            value = "" if not option.joined and option.value[:1] == "-" else option.value
            yield reads_back, value, Evidence(started.invocation.field(option.at), started.shown(option))


def _by_code(container: ContainerView, signs: Signs) -> Iterator[_Found]:
    for started in container.started:
        if started.target is None or started.target.role != "code":
            continue
        for piece in signs.resume.code:
            if piece in started.target.name:
                path = started.invocation.field(min(started.at, len(started.invocation.words) - 1))
                yield "resumes", Evidence(path, piece, "the program reads it back")
                break


def _by_test(container: ContainerView, saved: list[str], signs: Signs) -> Iterator[_Found]:
    """A test whether something is there, of the place that is saved to or of what is named a checkpoint."""
    for test in container.tests:
        words = test.words
        if "!" in words:
            # It makes a folder that is missing.
            continue
        for before, place in pairwise(words):
            named = not signs.checkpoint.subjects.isdisjoint(name_words(place[-MAX_NAME:]))
            if before in _LOOKS and (named or any(same_place(place, one) for one in saved)):
                yield "resumes", Evidence(test.field(0), " ".join(words[:8]), "the script looks whether one is there")
                break
