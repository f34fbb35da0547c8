"""A type that only a name tells: it warns where it would refuse, and lets nobody off."""

import copy
from dataclasses import replace
from typing import Any

import pytest

from signalbox.check.table import CHECKS
from signalbox.engine import mutate
from signalbox.engine import unnamed as unnamed_module
from signalbox.finding import Result
from signalbox.policy.mode import Mode
from signalbox.workload.judgement import TYPES
from signalbox.workload.type import infer_type
from tests.judgement_cases import cases, manifest_of
from tests.manifests import pod_spec
from tests.world import NOW, judged, policy, request, setup, yaml

TIME = "{name: time, check: time-limits, mode: enforce}"
CEL = '{name: cel, cel: "has(object.spec.activeDeadlineSeconds)", message: M., mode: enforce}'
DIGEST = "{name: r, check: image-tag, with: {require: digest}, mode: enforce}"
BY_NAME = "(By its name it is {}: not refused. If not, set workload.ai/type.)"
EXCUSES_NOTHING = "(By its name it is {}, which excuses from nothing. If it is, set workload.ai/type.)"


def job(name: str, program: str = "main.py", gpus: int = 1) -> dict[str, Any]:
    result: dict[str, Any] = yaml(f"""
apiVersion: batch/v1
kind: Job
metadata: {{name: {name}, namespace: research}}
spec:
  template:
    spec:
      restartPolicy: Never
      nodeSelector: {{cloud.google.com/gke-spot: "true"}}
      containers:
        - {{name: main, image: "r/app:1", command: [python, {program}], resources: {{limits: {{nvidia.com/gpu: {gpus}}}}}}}
""")
    return result


def typed(manifest: dict[str, Any], kind: str) -> dict[str, Any]:
    manifest["metadata"]["labels"] = {"workload.ai/type": kind}
    return manifest


def bare_pod(name: str) -> dict[str, Any]:
    whole = job(name)
    return {"apiVersion": "v1", "kind": "Pod", "metadata": whole["metadata"], "spec": pod_spec(whole)}


def pytorch_job(name: str) -> dict[str, Any]:
    replicas = {"Master": {"replicas": 1, "template": {"spec": pod_spec(job(name))}}}
    metadata = {"name": name, "namespace": "research"}
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": metadata,
        "spec": {"pytorchReplicaSpecs": replicas},
    }


def answer(body: str, manifest: dict[str, Any], old: dict[str, Any] | None = None) -> Any:
    return judged(setup(policy(body)), request(manifest, old)).response


def for_training(rule: str) -> str:
    return f"match: {{trains: true}}\nrules: [{rule}]"


def all_but(kind: str) -> str:
    return f"match: {{not: {{types: [{kind}]}}}}\nrules: [{DIGEST}]"


ASKED_IN_EVERY_WAY = {
    "the policy's match, with a check": for_training(TIME),
    "the policy's match, with an expression": for_training(CEL),
    "the rule's when": "rules: [{name: time, check: time-limits, when: {types: [training]}, mode: enforce}]",
    "an alternative": (
        "rules: [{name: time, check: time-limits, when: {any: [{types: [training]}, {namespaces: [a]}]}, mode: enforce}]"
    ),
    "a type that is known": "rules: [{name: time, check: time-limits, when: {not: {types: [none]}}, mode: enforce}]",
    "the expression": (
        'rules: [{name: r, cel: "!workload.trains || has(object.spec.suspend)", message: it trains, mode: enforce}]'
    ),
    "the expression, by the type": "rules: [{name: r, cel: \"workload.type != 'training'\", message: M., mode: enforce}]",
    "a mode for some": (
        "rules: [{name: time, check: time-limits, mode: warn, overrides: [{mode: enforce, types: [training]}]}]"
    ),
}


@pytest.mark.parametrize("body", ASKED_IN_EVERY_WAY.values(), ids=ASKED_IN_EVERY_WAY)
def test_a_job_is_not_refused_for_what_it_is_called_however_the_rule_asks_for_the_type(body: str) -> None:
    assert answer(body, job("x")).allowed
    response = answer(body, job("retrain"))
    assert response.allowed
    assert len(response.warnings) == 1
    refused = answer(body, job("retrain", "train.py"))
    assert not refused.allowed
    assert "Taken for training because of spec.template.spec.containers[main].command:\n  train.py." in refused.message


