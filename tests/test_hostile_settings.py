"""What says where a run saves costs no more than its length to read, however often it says so."""

import json
from typing import Any

import pytest

from signalbox.signs_loading import load_default_signs
from signalbox.workload import places, program_text, resume, started
from signalbox.workload.budget import SAVE_CALL, TOTAL, WORD
from signalbox.workload.container_paths import LONGEST_PATH
from signalbox.workload.program_text import cost_of, saved_in
from signalbox.workload.view import WorkloadView
from tests.judgement_cases import manifest_of, view_of

GPU = {"limits": {"nvidia.com/gpu": 1}}


class Calls:
    """Counts how often a function is called, and how much of it is asked for again."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, owner: Any, name: str) -> None:
        self.count = 0
        called = getattr(owner, name)

        def counting(*args: Any) -> Any:
            self.count += 1
            return called(*args)

        monkeypatch.setattr(owner, name, counting)


def judged(commands: list[list[str]]) -> WorkloadView:
    containers = [{"name": f"c{index}", "resources": GPU, "command": words} for index, words in enumerate(commands)]
    view = view_of(manifest_of({"pod": {"containers": containers}}))
    assert view.checkpoint.state
    assert view.resume.state
    return view


@pytest.mark.parametrize("count", [4, 40, 250])
def test_names_that_are_filled_into_each_other_stay_short(count: int) -> None:
    doubling = "".join(
        f"output_dir{at}='/{{output_dir{at - 1}}}" + f"{{output_dir{at - 1}}}" * 9 + "'\n" for at in range(1, count)
    )
    text = f"output_dir0='/m/{'a' * 200}'\n{doubling}torch.save(x, '{{output_dir{count - 1}}}/{{output_dir{count - 1}}}')\n"
    found = list(saved_in(text, {}, load_default_signs()))
    assert found
    assert all(len(value) <= LONGEST_PATH for _, value, _ in found)


@pytest.mark.parametrize("piece", ["torch.save(", "torch.save(a b c, ", "torch.save((((((((", "xm.save('x',"])
def test_calls_of_all_programs_together_are_bounded(piece: str, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = Calls(monkeypatch, program_text, "arguments_of")
    counts = []
    for containers in (1, 2, 20, 80):
        calls.count = 0
        view = judged([["python", "-c", "import torch\nloss.backward()\n" + piece * 256]] * containers)
        counts.append(calls.count)
    assert counts[0] == 256
    assert counts[1] <= 2 * counts[0]
    assert counts[-1] <= TOTAL // SAVE_CALL
    assert view.checkpoint.state == "unknown"
    assert view.containers[-1].unread


def test_calls_of_the_programs_of_one_script_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = Calls(monkeypatch, program_text, "arguments_of")
    program = "python - <<'E'\nimport torch\nloss.backward()\n" + "torch.save(" * 256 + "\nE\n"
    judged([["bash", "-c", program * 50]])
    assert calls.count <= TOTAL // SAVE_CALL


def test_an_ordinary_program_takes_a_fiftieth_of_what_may_be_read() -> None:
    text = "import torch\n" + "lr = 1e-4\n" * 20 + "for step in range(9):\n    torch.save(model, f'/ckpt/{step}.pt')\n" * 3
    assert cost_of(text, load_default_signs()) < TOTAL // 50


def _settings(count: int, mark: str = "") -> str:
    return json.dumps({f"{mark}k{at}.output_dir": "/a" for at in range(count)})


@pytest.mark.parametrize(
    "words",
    [
        [_settings(600)],
        [_settings(10, f"w{at}_") for at in range(100)],
        [json.dumps({"a": {"b": {f"k{at}": {} for at in range(1000)}}})] * 3,
        [json.dumps({f"a{at}": {f"b{below}": 1 for below in range(20)} for at in range(40)})],
    ],
    ids=["one long", "many short", "empty objects", "objects"],
)
def test_settings_in_all_the_json_of_a_command_are_bounded(words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    asked = Calls(monkeypatch, started, "meaning_below")
    judged([["python", "train.py", *words]])
    assert asked.count <= 256


def test_settings_in_the_json_of_all_commands_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = Calls(monkeypatch, started, "meaning_below")
    counts = []
    for containers in (2, 4, 128):
        asked.count = 0
        view = judged([["python", "train.py", _settings(250, f"c{index}_")] for index in range(containers)])
        counts.append(asked.count)
    assert counts[:2] == [500, 1000]
    assert counts[2] <= TOTAL // WORD
    assert view.containers[-1].unread


def test_names_that_are_remembered_are_bounded() -> None:
    signs = load_default_signs()
    for review in range(4):
        judged([["python", "train.py", *[f"--r{review}c{index}n{at}=1" for at in range(60)]] for index in range(60)])
    assert len(signs.meanings) <= 8193


def test_places_that_are_loaded_are_held_against_few_that_are_saved(monkeypatch: pytest.MonkeyPatch) -> None:
    compared = Calls(monkeypatch, resume, "same_place")
    words = [word for at in range(500) for word in (f"--a{at}.output_dir=/a/{at}", f"--b{at}.load=/b/{at}")]
    judged([["python", "train.py", *words]])
    assert 0 < compared.count <= 256


def test_workers_are_looked_for_once_for_all_launchers(monkeypatch: pytest.MonkeyPatch) -> None:
    looked = Calls(monkeypatch, places.Workers, "_looked_for")
    stored = Calls(monkeypatch, places, "Storage")
    counts = []
    for launchers in (10, 20):
        stored.count = 0
        starts = [{"name": f"l{at}", "command": ["mpirun", "python", "train.py", "--save_dir=/m/x"]} for at in range(launchers)]
        workers = [{"name": f"w{at}", "resources": GPU} for at in range(50)]
        specs = {"Launcher": starts, "Worker": workers}
        manifest = {
            "apiVersion": "kubeflow.org/v2beta1",
            "kind": "MPIJob",
            "spec": {"mpiReplicaSpecs": {role: {"template": {"spec": {"containers": list(of)}}} for role, of in specs.items()}},
        }
        assert view_of(manifest).checkpoint.state == "ephemeral"
        counts.append(stored.count)
    assert looked.count == 2
    assert counts == [11, 21]
