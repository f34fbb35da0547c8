"""Where progress is kept, and whether it outlives the Pod."""

from typing import Any

import pytest

from signalbox.fieldpath import format_path
from signalbox.finding import Result
from signalbox.policy.mode import Mode
from signalbox.workload.checkpoint import infer_checkpoint
from tests.judgement_cases import cases, manifest_of, view_of
from tests.world import judged, policy, request, setup


@pytest.mark.parametrize("case", cases("checkpoint"), ids=lambda case: case["case"])
def test_checkpoint_is_judged_by_where_it_is_kept(case: dict[str, Any]) -> None:
    found = view_of(manifest_of(case)).checkpoint
    assert found.state == case["checkpoint"], found.evidence
    assert found.declared is case.get("declared", False)
    assert found.evidence or found.state == "none"
    if "finished" in case:
        assert found.finished_only is case["finished"]
    if "note" in case:
        assert found.evidence[0].note == case["note"]


def test_evidence_reads_as_the_field_and_its_value() -> None:
    manifest = manifest_of(
        {"container": {"name": "trainer", "command": ["python", "train.py"], "args": ["--output_dir=/tmp/out"]}}
    )
    (evidence,) = view_of(manifest).checkpoint.evidence
    assert format_path(evidence.path, manifest) == "spec.template.spec.containers[trainer].args"
    assert evidence.value == "--output_dir=/tmp/out"


def test_what_was_inferred_stays_within_reach_of_a_declaration() -> None:
    case = {
        "annotations": {"workload.ai/checkpoint-uri": "gs://b/x"},
        "container": {"command": ["python", "train.py", "--output_dir=/tmp/out"]},
    }
    view = view_of(manifest_of(case))
    assert view.checkpoint.state == "durable"
    assert infer_checkpoint(view).state == "ephemeral"


def test_best_of_the_templates_that_train_counts() -> None:
    def replicated(name: str, args: list[str]) -> dict[str, Any]:
        container = {"command": ["python", "train.py", *args], "resources": {"limits": {"nvidia.com/gpu": 1}}}
        return {"name": name, "template": {"spec": {"template": {"spec": {"containers": [container]}}}}}

    jobs = [replicated("a", ["--save_dir=/tmp/x"]), replicated("b", ["--save_dir=s3://b/x"])]
    manifest = {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "spec": {"replicatedJobs": jobs}}
    assert view_of(manifest).checkpoint.state == "durable"


def test_a_proxy_beside_the_trainer_keeps_no_checkpoint_for_it() -> None:
    pod = {
        "containers": [
            {"name": "sync", "args": ["--output_dir=s3://b/x"]},
            {"name": "trainer", "command": ["python", "train.py"], "resources": {"limits": {"nvidia.com/gpu": 1}}},
        ]
    }
    assert view_of(manifest_of({"pod": pod})).checkpoint.state == "none"


def test_a_template_without_pods_keeps_nothing_and_demands_nothing() -> None:
    def replicated(name: str, replicas: int, args: list[str], **pod: Any) -> dict[str, Any]:
        container = {"command": ["python", "train.py", *args], "resources": {"limits": {"nvidia.com/gpu": 1}}}
        return {
            "name": name,
            "replicas": replicas,
            "template": {"spec": {"template": {"spec": {"containers": [container], **pod}}}},
        }

    spot = {"nodeSelector": {"cloud.google.com/gke-spot": "true"}}
    jobs = [replicated("a", 1, ["--save_dir=/tmp/x"]), replicated("b", 0, ["--save_dir=s3://b/x"], **spot)]
    manifest = {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "spec": {"replicatedJobs": jobs}}
    view = view_of(manifest)
    assert (view.checkpoint.state, view.spot.state) == ("ephemeral", "no")
    manifest["spec"] = {"replicatedJobs": jobs[1:]}
    view = view_of(manifest)
    assert (view.checkpoint.state, view.spot.state) == ("durable", "demanded")