@pytest.mark.parametrize("rule", [TIME, CEL])
def test_the_warning_says_that_it_is_by_its_name(rule: str) -> None:
    (warning,) = answer(for_training(rule), job("retrain")).warnings
    assert BY_NAME.format("training") in warning


def test_a_rule_in_force_for_a_name_alone_is_in_no_report_of_what_would_be_refused() -> None:
    outcome = judged(setup(policy(for_training(TIME).replace("enforce", "audit"))), request(job("retrain")))
    (found,) = outcome.findings
    assert not found.would_refuse


def test_who_says_what_it_is_is_not_told_how_to_say_it() -> None:
    message = answer(for_training(TIME), typed(job("x"), "training")).message
    assert message
    assert "Taken for" not in message


FOR_EVERYBODY = {
    "bare Pods with accelerators": "rules: [{name: r, check: controller-kind, with: {barePods: accelerators}, mode: enforce}]",
    "a checkpoint of whatever runs on spot": "rules: [{name: r, check: checkpoint, when: {spot: [demanded]}, mode: enforce}]",
    "all but notebooks": all_but("interactive"),
    "training, or accelerators": (
        f"match: {{any: [{{trains: true}}, {{accelerators: {{total: {{min: 1}}}}}}]}}\nrules: [{DIGEST}]"
    ),
    "an expression": "rules: [{name: r, cel: \"workload.type == 'interactive'\", message: M., mode: enforce}]",
}


@pytest.mark.parametrize("body", FOR_EVERYBODY.values(), ids=FOR_EVERYBODY)
@pytest.mark.parametrize("name", ["churn-trainer", "nightly-eval"])
def test_no_name_is_a_way_out_of_a_rule_that_does_not_ask_for_it(body: str, name: str) -> None:
    plain, called = answer(body, bare_pod("x")), answer(body, bare_pod(name))
    assert not plain.allowed
    assert not called.allowed
    assert "By its name" not in called.message
    assert "Taken for" not in called.message
    assert called.warnings == ()


ALL_BUT = {
    "the match": all_but("TYPE"),
    "the expression": 'rules: [{name: r, cel: "workload.type == \'TYPE\'", message: "{workload.type} it is.", mode: enforce}]',
    "a mode for some": (
        "rules: [{name: r, check: image-tag, with: {require: digest}, mode: enforce, "
        "overrides: [{mode: audit, types: [TYPE]}]}]"
    ),
}


@pytest.mark.parametrize("body", ALL_BUT.values(), ids=ALL_BUT)
@pytest.mark.parametrize(("name", "kind"), [("nightly-eval", "evaluation"), ("retrain", "training")])
def test_a_name_excuses_from_no_rule_and_a_label_does(body: str, name: str, kind: str) -> None:
    rule = body.replace("TYPE", kind)
    assert not answer(rule, job("x")).allowed
    refused = answer(rule, job(name))
    assert not refused.allowed
    assert "Taken for" not in refused.message
    assert answer(rule, typed(job(name), kind)).allowed


def test_a_name_of_training_excuses_from_no_rule_for_all_that_does_not_train() -> None:
    rule = f"match: {{trains: false}}\nrules: [{DIGEST}]"
    assert not answer(rule, job("retrain")).allowed
    assert answer(rule, job("retrain", "train.py")).allowed


def test_whose_name_would_excuse_it_is_told_to_say_so_with_a_label() -> None:
    message = answer(ALL_BUT["the expression"].replace("TYPE", "evaluation"), job("nightly-eval")).message
    assert EXCUSES_NOTHING.format("evaluation") in " ".join(message.split())
    assert "[p/r] evaluation it is." in message


EXCEPTION = """apiVersion: policy.workload.ai/v1alpha1
kind: PolicyException
metadata: {name: evaluations}
spec:
  rules: [p/r]
  match: {types: [evaluation]}
  until: 2026-12-31
  reason: they are short
  approvedBy: oncall
"""


