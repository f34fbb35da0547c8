"""Inference answers while nodes go and versions change.

One replica is gone with its node, and without a readiness probe requests reach a Pod that still loads its model.
A rolling update that may take no Pod away first (`maxUnavailable` 0, which the default of 25% is for up to 3 replicas) starts
new Pods beside the old ones: where as many accelerators are not free it hangs for ever. `spareAccelerators` is how many the
cluster keeps free for that. `Recreate` stops every Pod before it starts the first new one. Only inference is looked at;
what is scaled to zero passes, and PodDisruptionBudgets, objects of their own, are not seen here. Nor are autoscalers: what is
written for one leaves `replicas` out, which reads as 1, and needs an exception.

Rule:
    check: serving-availability
    with: {minReplicas: 2}
Refused:
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: chat, namespace: serving}
    spec:
      replicas: 1
      selector: {matchLabels: {app: chat}}
      template:
        metadata: {labels: {app: chat}}
        spec:
          containers:
            - name: server
              image: registry.example/vllm:1
              command: [vllm, serve, /models/llm]
              ports: [{containerPort: 8000}]
              resources: {limits: {nvidia.com/gpu: 2}}
Passes:
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: chat, namespace: serving}
    spec:
      replicas: 2
      selector: {matchLabels: {app: chat}}
      strategy: {rollingUpdate: {maxUnavailable: 1, maxSurge: 0}}
      template:
        metadata: {labels: {app: chat}}
        spec:
          containers:
            - name: server
              image: registry.example/vllm:1
              command: [vllm, serve, /models/llm]
              ports: [{containerPort: 8000}]
              readinessProbe: {httpGet: {path: /health, port: 8000}}
              resources: {limits: {nvidia.com/gpu: 2}}
"""

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import Field

from signalbox.check.check import Check, Parameters, container_name
from signalbox.fieldpath import Path, value_at
from signalbox.finding import CheckSubject, Edit, Fix, Problem
from signalbox.quantity import format_quantity
from signalbox.workload.containers import ContainerView
from signalbox.workload.judgement import Evidence
from signalbox.workload.kinds.kind import count, mapping, members
from signalbox.workload.view import WorkloadView

# Where each kind says how many replicas it keeps, and how many where it says nothing.
_REPLICAS: dict[tuple[str, str], Path] = {
    ("apps", "Deployment"): ("spec", "replicas"),
    ("apps", "StatefulSet"): ("spec", "replicas"),
    ("leaderworkerset.x-k8s.io", "LeaderWorkerSet"): ("spec", "replicas"),
    ("serving.kserve.io", "InferenceService"): ("spec", "predictor", "minReplicas"),
    ("serving.kserve.io", "LLMInferenceService"): ("spec", "replicas"),
}
_PROBED = (("apps", "Deployment"), ("apps", "StatefulSet"))
# What a HorizontalPodAutoscaler may scale; KServe brings its own.
_SCALED = (*_PROBED, ("leaderworkerset.x-k8s.io", "LeaderWorkerSet"))
_STRATEGY: Path = ("spec", "strategy")
_USUAL_PORT = 8000
# apps/v1 defaults (kubernetes pkg/apis/apps/v1/defaults.go).
_DEFAULT_SHARE = "25%"


class ServingAvailabilityParameters(Parameters):
    """What a service must have."""

    min_replicas: Annotated[int, Field(ge=0)] = 2
    readiness_probe: Literal["required", "optional"] = "required"
    spare_accelerators: Annotated[int, Field(ge=0)] = 0
    recreate: Literal["pass", "refuse"] = "refuse"


def run(subject: CheckSubject, parameters: ServingAvailabilityParameters) -> Iterator[Problem]:
    """One problem for too few replicas, one for a missing probe, one for how it is updated."""
    view = subject.view
    key = (view.kind.group, view.kind.kind)
    path = _REPLICAS.get(key)
    if path is None or not _looks_at(view):
        return
    replicas = count(value_at(view.object, path))
    if replicas is not None and 0 < replicas < parameters.min_replicas:
        # The API server fills in what is left out for an autoscaler, so that a 1 may be nobody's word.
        scaled = replicas == 1 and key in _SCALED
        autoscaler = f"a HorizontalPodAutoscaler with minReplicas {parameters.min_replicas}"
        text = f"say how many, or have an exception where {autoscaler} keeps them:" if scaled else ""
        has = f"{_replicas(replicas)}, unless an autoscaler keeps more" if scaled else _replicas(replicas)
        yield Problem(
            f"It has {has}; at least {parameters.min_replicas} are needed to outlive the loss of a node.",
            (Evidence(path, str(replicas)),),
            Fix(text, (Edit(path, parameters.min_replicas),)),
            key="replicas",
            amount=parameters.min_replicas - replicas,
            by_type=True,
        )
    if parameters.readiness_probe == "required" and key in _PROBED:
        yield from _unprobed(view)
    if key == ("apps", "Deployment") and replicas:
        yield from _update(view, replicas, parameters)


