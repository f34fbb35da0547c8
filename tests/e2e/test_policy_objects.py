"""Policies as objects: their definitions, what a bad one is answered, and that no bad one is ever in force."""

from __future__ import annotations

import copy
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from .cluster import Cluster
from .conftest import shown
from .golden import assert_golden
from .kubectl import Kubectl, Printed
from .objects import Manifest, job, template
from .processes import Process
from .progress import say
from .waiting import eventually
from .webhook import NAMESPACE, SIGNALBOX, Webhook

API_VERSION = "policy.workload.ai/v1alpha1"
KINDS = ("policyexceptions", "workloadkinds", "workloadpolicies", "workloadsigns")
ENTRY = "policies.policy.workload.ai"
CONFIGURATIONS = ("mutatingwebhookconfiguration/00-signalbox", "validatingwebhookconfiguration/signalbox")
PROBE_RULE = "probing/no-pods"

EVERYTHING = f"""
apiVersion: {API_VERSION}
kind: WorkloadPolicy
metadata: {{name: everything}}
spec:
  description: Every key there is.
  owner: ml-platform
  help: https://wiki.example/gpu
  precedence: 50
  match:
    namespaces: [nowhere]
    namespaceSelector: {{matchExpressions: [{{key: tier, operator: In, values: [gold]}}]}}
    labels: {{team: research}}
    accelerators: {{total: {{min: 1, max: 64.5}}, vendors: [nvidia]}}
    not: {{any: [{{spot: ["no"]}}, {{not: {{frameworks: [jax]}}}}]}}
    any: [{{trains: true}}, {{distributed: false}}]
  inject:
    queue: training-large
    tolerations: [{{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}}]
    terminationGracePeriodSeconds: 300
    labels: {{workload.ai/team: research}}
    env: {{NCCL_DEBUG: INFO}}
    force: false
  rules:
    - name: restartable
      check: checkpoint
      with: {{accept: [durable], unknown: warn}}
      when: {{any: [{{checkpoint: [none]}}]}}
      mode: audit
      onError: warn
      overrides: [{{namespaces: [pilot], mode: warn, until: 2099-01-31}}]
    - name: small
      cel: workload.pods <= 2
      message: too many
      fix: {{text: Ask for less., set: {{spec.suspend: true, "metadata.labels[x]": null, spec.list: [1, {{a: b}}]}}}}
      mode: audit
"""
KIND = f"""
apiVersion: {API_VERSION}
kind: WorkloadKind
metadata: {{name: lab-run}}
spec: {{group: lab.example.com, kind: LabRun, templates: [{{path: spec.template}}]}}
"""
SIGNS = f"""
apiVersion: {API_VERSION}
kind: WorkloadSigns
metadata: {{name: ours}}
spec: {{types: [{{type: evaluation, reason: our harness, commands: [lab-eval]}}]}}
"""


def policy(name: str, spec: str) -> Manifest:
    """A policy with this spec, written as YAML."""
    return {"apiVersion": API_VERSION, "kind": "WorkloadPolicy", "metadata": {"name": name}, "spec": yaml.safe_load(spec)}


def exception(name: str, rule: str) -> Manifest:
    """An exception to one rule."""
    told = {"match": {"namespaces": ["old"]}, "until": "2099-12-31", "reason": "moves soon", "approvedBy": "ann"}
    return {
        "apiVersion": API_VERSION,
        "kind": "PolicyException",
        "metadata": {"name": name},
        "spec": {"rules": [rule], **told},
    }


def probing(message: str = "no Pods here", mode: str = "enforce") -> Manifest:
    """A policy that refuses the probe, and only that."""
    rule = {"name": "no-pods", "cel": "false", "message": message, "mode": mode}
    return policy("probing", yaml.safe_dump({"match": {"names": ["policy-probe"]}, "rules": [rule]}))


def probe(webhook: Webhook) -> str:
    """What the probe is answered."""
    return webhook.cluster.kubectl.apply(job("policy-probe", "default", template(1)), arguments=("--dry-run=server",)).err


# The definitions


