"""docs/operations.md, followed word for word on an API server that nothing was ever installed into."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from .cluster import Cluster
from .installed_controller import InstalledController
from .objects import job, template
from .waiting import eventually
from .webhook import ROOT, SIGNALBOX

PAGE = ROOT / "docs" / "operations.md"
# Both wait for Pods, which no kubelet runs here.
NEED_PODS = ("kubectl rollout status ", "signalbox certs status")
# The page says that it warns.
WARNS = "kubectl rollout undo "
PATIENCE = 3.0
CONFIGURATIONS = "validatingwebhookconfigurations,mutatingwebhookconfigurations"
EVERYWHERE = f"{CONFIGURATIONS},clusterroles,clusterrolebindings,customresourcedefinitions,namespaces,priorityclasses"


class Shell:
    """A terminal in a checkout, with the cluster's kubeconfig."""

    def __init__(self, cluster: Cluster, folder: Path) -> None:
        self._folder = folder
        self._environment = {
            **os.environ,
            "PATH": os.pathsep.join([str(SIGNALBOX.parent), str(cluster.control_plane), os.environ["PATH"]]),
            "KUBECONFIG": str(cluster.kubeconfig),
        }

    def follow(self, section: str, block: int = 0) -> None:
        """Every line of a block of a section; each must succeed and complain of nothing."""
        text = PAGE.read_text(encoding="utf-8").partition(f"\n## {section}\n")[2].partition("\n## ")[0]
        for line in re.findall(r"```sh\n(.*?)```", text, re.DOTALL)[block].strip().splitlines():
            if not line.startswith(NEED_PODS):
                self.run(line)

    def run(self, line: str) -> str:
        """One line."""
        done = subprocess.run(line, shell=True, cwd=self._folder, env=self._environment, capture_output=True, text=True)
        assert done.returncode == 0, f"{line}\n{done.stderr}"
        assert done.stderr == "" or (line.startswith(WARNS) and done.stderr.startswith("Warning: ")), f"{line}\n{done.stderr}"
        return done.stdout


@pytest.fixture
def shell(fresh: Cluster, tmp_path: Path) -> Iterator[Shell]:
    """In the checkout's root; what the test has not taken out is taken out after it."""
    for name in ("manifests", "policies"):
        shutil.copytree(ROOT / name, tmp_path / name)
    yield Shell(fresh, tmp_path)
    fresh.kubectl.uninstall(tmp_path / "manifests" / "overlays" / "self-signed")


def test_the_page_from_installing_to_uninstalling(fresh: Cluster, shell: Shell) -> None:
    shell.follow("Install")
    controller = InstalledController(fresh, SIGNALBOX, ROOT / "policies")
    controller.start()
    try:
        eventually(lambda: all(_bundles(fresh)), "every caBundle is written")

        shell.follow("The emergency stop")
        assert fresh.kubectl.apply(job("free", "default", template(1)), arguments=("--dry-run=server",)).text == (
            "job.batch/free created (server dry run)\n"
        )
        # Longer than the controller takes to write a caBundle: it would have put them back by now.
        time.sleep(PATIENCE)
        assert _bundles(fresh) == []

        shell.follow("The emergency stop", 1)
        assert len(_bundles(fresh)) > 2
        eventually(lambda: all(_bundles(fresh)), "every caBundle is written again", PATIENCE * 10)

        shell.follow("The emergency stop", 2)
        assert _cap(fresh) == "warn"
        shell.follow("The emergency stop", 3)
        assert _cap(fresh) == ""

        shell.follow("Upgrade")
        shell.run("kubectl set image deployment/signalbox -n signalbox-system signalbox=signalbox:0.0.0")
        shell.run("kubectl set image deployment/signalbox-controller -n signalbox-system controller=signalbox:0.0.0")
        shell.follow("Roll back")
        for name in ("signalbox", "signalbox-controller"):
            spec = fresh.kubectl.read("deployment", name, "signalbox-system")["spec"]["template"]["spec"]
            assert spec["containers"][0]["image"] != "signalbox:0.0.0"
    finally:
        controller.stop()
    shell.follow("Uninstall")
    assert _ours(fresh) == []
    assert fresh.kubectl.apply(job("free", "default", template(1)), arguments=("--dry-run=server",)).code == 0


def _bundles(cluster: Cluster) -> list[str]:
    """The caBundle of each webhook of ours."""
    found = cluster.kubectl.read_json("get", CONFIGURATIONS)["items"]
    ours = [one for one in found if one["metadata"]["name"] in ("signalbox", "00-signalbox")]
    return [webhook["clientConfig"].get("caBundle", "") for one in ours for webhook in one["webhooks"]]


def _cap(cluster: Cluster) -> str:
    spec = cluster.kubectl.read("deployment", "signalbox", "signalbox-system")["spec"]["template"]["spec"]
    values = {one["name"]: one.get("value", "") for one in spec["containers"][0]["env"]}
    return str(values.get("SIGNALBOX_MAX_MODE", ""))


def _ours(cluster: Cluster) -> list[str]:
    """Whatever in the cluster has our name."""
    names = cluster.kubectl("get", EVERYWHERE, "-o", "name").split()
    return [name for name in names if "signalbox" in name or "workload.ai" in name]
