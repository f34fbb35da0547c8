"""What a container really runs."""

import time
from typing import Any

import pytest

from signalbox.signs_loading import load_default_signs
from signalbox.workload.budget import Budget
from signalbox.workload.command import Invocation, literal_env, read_command, read_variables
from signalbox.workload.target import find_target
from tests.judgement_cases import manifest_of, view_of


def env_of(container: dict[str, Any]) -> dict[str, str]:
    return literal_env(read_variables(container, Budget()), Budget())


def invocations(container: dict[str, Any], path: tuple[str, ...] = ()) -> list[Invocation]:
    return list(read_command(container, path, env_of(container), budget=Budget()))


def commands(container: dict[str, Any]) -> list[list[str]]:
    return [list(invocation.words) for invocation in invocations(container)]


def script(text: str) -> list[list[str]]:
    return commands({"command": ["bash", "-c", text]})


def test_command_and_args_are_one_program() -> None:
    (invocation,) = invocations({"command": ["python", "train.py"], "args": ["--x", "1"]}, ("c",))
    assert invocation.words == ("python", "train.py", "--x", "1")
    assert [invocation.field(index) for index in range(4)] == [("c", "command")] * 2 + [("c", "args")] * 2


@pytest.mark.parametrize(
    "container",
    [
        {"command": ["bash", "-c", "python train.py"]},
        {"command": ["/bin/sh", "-exc"], "args": ["python train.py"]},
        {"command": ["bash"], "args": ["-lc", "python train.py"]},
        {"command": ["bash", "--login", "-o", "pipefail", "-c", "python train.py"]},
        {"args": ["sh", "-c", "bash -c 'python train.py'"]},
        {"command": "python train.py"},
    ],
)
def test_shell_text_is_taken_apart(container: dict[str, Any]) -> None:
    assert commands(container) == [["python", "train.py"]]


def test_comments_echo_and_control_words_are_left_out() -> None:
    text = """#!/bin/bash
    set -e   # stop here
    echo "python train.py" && printf 'x'
    if [ -d /x ]; then python a.py; else python b.py; fi
    while true; do python c.py; done
    for x in 1 2; do python d.py; done
    """
    assert [words[1] for words in script(text) if words[0] == "python"] == ["a.py", "b.py", "c.py", "d.py"]
    assert all(words[0] not in ("echo", "printf", "if", "then", "for") for words in script(text))


def test_quotes_continuations_and_redirections() -> None:
    text = "python 'a b.py' \\\n  --x=\"c d\" > /tmp/log 2>&1\npython e.py | tee log"
    assert script(text) == [["python", "a b.py", "--x=c d"], ["python", "e.py"], ["tee", "log"]]


def test_hash_inside_a_word_is_no_comment() -> None:
    assert script("python a.py --tag x#y") == [["python", "a.py", "--tag", "x#y"]]


def test_folded_block_is_one_line() -> None:
    assert script("vllm serve m --port 8000\n") == [["vllm", "serve", "m", "--port", "8000"]]


def test_background_is_told_from_foreground() -> None:
    read = invocations({"command": ["sh", "-c", "a & b && c &\nd"]})
    assert [(invocation.words[0], invocation.background) for invocation in read] == [
        ("a", True),
        ("b", False),
        ("c", True),
        ("d", False),
    ]


def test_references_are_filled_in_from_the_environment() -> None:
    env = [{"name": "A", "value": "x"}, {"name": "B", "value": "$(A)/y"}, {"name": "C", "valueFrom": {}}]
    assert commands({"command": ["p", "$(B)", "$(C)", "${A}"], "env": env}) == [["p", "x/y", "$(C)", "${A}"]]
    assert commands({"command": ["sh", "-c", "p $A ${B} $C '$A' ${D:-d}"], "env": env}) == [["p", "x", "x/y", "$C", "$A", "d"]]


def test_variables_of_the_script_are_filled_in() -> None:
    assert script("export OUT=/x/$RUN\nRUN=7\np $OUT $RUN")[-1] == ["p", "/x/$RUN", "7"]


def test_here_document_is_no_command() -> None:
    read = invocations({"command": ["sh", "-c", "python - <<'EOF'\nimport x\nEOF\nls"]})
    assert [(invocation.words[0], invocation.document) for invocation in read] == [("python", "import x\n"), ("ls", "")]


def test_numbers_and_booleans_among_the_words_are_words() -> None:
    assert commands({"command": ["p", 8, True, 1.5, None, {}, []]}) == [["p", "8", "true", "1.5"]]


@pytest.mark.parametrize("value", [None, 1, True, {}, {"a": 1}, [], [None], [{}], "", [""]])
def test_nonsense_runs_nothing(value: Any) -> None:
    assert commands({"command": value, "args": value, "env": value}) == []


def test_values_cannot_be_made_to_grow_without_bound() -> None:
    doubling = "a=xxxxxxxx\n" + "a=$a$a\n" * 200 + "p $a"
    assert len(script(doubling)[-1][1]) <= 1024
    env = [{"name": "V0", "value": "x" * 100}] + [{"name": f"V{n}", "value": f"$(V{n - 1})" * 10} for n in range(1, 30)]
    assert max(map(len, env_of({"env": env}).values())) <= 1000