def test_the_crds_are_applied_without_a_warning_and_change_nothing_the_second_time(webhook: Webhook, fresh: Cluster) -> None:
    """Not taken out again: the API server takes seconds or minutes to end a definition, as it happens."""
    kubectl, folder = fresh.kubectl, webhook.tree / "manifests" / "crds"
    names = [f"crd/{kind}.policy.workload.ai" for kind in KINDS]
    tried = ("--server-side", "--dry-run=server")
    for arguments in (tried, (), ()):
        printed = kubectl.run("apply", *arguments, "-k", folder)
        assert (printed.code, printed.err) == (0, ""), printed.text
        if arguments != tried:
            kubectl("wait", *names, "--for=condition=Established", "--timeout=60s")
    found = kubectl.read_json("get", *names)["items"]
    assert [one["metadata"]["generation"] for one in found] == [1] * len(KINDS)
    for one in found:
        conditions = {condition["type"]: condition["status"] for condition in one["status"]["conditions"]}
        assert conditions == {"NamesAccepted": "True", "Established": "True"}, conditions


def test_kubectl_explains_a_policy(webhook: Webhook) -> None:
    shown = webhook.cluster.kubectl("explain", "workloadpolicy.spec.match.accelerators")
    assert "how many accelerators, and whose" in shown
    assert "perPod" in shown


# A bad one is refused


CASES: dict[str, Manifest] = {
    "misspelt-key": policy("research", "{precedance: 5, rules: [{name: a, check: gpu-requests, mode: warn}]}"),
    "several-mistakes": policy(
        "research",
        """
        match: {namespace: [team-a], trains: "yes"}
        rules:
          - {name: a, check: chekpoint, mode: enforced}
          - {name: a, cel: workload.acelerators.total <= 2, message: too many, mode: warn}
        """,
    ),
    "a-text-for-a-list": policy(
        "research", "{match: {namespaces: team-a}, rules: [{name: a, check: gpu-requests, mode: warn}]}"
    ),
    "a-key-beside-spec": {**policy("research", "{rules: [{name: a, check: gpu-requests, mode: warn}]}"), "specs": {}},
    "a-name-that-a-file-has": policy("gpus", "{rules: [{name: a, check: gpu-requests, mode: warn}]}"),
    "an-exception-to-no-rule": exception("legacy", "research/restartabel"),
}


@pytest.mark.parametrize("case", CASES)
def test_a_bad_policy_is_refused_with_the_text_that_is_kept(webhook: Webhook, case: str) -> None:
    printed = webhook.cluster.kubectl.apply(CASES[case])
    assert printed.code == 1, printed.text
    assert_golden(f"refused-policy-{case}", _without_folder(webhook, printed.text))


@pytest.mark.parametrize("case", ["misspelt-key", "a-key-beside-spec", "a-name-that-a-file-has"])
def test_server_side_apply_is_answered_with_the_same_problems(webhook: Webhook, case: str) -> None:
    """All but wrong types: of these kubectl's fields, put together on the server, are told of first."""
    printed = webhook.cluster.kubectl.apply(CASES[case], arguments=("--server-side",))
    assert printed.code == 1
    kept = (Path(__file__).parent / "golden" / f"refused-policy-{case}.txt").read_text()
    assert _problems(_without_folder(webhook, printed.err)) == _problems(kept) != []


@pytest.mark.parametrize("how", [("apply", "--server-side"), ("create",)], ids=" ".join)
def test_a_key_without_a_value_is_refused(webhook: Webhook, how: tuple[str, ...]) -> None:
    """It would match everything. A client-side `kubectl apply` leaves such keys out before anybody can see them."""
    empty = policy("research", "{match: , rules: [{name: a, check: gpu-requests, mode: warn}]}")
    printed = webhook.cluster.kubectl.apply(empty, verb=how[0], arguments=how[1:])
    assert printed.code == 1, printed.text
    assert "spec.match: has no value: give it one, or leave the key out" in printed.err


def _without_folder(webhook: Webhook, text: str) -> str:
    return text.replace(f"{webhook.tree}/", "")


def _problems(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("  WorkloadPolicy ")]


def test_the_lines_are_those_that_lint_prints(webhook: Webhook, tmp_path: Path) -> None:
    """What kubectl shows of an object is what lint counts lines in, but for what the API server adds."""
    printed = webhook.cluster.kubectl.apply(CASES["misspelt-key"])
    (problem,) = _problems(printed.err)
    file = tmp_path / "research.yaml"
    file.write_text(yaml.safe_dump(CASES["misspelt-key"], sort_keys=False))
    linted = webhook.cluster.processes.start("lint", [SIGNALBOX, "lint", file])
    eventually(lambda: not linted.running, "lint has ended")
    assert problem.strip().removeprefix("WorkloadPolicy research") in linted.log.read_text()


