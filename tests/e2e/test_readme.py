"""The install section, followed word for word on an API server that nothing was ever installed into."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

from .cluster import Cluster
from .waiting import eventually
from .webhook import ROOT, SIGNALBOX

README = ROOT / "manifests" / "README.md"
_BLOCK = re.compile(r"```sh\n(.*?)```", re.DOTALL)


def test_the_readme_leads_to_the_install_section() -> None:
    assert "(manifests/README.md)" in (ROOT / "README.md").read_text()


def test_the_install_section_word_for_word(fresh: Cluster, tmp_path: Path) -> None:
    for name in ("manifests", "policies"):
        shutil.copytree(ROOT / name, tmp_path / name)
    commands = _BLOCK.findall(README.read_text())[0]
    environment = {
        **os.environ,
        "PATH": os.pathsep.join([str(SIGNALBOX.parent), str(fresh.control_plane), os.environ["PATH"]]),
        "KUBECONFIG": str(fresh.kubeconfig),
    }
    # The last line waits for the Pods, which no kubelet runs here: that they were made is what can be seen.
    *lines, last = commands.strip().splitlines()
    assert last.startswith("kubectl rollout status")
    for line in lines:
        done = subprocess.run(line, shell=True, cwd=tmp_path, env=environment, capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, ""), f"{line}\n{done.stderr}"
    eventually(lambda: len(fresh.api.list("pods", "signalbox-system")) == 4, "two Pods of each Deployment are made")
    fresh.kubectl.uninstall(tmp_path / "manifests" / "overlays" / "self-signed")
