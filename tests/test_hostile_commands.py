"""No manifest, however it is written, costs more than a bounded amount of work to read."""

import json
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from signalbox.quantity import is_placeholder
from signalbox.signs_loading import load_default_signs
from signalbox.workload.budget import PROGRAM, TOTAL, WORD, Budget
from signalbox.workload.command import Invocation, literal_env, read_command, read_variables
from signalbox.workload.containers import MAX_CONTAINERS
from signalbox.workload.meaning import meaning_of
from signalbox.workload.target import find_target
from signalbox.workload.view import WorkloadView
from signalbox.workload.vocabulary import Saying, Vocabulary
from tests.judgement_cases import manifest_of, view_of

SIZE = 512 * 1024
JUNK = "x1 y\n" * 20_000
GPU = {"limits": {"nvidia.com/gpu": 1}}


def sh(text: str, **fields: Any) -> dict[str, Any]:
    return {"command": ["bash", "-c", text], **fields}


def env(**values: str) -> list[dict[str, str]]:
    return [{"name": name, "value": value} for name, value in values.items()]


def judged(container: Any, **pod: Any) -> WorkloadView:
    containers = container if isinstance(container, list) else [{"name": "main", "resources": GPU, **container}]
    return view_of(manifest_of({"pod": {"containers": containers, **pod}}))


def read(container: dict[str, Any]) -> tuple[list[Invocation], Budget]:
    budget = Budget()
    values = literal_env(read_variables(container, budget), budget)
    return list(read_command(container, (), values, budget=budget)), budget


GROWING = {
    "scripts in scripts": sh(
        ("bash -c " + "$A" * 100 + "\n") * 200, env=env(B=("a b;" * 128)[:512], A="bash -c " + "$B" * 120 + ";")
    ),
    "quoted scripts in scripts": sh(
        ('bash -c "' + "$A;" * 200 + '"\n') * 9, env=env(B="a b;" * 127, A=f'bash -c "{"$B" * 100}";')
    ),
    "arguments of a script": {"command": ["bash", "-c", "$@" * 12_000, "_", "x" * 120_000]},
    "quoted arguments of a script": {"command": ["bash", "-c", '"$@" ' * 2_000, "_", *["x" * 100] * 500]},
    "references of Kubernetes": {"command": ["python", "$(A)" * 250_000], "env": env(A="x" * 512)},
    "references in many words": {"command": ["python", *["$(A)" * 250] * 1_000], "env": env(A="x" * 512)},
    "references in variables": {"command": ["p"], "env": [*env(A="x" * 512), *[{"name": "B", "value": "$(A)" * 128}] * 2_000]},
    "references of the shell": sh("p " + "$A" * 250_000, env=env(A="x" * 512)),
    "references in quotes": sh('p "' + "$A" * 250_000 + '"', env=env(A="x" * 512)),
    "variables that double": sh("a=xxxx\n" + "a=$a$a\nb $a $a\n" * 10_000),
}


@pytest.mark.parametrize("name", GROWING)
def test_text_that_grows_when_it_is_filled_in_stops_growing(name: str) -> None:
    found, budget = read(GROWING[name])
    assert sum(len(word) for invocation in found for word in invocation.words) <= TOTAL
    assert len(found) <= TOTAL // PROGRAM
    assert budget.left >= 0
    assert budget.unread


