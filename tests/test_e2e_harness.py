"""The harness of the end-to-end tests itself, without building or starting a cluster."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

from signalbox.check.table import CHECKS
from tests.e2e import binaries, go_build, golden
from tests.e2e.processes import Processes, free_ports
from tests.e2e.programs import CONTROL_PLANE, ETCD, KUEUE
from tests.e2e.progress import CommandFailed, run

ROOT = Path(__file__).parents[1]
ASSETS = [*ETCD.packages, *CONTROL_PLANE.packages]


def _gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def _assets(folder: Path, names: list[str]) -> Path:
    for name in names:
        (folder / name).touch(mode=0o755)
    return folder


def test_complete_assets_are_used_instead_of_building(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(_assets(tmp_path, ASSETS)))
    assert binaries.ensure(ETCD) == tmp_path
    assert binaries.ensure(CONTROL_PLANE) == tmp_path


def test_assets_that_lack_a_binary_are_not_used_and_it_says_which(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(_assets(tmp_path, ASSETS[:-1])))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert binaries.find(ETCD) is None
    assert f"lacks {ASSETS[-1]}" in capsys.readouterr().err


def test_without_go_the_message_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(go_build.GoMissing, match="KUBEBUILDER_ASSETS"):
        go_build.go()


def test_a_program_is_in_place_as_a_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))

    def half(program: object, workspace: Path, into: Path) -> None:
        workspace.mkdir()
        into.mkdir(exist_ok=True)
        (into / "kueue").touch()
        raise CommandFailed("no network")

    def whole(program: object, workspace: Path, into: Path) -> None:
        assert not into.exists()
        workspace.mkdir()
        into.mkdir()

    monkeypatch.setattr(binaries, "build", half)
    with pytest.raises(CommandFailed):
        binaries.ensure(KUEUE)
    assert binaries.find(KUEUE) is None
    monkeypatch.setattr(binaries, "build", whole)
    assert binaries.ensure(KUEUE) == binaries.find(KUEUE)


def test_a_command_that_fails_shows_its_last_lines(tmp_path: Path) -> None:
    with pytest.raises(CommandFailed, match="no such module"):
        run("fetching", [sys.executable, "-c", "raise SystemExit('no such module')"], folder=tmp_path, environment=os.environ)


def test_ports_are_all_different() -> None:
    assert len(set(free_ports(8))) == 8


def test_processes_are_ended_with_their_children(tmp_path: Path) -> None:
    processes = Processes(tmp_path)
    started = processes.start("parent", ["sh", "-c", "sleep 60 & echo $!; wait"])
    deadline = time.monotonic() + 5
    while not started.tail() and time.monotonic() < deadline:
        time.sleep(0.01)
    child = int(started.tail())
    processes.stop()
    assert not started.running
    while not _gone(child) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert _gone(child)


def test_processes_end_even_if_the_run_is_killed(tmp_path: Path) -> None:
    script = (
        "import sys, time; from pathlib import Path; from tests.e2e.processes import Processes\n"
        "print(Processes(Path(sys.argv[1])).start('x', ['sleep', '60']).pid, flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", script, str(tmp_path)], stdout=subprocess.PIPE, text=True, cwd=ROOT) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        parent.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + 5
    while not _gone(child) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert _gone(child)


def test_every_shipped_rule_has_a_text_as_kubectl_printed_it() -> None:
    texts = "".join(path.read_text() for path in golden.FOLDER.glob("*.txt"))
    documents = (one for path in (ROOT / "policies").glob("*.yaml") for one in yaml.safe_load_all(path.read_text()))
    rules = [f"{one['metadata']['name']}/{rule['name']}" for one in documents for rule in one["spec"].get("rules", ())]
    assert rules
    assert [rule for rule in rules if f"[{rule}]" not in texts and f'"rule": "{rule}"' not in texts] == []


def test_every_check_has_its_refusal_and_its_warning_as_kubectl_printed_them() -> None:
    kept = {path.stem for path in golden.FOLDER.glob("*.txt")}
    assert {f"{what}-check-{check}" for check in (*CHECKS, "cel") for what in ("refused", "warned")} <= kept


def test_the_fast_suite_collects_no_end_to_end_test() -> None:
    environment = {key: value for key, value in os.environ.items() if key != "SIGNALBOX_E2E"}
    collected = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", "tests/e2e"],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert collected.returncode == pytest.ExitCode.NO_TESTS_COLLECTED, collected.stdout
