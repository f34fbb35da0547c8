"""Applying again, for every kind: what nobody changed stays as it is, and what the user sets is theirs.

Each with nothing of its own, with a toleration of its own, with a grace of 60 and of 30 (the API server's default, written
out), applied client-side and server-side.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from itertools import product
from typing import Any

import pytest
import yaml

from .kubectl import Kubectl
from .objects import GPU, Manifest, cron_job, daemon_set, deployment, job, job_set, pod, replica_set, stateful_set, template

OWN_TOLERATION = {"key": "team", "operator": "Equal", "value": "research", "effect": "NoSchedule"}
OUR_TOLERATION = {"key": GPU, "operator": "Exists", "effect": "NoSchedule"}
TRAIN = "torchrun train.py --output_dir=s3://bucket/llm"
SERVE = "vllm serve llama"

OWN: dict[str, Manifest] = {
    "nothing": {},
    "own-tolerations": {"tolerations": [OWN_TOLERATION]},
    "grace-60": {"terminationGracePeriodSeconds": 60},
    "grace-30": {"terminationGracePeriodSeconds": 30},
}
MODES: dict[str, tuple[str, ...]] = {"client-side": (), "server-side": ("--server-side",)}
BUILT_IN: dict[str, Callable[[str, Manifest], Manifest]] = {
    "job": lambda ns, own: job("work", ns, template("8", TRAIN, **own)),
    "cronjob": lambda ns, own: cron_job("work", ns, template("8", TRAIN, **own)),
    "deployment": lambda ns, own: deployment("work", ns, template("1", SERVE, restart=None, **own)),
    "statefulset": lambda ns, own: stateful_set("work", ns, template("1", SERVE, restart=None, **own)),
    "daemonset": lambda ns, own: daemon_set("work", ns, template("1", SERVE, restart=None, **own)),
    "replicaset": lambda ns, own: replica_set("work", ns, template("1", SERVE, restart=None, **own)),
    "pod": lambda ns, own: pod("work", ns, template("1", "jupyter lab", restart="Always", **own)),
}
KINDS: dict[str, Callable[[str, Manifest], Manifest]] = {
    **BUILT_IN,
    "jobset": lambda ns, own: job_set("work", ns, template("8", TRAIN, **own)),
}
# These start Pods of a template that may not change any more; the API server lets a toleration be added, and no more.
FIXED = ("job", "pod", "jobset")


def matrix(*kinds: str) -> list[Any]:
    """Every kind with every set of fields of its own in both modes."""
    return [pytest.param(kind, own, mode, id=f"{kind}-{own}-{mode}") for kind, own, mode in product(kinds, OWN, MODES)]


def check_unchanged(kubectl: Kubectl, namespace: str, kind: str, own: str, mode: str) -> None:
    """Applied twice, the second time changes nothing; whoever asks the API server beforehand sees no difference."""
    manifest = KINDS[kind](namespace, OWN[own])
    before = _apply(kubectl, manifest, mode)
    asked = kubectl.run("diff", *MODES[mode], "-f", "-", stdin=yaml.safe_dump(manifest))
    assert asked.code == 0, asked.text
    assert _apply(kubectl, manifest, mode) == before


def check_one_field(kubectl: Kubectl, namespace: str, kind: str, own: str, mode: str) -> None:
    """Of a manifest with one field changed, that field alone changes."""
    manifest = KINDS[kind](namespace, OWN[own])
    before = _apply(kubectl, manifest, mode)
    changed = copy.deepcopy(manifest)
    for obj in (changed, before):
        _change(kind, obj)
    after = _apply(kubectl, changed, mode)
    for obj in (before, after):
        obj["metadata"].pop("generation", None)
    assert after == before


def check_theirs(kubectl: Kubectl, namespace: str, kind: str, own: str, mode: str) -> None:
    """An injected field that the user now sets is theirs, and stays so."""
    manifest = KINDS[kind](namespace, OWN[own])
    _apply(kubectl, manifest, mode)
    tolerations = [*OWN[own].get("tolerations", ()), {"key": GPU, "operator": "Exists"}]
    scalars = {} if kind in FIXED else {"priorityClassName": "train-low", "terminationGracePeriodSeconds": 900}
    pod_spec(manifest).update(scalars, tolerations=tolerations)
    found = pod_spec(_apply(kubectl, manifest, mode))
    assert [one for one in tolerations if one not in found["tolerations"]] == []
    assert {name: found[name] for name in scalars} == scalars
    assert pod_spec(_apply(kubectl, manifest, mode)) == found


def pod_spec(obj: Manifest) -> Manifest:
    """The Pod spec of any of these kinds."""
    spec: Manifest = obj["spec"]
    if obj["kind"] == "JobSet":
        spec = spec["replicatedJobs"][0]["template"]["spec"]
    elif obj["kind"] == "CronJob":
        spec = spec["jobTemplate"]["spec"]
    found: Manifest = spec if obj["kind"] == "Pod" else spec["template"]["spec"]
    return found


def _change(kind: str, obj: Manifest) -> None:
    match kind:
        case "job":
            obj["spec"]["activeDeadlineSeconds"] = 7200
        case "cronjob":
            obj["spec"]["schedule"] = "0 4 * * *"
        case "jobset":
            obj["metadata"].setdefault("labels", {})["cost-centre"] = "42"
        case _:
            pod_spec(obj)["containers"][0]["image"] = "registry.example/llm:2"


def _apply(kubectl: Kubectl, manifest: Manifest, mode: str) -> dict[str, Any]:
    """Applies, and reads back without what changes with every write or by its controller."""
    printed = kubectl.apply(manifest, arguments=MODES[mode])
    assert printed.code == 0, printed.text
    found = kubectl.read(manifest["kind"], "work", manifest["metadata"]["namespace"])
    found.pop("status", None)
    found["metadata"].pop("resourceVersion")
    annotations = found["metadata"].get("annotations", {})
    for name in (
        "kubectl.kubernetes.io/last-applied-configuration",
        "deployment.kubernetes.io/revision",
        "deprecated.daemonset.template.generation",
    ):
        annotations.pop(name, None)
    return found
