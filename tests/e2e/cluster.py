"""A cluster without containers: etcd, kube-apiserver and kube-controller-manager on loopback, on free ports, in seconds."""

from __future__ import annotations

import contextlib
import ssl
import time
from pathlib import Path
from typing import Any

import yaml

from .api import Api, ApiError
from .binaries import ensure
from .kubectl import Kubectl
from .pki import Authority, Pair, service_account_keys
from .processes import Process, Processes, free_ports
from .programs import CONTROL_PLANE, ETCD
from .progress import say
from .waiting import eventually

READY_SECONDS = 120.0
_ADMIN = "admin"
_ISSUER = "https://kubernetes.default.svc"

# One line for each write of a workload: the only place where a finding that is merely recorded can be seen.
_AUDIT_POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [
        {
            "level": "Metadata",
            "verbs": ["create", "update", "patch"],
            "resources": [
                {"group": "", "resources": ["pods"]},
                {"group": "batch", "resources": ["jobs", "cronjobs"]},
                {"group": "apps", "resources": ["deployments", "replicasets"]},
                {"group": "jobset.x-k8s.io", "resources": ["jobsets"]},
            ],
        },
        {"level": "None"},
    ],
}


class Cluster:
    """A running cluster. Everything it writes is in its folder; `stop` ends what was started last first."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.processes = Processes(folder)
        self._etcd, self.control_plane = ensure(ETCD), ensure(CONTROL_PLANE)
        began = time.monotonic()
        etcd_client, etcd_peer, self.port, self._manager_port = free_ports(4)
        self.authority = Authority(folder / "pki")
        self._admin = self.authority.client("admin", _ADMIN, ["system:masters"])
        self._serving = self.authority.server("apiserver", ["127.0.0.1", "localhost", "kubernetes.default.svc"])
        self._accounts = service_account_keys(self.authority.folder)
        self.kubeconfig = self.write_kubeconfig("admin", client=self._admin)
        self.audit_log = folder / "audit.log"
        self._start_etcd(etcd_client, etcd_peer)
        self._api_server = self._start_api_server(etcd_client)
        self._api: Api | None = None
        self._start_controller_manager()
        self._wait()
        say(f"cluster ready on https://127.0.0.1:{self.port} after {time.monotonic() - began:.1f} s, logs in {folder}")

    @property
    def api_server_pid(self) -> int:
        """Process id of the API server."""
        return self._api_server.pid

    @property
    def api(self) -> Api:
        """The administrator's connection; for the main thread alone."""
        if self._api is None:
            self._api = self.connect()
        return self._api

    def connect(self, user: str = "", *groups: str) -> Api:
        """A connection of one's own, as the administrator or as somebody else."""
        trust = ssl.create_default_context(cafile=str(self.authority.certificate))
        trust.load_cert_chain(self._admin.certificate, self._admin.key)
        return Api(self.port, trust, user, groups)

    @property
    def kubectl(self) -> Kubectl:
        """kubectl as the administrator."""
        return Kubectl(self.control_plane / "kubectl", self.kubeconfig, self.folder)

    def write_kubeconfig(self, name: str, *, client: Pair | None = None, token: str = "") -> Path:
        """A kubeconfig for a client certificate or a token: `<name>.kubeconfig`."""
        user: dict[str, Any] = {"token": token}
        if client is not None:
            user = {"client-certificate": str(client.certificate), "client-key": str(client.key)}
        server = {"server": f"https://127.0.0.1:{self.port}", "certificate-authority": str(self.authority.certificate)}
        path = self.folder / f"{name}.kubeconfig"
        text = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "e2e",
            "contexts": [{"name": "e2e", "context": {"cluster": "e2e", "user": name}}],
            "clusters": [{"name": "e2e", "cluster": server}],
            "users": [{"name": name, "user": user}],
        }
        path.touch(mode=0o600)
        path.write_text(yaml.safe_dump(text))
        return path

    def wait_for_namespace(self, name: str) -> None:
        """Pods can be created in a namespace once it has its default service account."""
        eventually(
            lambda: self.api.get("serviceaccounts", name, "default"), f"service account default in {name}", READY_SECONDS
        )

    def stop(self) -> None:
        """End every process."""
        self.processes.stop()

    def _start_etcd(self, client: int, peer: int) -> Process:
        urls = {"client": f"http://127.0.0.1:{client}", "peer": f"http://127.0.0.1:{peer}"}
        return self.processes.start(
            "etcd",
            [
                self._etcd / "etcd",
                f"--data-dir={self.folder / 'etcd'}",
                f"--listen-client-urls={urls['client']}",
                f"--advertise-client-urls={urls['client']}",
                f"--listen-peer-urls={urls['peer']}",
                f"--initial-advertise-peer-urls={urls['peer']}",
                f"--initial-cluster=default={urls['peer']}",
                # Nothing here has to survive a power cut.
                "--unsafe-no-fsync",
            ],
        )

    def _start_api_server(self, etcd: int) -> Process:
        policy = self.folder / "audit-policy.yaml"
        policy.write_text(yaml.safe_dump(_AUDIT_POLICY))
        return self.processes.start(
            "kube-apiserver",
            [
                self.control_plane / "kube-apiserver",
                f"--etcd-servers=http://127.0.0.1:{etcd}",
                "--bind-address=127.0.0.1",
                f"--secure-port={self.port}",
                f"--cert-dir={self.folder / 'pki'}",
                f"--tls-cert-file={self._serving.certificate}",
                f"--tls-private-key-file={self._serving.key}",
                f"--client-ca-file={self.authority.certificate}",
                f"--service-account-issuer={_ISSUER}",
                f"--service-account-key-file={self._accounts.certificate}",
                f"--service-account-signing-key-file={self._accounts.key}",
                "--authorization-mode=RBAC",
                "--service-cluster-ip-range=10.0.0.0/24",
                "--endpoint-reconciler-type=none",
                f"--audit-policy-file={policy}",
                f"--audit-log-path={self.audit_log}",
            ],
        )

    def _start_controller_manager(self) -> Process:
        return self.processes.start(
            "kube-controller-manager",
            [
                self.control_plane / "kube-controller-manager",
                f"--kubeconfig={self.kubeconfig}",
                f"--service-account-private-key-file={self._accounts.key}",
                f"--root-ca-file={self.authority.certificate}",
                # Each controller under an account of its own, as on real clusters.
                "--use-service-account-credentials=true",
                "--leader-elect=false",
                "--bind-address=127.0.0.1",
                f"--secure-port={self._manager_port}",
            ],
        )

    def _wait(self) -> None:
        eventually(self._is_ready, "the API server is ready", READY_SECONDS, pause=0.2)
        self.wait_for_namespace("default")

    def _is_ready(self) -> bool:
        self._api_server.check()
        with contextlib.suppress(OSError, ApiError):
            return bool(self.connect().call("GET", "/readyz") == "ok")
        return False
