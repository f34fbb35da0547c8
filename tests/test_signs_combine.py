"""WorkloadSigns documents together: where two say of one name what cannot both be, the later one wins; all else adds up."""

from pathlib import Path
from typing import Any, get_args

import pytest
from pydantic import ValidationError

from signalbox.cluster.view import EmptyClusterView
from signalbox.configuration import load_signs
from signalbox.policy.saving_signs_document import CheckpointNameEntry, ResumeEntry, VolumeEntry
from signalbox.policy.signs_compile import compile_signs
from signalbox.policy.signs_document import CommandEntry, NameEntry, PortEntry, WorkloadSignsDocument
from signalbox.policy.signs_roles import CHECKPOINT, COMMANDS, NAMES, PORTS, RESUME, VOLUMES, Rivals
from signalbox.signs_loading import default_documents
from signalbox.workload.kinds.table import KINDS
from signalbox.workload.view import WorkloadView
from tests.judgement_cases import manifest_of

LINT = sorted((Path(__file__).parent / "cases" / "lint" / "signs").glob("*.yaml"))


def document(spec: dict[str, Any]) -> WorkloadSignsDocument:
    for section in (*spec.values(), *spec.get("checkpoint", {}).values()):
        for entry in section if isinstance(section, list) else ():
            entry.setdefault("reason", "ours")
    return WorkloadSignsDocument.model_validate(
        {"apiVersion": "policy.workload.ai/v1alpha1", "kind": "WorkloadSigns", "metadata": {"name": "ours"}, "spec": spec}
    )


def view(case: dict[str, Any], *specs: dict[str, Any]) -> WorkloadView:
    signs = compile_signs([*default_documents(), *map(document, specs)])
    manifest = manifest_of(case)
    group = manifest["apiVersion"].rpartition("/")[0]
    return WorkloadView(manifest, KINDS[group, manifest["kind"]], signs, EmptyClusterView())


def commands(role: str, *names: str, **more: Any) -> dict[str, Any]:
    return {"commands": [{"role": role, "names": [*names], **more}]}


def types(type_: str, *names: str) -> dict[str, Any]:
    return {"types": [{"type": type_, "commands": [*names]}]}


def words(role: str, *names: str) -> dict[str, Any]:
    return {"names": [{"role": role, "words": [*names]}]}


def saving(role: str, *names: str, **more: Any) -> dict[str, Any]:
    return {"checkpoint": {"names": [{"role": role, "names": [*names], **more}]}}


def volumes(kept: str, **more: Any) -> dict[str, Any]:
    return {"checkpoint": {"volumes": [{"kept": kept, **more}]}}


def resume(role: str, *names: str) -> dict[str, Any]:
    return {"resume": [{"role": role, "names": [*names]}]}


@pytest.mark.parametrize(
    ("command", "added", "before", "after"),
    [
        # A tool of the shipped signs is a trainer here, with all it is told or with one sub-command.
        ("blender --background", types("training", "blender"), None, "training"),
        ("blender learn x", types("training", "blender learn"), None, "training"),
        ("simpleFoam -parallel", types("training", "simplefoam"), None, "training"),
        # A trainer of the shipped signs is a tool here.
        ("axolotl train x.yml", commands("utility", "axolotl"), "fine-tuning", None),
        ("yolo train data=x", commands("utility", "yolo"), "training", None),
        # A tool starts programs here, and what starts programs is a tool.
        ("abaqus python train.py", commands("wrapper", "abaqus"), None, "training"),
        ("abaqus train.py", commands("launcher", "abaqus"), None, "training"),
        ("nohup python train.py", commands("utility", "nohup"), "training", None),
        ("torchrun train.py", commands("utility", "torchrun"), "training", None),
        ("julia train.jl", commands("utility", "julia"), "training", None),
        ("julia a100 train.jl", commands("wrapper", "julia", words=1), None, "training"),
        ("julia server.jl", types("training", "julia"), "inference", "training"),
        # Of one option the value is a work whatever it is called, or only where it is the plain name of one.
        ("python main.py --mode large-eval", commands("choice", "mode"), "evaluation", None),
        ("python main.py --task large-eval", commands("selector", "task"), None, "evaluation"),
        # Words of names: what the first and the last one say.
        ("python submit_train.py", words("order", "submit"), None, "training"),
        ("python launch_train.py", words("errand", "launch"), "training", None),
        ("python train_dashboard.py", words("filler", "dashboard"), None, "training"),
        ("python train_app.py", words("part", "app"), None, "training"),
        ("python train_trainer.py", words("thing", "trainer"), "training", None),
        ("python lora_inference.py", words("part", "inference"), "batch-inference", "fine-tuning"),
    ],
)
def test_later_document_says_what_a_program_or_word_is(
    command: str, added: dict[str, Any], before: str | None, after: str | None
) -> None:
    case = {"container": {"command": command.split()}}
    assert view(case).type.state == before
    assert view(case, added).type.state == after