def _spot_job(claim: str, args: list[str], gpus: int = 1) -> dict[str, Any]:
    container = {"command": ["python", "train.py", *args], "volumeMounts": [{"name": "v", "mountPath": "/models"}]}
    volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": claim}}]
    with_spot = {"nodeSelector": {"cloud.google.com/gke-spot": "true"}, "volumes": volumes}
    return manifest_of({"container": container, "gpus": gpus, "with": with_spot})


def _asked(manifest: dict[str, Any], unread: str = "note") -> Any:
    rule = f"{{name: r, check: checkpoint, with: {{accept: [durable], unread: {unread}}}, mode: enforce}}"
    return judged(setup(policy(f"rules: [{rule}]")), request(manifest))


@pytest.mark.parametrize("args", [["--model-dir=/models"], ["--model-dir=/models", "--resume"]])
def test_spot_job_with_nothing_but_a_folder_for_its_finished_model_is_warned(args: list[str]) -> None:
    outcome = _asked(_spot_job("team", args))
    assert outcome.response.allowed
    (found,) = outcome.findings
    assert found.mode is Mode.WARN
    assert "only its finished model is seen to outlive the Pod" in found.message


@pytest.mark.parametrize("uri", ["s3://", "~/run", "ftp://host/run"])
def test_a_checkpoint_uri_that_names_no_place_does_not_silence_the_warning_of_a_finished_model(uri: str) -> None:
    job = _spot_job("team", ["--model-dir=/models"])
    job["metadata"]["annotations"] = {"workload.ai/checkpoint-uri": uri}
    outcome = _asked(job)
    assert [found.mode for found in outcome.findings] == [Mode.WARN]
    assert "only its finished model is seen to outlive the Pod" in outcome.response.warnings[0]


def test_a_run_that_now_keeps_its_finished_model_alone_is_told_though_nothing_read_its_checkpoint_before() -> None:
    rule = "{name: r, check: checkpoint, with: {accept: [durable], unread: warn}, mode: enforce}"
    unread, finished = _spot_job("team", ["--output_dir=/models"]), _spot_job("team", ["--model-dir=/models"])
    world = setup(policy(f"rules: [{rule}]"))
    assert [found.key for found in judged(world, request(unread)).findings] == ["resume"]
    outcome = judged(world, request(finished, unread))
    assert [(found.key, found.result) for found in outcome.findings] == [("finished-model", Result.FAIL)]
    assert "only its finished model is seen to outlive the Pod" in outcome.response.warnings[0]
    assert judged(world, request(finished, finished)).response.warnings == ()


def test_nobody_is_told_of_it_where_a_policy_lets_it_pass() -> None:
    assert _asked(_spot_job("team", ["--model-dir=/models"]), unread="pass").findings == ()


@pytest.mark.parametrize(
    ("args", "instead"),
    [
        (["--save_strategy", "no"], "write --save_strategy epoch instead of --save_strategy no"),
        (["trainer.enable_checkpointing=False"], "write trainer.enable_checkpointing=True instead of"),
        (["--enable-checkpoint=0"], "write --enable-checkpoint=1 instead of"),
        (["--no-save"], "leave --no-save out"),
        (["--no-save-checkpoints=true"], "leave --no-save-checkpoints out"),
        (["--save_strategy=never"], "write --save_strategy=epoch instead of"),
        (["--do_save=never"], "--do_save=never turns that off"),
    ],
)
def test_spot_job_that_is_told_to_save_nothing_is_refused_and_told_what_to_write_instead(args: list[str], instead: str) -> None:
    outcome = _asked(_spot_job("team", ["--output_dir=/models", *args]))
    assert not outcome.response.allowed
    (found,) = outcome.findings
    assert "its saving is turned off" in found.message
    assert found.fix is not None
    assert f"({instead}" in found.fix.text


def test_spot_job_that_is_told_to_save_nothing_before_its_end_is_warned() -> None:
    (found,) = _asked(_spot_job("team", ["--output_dir=/models", "--save_freq=-1"])).findings
    assert found.mode is Mode.WARN
    assert "saves nothing before its end: --save_freq=-1 turns that off" in found.message


