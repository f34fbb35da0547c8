"""Every check on the real API server: its own example refused, and the same only warned of, each text kept as a file.

What shipped policies say of the same example stands beside it and is left out: they have drills of their own.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import yaml

from signalbox.check import cel
from signalbox.check.table import CHECKS
from tests.examples import CheckExample, check_example

from .custom_kinds import define
from .golden import assert_golden
from .kubectl import Kubectl
from .objects import Manifest
from .waiting import eventually
from .webhook import EXAMPLE, Webhook

DOCS = {**{name: check.doc for name, check in CHECKS.items()}, "cel": cel.__doc__ or ""}
VOLCANO_JOB = ("batch.volcano.sh", "v1alpha1", "Job")

pytestmark = pytest.mark.usefixtures("jobset")


@pytest.fixture(scope="module", autouse=True)
def _defined(webhook: Webhook) -> None:
    define(webhook.cluster, VOLCANO_JOB)


@pytest.fixture
def policy(webhook: Webhook, namespace: str) -> Iterator[Callable[[CheckExample, str], None]]:
    """`policy(example, mode)` brings the example's rule into force in the test's namespace, and what is known of the cluster
    with it; both are gone after the test."""
    path = webhook.policies / f"drill-{namespace}.yaml"
    known = webhook.tree / "manifests" / EXAMPLE / "drill.yaml"

    def write(example: CheckExample, mode: str) -> None:
        rule = {"name": mode, "mode": mode, **yaml.safe_load(example.rule)}
        document = {
            "apiVersion": "policy.workload.ai/v1alpha1",
            "kind": "WorkloadPolicy",
            "metadata": {"name": "drill"},
            "spec": {"description": "One rule alone.", "match": {"namespaces": [namespace]}, "rules": [rule]},
        }
        path.write_text(yaml.safe_dump(document))
        if example.cluster:
            known.write_text(example.cluster.replace("namespace: research", f"namespace: {namespace}"))

    yield write
    path.unlink()
    known.unlink(missing_ok=True)


@pytest.mark.parametrize("check", sorted(DOCS))
def test_its_example_is_refused_and_warned_of(
    kubectl: Kubectl, namespace: str, policy: Callable[[CheckExample, str], None], check: str
) -> None:
    example = check_example(DOCS[check])
    if example.before is not None:
        assert kubectl.apply(completed(example.before, namespace)).code == 0
    refused = completed(example.refused, namespace)
    for mode, kept in (("enforce", "refused"), ("warn", "warned")):
        policy(example, mode)

        def printed(mode: str = mode) -> str:
            return said_by(f"[drill/{mode}]", kubectl.apply(refused, arguments=("--dry-run=server",)).err)

        assert_golden(f"{kept}-check-{check}", eventually(printed, f"{check} is judged, {mode}"))


def said_by(rule: str, text: str) -> str:
    """What a rule alone says: its paragraphs of a refusal, its lines of warnings."""
    warnings = [f"{line}\n" for line in text.splitlines() if line.startswith(f"Warning: {rule}")]
    return "".join(warnings) + "\n\n".join(part for part in text.split("\n\n") if part.startswith(f"  {rule}"))


def completed(example: Manifest, namespace: str) -> Manifest:
    """An example leaves out what a check does not read; the API server insists on it before /validate is asked."""
    obj = copy.deepcopy(example)
    obj["metadata"]["namespace"] = namespace
    spec: dict[str, Any] = obj["spec"]
    match obj["apiVersion"], obj["kind"]:
        case "apps/v1", _:
            spec.setdefault("selector", {"matchLabels": {"app": "x"}})
            spec["template"].setdefault("metadata", {}).setdefault("labels", {}).update(spec["selector"]["matchLabels"])
        case "batch/v1", "Job":
            spec["template"]["spec"].setdefault("restartPolicy", "Never")
        case "batch/v1", "CronJob":
            spec.setdefault("schedule", "0 3 * * *")
            spec["jobTemplate"]["spec"]["template"]["spec"].setdefault("restartPolicy", "Never")
        case _, "JobSet":
            for one in spec["replicatedJobs"]:
                one["template"]["spec"]["template"]["spec"].setdefault("restartPolicy", "Never")
    return obj
