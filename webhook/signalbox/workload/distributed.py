"""Distributed: do several processes work on one run?

A launcher says so by the number it starts; without a number it takes what the Pod has. Several Pods do so where they are
told how to meet, or where their kind makes them together; the parallel Pods of a plain Job may as well be unrelated.
"""

from typing import TYPE_CHECKING

from signalbox.workload.containers import ContainerView
from signalbox.workload.started import Started

if TYPE_CHECKING:
    from signalbox.workload.view import WorkloadView

# Kinds of these groups may run Pods that have nothing to do with each other.
_PLAIN_GROUPS = ("", "apps", "batch")


def is_distributed(view: "WorkloadView") -> bool:
    """Whether several processes work on one run."""
    pods = view.pods
    several = pods is None or pods > 1
    if several and view.acts_as.runs != "forever":
        if view.acts_as.group not in _PLAIN_GROUPS:
            return True
        if any(template.spec.get("subdomain") for template in view.templates):
            return True
    return any(_says_so(container, view, several) for container in view.containers)


def _says_so(container: ContainerView, view: "WorkloadView", several: bool) -> bool:
    for started in container.started:
        if started.target is None:
            continue
        if started.target.launchers:
            counted = _processes(started)
            if counted is True:
                return True
            if several or (counted is None and (view.accelerators.per_pod > 1 or view.accelerators.placeholder)):
                return True
        elif several and any(option.meaning.meets for option in started.options):
            return True
    if several:
        return any(name in view.signs.distributed.environment for _, name, _ in container.variables)
    return False


def _processes(started: Started) -> bool | None:
    """Whether the launcher starts more than one process; None where it is not told how many."""
    told: bool | None = None
    for option in started.options:
        if option.meaning.counts and option.at < started.at:
            # `gpu`, `auto`, `2:4` and placeholders all mean: as many as there are.
            if option.value.strip() != "1":
                return True
            told = False
    return told