@pytest.mark.parametrize("piece", ["a;", "a&", "python x.py\n", "bash -c 'a'\n", "A=b\n", "python - <<E\nE\n"])
def test_the_programs_of_a_script_are_bounded(piece: str) -> None:
    found, budget = read(sh(piece * (SIZE // len(piece))))
    assert 0 < len(found) <= TOTAL // PROGRAM
    assert budget.unread


def test_the_words_of_all_containers_are_bounded() -> None:
    containers = [{"name": str(index), "command": [f"p{index}", *["word"] * 3_000]} for index in range(200)]
    view = judged(containers)
    assert sum(len(started.invocation.words) for container in view.containers for started in container.started) <= TOTAL // WORD
    assert [container.unread for container in view.containers] == sorted(container.unread for container in view.containers)


def test_an_ordinary_script_takes_a_hundredth_of_what_may_be_read() -> None:
    text = (
        "set -euo pipefail\nexport OUT=/ckpt/$RUN\npip install -r requirements.txt\n"
        "torchrun --nproc_per_node 8 train.py --output_dir $OUT --save_steps 500 2>&1 | tee log\n"
    )
    found, budget = read(sh(text, env=env(RUN="7")))
    assert [invocation.words[0] for invocation in found] == ["set", "export", "pip", "torchrun", "tee"]
    assert not budget.unread
    assert TOTAL - budget.left < TOTAL // 100


def test_a_long_script_is_read_to_its_end() -> None:
    setup = "".join(f"pip install package-{index}  # pinned, see the notes\n" for index in range(500))
    view = judged(
        sh(setup + "cat > notes <<EOF\n" + "words of a file\n" * 5_000 + "EOF\npython train.py --output_dir=s3://b/x")
    )
    assert (view.type.state, view.checkpoint.state) == ("training", "durable")
    assert not view.containers[0].unread


class Counted(tuple[str, ...]):
    """Words that count how often one is looked at."""

    looks = 0

    def __getitem__(self, index: Any) -> Any:
        Counted.looks += 1
        return super().__getitem__(index)


@pytest.mark.parametrize("row", ["ray job submit", "env", "torchrun", "python -u", "python -m torchrun"])
def test_a_row_of_launchers_is_searched_once(row: str) -> None:
    words = Counted(row.split() * 1_000)
    Counted.looks = 0
    find_target(Invocation(words, ()), load_default_signs().commands)
    assert Counted.looks < 15 * len(words)


class CountedNames(dict[str, Saying]):
    """A table that counts what is looked up."""

    asked = 0

    def get(self, key: str, default: Any = None) -> Any:
        self.asked += len(key)
        return super().get(key, default)


def test_only_the_beginning_of_a_module_name_is_looked_up() -> None:
    modules = CountedNames()
    assert Vocabulary(modules=modules).of_module("a." * 100_000) is None
    assert modules.asked < 100_000


def test_names_nobody_gives_are_not_remembered() -> None:
    signs = load_default_signs()
    assert meaning_of("--output_dir" + "_x" * 1_000, signs) is None
    assert all(len(name) <= 256 for name in signs.meanings)


PIECES = [
    "$", "''", '""', "\\a", "${", "$(", "`", "``", "$a", "#\n", ">", "> a ", "$()", "\n", "\f", "\u3000", "$(()", "$((",
    "${A:-", "<<A\n", "<<A ", "cd a\n", "cd /a/b;p --output_dir x;", "env ", "ray job submit ", "--output_dir=/x ", "2>&1 ",
    "'\"", "\\\"'", "(", '"$(', "'\\'", '"\\"', "python -c 'import torch'\n", "p a.yaml --x=1\n", "A=$A ",
]  # fmt: skip


def volumes(count: int) -> dict[str, Any]:
    return {"volumes": [{"name": f"v{index}", "emptyDir": {}} for index in range(count)]}


def mounts(count: int) -> list[dict[str, str]]:
    return [{"name": f"v{index}", "mountPath": f"/m{index}"} for index in range(count)]


SHAPES: dict[str, Callable[[], WorkloadView]] = {
    **{f"script of {piece!r}": partial(judged, sh(piece * (SIZE // len(piece)))) for piece in PIECES},
    **{name: partial(judged, container) for name, container in GROWING.items()},
    "blanks before a quote": lambda: judged(sh("\f" * SIZE + "'")),
    "dots of a module": lambda: judged({"command": ["python", "-m", "a." * SIZE]}),
    "program text": lambda: judged({"command": ["python", "-c", "t" * SIZE]}),
    "calls in program text": lambda: judged({"command": ["python", "-c", "Trainer(" * (SIZE // 8)]}),
    "options": lambda: judged({"command": ["python", "train.py", *[f"--a{index}=1" for index in range(50_000)]]}),
    "outputs": lambda: judged(sh("python train.py " + " ".join(f"--output_dir=/a{index}" for index in range(30_000)))),
    "beginnings of placeholders": lambda: judged({"command": ["python", "train.py", *["--output_dir=" + "{{" * 2_000] * 100]}),
    "a path of folders": lambda: judged({"command": ["python", "train.py", "--output_dir=" + "../" * 100_000]}),
    "variables": lambda: judged({"command": ["p"], "env": [{"name": f"E{index}", "value": "1"} for index in range(20_000)]}),
    "variables and scripts": lambda: judged(
        sh("sh -c x\n" * 30_000, env=[{"name": f"E{index}", "value": "1"} for index in range(10_000)])
    ),
    "containers of nothing": lambda: judged([{}] * 100_000),
    "containers": lambda: judged([sh("python train.py --output_dir=x", resources=GPU)] * 5_000),
    "claims": lambda: judged(
        [{"resources": {"claims": [{"name": "a"}]}}] * 5_000,
        resourceClaims=[{"name": f"c{index}"} for index in range(10_000)],
    ),
    "volumes": lambda: judged(
        {"command": ["python", "train.py", *["--output_dir=x"] * 2_000], "volumeMounts": mounts(10_000)}, **volumes(10_000)
    ),
    "mounts below placeholders": lambda: judged(
        {"command": ["python", "train.py", *["--output_dir=/a/$X/b"] * 2_000], "volumeMounts": mounts(1_000)}, **volumes(1_000)
    ),
    "copies beside a run": lambda: judged(
        [
            {"name": "sync", "volumeMounts": mounts(300), **sh("aws s3 sync /elsewhere s3://b\n" * 64)},
            *[
                {
                    "name": str(index),
                    "resources": GPU,
                    "volumeMounts": mounts(300),
                    "command": ["python", "train.py", *[f"--output_dir=/m{at}" for at in range(20)]],
                }
                for index in range(20)
            ],
        ],
        **volumes(300),
    ),
    "sidecars that copy": lambda: judged(
        {"command": ["python", "train.py", *["--output_dir=/m0"] * 500], "volumeMounts": mounts(1_000)},
        initContainers=[
            {"name": str(index), "restartPolicy": "Always", **sh("rclone sync /x" * 100 + " s3://b\n")}
            for index in range(5_000)
        ],
        **volumes(1_000),
    ),
    "volume of null fields": lambda: judged(
        {"command": ["python", "train.py", *["--output_dir=/m0"] * 4_000], "volumeMounts": mounts(1)},
        volumes=[{"name": "v0", **{f"k{index}": None for index in range(20_000)}}],
    ),
    "nested values": lambda: judged(
        {
            "command": ["python", "train.py"],
            "resources": {"limits": {"nvidia.com/gpu": json.loads("[" * 900 + "]" * 900)}},
            "env": [{"name": ["x"], "value": "1"}, {"name": "LORA_R", "value": json.loads("[" * 900 + "]" * 900)}],
            "readinessProbe": {"httpGet": {"path": json.loads("[" * 900 + "]" * 900)}},
        },
        nodeSelector={"cloud.google.com/gke-spot": json.loads("[" * 900 + "]" * 900)},
    ),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_half_a_megabyte_of_anything_is_judged_in_time(shape: str) -> None:
    view = SHAPES[shape]()
    start = time.process_time()
    assert view.type.state in (None, "training", "inference")
    assert view.checkpoint.state in ("none", "unknown", "ephemeral")
    assert view.spot.state in ("no", "demanded")
    assert view.framework.state in (None, "pytorch")
    assert view.distributed in (True, False)
    # A few hundredths of a second where nothing else runs. What was quadratic took ten seconds and more.
    assert time.process_time() - start < 2


@pytest.mark.parametrize("text", ["${" * SIZE, "$(" * SIZE, "{{" * SIZE, "{{ " * SIZE, "<a" * SIZE, "%A" * SIZE])
def test_beginnings_of_placeholders_are_searched_once(text: str) -> None:
    start = time.process_time()
    assert not is_placeholder(text)
    assert time.process_time() - start < 2


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("python train.py --output_dir=/tmp/x\n" + JUNK, ("training", "unknown")),
        ("python train.py --output_dir=s3://b/x\n" + JUNK, ("training", "durable")),
        # What follows may train, so nothing else is claimed.
        ("python evaluate.py\n" + JUNK, (None, "unknown")),
        ("vllm serve m\n" + JUNK, (None, "unknown")),
        (JUNK + "python train.py --output_dir=s3://b/x", (None, "unknown")),
        ("bash -c 'bash -c x'", (None, "none")),
        ("bash -c \"bash -c 'bash -c x'\"", (None, "unknown")),
    ],
)
def test_what_is_not_read_to_its_end_is_no_reason_to_refuse(text: str, kind: tuple[str | None, str]) -> None:
    view = judged(sh(text))
    assert (view.type.state, view.checkpoint.state) == kind


def test_refusal_of_an_unread_checkpoint_says_why() -> None:
    (evidence,) = judged(sh(JUNK)).checkpoint.evidence
    assert evidence.note == "too long to be read to its end"


def test_gpus_are_not_hidden_behind_other_containers() -> None:
    others = [{"name": f"c{index}", "resources": {"limits": {"cpu": 1}}} for index in range(MAX_CONTAINERS * 4)]
    view = judged([*others, {"name": "main", "resources": GPU, "command": ["python", "train.py", "--output_dir=/x"]}])
    assert len(view.containers) == MAX_CONTAINERS
    assert (view.type.state, view.checkpoint.state) == ("training", "unknown")


def test_gpus_are_not_hidden_behind_a_long_script_of_a_container_without() -> None:
    view = judged([sh(JUNK), {"name": "main", "resources": GPU, "command": ["python", "train.py", "--output_dir=/x"]}])
    assert (view.type.state, view.checkpoint.state) == ("training", "ephemeral")


def test_it_does_not_matter_which_judgement_is_asked_first() -> None:
    containers = [sh(f"python train{index}.py --output_dir=/x\n" + JUNK[:20_000], resources=GPU) for index in range(30)]
    first, second = judged(containers), judged(containers[:])
    answers = [(first.type.state, first.framework.state, first.checkpoint.state)]
    read_last = [len(container.started) for container in reversed(second.containers)][::-1]
    answers.append((second.type.state, second.framework.state, second.checkpoint.state))
    assert answers[0] == answers[1]
    assert [len(container.started) for container in first.containers] == read_last
