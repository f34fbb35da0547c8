"""Work that must not be interrupted stays off spot nodes.

An inference server on a spot node answers nobody for the minutes in which its node is gone and its weights are loaded
again elsewhere. `allow` lists the spot states that pass: `no`, `permitted` (only tolerates spot nodes), `preferred`,
`demanded`.

Rule:
    check: spot-allowed
    with: {allow: ["no"]}
Refused:
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: chat, namespace: serving}
    spec:
      template:
        spec:
          nodeSelector: {karpenter.sh/capacity-type: spot}
          containers: [{name: server, image: "registry.example/vllm:1", args: [serve, model]}]
Passes:
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: chat, namespace: serving}
    spec:
      template:
        spec:
          containers: [{name: server, image: "registry.example/vllm:1", args: [serve, model]}]
"""

from typing import Literal

from pydantic import Field

from signalbox.check.check import Check, Parameters
from signalbox.finding import CheckSubject, Edit, Fix, Problem
from signalbox.workload.labels import QUEUE_LABEL

_WORDS = {
    "demanded": "It demands spot nodes",
    "preferred": "It prefers spot nodes",
    "permitted": "It tolerates spot nodes",
    "no": "It runs on no spot nodes",
}


class SpotAllowedParameters(Parameters):
    """Which states pass."""

    allow: list[Literal["demanded", "preferred", "permitted", "no"]] = Field(default=["no"], min_length=1)


def run(subject: CheckSubject, parameters: SpotAllowedParameters) -> list[Problem]:
    """One problem at most, keyed by the state."""
    spot = subject.view.spot
    state = spot.state or "no"
    if state in parameters.allow:
        return []
    if state == "no":
        fix = Fix("add your provider's spot node label to the Pod's nodeSelector.")
        return [Problem(f"{_WORDS[state]}, and only spot work belongs here.", (), fix, key=state)]
    if any(evidence.path[-1] == QUEUE_LABEL for evidence in spot.evidence):
        may = "leads to spot nodes alone" if state == "demanded" else "may put it on spot nodes"
        message = f"Its queue {may}, which are taken back without notice; this work must not be interrupted."
        return [Problem(message, spot.evidence, Fix("name a queue that has other nodes, or select those."), key=state)]
    # The last members first, so that an index still means the same member when its turn comes.
    paths = sorted({evidence.path for evidence in spot.evidence}, key=lambda path: [str(step).zfill(6) for step in path])
    edits = tuple(Edit(path, removes=True) for path in reversed(paths))
    message = f"{_WORDS[state]}, which are taken back without notice; this work must not be interrupted."
    return [Problem(message, spot.evidence, Fix("take these lines out.", edits), key=state)]


CHECK = Check("spot-allowed", SpotAllowedParameters, run, __doc__)
