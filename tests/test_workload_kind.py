"""WorkloadKind: a platform team's own kind, in YAML."""

import copy
from pathlib import Path
from typing import Any

import jsonpatch
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from signalbox.cluster.view import EmptyClusterView
from signalbox.configuration import LoadedSetup, load_setup
from signalbox.engine import mutate, validate
from signalbox.fieldpath import format_path
from signalbox.policy.kind_document import WorkloadKindDocument, compile_kind
from signalbox.signs_loading import load_default_signs
from signalbox.workload.kinds.kind import WorkloadKind
from signalbox.workload.view import WorkloadView
from tests.judgement_cases import judge_everything
from tests.mangled import mangled_copy
from tests.test_judgements_survive import _JSON
from tests.world import NOW, request

SWEEP = """
apiVersion: policy.workload.ai/v1alpha1
kind: WorkloadKind
metadata: {name: sweep}
spec:
  group: lab.example.com
  kind: Sweep
  templates:
    - path: spec.roles[*].template
      pods: [spec.parallel, "spec.roles[*].count"]
    - {path: spec.helper, inline: true}
  accelerators: [{path: spec.gpus, resource: amd.com/gpu, pods: [spec.nodes]}]
  entrypoint: spec.run
  queueLabel: metadata
  queue: [spec.queue]
  suspend: spec.paused
  priority: [spec.class]
  restarts: spec.retries
  type: training
  framework: forge
"""
POLICY = """
apiVersion: policy.workload.ai/v1alpha1
kind: WorkloadPolicy
metadata: {name: sweeps}
spec:
  match: {kinds: [Sweep.lab.example.com]}
  inject:
    queue: training-large
    labels: {team: lab}
    terminationGracePeriodSeconds: 300
  rules: [{name: small, check: accelerator-limit, with: {maxTotal: 4}, mode: enforce}]
"""
OBJECT: dict[str, Any] = yaml.safe_load(
    """
apiVersion: lab.example.com/v1
kind: Sweep
metadata: {name: s, namespace: research}
spec:
  parallel: 2
  class: high
  roles:
    - name: trainer
      count: 3
      template: {spec: {containers: [{name: c, command: [python, run.py], resources: {limits: {nvidia.com/gpu: 1}}}]}}
    - {name: broken, count: 1, template: none}
  helper: {containers: [{name: h}]}
  gpus: 8
  nodes: 2
"""
)


def load(tmp_path: Path, *texts: str) -> LoadedSetup:
    for index, text in enumerate(texts):
        (tmp_path / f"{index}.yaml").write_text(text)
    return load_setup([tmp_path])


def sweep(tmp_path: Path) -> LoadedSetup:
    loaded = load(tmp_path, SWEEP, POLICY)
    assert loaded.problems == ()
    return loaded


def seen(loaded: LoadedSetup, obj: dict[str, Any]) -> WorkloadView:
    kind: WorkloadKind = loaded.setup.kinds["lab.example.com", "Sweep"]
    return WorkloadView(obj, kind, loaded.setup.signs, loaded.setup.cluster)


def test_templates_counts_and_flat_accelerators_are_read_by_their_paths(tmp_path: Path) -> None:
    view = seen(sweep(tmp_path), OBJECT)
    assert {format_path(one.path, OBJECT): one.pods for one in view.templates} == {
        "spec.roles[trainer].template": 6,
        "spec.helper": 1,
        "spec": 2,
    }
    assert view.templates[0].name == "trainer"
    assert (view.accelerators.per_pod, view.accelerators.total) == (8, 22)
    assert view.accelerators.vendors == ("nvidia", "amd")
    assert view.type.state == "distributed-training"
    assert view.framework.state == "forge"
    assert view.priority.class_name == "high"


def test_entrypoint_says_what_it_is(tmp_path: Path) -> None:
    obj = copy.deepcopy(OBJECT)
    obj["spec"]["run"] = "pip install x && python -m lm_eval --tasks mmlu"
    del obj["spec"]["roles"]
    view = seen(sweep(tmp_path), obj)
    assert view.type.state == "evaluation"
    assert format_path(view.type.evidence[0].path, obj) == "spec.run"


def test_entrypoint_runs_in_the_containers_of_the_templates(tmp_path: Path) -> None:
    obj = copy.deepcopy(OBJECT)
    del obj["spec"]["helper"]
    obj["spec"]["run"] = ["train.py", "--output_dir=$(ROOT)/run"]
    pod = obj["spec"]["roles"][0]["template"]["spec"]
    pod["volumes"] = [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]
    container = pod["containers"][0]
    container["env"] = [{"name": "ROOT", "value": "/data"}]
    container["volumeMounts"] = [{"name": "v", "mountPath": "/data"}]
    view = seen(sweep(tmp_path), obj)
    assert view.checkpoint.state == "durable"
    assert format_path(view.checkpoint.evidence[0].path, obj) == "spec.run"


def test_what_runs_in_one_of_several_roles_has_no_volume_for_sure(tmp_path: Path) -> None:
    obj = copy.deepcopy(OBJECT)
    obj["spec"]["run"] = ["train.py", "--output_dir=/data/run"]
    pod = obj["spec"]["roles"][0]["template"]["spec"]
    pod["volumes"] = [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]
    pod["containers"][0]["volumeMounts"] = [{"name": "v", "mountPath": "/data"}]
    assert seen(sweep(tmp_path), obj).checkpoint.state == "unknown"


