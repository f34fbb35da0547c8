"""Training belongs in a Job or JobSet, not in something that starts it again for ever.

A Deployment, StatefulSet, ReplicaSet or DaemonSet starts a Pod again whenever it ends: a training run that succeeds is
run once more, from the beginning, and holds its GPUs for ever. A bare Pod is the opposite: nothing starts it again when
its node goes, and no queue can hold it as a whole. `barePods` says which bare Pods are a problem: those that `train`
(default), those that ask for `accelerators` at all, or `none`.

Rule:
    check: controller-kind
Refused:
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: finetune, namespace: research}
    spec:
      replicas: 2
      selector: {matchLabels: {app: finetune}}
      template:
        metadata: {labels: {app: finetune}}
        spec:
          containers:
            - name: trainer
              image: registry.example/llm:1
              command: [python, finetune.py]
              resources: {limits: {nvidia.com/gpu: 1}}
Passes:
    apiVersion: batch/v1
    kind: Job
    metadata: {name: finetune, namespace: research}
    spec:
      template:
        spec:
          restartPolicy: OnFailure
          containers:
            - name: trainer
              image: registry.example/llm:1
              command: [python, finetune.py]
              resources: {limits: {nvidia.com/gpu: 1}}
"""

from dataclasses import replace
from typing import Any, Literal

from signalbox.check.check import Check, Parameters
from signalbox.controllers import OWNERS
from signalbox.fieldpath import value_at
from signalbox.finding import CheckSubject, Edit, Fix, Problem
from signalbox.workload.kinds.kind import mapping
from signalbox.workload.view import WorkloadView


class ControllerKindParameters(Parameters):
    """Which bare Pods count."""

    bare_pods: Literal["train", "accelerators", "none"] = "train"


# What a Job has not: these fields of the apps kinds go when the kind changes.
_APPS_FIELDS = (
    "replicas",
    "selector",
    "strategy",
    "updateStrategy",
    "revisionHistoryLimit",
    "progressDeadlineSeconds",
    "minReadySeconds",
    "paused",
    "serviceName",
    "podManagementPolicy",
    "persistentVolumeClaimRetentionPolicy",
    "ordinals",
)

_AS_A_JOB = Fix("make it a Job, or a JobSet where several Pods train together, with restartPolicy: OnFailure.")


def run(subject: CheckSubject, parameters: ControllerKindParameters) -> list[Problem]:
    """One problem at most, keyed by the kind."""
    view = subject.view
    kind = view.kind.kind
    if view.acts_as.runs == "forever" and view.trains:
        where = ", on the same GPUs" if view.accelerators.any else ""
        message = f"A {kind} starts training again for ever: when the run succeeds it is run once more{where}."
        return [Problem(message, view.type.evidence, _job_from_template(view), key=kind, by_type=True)]
    if view.kind.runs == "pod" and not _is_kept_alive(view) and _counts(view, parameters.bare_pods):
        message = "Nothing starts a bare Pod again when its node goes, and its run is lost."
        by_type = parameters.bare_pods == "train"
        evidence = view.type.evidence if by_type else view.accelerators.evidence
        return [Problem(message, evidence, _job_from_pod(view), key=kind, by_type=by_type)]
    return _held(view)


def _held(view: WorkloadView) -> list[Problem]:
    """The problem of the first of several objects standing in this one that runs for ever and trains."""
    for place, kind in view.objects:
        if place and kind is not view.acts_as and kind.runs == "forever":
            inner = WorkloadView(mapping(value_at(view.object, place)), kind, view.signs, view.cluster, view.namespace)
            if inner.trains:
                evidence = tuple(replace(one, path=(*place, *one.path)) for one in inner.type.evidence)
                message = f"A {kind.kind} starts training again for ever: when the run succeeds it is run once more."
                return [Problem(message, evidence, _AS_A_JOB, key=kind.kind, by_type=True)]
    return []


def _is_kept_alive(view: WorkloadView) -> bool:
    """Whether some controller may start the Pod again.

    Anyone can write an ownerReference. One of a kind whose controller we know is written by that (whose own writes are only
    audited), or is forged; of other kinds we cannot tell, and the Pod has the benefit of the doubt.
    """
    owner = view.owner
    return owner is not None and (owner.group, owner.kind) not in OWNERS


def _counts(view: WorkloadView, bare_pods: str) -> bool:
    return (bare_pods == "train" and view.trains) or (bare_pods == "accelerators" and view.accelerators.any)


def _job_from_template(view: WorkloadView) -> Fix:
    if all(template.path != ("spec", "template") for template in view.templates):
        return _AS_A_JOB
    spec = mapping(view.object.get("spec"))
    edits = [
        Edit(("apiVersion",), "batch/v1"),
        Edit(("kind",), "Job"),
        Edit(("spec", "template", "spec", "restartPolicy"), "OnFailure"),
    ]
    replicas = spec.get("replicas")
    if isinstance(replicas, int) and replicas > 1:
        edits.append(Edit(("spec", "parallelism"), replicas))
    edits += [Edit(("spec", field), removes=True) for field in _APPS_FIELDS if field in spec]
    return Fix("make it a Job (or a JobSet, where several Pods train together) with restartPolicy: OnFailure.", tuple(edits))


def _job_from_pod(view: WorkloadView) -> Fix:
    spec: dict[str, Any] = {key: value for key, value in mapping(view.object.get("spec")).items() if key != "priority"}
    if spec.get("restartPolicy") not in ("Never", "OnFailure"):
        spec["restartPolicy"] = "OnFailure"
    edits = (Edit(("apiVersion",), "batch/v1"), Edit(("kind",), "Job"), Edit(("spec",), {"template": {"spec": spec}}))
    return Fix("make it a Job: put the Pod's spec below spec.template, with restartPolicy: OnFailure.", edits)


CHECK = Check("controller-kind", ControllerKindParameters, run, __doc__)
