"""What people read. The golden cases in cases/messages hold whole refusals; look at them as a user would."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signalbox.message import LIMIT
from signalbox.plain_text import WIDTH, clean
from tests.manifests import deployment, gpu_job, pod_spec
from tests.world import cluster_of_yaml, judged, policy, request, setup, yaml

CASES = sorted((Path(__file__).parent / "cases" / "messages").glob("*.yaml"))
EVERYTHING = policy(
    """
rules:
  - {name: checkpoint, check: checkpoint, mode: enforce}
  - {name: gpus, check: gpu-requests, mode: enforce}
  - {name: queue, check: queue-allowed, with: {allow: [a]}, mode: enforce}
"""
)


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_a_refusal_reads_as_its_golden_case_says(path: Path) -> None:
    case = yaml(path.read_text())
    cluster = cluster_of_yaml(case["cluster"]) if "cluster" in case else None
    response = judged(setup(case["policies"], cluster=cluster), request(case["object"])).response
    assert response.message == case["message"].rstrip("\n")


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_a_refusal_fits_a_terminal_of_80_columns(path: Path) -> None:
    for line in yaml(path.read_text())["message"].splitlines():
        assert len(line) < WIDTH or line.startswith("3 problems with"), line


def test_escape_sequences_of_a_manifest_do_not_reach_the_terminal() -> None:
    job = gpu_job()
    job["metadata"]["name"] = "x\x1b[31mred\x07"
    job["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "q\u202e\x1b]0;title\x07<b>"}
    message = judged(setup(EVERYTHING), request(job)).response.message
    assert all(character == "\n" or character.isprintable() for character in message)
    assert "x [31mred" in message


def test_an_enormous_value_does_not_make_an_enormous_message() -> None:
    """Events and conditions store a refusal uncut."""
    job = gpu_job()
    pod_spec(job)["containers"] = [
        {"name": "c" * 300 + str(index), "image": "i", "resources": {"limits": {"nvidia.com/gpu": "9" * 2000}}}
        for index in range(200)
    ]
    message = judged(setup(EVERYTHING), request(job)).response.message
    assert len(message.encode()) <= LIMIT + 96
    assert "more problems" in message
    assert message.splitlines()[-1].strip().startswith("Try again without the cluster")


def test_a_child_is_told_of_its_parent() -> None:
    job = gpu_job()
    job["metadata"]["ownerReferences"] = [{"apiVersion": "ray.io/v1", "kind": "RayJob", "name": "r", "controller": True}]
    assert "It was made by RayJob r: mend that one, not this." in judged(setup(EVERYTHING), request(job)).response.message


def test_the_policys_help_is_named() -> None:
    world = setup(EVERYTHING.replace("spec:\n", "spec:\n  help: https://wiki.example/x\n"))
    assert "Help: https://wiki.example/x" in judged(world, request(gpu_job())).response.message


def test_a_policy_that_names_no_help_is_told_with_the_clusters_page() -> None:
    own = EVERYTHING.replace("spec:\n", "spec:\n  help: https://wiki.example/x\n")
    page = "https://wiki.example/refused"
    without, with_own = (judged(setup(text, help_page=page), request(gpu_job())).response for text in (EVERYTHING, own))
    assert f"Help: {page}" in without.message
    assert f"Help: {page}" not in with_own.message


def refusal(rule: str, manifest: dict[str, Any]) -> str:
    return judged(setup(policy(f"rules:\n  - {{name: r, mode: enforce, {rule}}}")), request(manifest)).response.message


def test_a_list_member_to_write_is_shown_with_its_value_and_what_it_is_known_by() -> None:
    manifest = yaml("""
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: pretrain, namespace: research}
spec:
  volumes:
    - {mountPath: /ckpt, volumeClaim: {accessModes: [ReadWriteOnce]}}
  tasks: [{name: worker, replicas: 4, template: {spec: {containers: [{name: trainer, image: "i:1"}]}}}]
""")
    assert """
    fix   claim what several nodes can mount:
            spec:
              volumes:
                - mountPath: /ckpt
                  volumeClaim:
                    accessModes:
                      - ReadWriteMany
