"""GPU limits and requests must be equal, whole, and never a request without a limit.

Kubernetes cannot overcommit GPUs. For its own kinds the API server refuses the mismatch in words of its own before
/validate is reached, so this check also answers in /mutate. A custom resource (JobSet) is stored as it is: its controller
then fails to create Pods, again and again, while Kueue holds the quota for it. A limit alone is right: the request is
copied from it. Placeholders and null are left to whoever fills them in.

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
from typing import Any

from signalbox.check.check import Check, NoParameters, container_name
from signalbox.fieldpath import Path
from signalbox.finding import CheckSubject, Edit, Fix, Problem
from signalbox.quantity import Quantity, is_placeholder, parse_quantity
from signalbox.review import json_name
from signalbox.workload.accelerators import container_accelerators, containers_of
from signalbox.workload.judgement import Evidence

_ABSENT: Any = object()
_LONGEST = 10


def run(subject: CheckSubject, parameters: NoParameters) -> Iterator[Problem]:
    """One problem a container and resource, keyed by both and by the values, so that a new mismatch counts as new."""
    view = subject.view
    for template in view.templates:
        for path, container, _ in containers_of(template):
            asked: dict[str, dict[str, Any]] = {}
            for section, resource, raw in container_accelerators(container, view.signs):
                asked.setdefault(resource, {})[section] = raw
            for resource, sections in asked.items():
                limit, request = sections.get("limits", _ABSENT), sections.get("requests", _ABSENT)
                yield from _judge(path, container, resource, limit, request, template.name)


def _judge(path: Path, container: Any, resource: str, limit: Any, request: Any, job: str) -> Iterator[Problem]:
    given = [(section, raw) for section, raw in (("limits", limit), ("requests", request)) if raw is not _ABSENT]
    if any(raw is None or is_placeholder(raw) for _, raw in given):
        return
    name = container_name(container)
    shown = f"Container {name}" + (f" of {job}" if job else "")
    key = f"{job}/{name}/{resource}"
    evidence = tuple(Evidence((*path, "resources", section, resource), _shown(raw)) for section, raw in given)
    for _, raw in given:
        number = parse_quantity(raw)
        fault = _fault(number)
        if fault:
            whole = _whole(parse_quantity(limit) if parse_quantity(limit) is not None else number)
            fix = Fix(f"write whole {resource}:", _edits(path, resource, whole, request))
            asked = _shown(raw)
            yield Problem(f"{shown} asks for {asked!r} {resource}, which is {fault}.", evidence, fix, f"{key}/{asked}")
            return
    if limit is _ABSENT:
        fix = Fix("give the same limit:", (Edit((*path, "resources", "limits", resource), _written(request)),))
        yield Problem(f"{shown} requests {request} {resource} but sets no limit.", evidence, fix, f"{key}/no-limit")
    elif request is not _ABSENT and parse_quantity(limit) != parse_quantity(request):
        equal = Edit((*path, "resources", "requests", resource), _written(limit))
        fix = Fix("make the request equal, or leave it out:", (equal,))
        yield Problem(
            f"{shown} has a limit of {limit} {resource} but requests {request}; GPUs cannot be overcommitted.",
            evidence,
            fix,
            f"{key}/{limit}/{request}",
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


def _edits(path: Path, resource: str, whole: int, request: Any) -> tuple[Edit, ...]:
    limit = Edit((*path, "resources", "limits", resource), whole)
    return (limit,) if request is _ABSENT else (limit, Edit((*path, "resources", "requests", resource), whole))


CHECK = Check("gpu-requests", NoParameters, run, __doc__, early=True)
