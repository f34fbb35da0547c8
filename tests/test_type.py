"""What kind of AI work a workload is."""

from typing import Any

import pytest

from signalbox.fieldpath import format_path
from signalbox.workload.judgement import TRAINING_TYPES
from signalbox.workload.type import infer_type
from tests.judgement_cases import cases, manifest_of, view_of


@pytest.mark.parametrize("case", cases("type"), ids=lambda case: case["case"])
def test_type_is_read_from_what_the_containers_run(case: dict[str, Any]) -> None:
    view = view_of(manifest_of(case))
    assert view.type.state == case["type"], view.type.evidence
    if "distributed" in case:
        assert view.distributed is case["distributed"]


@pytest.mark.parametrize("case", cases("names"), ids=lambda case: case["case"])
def test_a_name_counts_where_something_else_bears_it_out(case: dict[str, Any]) -> None:
    view = view_of(manifest_of(case))
    assert view.type.state == case["type"], view.type.evidence
    assert view.type.thin is case.get("thin", False)


def test_every_type_but_none_carries_its_evidence() -> None:
    for case in cases("type"):
        view = view_of(manifest_of(case))
        assert bool(view.type.evidence) is (view.type.state is not None), case["case"]


def test_evidence_of_a_program_text_is_the_line_that_says_it_and_no_other() -> None:
    text = "run = Seq2SeqTrainer(model=m)\nrun.train()\nnotify(token='s3cr3t')"
    (evidence,) = view_of(manifest_of({"container": {"command": ["python", "-c", text]}})).type.evidence
    assert evidence.value == "run.train()"


def test_evidence_names_the_field_and_the_word() -> None:
    manifest = manifest_of({"container": {"name": "trainer", "command": ["python"], "args": ["-u", "train.py", "--lr", "1"]}})
    (evidence,) = view_of(manifest).type.evidence
    assert format_path(evidence.path, manifest) == "spec.template.spec.containers[trainer].args"
    assert evidence.value == "train.py"
    assert evidence.note


def test_the_label_wins_and_the_inferred_type_stays_within_reach() -> None:
    view = view_of(manifest_of({"labels": {"workload.ai/type": "inference"}, "container": {"command": ["python", "train.py"]}}))
    assert view.type.state == "inference"
    assert view.type.declared
    assert infer_type(view).state == "training"


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet", "Job", "Pod", "JobSet"])
@pytest.mark.parametrize(
    "container",
    [
        {"command": ["vllm", "serve", "m", "--load-format", "auto"]},
        {"command": ["python", "-m", "sglang.launch_server", "--model-path", "/ckpt/sft"]},
        {"command": ["torchrun", "--nproc_per_node=8", "-m", "vllm.entrypoints.openai.api_server"]},
        {"command": ["tritonserver", "--model-repository=/train/output"]},
        {"command": ["bash", "-c", "python train_or_load.py --load-only; exec tritonserver"]},
        {"image": "vllm/vllm-openai", "args": ["--model", "my-finetuned-model"]},
    ],
)
def test_inference_server_is_never_taken_for_training(kind: str, container: dict[str, Any]) -> None:
    assert view_of(manifest_of({"kind": kind, "container": container, "gpus": 8})).type.state not in TRAINING_TYPES


def test_helper_beside_the_trainer_does_not_speak_for_the_workload() -> None:
    pod = {
        "containers": [
            {"name": "proxy", "command": ["python", "serve.py"]},
            {"name": "trainer", "command": ["python", "train.py"], "resources": {"limits": {"nvidia.com/gpu": 1}}},
        ]
    }
    assert view_of(manifest_of({"pod": pod})).type.state == "training"


def test_launcher_pod_without_accelerators_speaks_for_its_workers() -> None:
    def replicated(name: str, container: dict[str, Any]) -> dict[str, Any]:
        return {"name": name, "template": {"spec": {"template": {"spec": {"containers": [container]}}}}}

    manifest = {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "spec": {
            "replicatedJobs": [
                replicated("launcher", {"command": ["mpirun", "-np", "16", "python", "train.py"]}),
                replicated("worker", {"command": ["/usr/sbin/sshd", "-De"], "resources": {"limits": {"nvidia.com/gpu": 8}}}),
            ]
        },
    }
    assert view_of(manifest).type.state == "distributed-training"


def test_parallel_pods_of_a_plain_job_are_not_one_run() -> None:
    case = {"container": {"command": ["python", "train.py"]}, "spec": {"parallelism": 8}}
    assert view_of(manifest_of(case)).type.state == "training"


def test_parallel_pods_told_how_to_meet_are_one_run() -> None:
    case = {
        "container": {"command": ["python", "train.py"], "env": [{"name": "MASTER_ADDR", "value": "x-0"}]},
        "spec": {"parallelism": 8},
    }
    assert view_of(manifest_of(case)).type.state == "distributed-training"


def test_jobset_of_several_pods_is_one_run() -> None:
    case = {"kind": "JobSet", "container": {"command": ["python", "train.py"]}, "spec": {"parallelism": 2}}
    assert view_of(manifest_of(case)).distributed


def test_what_is_too_long_to_read_is_told_from_nothing() -> None:
    view = view_of(manifest_of({"container": {"command": ["bash", "-c", "x1 y\n" * 20_000 + "python train.py"]}}))
    assert view.type.state is None
    assert [evidence.note for evidence in view.type.evidence] == ["too long to be read to its end"]


HEADS = ["api", "service", "server", "dashboard", "gateway", "controller", "exporter", "ui", "bot", "metrics"]


WORDS = ["train", "training", "finetune", "sft", "rlhf"]
# Without accelerators they mean other things.
GENERAL = ["lora", "fit", "kto"]
TRAINS_ALONE = [
    *((word, kind, 1) for word in (*WORDS, *GENERAL) for kind in ("Deployment", "CronJob")),
    *((word, "CronJob", 0) for word in WORDS),
    *((word, "Deployment", 0) for word in ("train", "finetune")),
]


def types_of_programs_called(name: str, kind: str, gpus: int) -> list[str | None]:
    commands = (["python", f"{name}.py"], ["python", "-m", name], [f"/usr/bin/{name}"])
    cases = [{"kind": kind, "container": {"command": command}, "gpus": gpus} for command in commands]
    return [view_of(manifest_of(case)).type.state for case in cases]


@pytest.mark.parametrize(("word", "kind", "gpus"), TRAINS_ALONE)
def test_a_word_of_training_that_stands_alone_trains(word: str, kind: str, gpus: int) -> None:
    assert set(types_of_programs_called(word, kind, gpus)) & TRAINING_TYPES


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize(("word", "kind", "gpus"), TRAINS_ALONE)
def test_the_last_word_of_a_name_says_what_it_is(word: str, kind: str, gpus: int, head: str) -> None:
    assert not set(types_of_programs_called(f"{word}_{head}", kind, gpus)) & TRAINING_TYPES


@pytest.mark.parametrize("kind", ["Deployment", "CronJob"])
@pytest.mark.parametrize("word", GENERAL)
def test_a_word_that_means_other_things_too_says_nothing_without_accelerators(word: str, kind: str) -> None:
    assert types_of_programs_called(word, kind, gpus=0) == [None] * 3
