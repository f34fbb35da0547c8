"""Signalbox as installed: the overlay's manifests in the cluster, `signalbox controller` and `signalbox serve` beside it.

There is no kubelet to run the Deployment's Pods, so the Service is made to point at loopback; everything else is applied
as it stands in manifests/.
"""

from __future__ import annotations

import json
import shutil
import signal
import ssl
import sys
import urllib.error
import urllib.request
from collections.abc import Callable
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import yaml

from .api import ApiError
from .cluster import Cluster
from .installed_controller import NAMESPACE as NAMESPACE
from .installed_controller import InstalledController, Kubelet
from .objects import deployment, gpu_mismatch, template
from .processes import Process, free_ports
from .waiting import eventually

ROOT = Path(__file__).parents[2]
SIGNALBOX = Path(sys.executable).with_name("signalbox")
EXAMPLE = "overlays/example-64-gpus"
REVIEWS = "signalbox_reviews_total{"
# What people are allowed is not what is tested here: these may do everything that admission lets through.
PEOPLE = "people"

Manifest = dict[str, Any]


class Webhook:
    """The installed webhook and the process that answers it."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.port, self.metrics_port = free_ports(2)
        self.tree = cluster.folder / "tree"
        for name in ("manifests", "policies"):
            shutil.copytree(ROOT / name, self.tree / name)
        self.policies = self.tree / "policies"
        self.certificates = cluster.folder / "tls"
        self._process: Process | None = None
        self.install()
        self.controller = InstalledController(cluster, SIGNALBOX, self.policies)
        self.controller.start()
        self.kubelet = Kubelet(cluster.connect(), self.certificates)
        # In a cluster its Pods wait for the Secret.
        eventually((self.certificates / "tls.key").exists, "the controller has issued the certificate")
        self.start()
        self.wait_until_called()

    def render(self, overlay: str) -> list[Manifest]:
        """What `kubectl kustomize` makes of a folder of manifests/."""
        text = self.cluster.kubectl("kustomize", self.tree / "manifests" / overlay)
        return [found for found in yaml.safe_load_all(text) if found]

    def example(self) -> list[Manifest]:
        """The shared cluster of the example; what needs Kueue only where its CRDs are installed."""
        kueue = self.cluster.api.call("GET", "/apis")["groups"]
        installed = {group["name"] for group in kueue}
        return [
            one
            for one in self.render(EXAMPLE)
            if one["apiVersion"].partition("/")[0] in installed or "/" not in one["apiVersion"]
        ]

    def install(self) -> None:
        """Apply the example's classes and namespaces, and Signalbox's own objects, its Service turned to loopback."""
        kubectl = self.cluster.kubectl
        kubectl("create", "clusterrolebinding", PEOPLE, "--clusterrole=cluster-admin", f"--group={PEOPLE}")
        printed = kubectl.apply(*self.example())
        assert printed.code == 0, printed.text
        self.apply_own()
        for namespace in ("team-research", "team-serving", "team-platform"):
            self.cluster.wait_for_namespace(namespace)

    def apply_own(self, *kinds: str, arguments: tuple[str, ...] = ()) -> None:
        """Apply what the overlay holds, or only objects of these kinds; a Deployment's Pods nobody here could run."""
        rendered = [one for one in self.render("overlays/self-signed") if one["kind"] != "Deployment"]
        wanted = [self._on_loopback(one) for one in rendered if not kinds or one["kind"] in kinds]
        printed = self.cluster.kubectl.apply(*wanted, arguments=arguments)
        assert printed.code == 0, printed.text

    def start(self, watching: bool = False) -> None:
        """Start `signalbox serve` and wait until it is ready; it reads the example's folder, or watches the cluster."""
        known = ("--watch-cluster", "--kubeconfig", self.cluster.kubeconfig)
        folder = ("--cluster", self.tree / "manifests" / EXAMPLE)
        command: list[str | Path] = [
            SIGNALBOX,
            "serve",
            *("--cert", self.certificates / "tls.crt"),
            *("--key", self.certificates / "tls.key"),
            *("--policies", self.policies),
            *(known if watching else folder),
            *("--address", "127.0.0.1"),
            *("--port", str(self.port)),
            *("--metrics-port", str(self.metrics_port)),
            *("--poll-seconds", "0.1"),
            *("--drain-seconds", "0"),
        ]
        # Asked to end, it ends its workers; killed, it could not.
        self._process = self.cluster.processes.start("signalbox", command, orphaned=signal.SIGTERM)
        eventually(self._is_ready, "signalbox answers /metrics")

    def stop(self) -> None:
        """End the process, as in an outage: the configurations stay."""
        assert self._process is not None
        self._process.stop()
        self._process = None

    def wait_until_called(self) -> None:
        """A new configuration is followed half a second after it was written, each of the two for itself."""
        trainer = deployment("trainer", "default", template(1, restart=None))
        trainer["metadata"]["labels"] = {"workload.ai/type": "training"}
        for path, refused, endpoint in (
            ("batch/v1/namespaces/default/jobs", gpu_mismatch(), "mutate"),
            ("apps/v1/namespaces/default/deployments", trainer, "validate"),
        ):
            eventually(partial(self._is_refused, path, refused, endpoint), f"the API server calls /{endpoint}")

    def _is_refused(self, path: str, obj: Manifest, endpoint: str) -> bool:
        try:
            self.cluster.api.call("POST", f"/apis/{path}?dryRun=All", obj)
        except ApiError as error:
            return f'admission webhook "{endpoint}.policy.workload.ai" denied' in error.message
        return False

    @property
    def pid(self) -> int:
        """Process id of `signalbox serve`."""
        assert self._process is not None
        return self._process.pid

    @property
    def running(self) -> bool:
        """Whether `signalbox serve` is there."""
        return self._process is not None and self._process.running

    def reviews(self, **labels: str) -> float:
        """How many reviews were answered so far; of an endpoint, of a kind."""
        wanted = [f'{name}="{value}"' for name, value in labels.items()]
        with urllib.request.urlopen(f"http://127.0.0.1:{self.metrics_port}/metrics", timeout=5) as answer:
            lines = answer.read().decode().splitlines()
        counted = [line for line in lines if line.startswith(REVIEWS) and all(one in line for one in wanted)]
        return sum(float(line.rsplit(" ", 1)[1]) for line in counted)

    def readiness(self) -> Manifest:
        """What `/readyz?verbose` shows."""
        trust = ssl.create_default_context(cafile=str(self.certificates / "ca.crt"))
        url = f"https://localhost:{self.port}/readyz?verbose"
        with urllib.request.urlopen(url, timeout=5, context=trust) as answer:
            shown: Manifest = json.loads(answer.read())
        return shown

    def crashes(self) -> list[str]:
        """Log lines about a fault of Signalbox itself; a test that leaves one has failed."""
        log = self.cluster.folder / "signalbox.log"
        if not log.exists():
            return []
        return [line for line in log.read_text().splitlines() if '"crash"' in line or line.startswith("Traceback")]

    def findings(self, resource: str, namespace: str) -> list[Any]:
        """What was recorded in the API server's audit log for writes in a namespace, oldest first.

        By namespace alone: the log does not know the names that the API server makes.
        """
        found: list[Any] = []
        # The last line may still be in the writing.
        for line in self.cluster.audit_log.read_text().split("\n")[:-1]:
            event = json.loads(line)
            reference = event.get("objectRef", {})
            if reference.get("namespace") == namespace and reference.get("resource") == resource:
                found += [json.loads(value) for key, value in event.get("annotations", {}).items() if key.endswith("/findings")]
        return found

    def _is_ready(self) -> bool:
        assert self._process is not None
        self._process.check()
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.metrics_port}/metrics", timeout=2) as answer:
                return bool(answer.status == 200)
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            return False

    def _on_loopback(self, obj: Manifest) -> Manifest:
        if obj["kind"] == "Service":
            obj["spec"] = {"type": "ExternalName", "externalName": "localhost"}
        for webhook in obj.get("webhooks", ()):
            webhook["clientConfig"]["service"]["port"] = self.port
        return obj


def assert_unheard(webhook: Webhook, act: Callable[[int], object], **labels: str) -> None:
    """What is done reaches us in no way. It is done again, numbered, when something else was counted meanwhile."""
    numbers = count()

    def unheard() -> bool:
        before = webhook.reviews(**labels)
        act(next(numbers))
        return webhook.reviews(**labels) == before

    eventually(unheard, "Signalbox is not asked", pause=0.5)