@pytest.mark.parametrize(
    ("command", "added", "before", "after"),
    [
        ("sleep infinity", types("benchmark", "sleep infinity"), "interactive", "benchmark"),
        ("sleep infinity", commands("wrapper", "sleep infinity"), "interactive", None),
        ("k6", commands("idle", "k6"), "benchmark", "interactive"),
    ],
)
def test_later_document_says_what_only_waits(command: str, added: dict[str, Any], before: str, after: str | None) -> None:
    case = {"kind": "Pod", "container": {"command": command.split(), "tty": True}}
    assert view(case).type.state == before
    assert view(case, added).type.state == after


def test_framework_of_a_tool_is_read_and_that_of_what_becomes_a_tool_is_not() -> None:
    abaqus = {"container": {"command": ["abaqus", "job=x"]}}
    assert view(abaqus, {"frameworks": [{"framework": "abaqus-ml", "commands": ["abaqus"]}]}).framework.state == "abaqus-ml"
    axolotl = {"container": {"command": ["axolotl", "train", "x.yml"]}}
    assert view(axolotl).framework.state == "axolotl"
    assert view(axolotl, commands("utility", "axolotl")).framework.state is None


def test_the_last_of_several_documents_wins() -> None:
    case = {"container": {"command": ["forge", "x"]}}
    trains, tool, measures = types("training", "forge"), commands("utility", "forge"), types("benchmark", "forge")
    assert view(case, trains, tool).type.state is None
    assert view(case, tool, trains).type.state == "training"
    assert view(case, trains, tool, measures).type.state == "benchmark"
    assert view(case, measures, trains, tool).type.state is None


def test_launcher_may_be_known_for_a_type_whichever_document_says_so_first() -> None:
    case = {"container": {"command": ["mesh", "main.py"]}}
    starts, trains = commands("launcher", "mesh"), types("training", "mesh")
    for order in ((starts, trains), (trains, starts)):
        judged = view(case, *order)
        assert (judged.type.state, "mesh" in judged.signs.commands.launchers) == ("training", True)


def test_port_of_a_dashboard_is_a_notebook_here_and_the_other_way_round() -> None:
    def listens(port: int) -> dict[str, Any]:
        return {"kind": "Deployment", "container": {"image": "x/y", "ports": [{"containerPort": port}]}}

    assert view(listens(6006)).type.state is None
    assert view(listens(6006), {"ports": [{"meaning": "interactive", "ports": [6006]}]}).type.state == "interactive"
    assert view(listens(8888)).type.state == "interactive"
    assert view(listens(8888), {"ports": [{"meaning": "rendezvous", "ports": [8888]}]}).type.state is None


def kept(volume: dict[str, Any], *specs: dict[str, Any]) -> str | None:
    container = {"command": ["python", "train.py", "--output_dir=/w/a"], "volumeMounts": [{"name": "w", "mountPath": "/w"}]}
    return view({"container": container, "with": {"volumes": [{"name": "w", **volume}]}}, *specs).checkpoint.state


@pytest.mark.parametrize(
    ("volume", "added", "before", "after"),
    [
        ({"hostPath": {"path": "/x"}}, volumes("durable", sources=["hostPath"]), "ephemeral", "durable"),
        ({"nfs": {"server": "x"}}, volumes("ephemeral", sources=["nfs"]), "durable", "ephemeral"),
        ({"nfs": {"server": "x"}}, volumes("read-only", sources=["nfs"]), "durable", "none"),
        ({"csi": {"driver": "x.lab"}}, volumes("ephemeral", drivers=["x.lab"]), "unknown", "ephemeral"),
        ({"csi": {"driver": "x.lab"}}, volumes("read-only", drivers=["x.lab"]), "unknown", "none"),
        ({"csi": {"driver": "x.lab"}}, volumes("durable", drivers=["x.lab"]), "unknown", "durable"),
        ({"csi": {"driver": "x.lab"}}, volumes("durable", drivers=["la"]), "unknown", "durable"),
        ({"csi": {"driver": "s3.csi.aws.com"}}, volumes("ephemeral", drivers=["s3.csi.aws.com"]), "durable", "ephemeral"),
        ({"csi": {"driver": "image.csi.k8s.io"}}, volumes("durable", drivers=["image.csi.k8s.io"]), "none", "durable"),
    ],
)
def test_later_document_says_what_a_volume_keeps(
    volume: dict[str, Any], added: dict[str, Any], before: str, after: str
) -> None:
    assert kept(volume) == before
    assert kept(volume, added) == after