@pytest.mark.parametrize("piece", ["'", '"\\', "${", "$(", "`", "<<A\n", "a&", "\\", '"$(', "a=$a$a\n", "(", "#", "\n"])
def test_hostile_script_is_read_in_time(piece: str) -> None:
    start = time.process_time()
    script(piece * (3_000_000 // len(piece)))
    assert time.process_time() - start < 2


@pytest.mark.parametrize(
    ("line", "target", "launchers"),
    [
        ("python -u train.py --x", ("script", "train.py"), ()),
        ("python3.11 -m pkg.train", ("module", "pkg.train"), ()),
        ("env A=1 B=2 python train.py", ("script", "train.py"), ()),
        ("A=1 torchrun --nproc_per_node 8 train.py", ("script", "train.py"), ("torchrun",)),
        ("torchrun --nnodes=2 -m pkg.train", ("module", "pkg.train"), ("torchrun",)),
        (
            "python -m torch.distributed.run --nproc_per_node=8 train.py",
            ("script", "train.py"),
            ("torch.distributed.run",),
        ),
        (
            "accelerate launch --config_file c.yaml --num_processes 8 sft.py",
            ("script", "sft.py"),
            ("accelerate launch",),
        ),
        ("mpirun -np 4 -H a:1,b:1 -x PATH -mca btl tcp python t.py", ("script", "t.py"), ("mpirun",)),
        ("mpirun -np 4 /opt/all_reduce_perf -b 8", ("program", "all_reduce_perf"), ("mpirun",)),
        ("ray job submit --working-dir . -- python t.py", ("script", "t.py"), ("ray job submit",)),
        ("deepspeed --num_gpus=8 t.py --deepspeed ds.json", ("script", "t.py"), ("deepspeed",)),
        ("uv run --no-sync accelerate launch t.py", ("script", "t.py"), ("accelerate launch",)),
        ("timeout 3600 python t.py", ("script", "t.py"), ()),
        ("./run_train.sh --x", ("script", "./run_train.sh"), ()),
        ("bash scripts/run.sh", ("script", "scripts/run.sh"), ()),
        ("/usr/bin/tritonserver --x", ("program", "tritonserver"), ()),
        ("python -c 'import x'", ("code", "import x"), ()),
        ("timeout -k 5 3600 /app/trainer --x", ("program", "trainer"), ()),
        ("nice -n 10 ionice -c2 -n7 python t.py", ("script", "t.py"), ()),
        ("gosu app python t.py", ("script", "t.py"), ()),
        ("flock /tmp/lock python t.py", ("script", "t.py"), ()),
        ("numactl -N 0 -m 0 python t.py", ("script", "t.py"), ()),
        ("conda run --no-capture-output -n env --cwd /w python -m pkg.t", ("module", "pkg.t"), ()),
        ("aws-vault exec prod -- python t.py", ("script", "t.py"), ()),
        ("/entrypoint.sh torchrun t.py", ("script", "t.py"), ("torchrun",)),
        ("bash /init.sh python t.py", ("script", "t.py"), ()),
        ("acme run --env=prod -- python t.py", ("script", "t.py"), ()),
        ("python -m cProfile -o x.prof t.py", ("script", "t.py"), ()),
        ("python -m coverage run t.py", ("script", "t.py"), ()),
        ("make -C /src train", ("program", "train"), ()),
        ("acme check t.py", ("program", "acme"), ()),
    ],
)
def test_target_is_found_past_launchers_and_wrappers(line: str, target: tuple[str, str], launchers: tuple[str, ...]) -> None:
    (invocation,) = invocations({"command": line})
    found = find_target(invocation, load_default_signs().commands)
    assert found is not None
    assert ((found.role, found.name), found.launchers) == (target, launchers)


@pytest.mark.parametrize(
    ("line", "launchers"),
    [
        ("tini -- bash -c 'python t.py'", ()),
        ("/usr/bin/dumb-init -- sh -c 'exec python t.py'", ()),
        ("env A=1 timeout 9 bash -lc 'python t.py'", ()),
        ("mpirun -np 8 -x A bash -c 'python t.py'", ("mpirun",)),
        ("srun --ntasks=8 bash -c 'python t.py'", ("srun",)),
        ("ray job submit --working-dir . -- bash -c 'python t.py'", ("ray job submit",)),
        ("/entrypoint.sh bash -c 'python t.py'", ()),
        ("su - ml -c 'python t.py'", ()),
        ("sudo -E -u ml bash -c 'python t.py'", ()),
        ("flock /tmp/lock -c 'python t.py'", ()),
        ("bash -c \"tini -- bash -c 'python t.py'\"", ()),
    ],
)
def test_shell_behind_wrappers_is_taken_apart(line: str, launchers: tuple[str, ...]) -> None:
    view = view_of(manifest_of({"container": {"command": ["bash", "-c", line]}}))
    (started,) = view.containers[0].started
    assert started.target is not None
    assert (started.target.name, started.target.launchers) == ("t.py", launchers)


def test_program_behind_a_wrapper_keeps_its_field() -> None:
    (invocation,) = invocations({"command": ["tini", "--"], "args": ["bash", "-c", "python t.py"]}, ("c",))
    found = find_target(invocation, load_default_signs().commands)
    assert found is not None
    assert (found.role, invocation.field(found.at)) == ("shell", ("c", "args"))


def test_object_full_of_long_scripts_is_judged_in_time() -> None:
    containers = [{"name": str(index), "command": ["sh", "-c", "a&" * 30_000]} for index in range(100)]
    view = view_of(manifest_of({"pod": {"containers": containers}}))
    start = time.process_time()
    assert (view.type.state, view.checkpoint.state) == (None, "unknown")
    assert time.process_time() - start < 5
