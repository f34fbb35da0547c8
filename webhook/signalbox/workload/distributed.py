"""Distributed: do several processes work on one run?

A launcher says so by the number it starts; without a number it takes what the Pod has. Several Pods do so where they are
told how to meet, or where their kind makes them together; the parallel Pods of a plain Job may as well be unrelated.
"""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from signalbox.workload.containers import ContainerView
from signalbox.workload.judgement import Evidence
from signalbox.workload.started import Option, Started
from signalbox.workload.vocabulary import MAX_NAME, name_words, option_name

if TYPE_CHECKING:
    from signalbox.workload.view import WorkloadView

_MACHINES = ("nnodes", "num_nodes", "num_machines")
_ONE = ("1", "1:1")
_HERE = ("localhost", "127.", "$(POD_IP)", "$POD_IP", "${POD_IP}", "$(hostname", "$HOSTNAME", "${HOSTNAME}")
# Kinds of these groups may run Pods that have nothing to do with each other.
_PLAIN_GROUPS = ("", "apps", "batch")


# `train-0.train:29500`, `$(JOBSET_NAME)-workers-0-0.$(JOBSET_NAME)`; the name of a host says which of several Pods it is.
_HOST_OF_PODS = re.compile(r"(?=[^:]*[A-Za-z])(?=[^:]*[-.])[\w$(){}.-]++(?::\d++)?\Z")
_NAMES = (("metadata", "name"), ("metadata", "generateName"))


def is_called_distributed(evidence: Evidence | None) -> bool:
    """Whether only the object's name says that several processes work on one run."""
    return evidence is not None and evidence.path in _NAMES


def makes_several_pods(view: "WorkloadView") -> bool:
    """Whether more than one Pod may work at a time, be it on one run or not."""
    counts = [template.pods for template in view.templates if not template.apart]
    known = [pods for pods in counts if pods is not None]
    return None in counts or (max(known, default=0) if view.acts_as.steps else sum(known)) > 1


def distributed_by(view: "WorkloadView") -> Evidence | None:
    """What says that several processes work on one run; None where nothing does."""
    several = makes_several_pods(view)
    if several and view.acts_as.runs != "forever":
        if view.acts_as.group not in _PLAIN_GROUPS:
            return Evidence(("kind",), view.kind.kind, "its Pods are made together")
        for template in view.running_templates:
            subdomain = template.spec.get("subdomain")
            if subdomain:
                shown = subdomain[:MAX_NAME] if isinstance(subdomain, str) else ""
                return Evidence((*template.spec_path, "subdomain"), shown, "its Pods find each other by name")
    for container in view.containers:
        found = _says_so(container, view, several)
        if found is not None:
            return found
    path, name = view.named
    if not several or view.acts_as.runs == "forever":
        return None
    if view.signs.distributed.words.isdisjoint(name_words(name[:MAX_NAME])):
        return None
    return Evidence(path, name[:MAX_NAME], "its Pods work together by its name")


def meets_other_pods(started: Started, option: Option) -> bool:
    """Whether an option tells a process to meet those of other Pods: a number of processes says nothing of Pods."""
    if not option.meaning.meets or option.value.startswith(_HERE):
        return False
    return not option.meaning.counts or (_counts_machines(started, option) and option.value not in _ONE)


def is_elsewhere(address: str) -> bool:
    """Whether it is the address of another Pod: neither this one's own, nor a count, a port or a document."""
    return not address.startswith(_HERE) and _HOST_OF_PODS.match(address[:MAX_NAME]) is not None


def told_to_meet(view: "WorkloadView") -> bool:
    """Whether anything tells a container to meet those of other Pods, beside its kind."""
    for container in view.containers:
        if any(name in view.signs.distributed.environment for _, name, _ in container.variables):
            return True
        if any(meets_other_pods(started, option) for started, option in _told(container)):
            return True
    return False


def may_be_fewer(view: "WorkloadView") -> bool:
    """Whether a launcher is told to start with fewer Pods than there may be: `--nnodes=1:4`."""
    for container in view.containers:
        for started, option in _told(container):
            least, _, most = option.value.partition(":")
            if most and least != most and _counts_machines(started, option):
                return True
    return False


def _told(container: ContainerView) -> Iterator[tuple[Started, Option]]:
    for started in container.started:
        if started.target is not None:
            for option in started.options:
                yield started, option


def _counts_machines(started: Started, option: Option) -> bool:
    return option_name(started.name_of(option)) in _MACHINES


def _says_so(container: ContainerView, view: "WorkloadView", several: bool) -> Evidence | None:
    for started in container.started:
        if started.target is None:
            continue
        if started.target.launchers:
            counted = _processes(started)
            if counted is True:
                return _launched(started, "starts several processes")
            if several or (counted is None and (view.accelerators.per_pod > 1 or view.accelerators.placeholder)):
                return _launched(started, "starts processes in several Pods" if several else "starts one an accelerator")
        elif several:
            for option in started.options:
                if option.meaning.meets:
                    shown = started.shown(option)
                    return Evidence(started.invocation.field(option.at), shown, "its Pods are told how to meet")
    for index, name, _ in container.variables:
        if several and name in view.signs.distributed.environment:
            return Evidence(container.place("env", index), name, "its Pods are told how to meet")
        value = container.env.get(name, "")
        if value.isdecimal() and value.lstrip("0") not in ("", "1") and option_name(name) in view.signs.distributed.processes:
            return Evidence(container.place("env", index), f"{name}={value[:MAX_NAME]}", "one of several processes")
    return None


def _launched(started: Started, note: str) -> Evidence:
    launchers = started.target.launchers if started.target is not None else ()
    return Evidence(started.invocation.field(0), launchers[0] if launchers else "", note)


def _processes(started: Started) -> bool | None:
    """Whether the launcher starts more than one process; None where it is not told how many."""
    told: bool | None = None
    for option in started.options:
        if option.meaning.counts and option.at < started.at:
            # `gpu`, `auto`, `2:4` and placeholders all mean: as many as there are.
            if option.value.strip() not in ("1", "1:1"):
                return True
            told = False
    return told