def test_an_exception_for_a_type_is_none_for_a_name() -> None:
    rule = policy(f"rules: [{DIGEST}]")
    world = setup(rule, EXCEPTION)
    assert judged(world, request(job("nightly-eval", "evaluate.py"))).response.allowed
    refused = judged(world, request(job("nightly-eval"))).response
    assert not refused.allowed
    assert "which excuses from nothing" in " ".join(refused.message.split())


def test_a_rule_for_work_of_no_known_type_leaves_out_what_a_name_tells() -> None:
    body = "rules: [{name: r, check: checkpoint, when: {types: [none]}, mode: enforce}]"
    assert not answer(body, job("x")).allowed
    response = answer(body, job("nightly-eval"))
    assert response.allowed
    assert response.warnings == ()


@pytest.mark.parametrize("name", ["x", "churn-trainer", "nightly-eval"])
def test_a_kind_made_for_training_is_refused_by_whatever_name(name: str) -> None:
    response = answer("rules: [{name: r, check: checkpoint, when: {trains: true}, mode: enforce}]", pytorch_job(name))
    assert not response.allowed
    assert ("which excuses from nothing" in " ".join(response.message.split())) is (name == "nightly-eval")


def test_a_trainer_with_a_port_is_not_refused_for_its_name_by_a_rule_for_all_but_servers() -> None:
    """Under another name it would be a server, which the rule leaves out."""
    body = all_but("inference")
    for name in ("x", "trainer"):
        spec = pod_spec(job(name))
        container = spec["containers"][0] | {"ports": [{"containerPort": 8000}], "env": [{"name": "EPOCHS", "value": "3"}]}
        template = {"spec": {"containers": [container]}}
        metadata = {"name": name, "namespace": "research"}
        whole = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": {"template": template}}
        assert answer(body, whole).allowed, name


def without_names(manifest: dict[str, Any]) -> dict[str, Any]:
    manifest = copy.deepcopy(manifest)
    manifest["metadata"]["name"] = "x"
    for container in pod_spec(manifest)["containers"]:
        container["name"] = "main"
        if "command" in container:
            container["image"] = "r/app:1"
    return manifest


@pytest.mark.parametrize("case", [case for case in cases("names") if case.get("thin")], ids=lambda case: case["case"])
def test_whatever_it_is_called_the_same_work_is_refused_by_the_same_rules(case: dict[str, Any]) -> None:
    named = manifest_of(case)
    for kind in TYPES:
        for match in (f"types: [{kind}]", f"not: {{types: [{kind}]}}", "trains: true", "trains: false"):
            body = f"match: {{{match}}}\nrules: [{{name: r, cel: 'false', message: M., mode: enforce}}]"
            assert answer(body, named).allowed is answer(body, without_names(named)).allowed, match


def test_what_a_name_warned_of_is_refused_once_the_program_says_so() -> None:
    outcome = judged(setup(policy(for_training(TIME))), request(job("retrain", gpus=2), job("retrain")))
    assert outcome.response.warnings == ()
    assert [found.result for found in outcome.findings] == [Result.UNCHANGED]
    refused = answer(for_training(TIME), job("retrain", "train.py"), job("retrain"))
    assert not refused.allowed
    assert answer(for_training(TIME), job("retrain", "train.py", gpus=2), job("retrain", "train.py")).allowed


def test_what_an_object_had_wrong_under_any_name_stays_unchanged() -> None:
    body = FOR_EVERYBODY["all but notebooks"]
    outcome = judged(setup(policy(body)), request(job("retrain", gpus=2), job("retrain")))
    assert [found.result for found in outcome.findings] == [Result.UNCHANGED]


GANG = "rules: [{name: r, check: gang, mode: enforce}]"


def several(name: str, **more: Any) -> dict[str, Any]:
    manifest = job(name, "train.py")
    manifest["spec"] |= {"parallelism": 4, "completions": 4}
    pod_spec(manifest).update(more)
    return manifest


