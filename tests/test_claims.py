"""What a Pod claims (DRA) counts by what its claims ask for, where those are known."""

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from signalbox.audit.ledger.building import accelerators_by_resource
from signalbox.cli.main import main
from signalbox.cluster.resources import DEVICES, WATCHED_BY_KIND
from signalbox.cluster.state import ClusterState
from signalbox.signs_loading import load_default_signs
from signalbox.workload.kinds.table import KINDS
from signalbox.workload.view import WorkloadView
from tests.judgement_cases import cases, judge_everything, manifest_of

POD = {
    "resourceClaims": [{"name": "dev", "resourceClaimTemplateName": "two"}],
    "containers": [{"name": "a", "resources": {"claims": [{"name": "dev"}]}}],
}


def known(case: dict[str, Any]) -> ClusterState:
    state = ClusterState()
    for name, requests in case.get("templates", {}).items():
        put(state, "ResourceClaimTemplate", name, {"spec": {"devices": {"requests": requests}}})
    for name, requests in case.get("claims", {}).items():
        put(state, "ResourceClaim", name, {"devices": {"requests": requests}})
    for name, spec in case.get("classes", {}).items():
        put(state, "DeviceClass", name, spec)
    return state


def put(state: ClusterState, kind: str, name: str, spec: Any) -> None:
    obj = {"metadata": {"name": name}, "spec": spec}
    state.put(DEVICES, kind, WATCHED_BY_KIND[DEVICES, kind].slim(obj))


def view_of(case: dict[str, Any]) -> WorkloadView:
    manifest = manifest_of({"pod": POD, **case})
    group = manifest["apiVersion"].rpartition("/")[0]
    return WorkloadView(manifest, KINDS[group, manifest["kind"]], load_default_signs(), known(case))


@pytest.mark.parametrize("case", cases("claims"), ids=lambda case: case["case"])
def test_claimed_accelerators_are_counted(case: dict[str, Any]) -> None:
    view = view_of(case)
    found = view.accelerators
    assert found.per_pod == Fraction(str(case["perPod"]))
    assert found.total == Fraction(str(case["total"]))
    assert found.placeholder is case.get("placeholder", False)
    assert sum(accelerators_by_resource(view).values()) == found.total
    if "vendors" in case:
        assert sorted(found.vendors) == sorted(case["vendors"])
    if "resources" in case:
        assert list(found.resources) == case["resources"]
    if "unknown" in case:
        assert found.unknown == case["unknown"]


def test_one_claim_of_two_roles_counts_once() -> None:
    role = {"replicas": 1, "template": {"spec": {**POD, "resourceClaims": [{"name": "dev", "resourceClaimName": "one"}]}}}
    manifest = {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"name": "x"},
        "spec": {"pytorchReplicaSpecs": {"Master": role, "Worker": {**role, "replicas": 3}}},
    }
    case = {"manifest": manifest, "claims": {"one": [{"name": "g", "exactly": {"deviceClassName": "gpu.nvidia.com"}}]}}
    found = view_of(case).accelerators
    assert (found.per_pod, found.total) == (1, 1)


def test_a_container_that_uses_the_network_device_of_a_claim_holds_no_accelerator() -> None:
    requests = [
        {"name": "g", "exactly": {"deviceClassName": "gpu.nvidia.com"}},
        {"name": "n", "exactly": {"deviceClassName": "dranet"}},
    ]
    used = [{"name": name, "resources": {"claims": [{"name": "dev", "request": name}]}} for name in ("g", "n")]
    view = view_of({"templates": {"two": requests}, "pod": {**POD, "containers": used}})
    assert [container.accelerated for container in view.containers] == [True, False]


def test_claims_without_end_hide_none() -> None:
    names = [f"c{number}" for number in range(70)]
    pod = {
        "resourceClaims": [{"name": name, "resourceClaimTemplateName": "two"} for name in names],
        "containers": [{"name": "a", "resources": {"claims": [{"name": names[-1]}]}}],
    }
    nothing = {"two": [{"name": "n", "exactly": {"deviceClassName": "dranet"}}]}
    assert view_of({"pod": pod, "templates": nothing}).accelerators.placeholder


def test_claims_of_another_namespace_are_not_its_own() -> None:
    case = {"templates": {"two": [{"name": "g", "exactly": {"deviceClassName": "gpu.nvidia.com"}}]}}
    view = view_of(case)
    elsewhere = WorkloadView(view.object, view.kind, view.signs, view.cluster, "elsewhere")
    assert view.accelerators.any
    assert not elsewhere.accelerators.any


