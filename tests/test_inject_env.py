"""Environment variables and node selectors: added where they are missing, kept on re-apply, never against the user's word."""

import copy
import json
from typing import Any

import pytest

from tests.manifests import deployment, gpu_job, job_set, pod_spec
from tests.world import judged, mutated, policy, request, setup

ENV = policy("inject: {env: {NCCL_DEBUG: WARN, NCCL_SOCKET_IFNAME: eth0}, nodeSelector: {pool: training, tier: gold}}", "net")
WORLD = setup(ENV)
OURS = [{"name": "NCCL_DEBUG", "value": "WARN"}, {"name": "NCCL_SOCKET_IFNAME", "value": "eth0"}]
OWN = {"name": "NCCL_DEBUG", "value": "INFO"}
A = {"name": "A", "value": "1"}
RECORD = "workload.ai/injected"
FIELD = "spec.template.spec.containers[trainer].env"


def trainer(workload: dict[str, Any]) -> dict[str, Any]:
    container: dict[str, Any] = pod_spec(workload)["containers"][0]
    return container


def record(workload: dict[str, Any]) -> dict[str, Any]:
    entries: dict[str, Any] = json.loads(workload["metadata"]["annotations"][RECORD])
    return entries


def job(*env: dict[str, Any]) -> dict[str, Any]:
    made = gpu_job()
    if env:
        trainer(made)["env"] = list(env)
    return made


def test_what_is_missing_is_appended_and_recorded_by_name() -> None:
    result = mutated(WORLD, request(job(A)))
    assert trainer(result)["env"] == [A, *OURS]
    assert record(result)[f"{FIELD}[NCCL_DEBUG]"] == {"set": OURS[0], "was": None, "by": "net"}


@pytest.mark.parametrize("own", [OWN, {"name": "NCCL_DEBUG"}, {"name": "NCCL_DEBUG", "valueFrom": {"fieldRef": {}}}])
def test_a_variable_of_the_users_own_stays_even_where_the_policy_forces(own: dict[str, Any]) -> None:
    world = setup(ENV.replace("inject: {", "inject: {force: true, "))
    result = mutated(world, request(job(own)))
    assert trainer(result)["env"] == [own, OURS[1]]
    assert f"{FIELD}[NCCL_DEBUG]" not in record(result)


def test_only_containers_with_accelerators_get_them() -> None:
    made = job()
    pod_spec(made)["initContainers"] = [{"name": "warm", "resources": {"limits": {"nvidia.com/gpu": 1}}}, {"name": "data"}]
    pod_spec(made)["containers"].append({"name": "logs", "resources": {"limits": {"cpu": 1, "nvidia.com/gpu": 0}}})
    spec = pod_spec(mutated(WORLD, request(made)))
    assert [container.get("env") for container in spec["initContainers"]] == [OURS, None]
    assert [container.get("env") for container in spec["containers"]] == [OURS, None]


def served(name: str = "model", workers: bool = False, **fields: Any) -> dict[str, Any]:
    asked = {"resources": {"limits": {"nvidia.com/gpu": 1}}}
    predictor: dict[str, Any] = {name: {"modelFormat": {"name": "huggingface"}, **asked, **fields}}
    if workers:
        predictor["workerSpec"] = {"containers": [{"name": "worker-container", **asked}]}
    metadata = {"name": "chat", "namespace": "serving"}
    kind = {"apiVersion": "serving.kserve.io/v1beta1", "kind": "InferenceService"}
    return {**kind, "metadata": metadata, "spec": {"predictor": predictor}}


@pytest.mark.parametrize("name", ["model", "triton"])
def test_the_model_of_kserve_is_a_container_by_another_name(name: str) -> None:
    made = served(name, workers=True, env=[A, OWN])
    stored = mutated(WORLD, request(made))
    predictor = stored["spec"]["predictor"]
    assert predictor[name]["env"] == [A, OWN, OURS[1]]
    assert predictor["workerSpec"]["containers"][0]["env"] == OURS
    assert record(stored)[f"spec.predictor.{name}.env[NCCL_SOCKET_IFNAME]"]["by"] == "net"
    assert mutated(WORLD, request(copy.deepcopy(made), stored)) == stored, "sent again without ours it is as it was stored"
    plain = served(name)
    del plain["spec"]["predictor"][name]["resources"]
    assert "env" not in mutated(WORLD, request(plain))["spec"]["predictor"][name]