def test_driver_that_an_earlier_document_of_ours_called_durable_is_read_only_now() -> None:
    volume = {"csi": {"driver": "x.lab"}}
    assert kept(volume, volumes("durable", drivers=["x.lab"]), volumes("read-only", drivers=["x.lab"])) == "none"


@pytest.mark.parametrize(
    ("command", "added", "before", "after"),
    [
        ("--snapshot_dir=s3://b/x", saving("never", "snapshot"), "durable", "none"),
        ("--teacher_dir=s3://b/x --save_steps=5", saving("subject", "teacher"), "none", "durable"),
        ("--checkpoint_download=s3://b/x", saving("place", "download"), "none", "durable"),
        ("--ckpt_bucket=b", saving("place", "bucket"), "durable", "ephemeral"),
        ("--savedir=s3://b/x", saving("output-when-saving", "savedir"), "durable", "none"),
        ("--logdir=s3://b/x", saving("output", "logdir"), "none", "durable"),
        ("--output_dir=s3://b/x", saving("configuration", "output-dir"), "durable", "unknown"),
        ("--savedir=s3://b/x", saving("output", "savedir", frameworks=["xgboost"]), "durable", "none"),
        ("--model_path=s3://b/x", saving("output", "model-path"), "none", "durable"),
        ("--output_dir=hdfs:///x", {"checkpoint": {"stores": [{"schemes": ["hdfs"]}]}}, "durable", "unknown"),
    ],
)
def test_later_document_says_what_an_option_has_to_do_with_saving(
    command: str, added: dict[str, Any], before: str, after: str
) -> None:
    case = {"container": {"command": ["python", "train.py", *command.split()]}}
    assert view(case).checkpoint.state == before
    assert view(case, added).checkpoint.state == after


def test_call_that_counts_for_some_frameworks_counts_for_all_where_a_later_document_says_so() -> None:
    text = "import torch\nloss.backward()\njoblib.dump(scaler, 's3://b/x')"
    case = {"container": {"command": ["python", "-c", text]}}
    assert view(case).checkpoint.state == "none"
    assert view(case, saving("call", "joblib.dump(")).checkpoint.state == "durable"


@pytest.mark.parametrize(
    ("role", "mount", "before", "after"),
    [
        ("mount-never", "outputs", "durable", "none"),
        ("mount-data", "outputs", "durable", "none"),
        ("mount", "cache", "none", "durable"),
    ],
)
def test_later_document_says_what_the_name_of_a_mount_means(role: str, mount: str, before: str, after: str) -> None:
    container = {"command": ["python", "train.py"], "volumeMounts": [{"name": "w", "mountPath": f"/{mount}"}]}
    case = {
        "container": container,
        "with": {"volumes": [{"name": "w", "persistentVolumeClaim": {"claimName": "x"}}]},
    }
    assert view(case).checkpoint.state == before
    assert view(case, saving(role, mount)).checkpoint.state == after


@pytest.mark.parametrize(
    ("option", "added", "before", "after"),
    [
        ("--continue-from=s3://b/base", resume("load", "continue-from"), "resumes", "unsaid"),
        ("--continue-from=s3://b/base", resume("anew", "continue-from"), "resumes", "starts-over"),
        ("--from-scratch", resume("option", "from-scratch"), "starts-over", "resumes"),
        ("--resume_tag=x", resume("never", "resume"), "resumes", "unsaid"),
        ("--backup=x", resume("word", "backup"), "unsaid", "resumes"),
    ],
)
def test_later_document_says_what_an_option_reads_back(option: str, added: dict[str, Any], before: str, after: str) -> None:
    case = {"container": {"command": ["python", "train.py", "--output_dir=s3://b/x", option]}}
    assert view(case).resume.state == before
    assert view(case, added).resume.state == after