def test_a_gang_that_only_a_name_tells_of_is_a_warning() -> None:
    response = answer(GANG, several("ddp-run"))
    assert response.allowed
    assert len(response.warnings) == 1
    assert not answer(GANG, several("x", subdomain="workers")).allowed
    by_type = "match: {types: [distributed-training]}\nrules: [{name: r, cel: 'false', message: M., mode: enforce}]"
    assert answer(by_type, several("ddp-run")).allowed
    assert not answer(by_type, several("x", subdomain="workers")).allowed


def test_a_name_that_the_api_server_still_completes_tells_as_much() -> None:
    manifest = several("ddp-run-")
    manifest["metadata"]["generateName"] = manifest["metadata"].pop("name")
    response = answer(GANG, manifest)
    assert response.allowed
    assert response.warnings == answer(GANG, several("ddp-run")).warnings


def test_what_would_be_training_under_another_name_is_no_less_refused() -> None:
    def by_image(name: str) -> dict[str, Any]:
        manifest = job(name)
        container = pod_spec(manifest)["containers"][0]
        del container["command"]
        container["image"] = "r/llm-trainer:2"
        return manifest

    assert "Taken for training" in answer(for_training(TIME), by_image("x")).message
    refused = " ".join(answer(for_training(TIME), by_image("debug")).message.split())
    assert "(Its name says that it is something else, which excuses from nothing. If it is, set workload.ai/type.)" in refused
    assert "Taken for" not in refused
    assert answer(for_training(TIME), typed(by_image("debug"), "evaluation")).allowed


QUEUE = """apiVersion: policy.workload.ai/v1alpha1
kind: WorkloadPolicy
metadata: {name: batch}
spec: {match: {types: [evaluation]}, inject: {queue: eval-batch, priorityClassName: low, labels: {seen: "yes"}}}
"""


