"""What somebody called the work, where something else bears it out.

A name alone excuses from no rule and brings none: people call things as they like. A Job called ``retrain`` that runs
``main.py`` on GPUs trains all the same, as a Deployment called ``embeddings-server`` that answers on a port serves.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from signalbox.fieldpath import Path
from signalbox.workload.answering import by_port, serves
from signalbox.workload.containers import ContainerView
from signalbox.workload.judgement import TRAINING_TYPES, Evidence
from signalbox.workload.kinds.kind import members
from signalbox.workload.may_work import may_work, says_another
from signalbox.workload.meaning import Meaning
from signalbox.workload.named_settings import named_settings
from signalbox.workload.naming import read_name
from signalbox.workload.said import Said, Source, Strength
from signalbox.workload.signs import Signs
from signalbox.workload.switched import is_off
from signalbox.workload.vocabulary import MAX_NAME, Saying, image_name, name_words, option_name

if TYPE_CHECKING:
    from signalbox.workload.view import WorkloadView

_SERVES = ("inference", "batch-inference")
_ON_ACCELERATORS = ("evaluation", "benchmark", "batch-inference", "interactive")
# How models are called where they are published: an owner and a name, and no file.
_PUBLISHED = re.compile(r"[A-Za-z0-9][\w-]*+/[A-Za-z0-9][\w-]*+(?:\.\d[\w-]*+)*\Z")
_BASE = "a model that is published is trained further"
_SHARED_MEMORY = frozenset({"shm"})
_SAVES = ("place", "folder", "bucket", "output", "frequency")


def borne_out(container: ContainerView, view: "WorkloadView", ends: bool, answers: Evidence | None) -> Said | None:
    """What the names around a container say of its work, if what it is like says the same; None else."""
    signs = view.signs
    # What stands until somebody takes it away is there for more than it is called.
    if view.acts_as.runs == "open" or not may_work(container, signs) or says_another(container, signs):
        return None
    said = called(container, view)
    if said is None:
        return None
    by = _bearing(said, container, view, ends, answers)
    if not by:
        return None
    why = f"it is called so, and {by}"
    saying = replace(said.saying, reason=why, general=False)
    return said._replace(saying=saying, evidence=replace(said.evidence, note=why))


def called_another(container: ContainerView, view: "WorkloadView") -> bool:
    """Whether object or container are called something that is no training: one image is there for each work of a project."""
    own = container.body.get("name")
    if isinstance(own, str) and read_name(own, view.signs).another:
        return True
    of_object = read_name(view.named[1], view.signs)
    return of_object.refused or of_object.look


def called_for_people(container: ContainerView, view: "WorkloadView") -> bool:
    """Whether object, container or image are called after a place where somebody works: ``team-a-workspace``, ``dev-box``."""
    signs = view.signs
    for _, name in _names(container, view):
        words = name_words(name[:MAX_NAME])
        if not signs.names.places.isdisjoint(words) or (
            (saying := read_name(name, signs).saying) is not None and (saying.says == "interactive")
        ):
            return True
    return False


def only_looks(view: "WorkloadView") -> bool:
    """Whether the object is called something that looks whether something works: ``gpu-healthcheck``."""
    return read_name(view.named[1], view.signs).look


def called_tuned(container: ContainerView, view: "WorkloadView") -> Evidence | None:
    """The name which says of what trains that it tunes a model that exists."""
    for path, name in _names(container, view):
        saying = read_name(name, view.signs).saying
        if saying is not None and saying.says == "fine-tuning" and (container.accelerated or not saying.general):
            return Evidence(path, name[:MAX_NAME], saying.reason)
    return None


def tuned(container: ContainerView, signs: Signs) -> Evidence | None:
    """The setting by which what trains tunes a model that is there: one that is published (``--model openai/whisper-base``), or
    an adapter.
    """
    for setting in named_settings(container, signs):
        if why := _tunes(setting.meaning, setting.value):
            return Evidence(setting.path, setting.shown, why)
    return None


def _tunes(meaning: Meaning | None, value: str) -> str:
    if meaning is None:
        return ""
    if meaning.base and _PUBLISHED.match(value[:MAX_NAME]):
        return _BASE
    return meaning.adapter.reason if meaning.adapter is not None and not is_off(value) else ""


def called(container: ContainerView, view: "WorkloadView") -> Said | None:
    """What it is called: the first of its names that says anything. Names that disagree on training say nothing."""
    another = called_another(container, view)
    first: Said | None = None
    for said in each_called(container, view):
        if another and said.trains:
            continue
        if first is None:
            first = said
        elif first.trains != said.trains:
            return None
    return first


def each_called(container: ContainerView, view: "WorkloadView") -> Iterator[Said]:
    """What each of its names says by itself."""
    for path, name in _names(container, view):
        saying = _saying(name, view.signs, container.may_hold)
        if saying is not None:
            source: Source = "image" if path[-1] == "image" else "name"
            yield Said(saying, Evidence(path, name[:MAX_NAME], saying.reason), Strength.CALLED, source=source)


def _names(container: ContainerView, view: "WorkloadView") -> Iterator[tuple[Path, str]]:
    """Of the object first: it is mostly the one that was thought of. Its image last; without a command it was heard before."""
    path, name = view.named
    if name:
        yield path, name
    own = container.body.get("name")
    if isinstance(own, str) and own:
        yield (*container.path, "name"), own
    image, _ = image_name(container.image)
    if image and members(container.body.get("command")):
        yield (*container.path, "image"), image


def _saying(name: str, signs: Signs, accelerated: bool) -> Saying | None:
    by_name = read_name(name, signs)
    if by_name.refused or by_name.part or by_name.look:
        return None
    if accelerated or by_name.plain is not None or by_name.saying is None or not by_name.saying.general:
        return by_name.plain or (by_name.saying if accelerated else None)
    # A word that means other things elsewhere, but as the head of the name: `rl-learner`.
    words = name_words(name[:MAX_NAME])
    return by_name.saying if words and signs.types.words.get(words[-1]) is by_name.saying else None


def _bearing(said: Said, container: ContainerView, view: "WorkloadView", ends: bool, answers: Evidence | None) -> str:
    """What bears a name out, in words; empty where nothing does."""
    signs = view.signs
    answering = serves(container, signs, answers)
    if said.trains:
        by_name = read_name(said.evidence.value, signs)
        by_agent = container.may_hold and said.source == "name" and (by_name.agent or by_name.ordered is not None)
        if not ends and answering and not by_agent:
            # A service that is asked to train, or that people are trained with.
            return ""
        if container.may_hold and (ends or (by_agent and not answering)):
            return "runs to its end on accelerators" if ends else "holds accelerators and answers nobody"
        like = _like_training(container, view, ends, by_agent)
        # A command of its own would say what it runs, and an image may be named for what others are built from.
        silent = ends and said.source == "name" and not members(container.body.get("command"))
        return like or (_framework_in(said.evidence.value, signs) if silent else "")
    if said.saying.says == "interactive" and not ends:
        port = by_port(container, signs)
        return "listens where its like do" if port is not None and port.saying.says == "interactive" else ""
    if said.saying.says in _SERVES and not ends:
        return "answers requests" if answering and not said.saying.general else ""
    return "runs on accelerators" if ends and container.may_hold and said.saying.says in _ON_ACCELERATORS else ""


def _like_training(container: ContainerView, view: "WorkloadView", ends: bool, by_agent: bool) -> str:
    """The settings that training has: one in what ends or is called a trainer, or one that is told on its command line;
    else two.
    """
    few = view.acts_as.runs != "forever"
    signs = view.signs
    met: dict[str, bool] = {}
    often = False
    for name, meaning, _, _, _, in_command in named_settings(container, signs):
        plain = signs.types.environment.get(option_name(name)) or (None if meaning is None else meaning.type)
        saying = plain or (None if meaning is None else meaning.hint)
        often = often or (meaning is not None and meaning.role == "frequency")
        if saying is not None and saying.says in TRAINING_TYPES and (ends or not saying.general):
            met.setdefault(name, plain is not None)
            if few or (plain is not None and (in_command or by_agent)):
                return f"has the setting {name[:MAX_NAME]} of training"
        elif meaning is not None and meaning.role in _SAVES:
            met.setdefault(name, False)
            if few:
                return f"is told by {name[:MAX_NAME]} what to save"
    if len(met) > 1 and any(met.values()):
        return f"has the settings {' and '.join([name[:MAX_NAME] for name in met][:2])} of training"
    if few or by_agent or (often and container.may_hold):
        if _writes_to(container, signs.checkpoint.subjects):
            return "has a folder for checkpoints"
        if ends and _writes_to(container, signs.checkpoint.model_mounts):
            return "has a folder for the model"
    if ends and _writes_to(container, _SHARED_MEMORY):
        return "has shared memory, as loaders of data need"
    return "its Pods are told how to meet" if view.distributed else ""


def _framework_in(name: str, signs: Signs) -> str:
    """What a name says more than that something trains: with what, as in ``xgboost-training-job``."""
    saying = signs.frameworks.of_name(name[:MAX_NAME])
    return "" if saying is None else f"is named for {saying.says} too"


def _writes_to(container: ContainerView, named: frozenset[str]) -> bool:
    """Whether it may write to a volume at a folder with one of these words for its name."""
    for entry in container.mounts:
        path = entry.get("mountPath") if isinstance(entry, dict) and entry.get("readOnly") is not True else None
        folder = path.rstrip("/").rpartition("/")[2] if isinstance(path, str) else ""
        if folder and not named.isdisjoint(name_words(folder[:MAX_NAME])):
            return True
    return False
