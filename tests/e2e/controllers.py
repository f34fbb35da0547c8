"""JobSet's and Kueue's managers beside the cluster, under their own service accounts, their webhooks on loopback."""

from __future__ import annotations

import base64
import http.client
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml

from .binaries import ensure
from .cluster import Cluster
from .objects import job_set
from .processes import Process, free_ports
from .programs import JOBSET, KUEUE
from .progress import say
from .waiting import eventually

Manifest = dict[str, Any]
READY_SECONDS = 120.0
_WEBHOOK_CONFIGURATIONS = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")


def start_jobset(cluster: Cluster) -> Process:
    """JobSet, installed from its own manifests, with a certificate of ours."""
    began = time.monotonic()
    folder = ensure(JOBSET)
    port, health = free_ports(2)
    service = "jobset-webhook-service"
    certificates = cluster.folder / "jobset-certs"
    certificates.mkdir()
    pair = cluster.authority.server("jobset", [f"{service}.jobset-system.svc"])
    (certificates / "tls.crt").write_bytes(pair.certificate.read_bytes())
    (certificates / "tls.key").write_bytes(pair.key.read_bytes())
    objects = _rendered(cluster, folder, service, port)
    bundle = base64.b64encode(cluster.authority.certificate.read_bytes()).decode()
    for webhook in _webhooks(objects):
        webhook["clientConfig"]["caBundle"] = bundle
    _apply(cluster, objects)
    configuration = {
        "apiVersion": "config.jobset.x-k8s.io/v1alpha1",
        "kind": "Configuration",
        "health": {"healthProbeBindAddress": f"127.0.0.1:{health}"},
        "metrics": {"bindAddress": "0"},
        "webhook": {"host": "127.0.0.1", "port": port, "certDir": str(certificates)},
        "leaderElection": {"leaderElect": False},
        "internalCertManagement": {"enable": False},
    }
    process = _run(cluster, folder / "jobset", configuration, "jobset-system", "jobset-controller-manager", [])
    _wait(process, health)
    # It says that it is ready before it has registered its webhooks.
    eventually(lambda: _takes_a_job_set(cluster), "JobSet's webhooks answer", READY_SECONDS)
    say(f"JobSet ready after {time.monotonic() - began:.1f} s")
    return process


def _takes_a_job_set(cluster: Cluster) -> bool:
    # In a namespace that Signalbox is not asked about.
    return cluster.kubectl.apply(job_set("ready", "kube-system"), arguments=("--dry-run=server",)).code == 0


def start_kueue(cluster: Cluster) -> Process:
    """Kueue, installed from its own manifests. It makes its own certificate; JobSet's CRD must be there before it."""
    began = time.monotonic()
    folder = ensure(KUEUE)
    port, health = free_ports(2)
    service, secret = "kueue-webhook-service", "kueue-webhook-server-cert"
    certificates = cluster.folder / "kueue-certs"
    certificates.mkdir()
    _apply(cluster, _rendered(cluster, folder, service, port))
    configuration = {
        "apiVersion": "config.kueue.x-k8s.io/v1beta2",
        "kind": "Configuration",
        "namespace": "kueue-system",
        "health": {"healthProbeBindAddress": f"127.0.0.1:{health}"},
        "metrics": {"bindAddress": "0"},
        "webhook": {"host": "127.0.0.1", "port": port, "certDir": str(certificates)},
        "leaderElection": {"leaderElect": False},
        "internalCertManagement": {"enable": True, "webhookServiceName": service, "webhookSecretName": secret},
        "integrations": {"frameworks": ["batch/job", "jobset.x-k8s.io/jobset", "pod", "deployment", "statefulset"]},
    }
    # The visibility server wants a certificate of its own.
    gates = ["--feature-gates=VisibilityOnDemand=false"]
    process = _run(cluster, folder / "kueue", configuration, "kueue-system", "kueue-controller-manager", gates)

    def issued() -> dict[str, str]:
        process.check()
        data: dict[str, str] = (cluster.api.get("secrets", "kueue-system", secret) or {}).get("data") or {}
        return data if data.get("tls.crt") else {}

    # In a cluster the Secret is mounted there; Kueue waits until the files appear.
    for name, value in eventually(issued, "Kueue has made its certificate", READY_SECONDS).items():
        (certificates / name).write_bytes(base64.b64decode(value))
    _wait(process, health)
    say(f"Kueue ready after {time.monotonic() - began:.1f} s")
    return process


def _rendered(cluster: Cluster, folder: Path, service: str, port: int) -> list[Manifest]:
    """The program's own manifests, without what a container would run, its webhook Service turned to loopback."""
    # It says on stderr that a field is deprecated.
    text = cluster.kubectl("kustomize", folder / "config" / "default")
    kept = []
    for obj in yaml.load_all(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
        name = obj["metadata"]["name"]
        if obj["kind"] in ("Deployment", "APIService") or (obj["kind"] == "Service" and name != service):
            continue
        if obj["kind"] == "Service":
            obj["spec"] = {"type": "ExternalName", "externalName": "localhost"}
        kept.append(obj)
    for webhook in _webhooks(kept):
        webhook["clientConfig"]["service"]["port"] = port
    return kept


def _webhooks(objects: Iterable[Manifest]) -> Iterable[Manifest]:
    """Everything with a clientConfig: webhooks, and the conversion of CRDs."""
    for obj in objects:
        if obj["kind"] in _WEBHOOK_CONFIGURATIONS:
            yield from obj["webhooks"]
        conversion = obj.get("spec", {}).get("conversion", {}) if obj["kind"] == "CustomResourceDefinition" else {}
        if "webhook" in conversion:
            yield conversion["webhook"]


def _apply(cluster: Cluster, objects: list[Manifest]) -> None:
    # Server-side: the CRDs are too large for the annotation that client-side apply leaves. CRDs first, then the rest.
    for part in ([one for one in objects if one["kind"] in ("CustomResourceDefinition", "Namespace")], objects):
        printed = cluster.kubectl.apply(*part, arguments=("--server-side", "--force-conflicts"))
        assert printed.code == 0, printed.text


def _run(
    cluster: Cluster, binary: Path, configuration: Manifest, namespace: str, account: str, arguments: list[str]
) -> Process:
    name = binary.name
    path = cluster.folder / f"{name}.yaml"
    path.write_text(yaml.safe_dump(configuration))
    token = cluster.kubectl("create", "token", account, "-n", namespace, "--duration=8h").strip()
    kubeconfig = cluster.write_kubeconfig(name, token=token)
    return cluster.processes.start(name, [binary, "--config", path, *arguments], {"KUBECONFIG": str(kubeconfig)})


def _wait(process: Process, health: int) -> None:
    def ready() -> bool:
        process.check()
        connection = http.client.HTTPConnection("127.0.0.1", health, timeout=2)
        try:
            connection.request("GET", "/readyz")
            return connection.getresponse().status == http.client.OK
        except OSError:
            return False
        finally:
            connection.close()

    eventually(ready, f"{process.name} is ready", READY_SECONDS, pause=0.1)
