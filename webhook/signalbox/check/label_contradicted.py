"""The user's `workload.ai/type` label must not say the opposite of what the workload runs.

The label wins over what is inferred, so a training run that is labelled `inference` would pass every rule for training.
`types` lists what the workload must be found to be for a contradiction to count: by default training that is labelled as
something else; with `inference` also a server that is labelled as training. Whether training is distributed or fine-tuning
is for the label to say, and what is thin (an image's or a kind's name) contradicts nothing. A label that names no type
(`Inference`, `train`) is not heard, which is told in a warning.

Rule:
    check: label-contradicted
Refused:
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: chat, namespace: research, labels: {workload.ai/type: inference}}
    spec:
      replicas: 2
      selector: {matchLabels: {app: chat}}
      template:
        metadata: {labels: {app: chat}}
        spec:
          containers:
            - name: main
              image: registry.example/llm:1
              command: [torchrun, train.py]
              resources: {limits: {nvidia.com/gpu: 8}}
Passes:
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: chat, namespace: research, labels: {workload.ai/type: inference}}
    spec:
      replicas: 2
      selector: {matchLabels: {app: chat}}
      template:
        metadata: {labels: {app: chat}}
        spec:
          containers:
            - name: main
              image: registry.example/llm:1
              command: [vllm, serve, /models/llm]
              resources: {limits: {nvidia.com/gpu: 8}}
"""

from pydantic import Field

from signalbox.check.check import Check, Parameters, close_to
from signalbox.finding import CheckSubject, Edit, Fix, Problem
from signalbox.policy.mode import Mode
from signalbox.quantity import is_placeholder
from signalbox.workload.judgement import TRAINING_TYPES, TYPES, Evidence, Judgement, WorkloadType
from signalbox.workload.labels import TYPE_LABEL
from signalbox.workload.said import Strength
from signalbox.workload.type import infer_type
from signalbox.workload.view import WorkloadView


class LabelContradictedParameters(Parameters):
    """What the workload must be found to be."""

    types: list[WorkloadType] = Field(default=["distributed-training", "training", "fine-tuning"], min_length=1)


def run(subject: CheckSubject, parameters: LabelContradictedParameters) -> list[Problem]:
    """One problem at most, keyed by what the label says."""
    view = subject.view
    declared = view.type
    if not declared.declared:
        return _unheard(view)
    found = infer_type(view)
    if found.state not in parameters.types or (declared.state in TRAINING_TYPES) == (found.state in TRAINING_TYPES):
        return []
    if not _is_strong(view, found):
        return []
    _, path = view.user_label(TYPE_LABEL)
    message = f"Label {TYPE_LABEL} says {declared.state}, but what it runs is {found.state}."
    fix = Fix("correct the label, or remove it:", (Edit(path, found.state),))
    return [Problem(message, (*declared.evidence, *found.evidence), fix, key=str(declared.state))]


def _unheard(view: WorkloadView) -> list[Problem]:
    """The problem of a label that names no type: its user believes that it decides."""
    said, path = view.user_label(TYPE_LABEL)
    if not said or is_placeholder(said):
        return []
    taken = f"this is taken for {view.type.state} all the same" if view.type.state else "what this is is not known"
    near = close_to(said.lower(), TYPES)
    meant = f" Did you mean {near}?" if near else ""
    return [
        Problem(
            f"Label {TYPE_LABEL} says {said}, which is no type; {taken}.{meant}",
            (Evidence(path, said),),
            Fix(f"write one of {', '.join(TYPES)}."),
            key=f"unheard/{said}",
            at_most=Mode.WARN,
        )
    ]


def _is_strong(view: WorkloadView, found: Judgement) -> bool:
    """Whether it rests on what a container starts, by more than a word in passing."""
    for container in view.containers:
        for said in container.said:
            if said is not None and said.strength is not Strength.WEAK and said.evidence in found.evidence:
                return True
    return False


CHECK = Check("label-contradicted", LabelContradictedParameters, run, __doc__)
