"""Every kind: where its Pods come from, what is seen in it, and what an injector may write to it."""

import copy
from pathlib import Path
from typing import Any

import jsonpatch
import pytest

from signalbox.engine import mutate, validate
from signalbox.fieldpath import format_path
from signalbox.workload.kinds.table import KINDS
from signalbox.workload.labels import QUEUE_LABEL
from tests.world import NOW, policy, request, setup, view
from tests.yaml_files import read_yaml

CASES: list[dict[str, Any]] = read_yaml(Path(__file__).parent / "cases" / "kinds" / "kinds.yaml")
EVERYTHING = setup(
    policy(
        """
inject:
  queue: training-large
  priorityClassName: train-normal
  tolerations: [{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}, {key: team, operator: Exists}]
  terminationGracePeriodSeconds: 300
  labels: {workload.ai/team: research}
  annotations: {example.com/note: injected}
""",
        "everything",
    )
)


def cases(*keys: str) -> Any:
    return pytest.mark.parametrize(
        "case", [pytest.param(case, id=case["case"]) for case in CASES if all(key in case for key in keys)]
    )


def injected(manifest: dict[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    asked = request(copy.deepcopy(manifest))
    outcome = mutate(EVERYTHING, asked, NOW)
    assert not outcome.errors, outcome.errors
    assert asked.object == manifest, "the request's object was changed"
    result: dict[str, Any] = jsonpatch.apply_patch(copy.deepcopy(manifest), list(outcome.response.patch))
    return result, outcome.response.warnings


def paths_of(value: Any, key: str, path: tuple[Any, ...] = ()) -> set[tuple[Any, ...]]:
    """Every path at which a mapping holds ``key``."""
    found = set()
    if isinstance(value, dict):
        if key in value:
            found.add(path)
        for name, item in value.items():
            found |= paths_of(item, key, (*path, name))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            found |= paths_of(item, key, (*path, index))
    return found


def texts(paths: Any, root: Any) -> list[str]:
    return sorted(format_path(path, root) for path in paths)


def test_every_kind_has_a_case() -> None:
    covered = {(case["manifest"]["apiVersion"].rpartition("/")[0], case["manifest"]["kind"]) for case in CASES}
    assert set(KINDS) == covered


@cases("templates")
def test_pod_templates_and_how_many_pods_each_makes(case: dict[str, Any]) -> None:
    seen = view(case["manifest"])
    assert {format_path(template.path, seen.object): template.pods for template in seen.templates} == case["templates"]


@cases("accelerators")
def test_accelerators(case: dict[str, Any]) -> None:
    seen = view(case["manifest"]).accelerators
    wanted = {"placeholder": False, **case["accelerators"]}
    assert {"perPod": float(seen.per_pod), "total": float(seen.total), "placeholder": seen.placeholder} == wanted


@cases("type")
def test_type_and_framework(case: dict[str, Any]) -> None:
    seen = view(case["manifest"])
    assert seen.type.state == case["type"]
    if "framework" in case:
        assert seen.framework.state == case["framework"]


@cases("type")
def test_evidence_leads_to_what_stands_in_the_manifest(case: dict[str, Any]) -> None:
    seen = view(case["manifest"])
    for judgement in (seen.type, seen.framework, seen.spot, seen.checkpoint):
        for evidence in judgement.evidence:
            assert paths_exist(case["manifest"], evidence.path), evidence
    for evidence in seen.accelerators.evidence:
        assert paths_exist(case["manifest"], evidence.path), evidence


def paths_exist(root: Any, path: tuple[Any, ...]) -> bool:
    for step in path:
        if (isinstance(root, dict) and step in root) or (isinstance(root, list) and isinstance(step, int) and step < len(root)):
            root = root[step]
        else:
            return False
    return True


@cases("spot")
def test_spot(case: dict[str, Any]) -> None:
    assert view(case["manifest"]).spot.state == case["spot"]


@cases("checkpoint")
def test_checkpoint(case: dict[str, Any]) -> None:
    assert view(case["manifest"]).checkpoint.state == case["checkpoint"]


@cases("stands")
def test_queue_of_another_scheduler_is_its_queue(case: dict[str, Any]) -> None:
    assert view(case["manifest"]).queue == case["stands"]


@cases("class")
def test_priority_class_of_the_whole_stands_for_every_template_without_one(case: dict[str, Any]) -> None:
    assert view(case["manifest"]).priority.class_name == case["class"]


@cases("class")
def test_class_of_the_whole_is_not_overruled_by_one_of_ours(case: dict[str, Any]) -> None:
    result, _ = injected(case["manifest"])
    assert "train-normal" not in str(result["spec"])


@cases("queue")
def test_queue_and_suspend_are_written_only_where_kueue_takes_the_object(case: dict[str, Any]) -> None:
    manifest = case["manifest"]
    result, warnings = injected(manifest)
    queued = [format_path(path[:-1], result) for path in paths_of(result, QUEUE_LABEL) if path[-1:] == ("labels",)]
    assert queued == ([] if case["queue"] is None else [case["queue"]])
    added = paths_of(result, "suspend") - paths_of(manifest, "suspend")
    assert texts(((*path, "suspend") for path in added), result) == ([] if case["suspend"] is None else [case["suspend"]])
    assert [warning for warning in warnings if "not queued" in warning] == [case[key] for key in ("warns",) if key in case]


@cases("labelled")
def test_labels_stand_where_pods_get_them_and_nowhere_else(case: dict[str, Any]) -> None:
    result, _ = injected(case["manifest"])
    places = {path[:-1] for path in paths_of(result, "workload.ai/team")}
    assert texts(places, result) == sorted(["metadata", *case["labelled"]])


@cases("written")
def test_pod_specs_are_written_to_only_where_that_reaches_pods(case: dict[str, Any]) -> None:
    result, _ = injected(case["manifest"])
    assert texts(paths_of(result, "terminationGracePeriodSeconds"), result) == sorted(case["written"])
    for path in paths_of(result, "tolerations"):
        assert format_path(path, result) in [*case["written"], *texts(paths_of(case["manifest"], "tolerations"), result)]


@cases("case")
def test_a_second_pass_changes_nothing_and_a_reapply_is_left_alone(case: dict[str, Any]) -> None:
    result, _ = injected(case["manifest"])
    again = mutate(EVERYTHING, request(copy.deepcopy(result)), NOW)
    assert list(again.response.patch) == []
    unchanged = request(copy.deepcopy(result), result)
    assert list(mutate(EVERYTHING, unchanged, NOW).response.patch) == []
    assert validate(EVERYTHING, unchanged, NOW).response.allowed


@cases("case")
def test_accelerators_in_a_field_of_their_own_bring_their_toleration(case: dict[str, Any]) -> None:
    result, _ = injected(case["manifest"])
    if case["manifest"]["kind"] == "SparkApplication" and "gpu" in case["manifest"]["spec"]["executor"]:
        assert [one["key"] for one in result["spec"]["driver"]["tolerations"]] == ["team"]
        assert [one["key"] for one in result["spec"]["executor"]["tolerations"]] == ["nvidia.com/gpu", "team"]


def test_job_of_volcano_is_never_taken_for_the_job_of_kubernetes() -> None:
    assert KINDS["batch", "Job"] is not KINDS["batch.volcano.sh", "Job"]
    spec = {"template": {"spec": {"containers": [{"name": "c", "resources": {"limits": {"nvidia.com/gpu": 1}}}]}}}
    other = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": {"name": "x"}, "spec": spec}
    assert view(other).templates == ()
    assert view({**other, "apiVersion": "batch/v1"}).accelerators.total == 1


def test_explicit_suspend_false_of_a_custom_resource_stays() -> None:
    manifest = next(case["manifest"] for case in CASES if case["case"] == "a RayJob with a cluster of its own")
    manifest = copy.deepcopy(manifest)
    manifest["spec"]["suspend"] = False
    result, _ = injected(manifest)
    assert result["spec"]["suspend"] is False


def test_label_of_the_user_wins_over_a_kind_that_decides() -> None:
    manifest = copy.deepcopy(next(case["manifest"] for case in CASES if case["manifest"]["kind"] == "RayService"))
    manifest["metadata"]["labels"] = {"workload.ai/type": "training"}
    assert view(manifest).type.state == "training"


@pytest.mark.parametrize(
    "command",
    [["sleep", "infinity"], ["bash", "-c", "nvidia-smi && sleep 60"], ["sh", "-c", "echo train.py; sleep 1"]],
)
def test_kind_made_for_training_that_only_waits_trains_nothing(command: list[str]) -> None:
    pods = {"replicas": 2, "template": {"spec": {"containers": [{"name": "pytorch", "command": command}]}}}
    spec = {"pytorchReplicaSpecs": {"Worker": pods}}
    manifest = {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": "x"}, "spec": spec}
    assert view(manifest).type.state is None


def spark(**roles: Any) -> dict[str, Any]:
    spec = {"mainApplicationFile": "local:///etl.py", "driver": {}, "executor": {}, **roles}
    return {"apiVersion": "sparkoperator.k8s.io/v1beta2", "kind": "SparkApplication", "metadata": {"name": "x"}, "spec": spec}


def test_sidecar_of_a_spark_role_has_no_part_in_its_gpus() -> None:
    sidecar = {"name": "logs", "image": "fluent/bit:1", "command": ["fluent-bit"]}
    seen = view(spark(executor={"gpu": {"name": "nvidia.com/gpu", "quantity": 1}, "sidecars": [sidecar]}))
    [beside] = [container for container in seen.containers if "sidecars" in container.path]
    assert not beside.accelerated
    assert seen.accelerators.total == 1


def test_environment_of_the_driver_counts_before_that_of_the_executors() -> None:
    named = [{"name": "MODE", "value": "executor"}, {"name": "ONLY", "value": "there"}]
    seen = view(
        spark(driver={"envVars": {"MODE": "old"}, "env": [{"name": "MODE", "value": "driver"}]}, executor={"env": named})
    )
    [main] = seen.containers
    assert main.env == {"MODE": "driver", "ONLY": "there"}
    for index, name, _ in main.variables:
        place = main.place("env", index)
        assert paths_exist(seen.object, place), (name, place)


def test_accelerators_of_a_spark_pod_template_bring_their_toleration() -> None:
    template = {"spec": {"containers": [{"name": "spark", "resources": {"limits": {"nvidia.com/gpu": 1}}}]}}
    result, _ = injected(spark(executor={"template": template}))
    assert [one["key"] for one in result["spec"]["driver"]["tolerations"]] == ["team"]
    assert [one["key"] for one in result["spec"]["executor"]["tolerations"]] == ["nvidia.com/gpu", "team"]


def test_steps_of_a_pipeline_are_no_run_of_several() -> None:
    container = {
        "image": "r/x:1",
        "command": ["torchrun", "--nproc_per_node=1", "train.py"],
        "resources": {"limits": {"nvidia.com/gpu": 1}},
    }
    spec = {"templates": [{"name": name, "container": container} for name in ("first", "second")]}
    manifest = {"apiVersion": "argoproj.io/v1alpha1", "kind": "Workflow", "metadata": {"name": "x"}, "spec": spec}
    seen = view(manifest)
    assert (seen.type.state, seen.accelerators.total) == ("training", 2)


@pytest.mark.parametrize("args", [None, ["-e"]])
def test_what_a_script_step_runs_is_seen_where_it_stands(args: list[str] | None) -> None:
    script = {"image": "r/x:1", "command": ["bash"], "args": args, "source": "cd /app\npython train.py --epochs 3"}
    spec = {"templates": [{"name": "train", "script": script}]}
    manifest = {"apiVersion": "argoproj.io/v1alpha1", "kind": "Workflow", "metadata": {"name": "x"}, "spec": spec}
    [evidence] = view(manifest).type.evidence
    assert evidence.path == ("spec", "templates", 0, "script", "source")