def test_while_nobody_answers_no_key_is_dropped_and_the_worst_is_still_refused(webhook: Webhook) -> None:
    """failurePolicy Ignore: an outage of ours keeps nobody from mending a policy."""
    kubectl = webhook.cluster.kubectl
    webhook.stop()
    try:
        refused = kubectl.apply(CASES["a-text-for-a-list"])
        assert refused.code == 1
        assert "spec.match.namespaces" in refused.err
        assert kubectl.apply(CASES["misspelt-key"]).code == 0
        stored = kubectl.read_json("get", "workloadpolicy", "research")
        assert stored["spec"] == CASES["misspelt-key"]["spec"]
    finally:
        kubectl("delete", "workloadpolicy", "research", "--ignore-not-found")
        webhook.start()


# A good one is in force


@pytest.fixture
def controller(webhook: Webhook) -> Iterator[Process]:
    """`signalbox controller`, with the policies that the server has."""
    command: list[str | Path] = [SIGNALBOX, "controller", "--kubeconfig", webhook.cluster.kubeconfig, "--no-metrics"]
    command += ["--no-certificates", "--lease", "policies", "--lease-seconds", "2", "--policies", webhook.policies]
    process = webhook.cluster.processes.start("signalbox-controller", command, orphaned=signal.SIGTERM)
    yield process
    process.stop()


@pytest.fixture
def watching(webhook: Webhook) -> Iterator[Webhook]:
    """The server watches the cluster."""
    webhook.stop()
    webhook.start(watching=True)
    yield webhook
    _delete_all(webhook.cluster.kubectl)
    webhook.stop()
    webhook.start()


def _delete_all(kubectl: Kubectl) -> None:
    # Exceptions first: no policy is deleted from under one.
    for kind in KINDS:
        kubectl("delete", f"{kind}.policy.workload.ai", "--all", "--timeout=60s")


def _status(kubectl: Kubectl, name: str, kind: str = "workloadpolicy") -> Manifest:
    found: Manifest = kubectl.read_json("get", kind, name).get("status", {})
    return found


def test_a_good_object_is_in_force_within_seconds_and_its_status_says_so(
    watching: Webhook, controller: Process, pytestconfig: pytest.Config
) -> None:
    kubectl = watching.cluster.kubectl
    assert PROBE_RULE not in probe(watching)
    assert kubectl.apply(probing(), exception("probe", PROBE_RULE)).code == 0
    began = time.monotonic()
    eventually(lambda: PROBE_RULE in probe(watching), "the policy is in force", 10)
    in_force = time.monotonic() - began
    eventually(lambda: _status(kubectl, "probing").get("loaded"), "its status says so", 30)
    with shown(pytestconfig):
        say(f"a policy object was in force {in_force:.1f} s after its apply, its status said so after {_since(began)}")
    assert _columns(kubectl("get", "workloadpolicies"))[:2] == [
        ["NAME", "RULES", "MODES", "LOADED", "AGE"],
        ["probing", "1", "1 enforce", "true", "AGE"],
    ]
    eventually(lambda: _status(kubectl, "probe", "policyexception").get("loaded"), "the exception's status says so", 30)
    assert _columns(kubectl("get", "policyexceptions"))[1] == ["probe", "2099-12-31", '["probing/no-pods"]', "true", "AGE"]
    assert kubectl.apply(probing(mode="audit")).code == 0
    eventually(lambda: PROBE_RULE not in probe(watching), "its change is in force", 10)


def _columns(text: str) -> list[list[str]]:
    """The cells of a table; ages differ from run to run."""
    rows = [[cell.strip() for cell in line.split("  ") if cell.strip()] for line in text.splitlines()]
    return [rows[0], *([*row[:-1], "AGE"] for row in rows[1:])]


