"""Where the text of an inline program says that it saves."""

import time
from typing import Any

import pytest

from signalbox.signs_loading import load_default_signs
from signalbox.workload.program_text import saved_in, set_in
from tests.judgement_cases import manifest_of, view_of

_SAYS = [
    ('torch.save(model.state_dict(), "/ckpt/last.pt")', ["/ckpt/last.pt"]),
    ("torch.save({'step': 3, 'model': m.state_dict()}, f'/ckpt/{step}.pt')", ["/ckpt/${step}.pt"]),
    ('HERE = "/ckpt"\ntorch.save(x, f"{HERE}/a.pt")', ["/ckpt/a.pt"]),
    ('path = "/ckpt/m.h5"\nmodel.save(path)', ["/ckpt/m.h5"]),
    ('ModelCheckpoint(monitor="val_loss", filepath="/ckpt/{epoch:02d}.h5")', ["/ckpt/${epoch:02d}.h5"]),
    ('ModelCheckpoint(\n  dirpath="/ckpt",\n)', ["/ckpt", "/ckpt"]),
    ('TrainingArguments(output_dir="/ckpt/run", learning_rate=1e-4)', ["/ckpt/run"]),
    ('args = {"output_dir": "/ckpt/run"}', ["/ckpt/run"]),
    ('RunConfig(name="a", storage_path="s3://b/x")', ["s3://b/x"]),
    ("trainer.model.save_pretrained('/ckpt/final')", ["/ckpt/final"]),
    ("tf.train.CheckpointManager(ckpt, '/ckpt', max_to_keep=3)", ["/ckpt"]),
    ('checkpoint_dir: str = "/ckpt"', ["/ckpt"]),
    ('d = os.path.join("/ckpt", "a")\ntorch.save(x, d)', ["/ckpt"]),
    ('d = Path("/ckpt")\ntorch.save(x, d / "a.pt")', ["/ckpt/a.pt"]),
    ('d = os.environ["OUT"]\ntorch.save(x, f"{d}/a.pt")', ["/env/a.pt"]),
    ('CKPT_DIR = os.environ.get("CKPT", "/ckpt")', ["/ckpt"]),
    ("out = os.getenv('CHECKPOINT_DIR', '/ckpt')", ["/ckpt"]),
    ('torch.save(x, "mnist.pt")', ["mnist.pt"]),
    # What only reads, compares or speaks of something else.
    ('model = torch.load("/ckpt/last.pt")', []),
    ('from_pretrained("/models/llama")', []),
    ('if output_dir == "/ckpt": pass', []),
    ('data_dir = "/data"', []),
    ('log_dir="/tmp/logs"', []),
    ("model.save()", []),
    ('output = "hello"', []),
    ('out = tokenizer("a/b")', []),
    ('output_dir = "out"\nsave_steps=500', ["out", "500"]),
    # What is said to people, or given to something else than the run.
    ('# torch.save(x, "/ckpt/a.pt")\nmodel.fit()', []),
    ('x = 1  # output_dir="/ckpt"\n', []),
    ('"""Use torch.save(x, "/ckpt/a.pt") to keep it."""\nmodel.fit()', []),
    ("def f():\n    '''output_dir = '/ckpt' is where.'''\n    model.fit()", []),
    ('torch.save(x, "/ckpt/a#1.pt")  # kept', ["/ckpt/a#1.pt"]),
    ('"""Trains."""\ntorch.save(x, "/ckpt/a.pt")', ["/ckpt/a.pt"]),
    ("output_dir = \"/ckpt\"  # don't lose it\nprint('x')", ["/ckpt"]),
    ('Trainer(logger=TensorBoardLogger(save_dir="/tb", name=str(1)), default_root_dir="/ckpt")', ["/ckpt"]),
    ('ckpt_path = "/m/base.pt"\nmodel.load_state_dict(torch.load(ckpt_path))', []),
    ('checkpoint_dir = "/m/base"\nm = Model.from_pretrained(checkpoint_dir, x=1)', []),
    ('ckpt_path = "/m/a.pt"\ntorch.load(ckpt_path)\ntorch.save(x, ckpt_path)', ["/m/a.pt", "/m/a.pt"]),
    ('ckpt_path = "/m/a.pt"\nload(ckpt_path)\nsave_all(model, ckpt_path)', ["/m/a.pt"]),
    ('tok.save_pretrained("/m/tok")\nself.tokenizer.save_pretrained("/m/tok")', []),
    ('processor.save_pretrained("/m/p")\nmodel.save_pretrained("/m/model")', ["/m/model"]),
    ('print("model.save( is called, see / there")', []),
]


@pytest.mark.parametrize(("text", "places"), _SAYS, ids=[text[:40] for text, _ in _SAYS])
def test_places_that_a_program_saves_to_are_read_from_its_text(text: str, places: list[str]) -> None:
    found = saved_in(text, {"OUT": "/env"}, load_default_signs())
    assert [value for _, value, _ in found] == places


def _program(command: list[str], volume: dict[str, Any] | None = None) -> dict[str, Any]:
    mounts = [{"name": "v", "mountPath": "/mnt/ckpt"}] if volume else []
    return manifest_of(
        {
            "container": {"command": command, "volumeMounts": mounts},
            "with": {"volumes": [{"name": "v", **(volume or {})}]} if volume else {},
        }
    )