def test_policy_names_it_and_injects_into_it(tmp_path: Path) -> None:
    setup = sweep(tmp_path).setup
    outcome = mutate(setup, request(OBJECT), NOW)
    assert not outcome.errors
    result = jsonpatch.apply_patch(OBJECT, list(outcome.response.patch))
    assert result["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "training-large"
    assert result["spec"]["paused"] is True
    trainer = result["spec"]["roles"][0]["template"]
    assert trainer["metadata"]["labels"]["team"] == "lab"
    assert trainer["spec"]["terminationGracePeriodSeconds"] == 300
    assert result["spec"]["helper"]["terminationGracePeriodSeconds"] == 300
    assert result["spec"]["roles"][1]["template"] == "none"
    assert list(mutate(setup, request(result), NOW).response.patch) == []


def test_rules_judge_it(tmp_path: Path) -> None:
    response = validate(sweep(tmp_path).setup, request(OBJECT), NOW).response
    assert not response.allowed
    assert "Sweep research/s" in response.message


def test_queue_of_its_own_field_is_its_queue(tmp_path: Path) -> None:
    obj = copy.deepcopy(OBJECT)
    obj["spec"]["queue"] = "theirs"
    setup = sweep(tmp_path).setup
    assert seen(sweep(tmp_path), obj).queue == "theirs"
    result = jsonpatch.apply_patch(obj, list(mutate(setup, request(obj), NOW).response.patch))
    assert "kueue.x-k8s.io/queue-name" not in result["metadata"].get("labels", {})


def test_inject_false_keeps_injectors_away_from_its_pod_specs(tmp_path: Path) -> None:
    loaded = load(tmp_path, SWEEP + "  inject: false\n", POLICY)
    result = jsonpatch.apply_patch(OBJECT, list(mutate(loaded.setup, request(OBJECT), NOW).response.patch))
    assert "terminationGracePeriodSeconds" not in result["spec"]["helper"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("kind: Sweep", "kind: sweep"), "is no kind"),
        (("group: lab.example.com", "group: Lab"), "is no API group"),
        (("spec.roles[*].template", "spec.roles[*.template"), "is not a field path"),
        (("path: spec.gpus", 'path: "spec.parts[*].gpus"'), "can stand in the paths of templates"),
        (("spec.roles[*].count", "spec.roles[*].parts[*].count"), "has more [*] than"),
        (("  queueLabel: metadata\n", ""), "queueLabel is missing"),
        (("entrypoint:", "entrypont:"), "unknown key"),
        (("type: training", "type: distributed-training"), "unknown word"),
        (("group: lab.example.com\n  kind: Sweep", "group: ray.io\n  kind: RayJob"), "is known already"),
    ],
)
def test_mistake_is_a_problem_with_its_place(tmp_path: Path, change: tuple[str, str], said: str) -> None:
    text = SWEEP.replace(*change)
    assert text != SWEEP
    [problem] = load(tmp_path, text).errors
    assert said in problem.message
    assert problem.line > 1


def test_kind_that_says_nothing_is_a_problem(tmp_path: Path) -> None:
    text = SWEEP[: SWEEP.index("  templates:")]
    [problem] = load(tmp_path, text).errors
    assert "one of templates, accelerators or entrypoint is expected" in problem.message


def test_kind_that_is_declared_twice_is_a_problem(tmp_path: Path) -> None:
    [problem] = load(tmp_path, SWEEP, SWEEP.replace("{name: sweep}", "{name: sweeps}")).errors
    assert "Sweep.lab.example.com is declared already" in problem.message
    [problem] = load(tmp_path, SWEEP, SWEEP).errors
    assert "WorkloadKind/sweep is defined" in problem.message


def test_policy_that_names_a_kind_nobody_declared_is_a_problem(tmp_path: Path) -> None:
    [problem] = load(tmp_path, POLICY).errors
    assert "unknown kind 'Sweep.lab.example.com'" in problem.message


KIND = compile_kind(WorkloadKindDocument.model_validate(yaml.safe_load(SWEEP)))


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_any_json_in_any_field_of_it(data: st.DataObject) -> None:
    fields = ("parallel", "roles", "helper", "gpus", "nodes", "run", "queue", "class")
    spec = {field: data.draw(_JSON) for field in fields}
    role = {"name": data.draw(_JSON), "count": data.draw(_JSON), "template": data.draw(_JSON)}
    roles: Any = [role, spec["roles"]] if data.draw(st.booleans()) else {"a": role}
    obj = {"apiVersion": "lab.example.com/v1", "kind": "Sweep", "metadata": data.draw(_JSON), "spec": {**spec, "roles": roles}}
    judge_everything(WorkloadView(obj, KIND, load_default_signs(), EmptyClusterView()))


@settings(max_examples=150, deadline=None)
@given(mangled_copy({**OBJECT, "spec": {**OBJECT["spec"], "run": "python train.py --resume", "queue": "q"}}, _JSON))
def test_anything_anywhere_in_a_manifest_of_it(obj: dict[str, Any]) -> None:
    judge_everything(WorkloadView(obj, KIND, load_default_signs(), EmptyClusterView()))