def test_nothing_of_a_good_object_is_lost(watching: Webhook, controller: Process) -> None:
    kubectl = watching.cluster.kubectl
    sent = [yaml.safe_load(text) for text in (EVERYTHING, KIND, SIGNS)]
    # YAML's day is a text to kubectl.
    sent[0]["spec"]["rules"][0]["overrides"][0]["until"] = "2099-01-31"
    printed = kubectl.apply(*sent, verb="create")
    assert (printed.code, printed.err) == (0, ""), printed.text
    for obj in sent:
        stored = kubectl.read_json("get", obj["kind"].lower(), obj["metadata"]["name"])
        assert stored["spec"] == obj["spec"]
        eventually(lambda obj=obj: _status(kubectl, obj["metadata"]["name"], obj["kind"].lower()).get("loaded"), "loaded", 30)


def test_a_policy_is_not_deleted_from_under_an_exception(watching: Webhook) -> None:
    kubectl = watching.cluster.kubectl
    assert kubectl.apply(probing(), exception("probe", PROBE_RULE)).code == 0
    refused: list[Printed] = []

    def is_refused() -> bool:
        refused.append(kubectl.run("delete", "workloadpolicy", "probing", "--dry-run=server"))
        return refused[-1].code == 1

    eventually(is_refused, "the deletion is refused")
    assert_golden("refused-policy-deleted-under-an-exception", refused[-1].text)
    kubectl("delete", "policyexception", "probe")
    eventually(lambda: kubectl.run("delete", "workloadpolicy", "probing").code == 0, "it can be deleted now")


# A bad one that is forced in


@contextmanager
def no_entry(kubectl: Kubectl) -> Iterator[None]:
    """Without the entry that judges policies: what somebody who may do everything can do."""
    kept = [kubectl.read_json("get", name) for name in CONFIGURATIONS]
    for one in kept:
        without: Any = copy.deepcopy(one)
        without["webhooks"] = [webhook for webhook in one["webhooks"] if webhook["name"] != ENTRY]
        kubectl("replace", "-f", "-", stdin=yaml.safe_dump(without))
    try:
        yield
    finally:
        for one in kept:
            del one["metadata"]["resourceVersion"]
            kubectl("replace", "-f", "-", stdin=yaml.safe_dump(one))


def test_a_bad_object_forced_in_leaves_the_last_good_set_in_force_restarts_included(
    watching: Webhook, controller: Process, pytestconfig: pytest.Config
) -> None:
    kubectl = watching.cluster.kubectl
    assert kubectl.apply(probing("the last good word")).code == 0
    eventually(lambda: "the last good word" in probe(watching), "the policy is in force", 10)
    eventually(lambda: _status(kubectl, "probing").get("loaded"), "its status says so", 30)
    kept = f"configmap/signalbox-last-good-policies -n {NAMESPACE}".split()
    eventually(lambda: _kept_digest(kubectl, kept) == watching.readiness()["digest"], "the set is kept", 30)
    with no_entry(kubectl):
        eventually(lambda: kubectl.apply(probing("worse", "enforced-badly")).code == 1, "the schema still refuses it")
        bad = probing("worse")
        bad["spec"]["rules"][0]["cel"] = "workload.nothing <="
        eventually(lambda: kubectl.apply(bad).code == 0, "the bad policy is forced in")
    eventually(lambda: watching.readiness()["rejected"], "the server has seen it")
    assert "the last good word" in probe(watching)
    assert "WorkloadPolicy probing" in watching.readiness()["rejected"][0]
    eventually(lambda: _status(kubectl, "probing").get("loaded") is False, "its status says so", 30)
    assert _status(kubectl, "probing")["problems"][-1] == "its version before stays in force"
    for _ in range(2):
        watching.stop()
        watching.start(watching=True)
        assert "the last good word" in probe(watching)
        assert watching.readiness()["restored"]
    assert kubectl.apply(probing("mended")).code == 0
    began = time.monotonic()
    eventually(lambda: "mended" in probe(watching), "the mended policy is in force", 10)
    assert not watching.readiness()["restored"]
    with shown(pytestconfig):
        say(
            "a bad policy object forced in, 2 restarts: the last good set judged all the time, "
            f"and the mended one {_since(began)} after its apply"
        )


def _since(began: float) -> str:
    return f"{time.monotonic() - began:.1f} s"


def _kept_digest(kubectl: Kubectl, name: list[str]) -> str:
    found = kubectl.run("get", *name, "-o", "jsonpath={.metadata.annotations.policy\\.workload\\.ai/digest}")
    return found.out