def test_roles_that_go_together_add_up() -> None:
    plain = compile_signs(default_documents())
    added = [
        saving("frequency", "dir"),
        saving("mount", "ckpt"),
        saving("output", "model-path", frameworks=["forge"]),
        words("errand", "dashboard"),
        commands("ask", "git"),
        {"distributed": [{"arguments": ["nproc-per-node"]}]},
    ]
    signs = compile_signs([*default_documents(), *map(document, added)])
    assert signs.checkpoint.places == plain.checkpoint.places
    assert signs.checkpoint.subjects == plain.checkpoint.subjects
    assert signs.checkpoint.outputs_of["model_path"] == plain.checkpoint.outputs_of["model_path"] | {"forge"}
    assert signs.names.things == plain.names.things
    assert signs.commands.utilities == plain.commands.utilities
    assert signs.distributed.processes == plain.distributed.processes


def test_within_one_document_a_name_has_every_role_it_is_given() -> None:
    spec = {
        **commands("utility", "forge"),
        **types("training", "forge"),
        "ports": [{"meaning": "rendezvous", "ports": [7000]}, {"meaning": "interactive", "ports": [7000]}],
    }
    signs = compile_signs([document(spec)])
    assert "forge" in signs.commands.utilities
    assert "forge" in signs.types.commands
    assert signs.ports.rendezvous == signs.ports.interactive == {7000}


def test_what_is_said_twice_changes_nothing() -> None:
    once, twice = compile_signs(default_documents()), compile_signs([*default_documents(), *default_documents()])
    assert (once.commands, once.names, once.ports, once.resume) == (twice.commands, twice.names, twice.ports, twice.resume)


@pytest.mark.parametrize(
    ("rivals", "model", "field", "ours"),
    [
        (COMMANDS, CommandEntry, "role", {"type", "type-program", "framework-program"}),
        (NAMES, NameEntry, "role", set()),
        (PORTS, PortEntry, "meaning", set()),
        (CHECKPOINT, CheckpointNameEntry, "role", {"output-of", "call-of"}),
        (VOLUMES, VolumeEntry, "kept", set()),
        (RESUME, ResumeEntry, "role", set()),
    ],
)
def test_roles_that_rule_each_other_out_are_roles(rivals: Rivals, model: type[Any], field: str, ours: set[str]) -> None:
    named = {role for row in rivals for together in row for role in together.split()}
    assert named - ours <= set(get_args(model.model_fields[field].annotation))


@pytest.mark.parametrize("case", LINT, ids=lambda path: path.stem)
def test_lint_says_what_of_a_document_would_never_be_read(case: Path) -> None:
    expected = [line.removeprefix("#: ") for line in case.read_text(encoding="utf-8").splitlines() if line.startswith("#: ")]
    printed = [str(problem).rpartition(f"{case.name}:")[2] for problem in load_signs([case]).problems]
    assert printed == expected


def test_hints_and_bases_stand_where_they_are_read() -> None:
    hints = {"types": [{"type": "fine-tuning", "hints": ["forge-size"]}]}
    case = {"name": "retrain", "container": {"command": ["python", "main.py", "--forge-size=8"]}, "gpus": 0}
    assert (view(case).type.state, view(case, hints).type.state) == (None, "training")
    bases = {"types": [{"type": "fine-tuning", "bases": ["forge-base"]}]}
    case = {"container": {"command": ["python", "train.py", "--forge-base=lab/llama"]}}
    assert (view(case).type.state, view(case, bases).type.state) == ("training", "fine-tuning")
    with pytest.raises(ValidationError, match="write them in an entry of type: fine-tuning"):
        document({"types": [{"type": "training", "bases": ["forge-base"]}]})
    with pytest.raises(ValidationError, match="hints bear out training only"):
        document({"types": [{"type": "inference", "hints": ["forge-size"]}]})


def test_values_of_spot_under_keys_of_ones_own_add_up() -> None:
    ours = {"spot": {"anyKey": [{"words": ["pool"], "values": ["cheap"], "reason": "ours"}]}}
    for pool in ("gpu-spot", "gpu-cheap"):
        case = {"pod": {"nodeSelector": {"acme.example/pool": pool}, "containers": [{"name": "a", "image": "x"}]}}
        assert view(case, ours).spot.state == "demanded"