def test_the_model_of_a_wrapped_service_gets_its_variables_too() -> None:
    metadata = {"name": "aw", "namespace": "serving"}
    spec = {"components": [{"template": served()}]}
    wrapped = {"apiVersion": "workload.codeflare.dev/v1beta2", "kind": "AppWrapper", "metadata": metadata, "spec": spec}
    result = mutated(WORLD, request(wrapped))
    assert result["spec"]["components"][0]["template"]["spec"]["predictor"]["model"]["env"] == OURS


def test_a_coordinator_without_accelerators_gets_neither_variables_nor_their_nodes() -> None:
    result = mutated(WORLD, request(job_set()))
    coordinator, workers = (
        replicated["template"]["spec"]["template"]["spec"] for replicated in result["spec"]["replicatedJobs"]
    )
    assert "nodeSelector" not in coordinator
    assert "env" not in coordinator["containers"][0]
    assert workers["nodeSelector"] == {"pool": "training", "tier": "gold"}
    assert workers["containers"][0]["env"] == OURS


def test_a_key_of_the_users_own_node_selector_wins() -> None:
    made = job()
    pod_spec(made)["nodeSelector"] = {"tier": "silver"}
    assert pod_spec(mutated(WORLD, request(made)))["nodeSelector"] == {"tier": "silver", "pool": "training"}


def test_a_node_selector_of_the_users_own_is_forced_only_with_a_warning() -> None:
    made = job()
    pod_spec(made)["nodeSelector"] = {"tier": "silver"}
    world = setup(ENV.replace("inject: {", "inject: {force: true, "))
    assert pod_spec(mutated(world, request(made)))["nodeSelector"] == {"tier": "gold", "pool": "training"}


def test_the_first_policy_wins_by_name_of_the_variable() -> None:
    late = policy("precedence: 2000\ninject: {env: {NCCL_DEBUG: TRACE, X: z}}", "late")
    assert trainer(mutated(setup(ENV, late), request(job())))["env"] == [*OURS, {"name": "X", "value": "z"}]


def test_a_variable_of_ours_follows_the_policy_on_a_second_pass() -> None:
    once = mutated(WORLD, request(job()))
    world = setup(ENV.replace("NCCL_DEBUG: WARN", "NCCL_DEBUG: TRACE"))
    assert trainer(mutated(world, request(once)))["env"] == [{"name": "NCCL_DEBUG", "value": "TRACE"}, OURS[1]]


@pytest.mark.parametrize("sent", [None, [], [A]], ids=["absent", "empty", "own"])
def test_a_list_sent_again_without_ours_is_as_it_was_stored(sent: list[Any] | None) -> None:
    """A Job's template is compared member by member: a missing variable or another order is a refusal."""
    first = job(*(sent or ()))
    stored = mutated(WORLD, request(first))
    again = copy.deepcopy(stored)
    if sent is None:
        del trainer(again)["env"]
    else:
        trainer(again)["env"] = sent
    del pod_spec(again)["nodeSelector"]
    assert mutated(WORLD, request(again, stored)) == stored


def test_a_dropped_variable_is_put_back_into_the_container_of_that_name() -> None:
    stored = mutated(WORLD, request(job()))
    again = copy.deepcopy(stored)
    del trainer(again)["env"]
    pod_spec(again)["containers"].insert(0, {"name": "proxy"})
    proxy, after = pod_spec(mutated(WORLD, request(again, stored)))["containers"]
    assert (proxy.get("env"), after["env"]) == (None, OURS)


def test_one_dropped_variable_is_put_back_beside_a_new_one() -> None:
    stored = mutated(WORLD, request(job()))
    again = copy.deepcopy(stored)
    trainer(again)["env"] = [OURS[1], A]
    assert trainer(mutated(WORLD, request(again, stored)))["env"] == [OURS[1], A, OURS[0]]