TEMPLATE = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: two}
spec: {spec: {devices: {requests: [{name: g, exactly: {deviceClassName: gpu.nvidia.com, count: 2}}]}}}
"""
JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {name: x, namespace: research}
spec:
  parallelism: 3
  template:
    spec:
      restartPolicy: Never
      resourceClaims: [{name: gpu, resourceClaimTemplateName: two}]
      containers: [{name: a, image: registry.example/llm, command: [python, train.py], resources: {claims: [{name: gpu}]}}]
"""
POLICY = """\
apiVersion: policy.workload.ai/v1alpha1
kind: WorkloadPolicy
metadata: {name: limits}
spec: {rules: [{name: small, check: accelerator-limit, with: {maxTotal: 4}, mode: enforce}]}
"""


@pytest.fixture
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("policy.yaml").write_text(POLICY)


@pytest.mark.usefixtures("_in_a_folder")
def test_explain_shows_the_claim_and_its_class(capsys: pytest.CaptureFixture[str]) -> None:
    Path("job.yaml").write_text(f"{JOB}---\n{TEMPLATE}")
    assert main(("explain", "job.yaml", "-n", "research")) == 0
    page = " ".join(capsys.readouterr().out.split())
    assert "accelerators 2 a Pod, 6 in total" in page
    assert "resourceClaims[gpu].resourceClaimTemplateName = two (asks for 2 of device class gpu.nvidia.com)" in page
    assert "3 with 2 gpu.nvidia.com each" in page


@pytest.mark.usefixtures("_in_a_folder")
def test_a_limit_counts_what_is_claimed_by_templates_beside_it_and_in_the_cluster(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ("job.yaml", "--policies", "policy.yaml", "-n", "research")
    Path("job.yaml").write_text(JOB)
    assert main(("check", *asked)) == 0
    assert main(("inspect", "job.yaml")) == 0
    assert "some whose number is not known" in capsys.readouterr().out
    Path("cluster.yaml").write_text(TEMPLATE.replace("name: two", "name: two, namespace: research"))
    assert main(("check", *asked, "--cluster", "cluster.yaml")) == 1
    Path("job.yaml").write_text(f"{JOB}---\n{TEMPLATE}")
    assert [main((command, *asked)) for command in ("check", "audit")] == [1, 1]


@pytest.mark.usefixtures("_in_a_folder")
def test_who_asks_for_a_number_is_told_that_the_claim_is_not_known(capsys: pytest.CaptureFixture[str]) -> None:
    Path("policy.yaml").write_text(
        POLICY.replace(
            "check: accelerator-limit, with: {maxTotal: 4}", "check: queue-required, when: {accelerators: {total: {max: 4}}}"
        )
    )
    Path("job.yaml").write_text(JOB)
    main(("check", "job.yaml", "--policies", "policy.yaml"))
    text = " ".join(capsys.readouterr().out.split())
    assert "the number of accelerators (what a resource claim asks for is not known); see --cluster" in text


_KEYS = st.sampled_from(
    [
        "devices", "requests", "name", "exactly", "firstAvailable", "deviceClassName", "count", "allocationMode", "adminAccess",
        "spec", "selectors", "cel", "expression", "extendedResourceName",
    ]
)  # fmt: skip
_SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.sampled_from(["All", "gpu", "", "${N}"])
_JSON = st.recursive(
    _SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS, inner, max_size=4), max_leaves=20
)


@settings(max_examples=150, deadline=None)
@given(spec=_JSON, requests=_JSON, device_class=_JSON, entry=_JSON)
def test_any_json_in_claims_their_templates_and_classes(spec: Any, requests: Any, device_class: Any, entry: Any) -> None:
    view = view_of({"templates": {"two": requests}, "claims": {"one": requests}, "classes": {"gpu": device_class, "": spec}})
    put(view.cluster, "ResourceClaimTemplate", "odd", spec)  # type: ignore[arg-type]
    names = [{"name": f"c{at}", "resourceClaimTemplateName": name} for at, name in enumerate(("two", "odd", entry))]
    claims = [*names, {"name": "s", "resourceClaimName": "one"}, entry]
    pod = {
        "resourceClaims": claims,
        "containers": [{"resources": {"claims": [*names, entry, {"name": "s", "request": entry}]}}],
    }
    manifest = manifest_of({"pod": pod})
    judge_everything(WorkloadView(manifest, view.kind, view.signs, view.cluster))
    judge_everything(WorkloadView(manifest_of({"pod": {**pod, "resourceClaims": entry}}), view.kind, view.signs, view.cluster))


def test_what_kubernetes_makes_of_templates_is_nobodys_to_name() -> None:
    kind = WATCHED_BY_KIND[DEVICES, "ResourceClaim"]
    assert not kind.leaves_out({"metadata": {"name": "a", "annotations": {"other": "x"}}})
    assert kind.leaves_out({"metadata": {"name": "a", "annotations": {"resource.kubernetes.io/pod-claim-name": "dev"}}})
    assert not kind.leaves_out({"metadata": []})
    assert not replace(kind, left_out=()).leaves_out({})
