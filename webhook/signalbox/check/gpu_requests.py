"""GPU limits and requests must be equal, whole, and never a request without a limit.

Kubernetes cannot overcommit GPUs. For its own kinds the API server refuses the mismatch in words of its own before
/validate is reached, so this check also answers in /mutate. A custom resource (JobSet) is stored as it is: its controller
then fails to create Pods, again and again, while Kueue holds the quota for it. A limit alone is right: the request is
copied from it. The same holds for fields of a kind's own that become a container's limits and requests (`resourcesPerNode`
of a TrainJob). Placeholders and null are left to whoever fills them in.

Rule:
    check: gpu-requests
Refused:
    apiVersion: jobset.x-k8s.io/v1alpha2
    kind: JobSet
    metadata: {name: pretrain, namespace: research}
    spec:
      replicatedJobs:
        - name: workers
          template:
            spec:
              template:
                spec:
                  containers:
                    - {name: proxy, image: registry.example/proxy:1}
                    - name: trainer
                      image: registry.example/llm:1
                      resources: {limits: {nvidia.com/gpu: 8}, requests: {nvidia.com/gpu: 4}}
Passes:
    apiVersion: jobset.x-k8s.io/v1alpha2
    kind: JobSet
    metadata: {name: pretrain, namespace: research}
    spec:
      replicatedJobs:
        - name: workers
          template:
            spec:
              template:
                spec:
                  containers:
                    - name: trainer
                      image: registry.example/llm:1
                      resources: {limits: {nvidia.com/gpu: 8}}
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from signalbox.check.check import Check, NoParameters, container_name, named
from signalbox.fieldpath import Path, value_at
from signalbox.finding import CheckSubject, Edit, Fix, Problem
from signalbox.quantity import Quantity, is_placeholder, parse_quantity
from signalbox.review import json_name
from signalbox.workload.accelerators import container_accelerators
from signalbox.workload.judgement import Evidence
from signalbox.workload.kinds.kind import PodTemplate
from signalbox.workload.pod_containers import containers_of
from signalbox.workload.view import WorkloadView

_LONGEST = 10
_SECTIONS = ("limits", "requests")


@dataclass(frozen=True, slots=True)
class _Asked:
    """What is asked for of one resource: ``path`` holds ``limits`` and ``requests``, in which ``name`` is what it is called.

    ``who`` asks, in words; ``key`` names it in the problem's key.
    """

    path: Path
    name: str
    resource: str
    who: str
    key: str
    quantities: dict[str, Any] = field(default_factory=dict)

    def edit(self, section: str, value: Any) -> Edit:
        """Another quantity, in a field that holds text as text."""
        theirs = self.name != self.resource and any(type(quantity) is str for quantity in self.quantities.values())
        return Edit((*self.path, section, self.name), str(value) if theirs else _written(value))


def run(subject: CheckSubject, parameters: NoParameters) -> Iterator[Problem]:
    """One problem a container and resource, keyed by both and by the values, so that a new mismatch counts as new."""
    view = subject.view
    for template in view.templates:
        for asked in _of_containers(template, view):
            yield from _judge(asked)
        if template.asked:
            for asked in _of_fields(template, view):
                yield from _judge(asked)


def _of_containers(template: PodTemplate, view: WorkloadView) -> Iterator[_Asked]:
    for path, container, _ in containers_of(template):
        found: dict[str, _Asked] = {}
        for section, resource, raw in container_accelerators(container, view.signs):
            if resource not in found:
                name = container_name(container)
                called = f"Container {name}" + (f" of {template.name}" if template.name else "")
                # Where a kind has the fields of a container somewhere else they have no name.
                who = called if container.get("name") else named(view, (*path, "resources"))
                key = f"{template.name}/{name}/{resource}"
                found[resource] = _Asked((*path, "resources"), resource, resource, who, key)
            found[resource].quantities[section] = raw
        yield from found.values()


def _of_fields(template: PodTemplate, view: WorkloadView) -> Iterator[_Asked]:
    found: dict[tuple[Path, str], _Asked] = {}
    for asked in template.asked:
        if len(asked.path) < 3 or view.signs.accelerator(asked.resource) is None:
            continue
        path, section, last = asked.path[:-2], asked.path[-2], asked.path[-1]
        if type(section) is not str or section not in _SECTIONS or type(last) is not str:
            continue
        if (path, asked.resource) not in found:
            elsewhere = template.foreign and path[: len(template.path)] == template.path
            who = f"{template.name} of {template.foreign}" if elsewhere else named(view, path)
            steps = "/".join([step for step in path if type(step) is str])
            key = f"{template.name}/{steps}/{asked.resource}"
            # A kind that somebody declared may name but one of the two fields.
            both = {name: value_at(view.object, (*path, name, last)) for name in _SECTIONS}
            there = {name: quantity for name, quantity in both.items() if quantity is not None}
            found[path, asked.resource] = _Asked(path, last, asked.resource, who, key, there)
        found[path, asked.resource].quantities[section] = asked.quantity
    yield from found.values()


def _judge(asked: _Asked) -> Iterator[Problem]:
    given, resource, who = asked.quantities, asked.resource, asked.who
    if any(raw is None or is_placeholder(raw) for raw in given.values()):
        return
    evidence = tuple(Evidence((*asked.path, section, asked.name), _shown(raw)) for section, raw in given.items())
    for raw in given.values():
        number = parse_quantity(raw)
        fault = _fault(number)
        if fault:
            limit = parse_quantity(given.get("limits"))
            whole = _whole(limit if limit is not None else number)
            fix = Fix(f"write whole {resource}:", tuple(asked.edit(name, whole) for name in {"limits": None, **given}))
            shown = _shown(raw)
            yield Problem(f"{who} asks for {shown!r} {resource}, which is {fault}.", evidence, fix, f"{asked.key}/{shown}")
            return
    if "limits" not in given:
        request = given["requests"]
        fix = Fix("give the same limit:", (asked.edit("limits", request),))
        yield Problem(f"{who} requests {request} {resource} but sets no limit.", evidence, fix, f"{asked.key}/no-limit")
    elif "requests" in given and parse_quantity(given["limits"]) != parse_quantity(given["requests"]):
        limit, request = given["limits"], given["requests"]
        yield Problem(
            f"{who} has a limit of {limit} {resource} but requests {request}; GPUs cannot be overcommitted.",
            evidence,
            Fix("make the request equal, or leave it out:", (asked.edit("requests", limit),)),
            f"{asked.key}/{limit}/{request}",
        )


def _shown(raw: Any) -> str:
    # A list or mapping may be too deep to be written out.
    return json_name(raw) if isinstance(raw, list | dict) else str(raw)


def _fault(number: Quantity | None) -> str:
    if number is None:
        return "not a quantity"
    if number < 0:
        return "negative"
    if number.denominator != 1:
        return "not a whole number"
    return ""


def _written(raw: Any) -> Any:
    """As a person writes it: the API server makes a string of every quantity."""
    return int(raw) if type(raw) is str and raw.isdecimal() and len(raw) < _LONGEST else raw


def _whole(number: Quantity | None) -> int:
    return max(1, math.ceil(number)) if number is not None else 1


CHECK = Check("gpu-requests", NoParameters, run, __doc__, early=True)