def test_no_name_puts_work_into_a_queue_whose_rules_then_refuse_it() -> None:
    world = setup(QUEUE)
    by_name, by_program = (mutate(world, request(manifest), NOW) for manifest in (job("nightly-eval"), job("x", "evaluate.py")))
    assert by_name.mutated is not None
    assert by_program.mutated is not None
    assert by_program.mutated["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "eval-batch"
    assert by_name.mutated["metadata"]["labels"]["seen"] == "yes"
    assert "kueue.x-k8s.io/queue-name" not in by_name.mutated["metadata"]["labels"]
    # Nor does a name lower its priority: this cluster lacks the class, which is told where it would be set.
    assert "no priority set" in " ".join(by_program.response.warnings)
    assert by_name.response.warnings == ()


FALLBACK = """apiVersion: policy.workload.ai/v1alpha1
kind: WorkloadPolicy
metadata: {name: rest}
spec: {match: {not: {types: [evaluation]}}, inject: {queue: rest, nodeSelector: {cloud.google.com/gke-spot: "true"}}}
"""


def test_what_is_injected_under_every_other_name_is_injected_whatever_it_is_called() -> None:
    for name in ("x", "nightly-eval"):
        stored = mutate(setup(FALLBACK), request(job(name)), NOW).mutated or {}
        assert stored["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "rest", name


def test_no_name_sends_work_to_spot_nodes() -> None:
    by = FALLBACK.replace("not: {types: [evaluation]}", "types: [evaluation]").replace("rest", "eval")
    for name, program, there in (("nightly-eval", "main.py", False), ("x", "evaluate.py", True)):
        whole = job(name, program)
        del pod_spec(whole)["nodeSelector"]
        stored = mutate(setup(by), request(whole), NOW).mutated or whole
        assert ("nodeSelector" in pod_spec(stored)) is there, name


def test_a_name_that_tells_of_several_is_what_the_message_speaks_of_and_not_the_type() -> None:
    manifest = several("ddp-run")
    pod_spec(manifest)["containers"][0]["command"] = ["python", "evaluate.py"]
    (warning,) = answer(GANG, manifest).warnings
    assert "(Only its name says that its Pods work together: not refused.)" in warning
    assert "evaluation" not in warning
    alone = "rules: [{name: r, cel: 'workload.distributed', message: One alone., mode: enforce}]"
    refused = " ".join(answer(alone, manifest).message.split())
    assert "(Only its name says that its Pods work together, which excuses from nothing.)" in refused


@pytest.mark.parametrize("rule", ["when: {distributed: true}", "when: {not: {distributed: true}}"])
def test_no_name_says_that_several_work_together(rule: str) -> None:
    body = f"rules: [{{name: r, check: image-tag, with: {{require: digest}}, {rule}, mode: enforce}}]"

    def shards(name: str) -> dict[str, Any]:
        manifest = job(name)
        manifest["spec"] |= {"parallelism": 2, "completions": 2}
        return manifest

    assert answer(body, shards("ddp-run")).allowed is answer(body, shards("x")).allowed


@pytest.mark.parametrize("name", ["x", "sft"])
def test_a_program_that_was_not_read_to_its_end_is_no_less_refused_for_a_name(name: str) -> None:
    manifest = job("x")
    container = pod_spec(manifest)["containers"][0]
    container |= {"name": name, "command": ["python", "train.py", "--lr", "1", *["a"] * 400_000]}
    for match in ("trains: true", "types: [training, distributed-training]"):
        assert not answer(f"match: {{{match}}}\nrules: [{TIME}]", manifest).allowed


@pytest.mark.parametrize("name", ["run", "sft-run"])
def test_a_name_takes_no_folder_of_a_model_away(name: str) -> None:
    body = "rules: [{name: r, check: checkpoint, when: {trains: true}, mode: enforce}]"
    manifest = job(name, "train.py")
    spec = pod_spec(manifest)
    spec["volumes"] = [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]
    spec["containers"][0]["volumeMounts"] = [{"name": "v", "mountPath": "/models"}]
    assert answer(body, manifest).allowed


def test_nothing_is_refused_in_mutate_either_for_a_name() -> None:
    unequal = job("retrain")
    pod_spec(unequal)["containers"][0]["resources"]["requests"] = {"nvidia.com/gpu": 2}
    world = setup(policy("rules: [{name: r, check: gpu-requests, when: {trains: true}, mode: enforce}]"))
    assert mutate(world, request(unequal), NOW).response.allowed
    pod_spec(unequal)["containers"][0]["command"] = ["python", "train.py"]
    assert not mutate(world, request(unequal), NOW).response.allowed


def test_a_fault_of_a_rules_expression_refuses_nobody_for_a_name() -> None:
    body = for_training('{name: r, cel: "object.spec.nowhere == 1", message: M., onError: refuse, mode: enforce}')
    assert not answer(body, job("retrain", "train.py")).allowed
    outcome = judged(setup(policy(body)), request(job("retrain")))
    assert outcome.response.allowed
    assert [(found.result, found.mode) for found in outcome.findings] == [(Result.ERROR, Mode.WARN)]


def test_what_many_problems_rest_on_is_found_out_once_a_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = 0
    check = CHECKS["image-tag"]

    def counted(*arguments: Any) -> Any:
        nonlocal runs
        runs += 1
        return check.run(*arguments)

    monkeypatch.setitem(CHECKS, "image-tag", replace(check, run=counted))
    many = job("x", "train.py")
    containers = pod_spec(many)["containers"]
    containers += [{"name": f"c{number}", "image": f"r/a{number}:1"} for number in range(100)]
    assert not answer(all_but("interactive"), many).allowed
    # Once as it is, and once as if nothing told its type.
    assert runs == 2


def test_what_an_old_object_would_be_under_another_name_is_worked_out_once_for_all_rules(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    inferred = 0

    def counted(view: Any) -> Any:
        nonlocal inferred
        inferred += 1
        return infer_type(view)

    monkeypatch.setattr(unnamed_module, "infer_type", counted)
    rules = ", ".join(TIME.replace("name: time", f"name: time-{number}") for number in range(50))
    answer(for_training(rules), job("retrain", gpus=2), job("retrain"))
    # Of the old object and of the new one.
    assert inferred == 2
