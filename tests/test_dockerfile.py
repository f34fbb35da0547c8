"""The Dockerfile without Docker: every path it copies exists, and its install steps work in fresh virtual environments.

The packages come from wherever pip gets them here; the locks' hashes say that they are the right ones.
"""

import json
import re
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).parent.parent
LINES = (ROOT / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ").splitlines()


def instructions(word: str) -> list[str]:
    return [line.removeprefix(word).strip() for line in LINES if line.startswith(word + " ")]


def test_every_path_it_copies_exists_and_is_not_ignored() -> None:
    ignore = (ROOT / ".dockerignore").read_text(encoding="utf-8").split()
    for copied in instructions("COPY"):
        if copied.startswith("--from"):
            continue
        for source in copied.split()[:-1]:
            assert (ROOT / source).exists(), source
            assert f"!{source.split('/')[0]}" in ignore, source


def test_it_runs_as_nobody_and_starts_the_server() -> None:
    assert instructions("USER") == ["65532:65532"]
    assert json.loads(instructions("ENTRYPOINT")[0]) == ["signalbox"]
    options = json.loads(instructions("CMD")[0])
    run = subprocess.run([ROOT / ".venv/bin/signalbox", *options, "--help"], capture_output=True, text=True, check=True)
    assert "Run the webhook" in run.stdout
    for option in options:
        assert not option.startswith("--") or option in run.stdout, option


def test_its_install_steps_give_a_program_that_finds_the_shipped_policies(tmp_path: Path) -> None:
    build = tmp_path / "build"
    build.mkdir()
    for copied in instructions("COPY"):
        if not copied.startswith("--from"):
            *sources, target = copied.split()
            for source in sources:
                copy(ROOT / source, build / target)
    for step in instructions("RUN"):
        command = re.sub(r"(?<![\w.])/(signalbox|builder)\b", rf"{tmp_path}/\1", step)
        done = subprocess.run(["sh", "-ec", command], cwd=build, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{step}\n{done.stdout}\n{done.stderr}"
    program = tmp_path / "signalbox" / "bin" / "signalbox"
    shutil.rmtree(build)
    listed = subprocess.run(
        [program, "policies", "list", "-o", "json"], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert listed.returncode == 0, listed.stderr
    assert "not-in-a-deployment" in listed.stdout


def copy(source: Path, target: Path) -> None:
    """As COPY does: a folder's contents, a file into a folder."""
    if source.is_dir():
        shutil.copytree(source, target, symlinks=True, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    else:
        target.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, target)
