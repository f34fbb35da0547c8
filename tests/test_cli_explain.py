"""``signalbox explain``: the line behind each judgement, the outvoted signs, and the rules that look at a workload."""

import io
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from signalbox.admission import Asked
from signalbox.cli.explained import explain
from signalbox.cli.explained_json import explanation_json
from signalbox.cli.explained_text import write_page
from signalbox.cli.json_line import json_line
from signalbox.cli.main import main
from signalbox.cli.terminal import Terminal
from signalbox.configuration import load_setup
from signalbox.manifests import Manifest
from signalbox.source import read_documents
from signalbox.workload.kinds.table import KINDS
from signalbox.workload.type import infer_type
from tests.mangled import CASES, mangled
from tests.world import mutated, policy, request, setup

FILES = Path(__file__).parent / "cases" / "cli" / "files"
DEMO = Path(__file__).parent / "demo" / "manifests"
NOW = datetime(2026, 7, 1, tzinfo=UTC)
SETUP = load_setup().setup
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


@pytest.fixture(autouse=True)
def _in_the_folder_of_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(FILES)


def explained(capsys: pytest.CaptureFixture[str], *words: str) -> list[dict[str, Any]]:
    assert main(["explain", *words, "-o", "json"]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def manifest_of(value: dict[str, Any]) -> Manifest:
    (document,) = read_documents(json.dumps(value), "made-up.yaml")
    return Manifest(document.value, document, "made-up.yaml", 0)


def test_json_has_exactly_these_keys(capsys: pytest.CaptureFixture[str]) -> None:
    (found,) = explained(capsys, "explain/labelled.yaml")
    assert list(found) == [
        *("file", "document", "line", "kind", "name", "namespace", "allowed"),
        *("judgements", "templates", "typeSigns", "injected", "notInjected", "policies", "write"),
    ]
    assert list(found["judgements"]) == [
        *("kind", "accelerators", "type", "framework", "distributed", "spot", "checkpoint"),
        *("resume", "priority", "queue", "owner"),
    ]
    assert list(found["judgements"]["spot"]) == ["state", "declared", "remark", "evidence"]
    assert list(found["judgements"]["spot"]["evidence"][0]) == ["path", "value", "note", "line", "default"]
    assert list(found["typeSigns"][0]) == [
        *("result", "says", "strength", "path", "value", "note", "line", "default", "reason", "why")
    ]
    assert list(found["policies"][0]["rules"][0]) == [
        *("rule", "mode", "result", "message", "more"),
        *("fixedBy", "exceptedBy", "approvedBy"),
    ]


def test_a_judgement_shows_the_line_of_the_manifest_that_made_it(capsys: pytest.CaptureFixture[str]) -> None:
    (found,) = explained(capsys, "explain/labelled.yaml")
    text = (FILES / "explain" / "labelled.yaml").read_text().splitlines()
    lines = {name: [text[one["line"] - 1].strip() for one in fact["evidence"]] for name, fact in found["judgements"].items()}
    assert lines["type"] == ["workload.ai/type: evaluation"]
    assert lines["spot"] == ['cloud.google.com/gke-spot: "true"']
    assert lines["accelerators"] == ["limits: {nvidia.com/gpu: 8}"]
    assert lines["queue"] == ["kueue.x-k8s.io/queue-name: small"]
    assert lines["distributed"] == ["torchrun --nproc-per-node=8 \\"]


def test_a_word_of_a_script_is_found_on_its_own_line_not_in_a_comment_before_it(capsys: pytest.CaptureFixture[str]) -> None:
    (found,) = explained(capsys, "explain/labelled.yaml")
    text = (FILES / "explain" / "labelled.yaml").read_text().splitlines()
    decides = [sign for sign in found["typeSigns"] if sign["result"] == "decides"]
    assert [text[sign["line"] - 1].strip() for sign in decides] == ["finetune.py --output_dir=$(OUT)"]


def test_signs_that_did_not_count_are_shown_with_what_outdid_them(capsys: pytest.CaptureFixture[str]) -> None:
    (job,) = explained(capsys, "explain/labelled.yaml")
    signs = {sign["value"]: (sign["result"], sign["says"], sign["why"]) for sign in job["typeSigns"]}
    assert signs == {
        "finetune.py": ("decides", "fine-tuning", ""),
        "registry.example/vllm-openai:1": ("outvoted", "inference", "the container has a command of its own"),
    }
    (server,) = explained(capsys, "explain/server.yaml")
    signs = {sign["value"]: (sign["result"], sign["says"], sign["why"]) for sign in server["typeSigns"]}
    assert signs["vllm serve"] == ("decides", "inference", "")
    assert signs["train.py"] == ("outvoted", "training", "stands beside the container with the accelerators")


def test_one_setting_and_names_that_disagree_are_shown_as_outvoted(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    container = "{name: trainer, image: x, command: [vllm, serve, m], env: [{name: NUM_EPOCHS, value: '3'}]}"
    (tmp_path / "pod.yaml").write_text(
        f"{{apiVersion: v1, kind: Pod, metadata: {{name: chat-notebook}}, spec: {{containers: [{container}]}}}}\n"
    )
    (pod,) = explained(capsys, str(tmp_path / "pod.yaml"))
    signs = {sign["value"]: (sign["result"], sign["says"], sign["why"]) for sign in pod["typeSigns"]}
    assert signs == {
        "vllm serve m": ("decides", "inference", ""),
        "NUM_EPOCHS=3": ("outvoted", "training", "one setting alone is thin"),
        "trainer": ("outvoted", "training", "its names do not agree"),
        "chat-notebook": ("outvoted", "interactive", "its names do not agree"),
    }


def test_what_the_user_says_himself_is_not_told_as_left_out(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    nim = "{apiVersion: apps.nvidia.com/v1alpha1, kind: NIMService, metadata: {name: a}, "
    nim += "spec: {resources: {limits: {nvidia.com/gpu: 1}}"
    tolerations = "tolerations: [{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}]"
    (tmp_path / "without.yaml").write_text(f"{nim}}}}}\n")
    (tmp_path / "with.yaml").write_text(f"{nim}, {tolerations}}}}}\n")
    without, having = (explained(capsys, str(tmp_path / name))[0]["notInjected"] for name in ("without.yaml", "with.yaml"))
    assert [text.partition(" ")[0] for text in without] == ["tolerations"]
    assert having == []


def test_what_the_api_server_fills_in_has_no_line(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    pod = "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: c, image: vllm}]}}\n"
    (tmp_path / "pod.yaml").write_text(pod)
    (tmp_path / "now.yaml").write_text(
        "{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: low}, value: 7, globalDefault: true}\n"
    )
    (found,) = explained(capsys, str(tmp_path / "pod.yaml"), "--cluster", str(tmp_path / "now.yaml"))
    (priority,) = found["judgements"]["priority"]["evidence"]
    assert (priority["line"], priority["default"]) == (None, True)
    main(["explain", str(tmp_path / "pod.yaml"), "--cluster", str(tmp_path / "now.yaml")])
    assert "the API server's default" in capsys.readouterr().out


def test_each_rule_that_looks_at_it_says_what_check_says(capsys: pytest.CaptureFixture[str]) -> None:
    for manifest in sorted(DEMO.glob("*.yaml")):
        pages = explained(capsys, str(manifest))
        main(["check", str(manifest), "-o", "json"])
        for page, checked in zip(pages, map(json.loads, capsys.readouterr().out.splitlines()), strict=True):
            rules = {rule["rule"]: rule["result"] for policy in page["policies"] for rule in policy["rules"]}
            assert page["allowed"] == checked["allowed"]
            assert page["injected"] == checked["injected"]
            assert {rule for rule, result in rules.items() if result == "not judged"} == {
                one["rule"] for one in checked["notJudged"]
            }
            assert {rule for rule, result in rules.items() if result == "refuses"} == {
                one["rule"] for one in checked["findings"] if one["mode"] == "enforce" and one["result"] == "fail"
            }


def test_a_page_fits_into_80_columns(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", str(DEMO), "-n", "team-research"]) == 0
    out = capsys.readouterr().out
    # The file's whole name stands at the top of each page as it was given.
    assert [line for line in out.splitlines() if len(line) > 80 and str(DEMO) not in line] == []
    assert "\x1b" not in out


def test_ascii_is_enough_for_a_page() -> None:
    screen = io.TextIOWrapper(io.BytesIO(), encoding="ascii", write_through=True)
    for case in CASES:
        write_page(explain(SETUP, manifest_of(case["manifest"]), kind_of(case["manifest"]), Asked(), NOW), Terminal(screen))
    assert isinstance(screen.buffer, io.BytesIO)
    assert b"?[" not in screen.buffer.getvalue()


def kind_of(manifest: dict[str, Any]) -> Any:
    return SETUP.kinds[(str(manifest["apiVersion"]).rpartition("/")[0], str(manifest["kind"]))]


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case.get("name", case["manifest"]["kind"])))
def test_one_sign_decides_wherever_the_type_was_inferred_from_one(case: dict[str, Any]) -> None:
    found = explain(SETUP, manifest_of(case["manifest"]), kind_of(case["manifest"]), Asked(), NOW)
    decided = [sign for sign in found.signs if sign.result == "decides"]
    assert bool(decided) == (infer_type(found.view).state is not None)


@given(mangled(_JSON))
@settings(max_examples=150, deadline=None)
def test_a_mangled_manifest_is_explained_too(manifest: dict[str, Any]) -> None:
    found = explain(SETUP, manifest_of(manifest), kind_of(manifest), Asked(), NOW)
    screen = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    write_page(found, Terminal(screen))
    json_line(explanation_json(found))


def test_what_an_earlier_pass_injected_as_a_variable_is_not_taken_for_the_users_own() -> None:
    text = """
match: {checkpoint: [none], trains: true}
inject: {env: {CHECKPOINT_DIR: "s3://runs/default"}}
"""
    world = setup(policy(text, "where"))
    container = {
        "name": "c",
        "image": "i:1",
        "command": ["python", "train.py"],
        "resources": {"limits": {"nvidia.com/gpu": "1"}},
    }
    spec = {"template": {"spec": {"restartPolicy": "Never", "containers": [container]}}}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j", "namespace": "research"}, "spec": spec}
    once = mutated(world, request(job))
    assert "CHECKPOINT_DIR" in json.dumps(once)
    found = explain(world, manifest_of(once), KINDS["batch", "Job"], Asked(), NOW)
    assert found.view.checkpoint.state == "durable"
    assert [one.name for one in found.injecting.matching] == ["where"]


def test_who_injects_under_any_name_is_told_and_who_holds_back(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    job = tmp_path / "job.yaml"
    job.write_text("""
apiVersion: batch/v1
kind: Job
metadata: {name: nightly-eval, namespace: research}
spec:
  template:
    spec:
      restartPolicy: Never
      containers: [{name: main, image: "r/app:1", command: [python, main.py], resources: {limits: {nvidia.com/gpu: 1}}}]
""")
    by = tmp_path / "by.yaml"
    by.write_text("""
apiVersion: policy.workload.ai/v1alpha1
kind: WorkloadPolicy
metadata: {name: evals}
spec: {description: Evaluations., match: {types: [evaluation]}, inject: {queue: evals}}
---
apiVersion: policy.workload.ai/v1alpha1
kind: WorkloadPolicy
metadata: {name: rest}
spec: {description: All but evaluations., match: {not: {types: [evaluation]}}, inject: {queue: rest}}
""")
    assert main(["explain", str(job), "--policies", str(by)]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "rest: All but evaluations." in shown
    assert "matches too evals: injects no queue, priority or nodes for a type that is not certain" in shown


INJECTS = """
inject:
  tolerations: [{key: nvidia.com/gpu, operator: Exists}]
  nodeSelector: {pool: gpu}
  terminationGracePeriodSeconds: 300
  env: {NCCL_DEBUG: WARN}
"""
EVERYTHING = "tolerations, nodeSelector, terminationGracePeriodSeconds, env (policy p): "
RUNTIME = """
apiVersion: trainer.kubeflow.org/v1alpha1
kind: ClusterTrainingRuntime
metadata: {name: torch}
spec:
  mlPolicy: {numNodes: 2}
  template:
    spec:
      replicatedJobs:
        - name: node
          template:
            metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
            spec: {template: {spec: {containers: [{name: node, resources: {limits: {nvidia.com/gpu: 8}}}]}}}
---
"""
TRAIN_JOB = """
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: t}
spec: {runtimeRef: {name: torch}, trainer: {resourcesPerNode: {limits: {nvidia.com/gpu: 8}}}}
"""
SPARK = """
apiVersion: sparkoperator.k8s.io/v1beta2
kind: SparkApplication
metadata: {name: s}
spec:
  mainApplicationFile: local:///etl.py
  driver: {cores: 1}
  executor: {instances: 3, gpu: {name: nvidia.com/gpu, quantity: 2}}
"""
NIM = """
apiVersion: apps.nvidia.com/v1alpha1
kind: NIMService
metadata: {name: n}
spec: {image: {repository: nim}, resources: {limits: {nvidia.com/gpu: 1}}}
"""
MODEL = """
apiVersion: serving.kserve.io/v1beta1
kind: InferenceService
metadata: {name: m}
spec: {predictor: {model: {modelFormat: {name: huggingface}, resources: {limits: {nvidia.com/gpu: 1}}}}}
"""


@pytest.mark.parametrize(
    ("manifest", "told"),
    [
        (TRAIN_JOB, [f"{EVERYTHING}the pod template stands in another object, which this only names; write it there"]),
        (RUNTIME + TRAIN_JOB, [f"{EVERYTHING}the pod template stands in ClusterTrainingRuntime torch; write it there"]),
        (
            SPARK,
            ["env (policy p): what asks for the accelerators (spec.executor.gpu.quantity) is no container that is written to"],
        ),
        (NIM, [f"{EVERYTHING}NIMService gets labels alone, and what is made of it comes by again"]),
        (MODEL, []),
    ],
)
def test_what_a_kind_has_no_place_for_is_told(
    manifest: str, told: list[str], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "inject.yaml").write_text(policy(INJECTS))
    (tmp_path / "work.yaml").write_text(manifest)
    words = (str(tmp_path / "work.yaml"), "--policies", str(tmp_path / "inject.yaml"))
    (found,) = explained(capsys, *words)
    assert found["notInjected"] == told
    assert main(["explain", *words]) == 0
    page = " ".join(capsys.readouterr().out.split())
    assert ("not written " in page) == bool(told)
    assert all(one in page for one in told)
    assert "nothing left to inject" not in page


def test_a_queue_for_what_is_not_queued_is_told(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "inject.yaml").write_text(policy("inject: {queue: q}"))
    (tmp_path / "work.yaml").write_text(NIM)
    (found,) = explained(capsys, str(tmp_path / "work.yaml"), "--policies", str(tmp_path / "inject.yaml"))
    assert found["notInjected"] == ["queue (policy p): Kueue does not queue this NIMService by a label"]


def test_a_rule_whose_check_looks_at_other_kinds_does_not_pass_it(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    names = ("time-limits", "cron-concurrency", "serving-availability", "gang", "gpu-requests")
    rules = "\n".join(f"  - {{name: {name}, check: {name}, mode: warn}}" for name in names)
    (tmp_path / "all.yaml").write_text(policy(f"rules:\n{rules}"))
    job = "{apiVersion: trainer.kubeflow.org/v1alpha1, kind: TrainJob, metadata: {name: t}, spec: {runtimeRef: {name: torch}}}"
    (tmp_path / "job.yaml").write_text(job)
    words = (str(tmp_path / "job.yaml"), "--policies", str(tmp_path / "all.yaml"))
    (found,) = explained(capsys, *words)
    results = {rule["rule"].rpartition("/")[2]: rule["result"] for rule in found["policies"][0]["rules"]}
    assert results == {**dict.fromkeys(names, "does not apply"), "gpu-requests": "passes"}
    assert main(["explain", *words]) == 0
    assert "Rules: 1 passes, 4 do not apply; it would be let in" in capsys.readouterr().out
