"""`signalbox controller` beside the cluster, under its own account, and the kubelet that mounts what it issues."""

from __future__ import annotations

import base64
import http.client
import os
import signal
import threading
import urllib.request
from pathlib import Path

from .api import Api, ApiError
from .cluster import Cluster
from .processes import Process, free_ports
from .waiting import eventually

NAMESPACE = "signalbox-system"
ACCOUNT = "signalbox-controller"
SERVING = "signalbox-tls"
# For what calls the webhook without the API server: the latency test's neighbour, and readiness.
_MORE_NAMES = ("localhost", "127.0.0.1")
_MOUNT_SECONDS = 0.1


class InstalledController:
    """The process. It may do what the manifests' roles allow, and nothing else."""

    def __init__(self, cluster: Cluster, program: Path, policies: Path) -> None:
        self.cluster = cluster
        [self.metrics_port] = free_ports(1)
        token = cluster.kubectl("create", "token", ACCOUNT, "-n", NAMESPACE, "--duration=8h").strip()
        self.kubeconfig = cluster.write_kubeconfig(ACCOUNT, token=token)
        self._command: list[str | Path] = [
            program,
            "controller",
            *("--kubeconfig", self.kubeconfig),
            *("--metrics-port", str(self.metrics_port)),
            *("--policies", policies),
            *(part for name in _MORE_NAMES for part in ("--name", name)),
            # One API server, which follows a changed configuration within a second.
            *("--settle-seconds", "3"),
            *("--configuration-seconds", "1"),
            *("--scan-minutes", "0"),
        ]
        self._process: Process | None = None

    def start(self) -> None:
        """Start it and wait until it reaches the API server."""
        self._process = self.cluster.processes.start("controller", self._command, orphaned=signal.SIGTERM)
        eventually(self._is_ready, "signalbox controller is ready")

    def stop(self) -> None:
        """End it as a rollout does: it gives its Lease up."""
        assert self._process is not None
        self._process.stop()
        self._process = None

    def metrics(self, name: str) -> dict[str, float]:
        """The samples of a metric, by their labels as they are written."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.metrics_port}/metrics", timeout=5) as answer:
            lines = [line for line in answer.read().decode().splitlines() if line.startswith((f"{name}{{", f"{name} "))]
        return {line.rsplit(" ", 1)[0].removeprefix(name): float(line.rsplit(" ", 1)[1]) for line in lines}

    def _is_ready(self) -> bool:
        assert self._process is not None
        self._process.check()
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.metrics_port}/readyz", timeout=2) as answer:
                return bool(answer.status == http.client.OK)
        except OSError:
            return False


class Kubelet:
    """Keeps a folder as the volume of the Secret would be: its files follow, and stay when the Secret is deleted."""

    def __init__(self, api: Api, folder: Path) -> None:
        self._api, self._folder = api, folder
        self._stopped = threading.Event()
        folder.mkdir()
        self._thread = threading.Thread(target=self._mount, name="kubelet", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Mount nothing any more."""
        self._stopped.set()
        self._thread.join(10)

    def _mount(self) -> None:
        written = ""
        while not self._stopped.wait(_MOUNT_SECONDS):
            try:
                secret = self._api.get("secrets", NAMESPACE, SERVING)
            except (ApiError, OSError, http.client.HTTPException):
                # The API server is away for a while, as some tests want it: what is mounted stays.
                continue
            if secret is None or secret["metadata"]["resourceVersion"] == written:
                continue
            for name, value in secret["data"].items():
                new = self._folder / f".{name}"
                new.write_bytes(base64.b64decode(value))
                os.replace(new, self._folder / name)
            written = secret["metadata"]["resourceVersion"]
