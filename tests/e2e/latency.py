"""What a Job costs on its way through the API server: with nothing in it, a webhook that does nothing, policies, Signalbox.

Each variant has a namespace of its own and all are in force at once, so they are measured in turns under the same load.
"""

from __future__ import annotations

import base64
import json
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from .api import ApiError
from .objects import Manifest, job, template
from .processes import Process
from .waiting import eventually
from .webhook import ROOT, Webhook

CONNECTIONS = 8
ROUNDS = 10
_TICKS = os.sysconf("SC_CLK_TCK")
_POLICIES = Path(__file__).with_name("latency-policies.yaml")
_CONFIGURATIONS = {"mutatingwebhookconfigurations": "00-signalbox", "validatingwebhookconfigurations": "signalbox"}


@dataclass(slots=True)
class Variant:
    """One way for a Job to go, and what it cost. `pid` is the process that answers, None where there is none."""

    title: str
    namespace: str
    pid: Callable[[], int] | None = None
    seconds: list[float] = field(default_factory=list)
    wall: float = 0.0
    server_cpu: float = 0.0
    own_cpu: float = 0.0
    memory: float = 0.0


def measure(webhook: Webhook, count: int) -> list[Variant]:
    """Create `count` Jobs in each variant, in turns; the Jobs are suspended, so only admission and storage are measured."""
    nothing = _start_nothing(webhook)
    variants = [
        Variant("nothing", "bench-nothing"),
        Variant("do-nothing webhook pair", "bench-webhooks", lambda: nothing.pid),
        Variant("admission policies of equal effect", "bench-policies"),
        Variant("Signalbox", "team-research", lambda: webhook.pid),
    ]
    with _set_up(webhook, nothing, [one.namespace for one in variants if one.namespace.startswith("bench-")]):
        for one in variants:
            _round(webhook, one, "warm", 40)
            one.seconds, one.wall, one.server_cpu, one.own_cpu = [], 0.0, 0.0, 0.0
        for number in range(ROUNDS):
            for one in variants:
                _round(webhook, one, f"r{number}", count // ROUNDS)
        for one in variants:
            one.memory = memory(one.pid()) if one.pid else 0.0
            webhook.cluster.api.delete_all("jobs", one.namespace)
    nothing.stop()
    return variants


def table(variants: list[Variant], server: int) -> str:
    """The figures as lines of text."""
    lines = [
        f"{len(variants[0].seconds)} Jobs each, {CONNECTIONS} connections, {os.cpu_count()} cores for everything",
        f"{'':36}{'p50 ms':>9}{'p99 ms':>9}{'Jobs/s':>9}{'CPU ms a Job':>15}{'':>9}{'memory':>9}",
        f"{'':36}{'':27}{'API server':>15}{'webhook':>9}{'MiB':>9}",
    ]
    for one in variants:
        count = len(one.seconds)
        ordered = sorted(one.seconds)
        own = f"{one.own_cpu / count * 1000:9.1f}{one.memory:9.0f}" if one.pid else f"{'-':>9}{'-':>9}"
        lines.append(
            f"{one.title:36}{statistics.median(ordered) * 1000:9.1f}{ordered[int(count * 0.99)] * 1000:9.1f}"
            f"{count / one.wall:9.0f}{one.server_cpu / count * 1000:15.1f}{own}"
        )
    lines.append(f"The API server holds {memory(server):.0f} MiB.")
    return "\n".join(lines)


def _round(webhook: Webhook, variant: Variant, prefix: str, count: int) -> None:
    manifests = [_job(f"{prefix}-{index}", variant.namespace, index) for index in range(count)]
    shares = [manifests[start::CONNECTIONS] for start in range(CONNECTIONS)]
    connections = [webhook.cluster.connect("ann", "people") for _ in shares]
    for connection in connections:
        connection.call("GET", "/version")
    pid = variant.pid() if variant.pid else None
    server, own, began = cpu(webhook.cluster.api_server_pid), cpu(pid) if pid else 0.0, time.perf_counter()

    def create(number: int) -> list[float]:
        taken = []
        for manifest in shares[number]:
            start = time.perf_counter()
            connections[number].create("jobs", variant.namespace, manifest)
            taken.append(time.perf_counter() - start)
        return taken

    with ThreadPoolExecutor(CONNECTIONS) as pool:
        for taken in pool.map(create, range(len(shares))):
            variant.seconds += taken
    variant.wall += time.perf_counter() - began
    variant.server_cpu += cpu(webhook.cluster.api_server_pid) - server
    variant.own_cpu += cpu(pid) - own if pid else 0.0


def _job(name: str, namespace: str, index: int) -> Manifest:
    body = template(8, f"torchrun --nproc-per-node 8 train.py --lr 0.{index} --output_dir=s3://bucket/{name}")
    body["spec"]["containers"][0]["env"] = [{"name": f"SETTING_{one}", "value": f"{index}-{one}"} for one in range(10)]
    return job(name, namespace, body, {"app": "llm"}, suspend=True, parallelism=2, completions=2)


def cpu(pid: int) -> float:
    """Seconds of CPU that a process and its children have used."""
    return sum(_own_cpu(one) for one in _family(pid))


def memory(pid: int) -> float:
    """MiB that a process and its children hold; pages they share count once."""
    found = 0
    for one in _family(pid):
        for line in Path(f"/proc/{one}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                found += int(line.split()[1])
    return found / 1024


def _own_cpu(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def _family(pid: int) -> list[int]:
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [pid, *(below for child in children for below in _family(int(child)))]


def _start_nothing(webhook: Webhook) -> Process:
    """A Flask endpoint that parses the body and answers, on the same server with the same settings."""
    command: list[str | Path] = [sys.executable, "-m", "tests.bench.server", "nothing", webhook.certificates]
    path = os.pathsep.join([*filter(None, [os.environ.get("PYTHONPATH")]), str(ROOT)])
    return webhook.cluster.processes.start("nothing", command, {"PYTHONPATH": path})


def _port(process: Process) -> int:
    process.check()
    for line in process.log.read_text().splitlines():
        entry = json.loads(line) if line.startswith("{") else {}
        if entry.get("event") == "serving":
            return int(entry["port"])
    return 0


@contextmanager
def _set_up(webhook: Webhook, nothing: Process, namespaces: list[str]) -> Iterator[None]:
    """Namespaces that Signalbox leaves out, one with the do-nothing pair, one with the policies."""
    kubectl, api = webhook.cluster.kubectl, webhook.cluster.api
    for namespace in namespaces:
        api.create("namespaces", "", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
        webhook.cluster.wait_for_namespace(namespace)
    port = eventually(lambda: _port(nothing), "the do-nothing webhook listens")
    policies = list(yaml.safe_load_all(_POLICIES.read_text()))
    pair = [_do_nothing(kind, port, webhook) for kind in ("Mutating", "Validating")]
    _exempt(webhook, namespaces)
    printed = kubectl.apply(*pair, *policies)
    assert printed.code == 0, printed.text
    try:
        eventually(lambda: _policies_work(webhook), "the policies are in force")
        yield
    finally:
        kubectl.apply(*pair, *policies, verb="delete")
        _exempt(webhook, [])
        for namespace in namespaces:
            api.delete("namespaces", "", namespace)


def _policies_work(webhook: Webhook) -> bool:
    """Each is followed from a moment of its own: the policy that refuses may be there before those that make a Job pass it."""
    try:
        made = webhook.cluster.api.call(
            "POST", "/apis/batch/v1/namespaces/bench-policies/jobs?dryRun=All", _job("probe", "bench-policies", 0)
        )
    except ApiError as error:
        if "ValidatingAdmissionPolicy" not in error.message:
            raise
        return False
    labels, spec = made["metadata"]["labels"], made["spec"]["template"]["spec"]
    return "workload.ai/team" in labels and "tolerations" in spec and spec["terminationGracePeriodSeconds"] == 300


def _exempt(webhook: Webhook, namespaces: list[str]) -> None:
    """Add namespaces to those that the API server does not ask Signalbox about; with none, set them back."""
    rendered = {one["metadata"]["name"]: one for one in webhook.render("overlays/self-signed") if "webhooks" in one}
    for resource, name in _CONFIGURATIONS.items():
        webhooks = rendered[name]["webhooks"]
        path = f"/apis/admissionregistration.k8s.io/v1/{resource}/{name}"
        patch = [
            {
                "op": "replace",
                "path": f"/webhooks/{index}/namespaceSelector/matchExpressions/0/values",
                "value": [*one["namespaceSelector"]["matchExpressions"][0]["values"], *namespaces],
            }
            for index, one in enumerate(webhooks)
            # Policies themselves stand in no namespace.
            if "namespaceSelector" in one
        ]
        webhook.cluster.api.call("PATCH", path, patch, "application/json-patch+json")


def _do_nothing(kind: str, port: int, webhook: Webhook) -> Manifest:
    bundle = base64.b64encode((webhook.certificates / "ca.crt").read_bytes()).decode()
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": f"{kind}WebhookConfiguration",
        "metadata": {"name": "do-nothing"},
        "webhooks": [
            {
                "name": "nothing.e2e.example",
                "admissionReviewVersions": ["v1"],
                "sideEffects": "None",
                "clientConfig": {"url": f"https://127.0.0.1:{port}/nothing", "caBundle": bundle},
                "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "bench-webhooks"}},
                "rules": [{"apiGroups": ["batch"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["jobs"]}],
            }
        ],
    }