def _looks_at(view: WorkloadView) -> bool:
    return (view.kind.group, view.kind.kind) in _REPLICAS and view.type.state == "inference"


def _unprobed(view: WorkloadView) -> Iterator[Problem]:
    serving = [container for container in view.containers if container.accelerated] or list(view.containers)
    # Until its startup probe has passed no container is ready, so that one serves as well.
    if not serving or any(mapping(c.body.get(name)) for c in serving for name in ("readinessProbe", "startupProbe")):
        return
    container = serving[0]
    name = container_name(container.body)
    message = f"Container {name} has no readiness probe, so it gets requests while it still loads its model."
    yield Problem(message, (), _probe(container), key="readiness", by_type=True)


def _probe(container: ContainerView) -> Fix:
    """The probe it has for its life, else the usual one of a server."""
    path: Path = (*container.path, "readinessProbe")
    alive = mapping(container.body.get("livenessProbe"))
    if alive:
        return Fix("give it a readinessProbe that asks what its livenessProbe asks.", (Edit(path, alive),))
    ports = (mapping(entry).get("containerPort") for entry in members(container.body.get("ports")))
    port = next((port for port in ports if type(port) is int), _USUAL_PORT)
    asked = (Edit((*path, "httpGet", name), value, to_fill_in=True) for name, value in (("path", "/health"), ("port", port)))
    return Fix("say when it is ready:", tuple(asked))


def _update(view: WorkloadView, replicas: int, parameters: ServingAvailabilityParameters) -> Iterator[Problem]:
    strategy = mapping(value_at(view.object, _STRATEGY))
    kind = strategy.get("type")
    if kind == "Recreate":
        if parameters.recreate == "refuse":
            stops = f"all {replicas} Pods before it starts" if replicas > 1 else "the only Pod before it starts"
            yield Problem(
                f"Every update stops {stops} a new one, and nothing answers until its model is loaded.",
                (Evidence((*_STRATEGY, "type"), "Recreate"),),
                _roll(view, replicas, parameters.min_replicas),
                key="recreate",
                by_type=True,
            )
        return
    if kind not in (None, "RollingUpdate"):
        return
    rolling = mapping(strategy.get("rollingUpdate"))
    surge = _share(rolling.get("maxSurge"), replicas, up=True)
    unavailable = _share(rolling.get("maxUnavailable"), replicas, up=False)
    if surge is None or unavailable is None or unavailable > 0 or surge == 0:
        return
    # What all Pods share by one claim the next one has as well.
    shared = sum(sum(amounts.values()) for part in view.template_accelerators for amounts in part.shared.values())
    needed = surge * max(view.accelerators.per_pod - shared, 0)
    if needed > parameters.spare_accelerators:
        pods = "one more Pod" if surge == 1 else f"{surge} more Pods"
        accelerators = "accelerator" if needed == 1 else "accelerators"
        yield Problem(
            f"Every update starts {pods} before it stops one, and needs {format_quantity(needed)} free {accelerators}; "
            f"{_free(parameters.spare_accelerators)}.",
            _seen(rolling),
            _roll(view, replicas, parameters.min_replicas),
            key="surge",
            amount=float(min(needed, 10**15)),
            by_type=True,
        )


def _roll(view: WorkloadView, replicas: int, least: int) -> Fix:
    """Updates one Pod after another, on the accelerators it has. A single Pod needs another one to answer meanwhile."""
    edits = [
        Edit((*_STRATEGY, "type"), "RollingUpdate"),
        Edit((*_STRATEGY, "rollingUpdate", "maxSurge"), 0),
        Edit((*_STRATEGY, "rollingUpdate", "maxUnavailable"), 1),
    ]
    if replicas == 1:
        edits.append(Edit(("spec", "replicas"), max(2, least)))
    return Fix("replace one Pod after another, on the accelerators it has:", tuple(edits))


def _seen(rolling: dict[str, Any]) -> tuple[Evidence, ...]:
    found = ((name, rolling.get(name)) for name in ("maxSurge", "maxUnavailable"))
    path = (*_STRATEGY, "rollingUpdate")
    return tuple([Evidence((*path, name), str(value)) for name, value in found if value is not None])


def _share(value: Any, replicas: int, up: bool) -> int | None:
    """A number of Pods, or a percentage of them; None for anything else."""
    if value is None:
        value = _DEFAULT_SHARE
    if type(value) is int:
        return max(0, value)
    if type(value) is not str or len(value) > 8 or not value.endswith("%") or not value[:-1].isdecimal():
        return None
    hundredths = int(value[:-1]) * replicas
    return -(-hundredths // 100) if up else hundredths // 100


def _replicas(number: int) -> str:
    return "one replica" if number == 1 else f"{number} replicas"


def _free(number: int) -> str:
    return f"the cluster keeps {number} free" if number else "where none is free it hangs"


CHECK = Check("serving-availability", ServingAvailabilityParameters, run, __doc__, looks_at=_looks_at)