@pytest.mark.parametrize("make", [gpu_job, deployment], ids=lambda make: make.__name__)
def test_a_user_who_now_sets_our_variable_gets_their_value(make: Any) -> None:
    stored = mutated(WORLD, request(make()))
    again = copy.deepcopy(stored)
    trainer(again)["env"] = [OWN]
    result = mutated(WORLD, request(again, stored))
    assert trainer(result)["env"] == [OWN, OURS[1]]
    assert not any(field.endswith("[NCCL_DEBUG]") for field in record(result))


def test_a_container_that_is_gone_takes_its_variables_along() -> None:
    stored = mutated(WORLD, request(deployment()))
    again = copy.deepcopy(stored)
    pod_spec(again)["containers"] = [{"name": "other", "image": "registry.example/x:1"}]
    assert pod_spec(mutated(WORLD, request(again, stored)))["containers"] == pod_spec(again)["containers"]


def test_a_record_of_fields_that_no_injector_writes_is_not_believed() -> None:
    """Whoever makes an object can write its record; what it says of a container or of another variable undoes nothing."""
    stored = job({"name": "PASSWORD", "value": "x"})
    pod_spec(stored)["containers"].append({"name": "tolerations", "image": "a"})
    claimed = {
        f"{FIELD}[PASSWORD]": {"set": {"name": "PASSWORD", "value": "x"}, "was": None, "by": "net"},
        "spec.template.spec.containers[tolerations]": {"set": {"name": "tolerations", "image": "a"}, "was": None, "by": "net"},
        "spec.template.spec.containers[trainer].image": {"set": "registry.example/llm:1", "was": None, "by": "net"},
    }
    stored["metadata"]["annotations"] = {RECORD: json.dumps(claimed)}
    again = job()
    result = mutated(WORLD, request(again, stored))
    assert pod_spec(result)["containers"] == pod_spec(again)["containers"]


def test_labels_are_inferred_with_the_variables_in_place() -> None:
    """What is injected may say where progress is kept: the label must not contradict what /validate then sees."""
    world = setup(
        policy("inject: {env: {CHECKPOINT_DIR: s3://bucket/run}}", "net"),
        policy("rules: [{name: c, check: checkpoint, mode: enforce}]", "spot"),
    )
    made = job()
    trainer(made)["command"] = ["torchrun", "train.py"]
    result = mutated(world, request(made))
    assert judged(world, request(result)).response.allowed
    assert mutated(world, request(result)) == result


@pytest.mark.parametrize("env", ["x", {}, [None], [1, "a"], [{"name": None}], [{"name": ["a"]}]])
def test_odd_lists_are_left_to_the_api_server(env: Any) -> None:
    made = job()
    trainer(made)["env"] = env
    result = mutated(WORLD, request(made))
    assert trainer(result)["env"] == ([*env, *OURS] if isinstance(env, list) else env)
    assert mutated(WORLD, request(result)) == result


def test_two_containers_of_one_name_are_not_taken_for_each_other() -> None:
    made = job()
    pod_spec(made)["containers"].append(copy.deepcopy(trainer(made)))
    result = mutated(WORLD, request(made))
    assert [container.get("env") for container in pod_spec(result)["containers"]] == [OURS, None]
    assert mutated(WORLD, request(result)) == result


def test_of_two_replicated_jobs_of_one_name_only_the_first_is_written_to() -> None:
    """The record finds fields by name. JobSet itself refuses such an object."""
    made = job_set()
    made["spec"]["replicatedJobs"] = [made["spec"]["replicatedJobs"][1], copy.deepcopy(made["spec"]["replicatedJobs"][1])]
    made["spec"]["replicatedJobs"][0]["template"]["metadata"] = []
    world = setup(
        policy("inject: {labels: {a: b}, terminationGracePeriodSeconds: 300, tolerations: [{key: a, operator: Exists}]}")
    )
    result = mutated(world, request(made))
    assert result["spec"]["replicatedJobs"][1] == made["spec"]["replicatedJobs"][1]
    assert mutated(world, request(result)) == result
