"""The Dockerfile's install steps, run in fresh virtual environments: packages come from wherever pip gets them here, and the
locks' hashes say that they are the right ones.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

from tests.test_dockerfile import ROOT, instructions


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