@pytest.mark.parametrize(
    ("args", "fix"),
    [
        (
            ["--output_dir=/tmp/out"],
            "let it save below /fsx, which outlives the Pod (write --output_dir=/fsx/out instead of --output_dir=/tmp/out)",
        ),
        (["--output_dir", "/tmp/a/b/"], "(write --output_dir /fsx/b instead of --output_dir /tmp/a/b/)"),
        ([], "(--output_dir=/fsx/x, or what its framework calls it)"),
    ],
)
def test_spot_job_is_shown_the_volume_that_it_has_already(args: list[str], fix: str) -> None:
    (found,) = _asked(_mounting("/fsx", args)).findings
    assert found.fix is not None
    assert fix in found.fix.text
    assert [(edit.value, edit.to_fill_in) for edit in found.fix.edits] == [("/fsx/<RUN>", True)]


@pytest.mark.parametrize("path", ["/data", "/datasets", "/root/.cache"])
def test_spot_job_is_not_told_to_save_where_its_data_is(path: str) -> None:
    (found,) = _asked(_mounting(path, ["--output_dir=/tmp/out"])).findings
    assert found.fix is not None
    assert found.fix.text.startswith("mount a PersistentVolumeClaim")


def _mounting(path: str, args: list[str]) -> dict[str, Any]:
    job = _spot_job("team", args)
    job["spec"]["template"]["spec"]["containers"][0]["volumeMounts"][0]["mountPath"] = path
    return job


def _copied(last: str) -> dict[str, Any]:
    container = {"command": ["bash", "-c", f"python train.py {last}"]}
    return manifest_of({"container": container, "with": {"nodeSelector": {"cloud.google.com/gke-spot": "true"}}})


def test_spot_job_whose_model_is_copied_away_only_once_it_is_over_is_refused() -> None:
    outcome = _asked(_copied("&& aws s3 cp model.pt s3://b/run/"))
    assert not outcome.response.allowed
    (found,) = outcome.findings
    assert "this run would start over: what it makes is copied away only once it is over" in found.message


def test_a_refusal_tells_a_spot_job_whose_lost_output_is_copied_at_the_end_that_this_is_too_late() -> None:
    (found,) = _asked(_copied("--output_dir /tmp/out && aws s3 cp /tmp/out s3://b/run/ --recursive")).findings
    assert "this run would start over: what it makes is copied away only once it is over" in found.message
    assert [evidence.value for evidence in found.evidence[1:]] == [
        "--output_dir /tmp/out",
        "aws s3 cp /tmp/out s3://b/run/ --recursive",
    ]


def test_a_policy_that_takes_a_lost_checkpoint_takes_one_that_is_copied_at_the_end() -> None:
    rule = "{name: r, check: checkpoint, with: {accept: [durable, ephemeral]}, mode: enforce}"
    world = setup(policy(f"rules: [{rule}]"))
    assert judged(world, request(_copied("--output_dir /tmp/out && aws s3 cp /tmp/out s3://b/x --recursive"))).findings == ()


def test_spot_job_whose_configuration_may_say_where_it_saves_is_warned_whatever_it_copies_in_the_end() -> None:
    outcome = _asked(_copied("--config run.yaml && aws s3 cp model.pt s3://b/run/"))
    assert outcome.response.allowed
    assert [found.mode for found in outcome.findings] == [Mode.WARN]


def test_a_policy_that_lets_work_without_a_checkpoint_pass_lets_a_copy_at_the_end_pass() -> None:
    rule = "{name: r, check: checkpoint, with: {accept: [durable, none], unread: pass}, mode: enforce}"
    world = setup(policy(f"rules: [{rule}]"))
    assert judged(world, request(_copied("&& aws s3 cp model.pt s3://b/run/"))).findings == ()


@pytest.mark.parametrize("gpus", [0, 1])
def test_spot_job_with_a_folder_of_models_that_nothing_names_is_warned(gpus: int) -> None:
    outcome = _asked(_spot_job("team", [], gpus))
    assert outcome.response.allowed
    assert [found.mode for found in outcome.findings] == [Mode.WARN]


def test_spot_job_with_nothing_but_a_cache_of_models_is_refused() -> None:
    assert not _asked(_spot_job("model-cache", [])).response.allowed
