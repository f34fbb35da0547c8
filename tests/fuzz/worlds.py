"""What the fuzzed app judges by: the shipped policies, and a set in which every check, injector and matcher is at work."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import yaml

from signalbox.check.table import CHECKS
from signalbox.configuration import load_setup, shipped_policies
from signalbox.engine import Setup
from tests.examples import sections
from tests.fuzz.corpus import ROOT, own_kind

CLUSTER = ROOT / "policies" / "tests" / "cluster"

_INJECT: dict[str, Any] = {
    "queue": "training-large",
    "priorityClassName": "train-normal",
    "tolerations": [
        {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"},
        {"key": "spot", "operator": "Exists"},
    ],
    "terminationGracePeriodSeconds": 300,
    "labels": {"workload.ai/team": "research", "a_b": "x"},
    "annotations": {"note/a": "b"},
    "env": {"NCCL_DEBUG": "WARN", "A_B": "x"},
    "nodeSelector": {"pool": "training", "example.com/tier": "gold"},
}
# Each key of the vocabulary at least once; what it finds does not matter, only that it is asked.
_WHENS: list[dict[str, Any]] = [
    {"namespaces": ["team-*"], "names": ["a*", "*-x"], "labels": {"matchExpressions": [{"key": "a", "operator": "Exists"}]}},
    {"types": ["training", "inference", "none"], "trains": True, "distributed": True, "frameworks": ["pytorch", "mpi"]},
    {"accelerators": {"total": {"min": 1}, "vendors": ["nvidia"]}},
    {"any": [{"queues": ["training-*", ""]}, {"spot": ["demanded", "permitted"]}, {"checkpoint": ["durable", "unknown"]}]},
    {"not": {"priority": {"below": 5000}}},
    {"priority": {"unset": True}, "users": ["ann*"], "groups": ["system:*"], "operations": ["CREATE", "UPDATE"]},
    {"namespaceSelector": {"matchLabels": {"team": "research"}}},
    {"kinds": ["Pod", "Job", "CronJob", "JobSet", "Sweep.lab.example.com"]},
]
_EXPRESSIONS = (
    "workload.accelerators.total <= 2",
    "!workload.trains || workload.queue != ''",
    "!has(object.spec.template) || has(object.spec.template.spec)",
    "request.operation == 'CREATE' || object.metadata.name == oldObject.metadata.name",
    "!has(object.metadata.labels) || object.metadata.labels.all(k, k.size() < 64)",
)


def worlds() -> list[Setup]:
    """The setups, in a fixed order: a case names its world by number."""
    with tempfile.TemporaryDirectory() as folder:
        everything = Path(folder) / "everything.yaml"
        forced = Path(folder) / "forced.yaml"
        everything.write_text(_documents(force=False), encoding="utf-8")
        forced.write_text(_documents(force=True), encoding="utf-8")
        found = [
            load_setup([shipped_policies()], cluster=CLUSTER),
            load_setup([everything], cluster=CLUSTER),
            load_setup([forced]),
        ]
    for one in found:
        assert not one.errors, "\n".join(map(str, one.errors))
    return [one.setup for one in found]


def _documents(*, force: bool) -> str:
    rules: list[dict[str, Any]] = []
    for number, check in enumerate(CHECKS.values()):
        rule = yaml.safe_load(sections(check.doc)["Rule"])
        rule |= {"name": check.name, "mode": ("enforce", "enforce", "warn", "audit")[number % 4 if force else 0]}
        if force and number % 3 == 0:
            rule["onError"] = "refuse"
        rules.append(rule)
    rules += [
        {"name": f"cel-{index}", "cel": expression, "message": "was {workload.accelerators.total}", "mode": "enforce"}
        for index, expression in enumerate(_EXPRESSIONS)
    ]
    rules += [
        {"name": f"when-{index}", "check": "image-tag", "when": when, "mode": "enforce"} for index, when in enumerate(_WHENS)
    ]
    spec: dict[str, Any] = {"inject": {**_INJECT, **({"force": True} if force else {})}, "rules": rules}
    head = {"apiVersion": "policy.workload.ai/v1alpha1", "kind": "WorkloadPolicy"}
    documents = [{**head, "metadata": {"name": "everything"}, "spec": spec}]
    documents += [
        {
            **head,
            "metadata": {"name": f"match-{index}"},
            "spec": {"match": when, "rules": [{"name": "r", "check": "image-tag", "mode": "warn"}]},
        }
        for index, when in enumerate(_WHENS)
    ]
    return yaml.safe_dump_all(documents) + "---\n" + own_kind()