_CLAIM = {"persistentVolumeClaim": {"claimName": "c"}}
_TRAINS = "import torch\nloss.backward()\noptimizer.step()\ntorch.save(model.state_dict(), '/mnt/ckpt/a.pt')\n"


def test_an_inline_program_that_saves_to_a_claim_keeps_its_progress() -> None:
    view = view_of(_program(["python", "-c", _TRAINS], _CLAIM))
    assert view.checkpoint.state == "durable"
    assert view.checkpoint.evidence[0].value == "torch.save(…/mnt/ckpt/a.pt)"


def test_evidence_shows_nothing_else_of_a_program() -> None:
    text = _TRAINS + "a = TrainingArguments(hub_token='hf_secret', output_dir='/mnt/ckpt/b')\n"
    shown = [seen.value for seen in view_of(_program(["python", "-c", text], _CLAIM)).checkpoint.evidence]
    assert shown == ["output_dir=/mnt/ckpt/b", "torch.save(…/mnt/ckpt/a.pt)"]


def test_an_inline_program_that_saves_to_its_own_disk_loses_it() -> None:
    assert view_of(_program(["python", "-c", _TRAINS])).checkpoint.state == "ephemeral"


def test_a_program_that_a_script_feeds_to_python_is_read() -> None:
    script = f"set -e\npython3 - <<'EOF'\n{_TRAINS}EOF\n"
    assert view_of(_program(["bash", "-c", script], _CLAIM)).checkpoint.state == "durable"


def test_a_program_that_a_script_writes_to_a_file_first_is_read() -> None:
    script = f"cat > /tmp/train.py <<'EOF'\n{_TRAINS}EOF\ntorchrun /tmp/train.py\n"
    assert view_of(_program(["bash", "-c", script], _CLAIM)).checkpoint.state == "durable"


def test_a_configuration_that_a_script_writes_first_is_read() -> None:
    script = "cat > /tmp/c.yaml <<'EOF'\nbase_model: x/y\noutput_dir: /mnt/ckpt/run  # kept\nEOF\naxolotl train /tmp/c.yaml\n"
    view = view_of(_program(["bash", "-c", script], _CLAIM))
    assert (view.checkpoint.state, view.checkpoint.evidence[0].value) == ("durable", "output_dir: /mnt/ckpt/run")


def test_an_option_says_more_than_what_nobody_runs() -> None:
    script = "cat > /tmp/notes.txt <<'EOF'\noutput_dir is the folder of torch.save\nEOF\npython train.py --output_dir /tmp/x\n"
    assert view_of(_program(["bash", "-c", script], _CLAIM)).checkpoint.state == "ephemeral"


@pytest.mark.parametrize(
    ("imports", "state"), [("import torch", "none"), ("import xgboost", "durable"), ("from sklearn import svm", "durable")]
)
def test_what_joblib_dumps_is_the_model_of_programs_whose_models_it_keeps(imports: str, state: str) -> None:
    text = (
        f"{imports}\nimport joblib\nloss.backward()\noptimizer.step()\nmodel.fit(x, y)\njoblib.dump(it, '/mnt/ckpt/a.joblib')\n"
    )
    manifest = _program(["python", "-c", text], _CLAIM)
    manifest["spec"]["template"]["spec"]["containers"][0]["volumeMounts"][0]["mountPath"] = "/mnt"
    assert view_of(manifest).checkpoint.state == state


def test_a_setting_of_yaml_belongs_to_what_it_stands_below() -> None:
    text = "logging:\n  output_dir: /logs\n  more:\n    x: 1\ntrain:\n  output_dir: /ckpt\noutput_dir: /all\n"
    assert [value for _, value, _ in set_in(text, load_default_signs())] == ["/ckpt", "/all"]


_HOSTILE = [
    '"""',
    "'''a\n",
    "#",
    "x='\\",
    "Logger((",
    "Logger((a)",
    "load(a) save(",
    "load(a) save((",
    "load(a) save((a)",
    "load(a) save(a (b(c)",
    "saves",
    "a:\n a:\n",
    "torch.save(",
    "a=",
    "a = os.path.join(",
    'x="',
    "(",
    "a ",
    "f'{",
    "a:",
    "os.environ[",
    "a = {",
    "a: b\n",
    "\n ",
    "save_dir='/x'\n",
]
_HOSTILE.append("(a, ".join(call.rstrip("(") for call in load_default_signs().checkpoint.calls))


@pytest.mark.parametrize("text", [*(piece * (200_000 // len(piece)) for piece in _HOSTILE), "a = " + " " * 200_000 + "b"])
def test_hostile_text_costs_no_more_than_its_length(text: str) -> None:
    signs = load_default_signs()
    start = time.process_time()
    list(saved_in(text, {}, signs))
    list(set_in(text, signs))
    assert time.process_time() - start < 0.5


def test_what_may_be_a_secret_in_a_url_is_not_shown() -> None:
    text = "p.add_argument('--to')\ntorch.save(m, args.to)"
    for url in ("https://a.blob.core.windows.net/ckpt?sig=HUNTER2", "s3://key:HUNTER2@minio/b/run"):
        (said,) = saved_in(text, {}, load_default_signs(), {"to": url})
        assert said[1] == url
        assert "HUNTER2" not in said[2]