""" in refusal("check: shared-storage", manifest)
    del manifest["spec"]["volumes"][0]["mountPath"]
    assert "\n                - volumeClaim:\n                    accessModes:\n" in refusal("check: shared-storage", manifest)


def test_several_fields_of_a_container_are_shown_as_the_yaml_to_write() -> None:
    without_probe = deployment()
    del pod_spec(without_probe)["containers"][0]["readinessProbe"]
    assert """
    fix   say when it is ready:
            spec:
              template:
                spec:
                  containers:
                    - name: server
                      readinessProbe:
                        httpGet:
                          path: /health
                          port: 8000
""" in refusal("check: serving-availability", without_probe)


def test_a_mapping_to_write_is_shown_value_by_value() -> None:
    job = gpu_job()
    container = pod_spec(job)["containers"][0]
    container.update(resources=7, env=[{"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}])
    message = refusal("check: gpu-bypass", job)
    assert "containers[trainer].env[NVIDIA_VISIBLE_DEVICES] =\n          all\n" in message
    assert "          spec.template.spec.containers[trainer].resources\n            .limits[nvidia.com/gpu]: 1" in message


def test_a_number_is_shown_as_its_user_wrote_it_and_a_text_as_a_text() -> None:
    job = gpu_job(backoffLimit=0)
    pod_spec(job)["nodeSelector"] = {"cloud.google.com/gke-spot": "true"}
    assert "seen  spec.backoffLimit = 0\n" in refusal("check: restart-budget, with: {min: 1}", job)
    assert '[cloud.google.com/gke-spot] = "true"\n' in refusal("check: checkpoint", job)
    pod_spec(job)["containers"][0]["resources"]["requests"]["nvidia.com/gpu"] = "4"
    # However its lines are broken.
    message = "".join(refusal("check: gpu-requests", job).split())
    assert ".limits[nvidia.com/gpu]=8seen" in message
    assert ".requests[nvidia.com/gpu]:8" in message


def test_of_a_fix_in_many_places_the_first_are_shown_and_the_rest_is_counted() -> None:
    job = gpu_job()
    pod_spec(job)["containers"] = [{"name": f"c{index}", "image": "registry.example/llm"} for index in range(9)]
    message = refusal("check: image-tag", job)
    assert message.count("image: registry.example/llm:TAG") == 4
    assert "          and 5 more\n" in message


def test_a_warning_names_a_container_and_its_fields_as_a_refusal_does() -> None:
    job = gpu_job()
    pod_spec(job)["containers"][0]["resources"]["requests"]["nvidia.com/gpu"] = "4"
    [warning] = judged(WARN_GPUS, request(job)).response.warnings
    assert warning.endswith("spec.template.spec.containers[trainer].resources.requests[nvidia.com/gpu]: 8")


def test_a_field_that_has_to_go_is_named() -> None:
    rule = """
rules:
  - name: r
    cel: "!has(object.spec.suspend)"
    message: Kueue suspends it.
    fix: {text: "leave it out:", set: {spec.suspend: null}}
    mode: MODE
"""
    [warning] = judged(setup(policy(rule.replace("MODE", "warn"))), request(gpu_job())).response.warnings
    assert warning.endswith("Fix: leave it out: take out spec.suspend")
    message = judged(setup(policy(rule.replace("MODE", "enforce"))), request(gpu_job())).response.message
    assert "    fix   leave it out:\n          take out spec.suspend\n" in message


def test_a_warning_leaves_no_field_of_a_fix_out_without_saying_so() -> None:
    serving = setup(policy("rules: [{name: r, check: serving-availability, with: {readinessProbe: optional}, mode: warn}]"))
    warning = judged(serving, request(deployment())).response.warnings[-1]
    assert "maxSurge: 0, spec.strategy.rollingUpdate.maxUnavailable: 1" in warning


@given(st.text())
def test_whatever_is_quoted_is_one_printable_line(text: str) -> None:
    assert clean(text).isprintable()


@given(st.text(max_size=40))
def test_warnings_are_never_dropped_by_the_client(name: str) -> None:
    """A warning that holds a control character, or nothing, is dropped without a trace."""
    job = gpu_job()
    job["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": name or "q"}
    world: Any = WARN
    warnings = judged(world, request(job)).response.warnings
    assert warnings
    for warning in warnings:
        assert warning
        assert not any(character < " " or character == "\x7f" for character in warning)


WARN_GPUS = setup(policy("rules: [{name: r, check: gpu-requests, mode: warn}]"))
WARN = setup(EVERYTHING.replace("mode: enforce", "mode: warn"))
