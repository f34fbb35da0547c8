"""Drills: replicas that end and die under load, that hang, crash and are overrun. Figures are printed.

A minute under load each; `--short-drills` takes some seconds, for whoever works on something else.
"""

from __future__ import annotations

import json
import re
import shutil
import statistics
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.test_monitoring import EXTERNAL

from . import outage
from .api import ApiError
from .conftest import shown
from .faulty import CRASHING, HANG_SECONDS
from .kubectl import Kubectl
from .latency import cpu, memory
from .objects import (
    Manifest,
    cron_job,
    daemon_set,
    deployment,
    gpu_mismatch,
    job,
    pod,
    pod_template,
    replica_set,
    replication_controller,
    stateful_set,
    template,
)
from .progress import say
from .replicas import Applies, Proxy, Replica, in_place_of, trainer
from .waiting import eventually
from .webhook import Webhook

RATE = 50.0
SHORT, FULL = 12.0, 60.0
BETWEEN = 2.0
BURST = 1000
RETRIES = 300


@pytest.fixture
def seconds(request: pytest.FixtureRequest) -> float:
    """How long a drill under load takes."""
    return SHORT if request.config.getoption("--short-drills") else FULL


@pytest.fixture
def two(webhook: Webhook) -> Iterator[tuple[Proxy, list[Replica]]]:
    """Two replicas behind one address, which the API server calls."""
    replicas = [Replica(webhook, f"replica-{name}") for name in "ab"]
    for replica in replicas:
        replica.start()
    proxy = Proxy(*replicas)
    proxy.start()
    try:
        with in_place_of(webhook, proxy.port):
            yield proxy, replicas
    finally:
        proxy.stop()
        for replica in replicas:
            replica.terminate()


def tell(request: pytest.FixtureRequest, text: str) -> None:
    with shown(request.config):
        say(text)


def test_drill_replicas_that_end_in_turn_fail_no_request(
    request: pytest.FixtureRequest, webhook: Webhook, research: str, two: tuple[Proxy, list[Replica]], seconds: float
) -> None:
    proxy, replicas = two
    ended = 0
    with Applies(webhook, research, RATE) as applies:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            replica = replicas[ended % 2]
            replica.terminate()
            replica.start()
            eventually(lambda: proxy.sees(2), "both replicas are ready again")
            ended += 1
        reached = applies.reached
    tell(
        request,
        f"drill SIGTERM: {applies.done} applies at {reached:.0f} a second for {seconds:.0f} s, {ended} replicas ended, "
        f"{len(applies.failed)} failed; longest {max(applies.seconds) * 1000:.0f} ms",
    )
    assert applies.failed == []
    assert ended >= 2
    assert reached > 0.8 * RATE


def test_drill_replicas_that_are_killed_fail_only_what_they_were_answering(
    request: pytest.FixtureRequest, webhook: Webhook, research: str, two: tuple[Proxy, list[Replica]], seconds: float
) -> None:
    proxy, replicas = two
    outages: list[float] = []
    counts: list[int] = []
    with Applies(webhook, research, RATE) as applies:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            before, killed = len(applies.failed), time.monotonic()
            replicas[len(counts) % 2].kill()
            time.sleep(BETWEEN)
            failed = [at - killed for at, _ in applies.failed[before:]]
            counts.append(len(failed))
            outages.append(max(failed, default=0.0))
            replicas[(len(counts) - 1) % 2].start()
            eventually(lambda: proxy.sees(2), "both replicas are ready again")
    tell(
        request,
        f"drill SIGKILL: {applies.done} applies at {RATE:.0f} a second, {len(counts)} replicas killed, "
        f"{sum(counts)} requests failed (at most {max(counts)} at once), the last {max(outages) * 1000:.0f} ms after the kill",
    )
    # What was on its way to the killed one: of each person one request, and of a quick one the next.
    assert max(counts) <= 2 * applies.people
    assert max(outages) < 1.0
    # Or what /mutate could not answer any more: it comes without its queue, and is refused for that.
    assert all("failed calling webhook" in text or "queue" in text for _, text in applies.failed), applies.failed


KINDS: dict[str, Callable[[str, str, Manifest], Manifest]] = {
    "Pod": pod,
    "Job": job,
    "CronJob": cron_job,
    "Deployment": deployment,
    "StatefulSet": stateful_set,
    "DaemonSet": daemon_set,
    "ReplicaSet": replica_set,
    "ReplicationController": replication_controller,
    "PodTemplate": pod_template,
}
_ENDS = ("Pod", "Job", "CronJob", "PodTemplate")


@pytest.mark.parametrize("endpoint", ["mutate", "validate"])
def test_drill_an_endpoint_that_hangs(request: pytest.FixtureRequest, webhook: Webhook, namespace: str, endpoint: str) -> None:
    """AI work waits five seconds for /validate and is then refused; everything else is let in after as long."""
    cases: dict[str, Manifest] = {}
    for kind, make in KINDS.items():
        restart = "Never" if kind in _ENDS else None
        cases[f"{kind} with a GPU"] = make("gpu", namespace, template(1, restart=restart))
        cases[f"{kind} without"] = make("web", namespace, template(restart=restart))
    replica = Replica(webhook, f"hanging-in-{endpoint}", fault=f"hang-in-{endpoint}")
    replica.start()
    try:
        with in_place_of(webhook, replica.port), ThreadPoolExecutor(len(cases)) as pool:
            replica.break_now()
            answers = dict(zip(cases, pool.map(lambda case: _created(webhook, case), cases.values()), strict=True))
    finally:
        replica.terminate()
    rows = []
    for case, (seconds, told) in answers.items():
        closed = 'failed calling webhook "validate.policy.workload.ai"' in told
        rows.append(f"  {case:34}{'refused' if closed else 'let in':8} after {seconds:4.1f} s")
        assert closed is (endpoint == "validate" and case.endswith("with a GPU")), f"{case}: {told}"
        assert bool(told) is closed, f"{case}: {told}"
        assert seconds < HANG_SECONDS, case
        if closed:
            assert "context deadline exceeded" in told
    tell(request, f"drill: /{endpoint} hangs, timeoutSeconds 5\n" + "\n".join(rows))


def _created(webhook: Webhook, manifest: Manifest) -> tuple[float, str]:
    """A creation that keeps nothing: how long it took, and what was said if it was refused."""
    connection = webhook.cluster.connect("ann", "people")
    version, plural = manifest["apiVersion"], f"{manifest['kind'].lower()}s"
    start = "/api" if "/" not in version else "/apis"
    path = f"{start}/{version}/namespaces/{manifest['metadata']['namespace']}/{plural}?dryRun=All"
    began, told = time.monotonic(), ""
    try:
        connection.call("POST", path, manifest)
    except ApiError as error:
        told = error.message
    return time.monotonic() - began, told


_STRICT = """
apiVersion: policy.workload.ai/v1alpha1
kind: WorkloadPolicy
metadata: {name: drill}
spec:
  rules:
    - {name: strict, check: gpu-requests, mode: enforce, onError: refuse, when: {names: [strict]}}
"""


def test_drill_a_check_that_crashes_lets_in_warns_and_is_counted(
    request: pytest.FixtureRequest, webhook: Webhook, kubectl: Kubectl, namespace: str, tmp_path: Path
) -> None:
    policies = tmp_path / "policies"
    shutil.copytree(webhook.policies, policies)
    (policies / "drill.yaml").write_text(_STRICT)
    replica = Replica(webhook, "crashing", policies=policies, fault="crash-in-a-check")
    replica.start()
    try:
        with in_place_of(webhook, replica.port):
            replica.break_now()
            lenient = kubectl.apply(job("lenient", namespace, template(1)))
            strict = kubectl.apply(job("strict", namespace, template(1)))
            counted = _sample(replica.metrics(), 'signalbox_errors_total{where="engine"}')
    finally:
        replica.terminate()
    assert lenient.code == 0
    assert re.search(r"Warning: \[gpus/[\w-]+\] .*fault in Signalbox \(ZeroDivisionError\)", lenient.err), lenient.err
    assert strict.code == 1
    assert 'admission webhook "validate.policy.workload.ai" denied the request' in strict.err
    assert "[drill/strict]" in strict.err
    crashes = [one for one in _lines(replica.log) if one["event"] == "crash"]
    assert {one["exception"] for one in crashes} == {"ZeroDivisionError"}
    assert counted >= len(crashes) > 0
    tell(
        request,
        f"drill crash in {CRASHING}: let in with a warning, refused where onError says so; {counted:.0f} counted, "
        f"{len(crashes)} log lines",
    )


def test_drill_a_burst_of_a_thousand_jobs(request: pytest.FixtureRequest, webhook: Webhook, research: str) -> None:
    connections = [webhook.cluster.connect("ann", "people") for _ in range(16)]
    before, began = cpu(webhook.pid), time.monotonic()

    def create(number: int) -> list[float]:
        taken = []
        for index in range(number, BURST, len(connections)):
            start = time.monotonic()
            connections[number].create("jobs", research, trainer(f"burst-{index}", research, suspend=True))
            taken.append(time.monotonic() - start)
        return taken

    with ThreadPoolExecutor(len(connections)) as pool:
        taken = sorted(seconds for share in pool.map(create, range(len(connections))) for seconds in share)
    wall, own = time.monotonic() - began, cpu(webhook.pid) - before
    tell(
        request,
        f"drill burst: {BURST} Jobs in {wall:.1f} s ({BURST / wall:.0f} a second), 0 failed, "
        f"p50 {statistics.median(taken) * 1000:.0f} ms, p99 {taken[int(BURST * 0.99)] * 1000:.0f} ms; "
        f"signalbox {own / BURST * 1000:.1f} ms of CPU a Job, {memory(webhook.pid):.0f} MiB",
    )
    assert len(taken) == BURST
    assert own / BURST < 0.05
    assert memory(webhook.pid) < 512


def test_drill_a_controller_that_is_refused_again_and_again_fills_no_log(
    request: pytest.FixtureRequest, webhook: Webhook, namespace: str
) -> None:
    """An operator that nobody knows, without a back-off: a minute of it at once."""
    operator = webhook.cluster.connect("system:serviceaccount:ops:operator", "people")
    retried = gpu_mismatch("retried-", namespace)
    log = webhook.cluster.folder / "signalbox.log"
    size, before, began = log.stat().st_size, cpu(webhook.pid), time.monotonic()
    for _ in range(RETRIES):
        with pytest.raises(ApiError, match="denied the request"):
            operator.create("jobs", namespace, retried)
    wall, own, grown = time.monotonic() - began, cpu(webhook.pid) - before, log.stat().st_size - size
    lines = [one for one in _lines(log) if one.get("namespace") == namespace]
    tell(
        request,
        f"drill retries: {RETRIES} refusals in {wall:.1f} s, {own / RETRIES * 1000:.1f} ms of CPU each, "
        f"{len(lines)} log lines, {grown} bytes",
    )
    assert 1 <= len(lines) <= 3 * (1 + wall // 60)
    assert grown < 10_000
    assert own / RETRIES < 0.05


def test_drill_pods_of_a_deployment_that_never_come_to_be_cost_next_to_nothing(
    request: pytest.FixtureRequest, webhook: Webhook, namespace: str, seconds: float
) -> None:
    """Pods of a known controller are never refused by us: here a quota does it, and the controller tries again."""
    api = webhook.cluster.api
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "none"}, "spec": {"hard": {"pods": "0"}}}
    api.call("POST", f"/api/v1/namespaces/{namespace}/resourcequotas", quota)
    path = f"/api/v1/namespaces/{namespace}/resourcequotas/none"
    eventually(lambda: "hard" in api.call("GET", path).get("status", {}), "the quota is in force")
    log = webhook.cluster.folder / "signalbox.log"
    size, before, asked, began = log.stat().st_size, cpu(webhook.pid), webhook.reviews(kind="Pod"), time.monotonic()
    api.create("deployments", namespace, deployment("llm", namespace, template(1, "vllm serve llama", restart=None), 4))
    eventually(lambda: webhook.reviews(kind="Pod") - asked >= 4, "its controller tries")
    time.sleep(seconds)
    wall, own, reviews = time.monotonic() - began, cpu(webhook.pid) - before, webhook.reviews(kind="Pod") - asked
    grown = log.stat().st_size - size
    tell(
        request,
        f"drill Pods refused by a quota: {reviews:.0f} tries in {wall:.0f} s, {own / wall:.1%} of a core, {grown} bytes of log",
    )
    assert own / wall < 0.5
    assert grown == 0


def test_the_api_servers_own_metrics_are_those_that_alerts_ask_for(webhook: Webhook, namespace: str) -> None:
    """Both of an outage: what was refused for it, and what was let past."""
    with outage.stopped(webhook):
        assert "failed calling webhook" in _created(webhook, job("gpu", namespace, template(1)))[1]
        assert _created(webhook, job("web", namespace))[1] == ""
    page = webhook.cluster.api.call("GET", "/metrics")
    for name, labels in EXTERNAL.items():
        samples = re.findall(rf'^{name}\{{([^}}]*name="[\w-]+[.]policy[.]workload[.]ai"[^}}]*)\}}', page, re.MULTILINE)
        assert samples, f"{name} is not there"
        assert {set_of.partition("=")[0] for set_of in samples[0].split(",")} == labels
    assert 'error_type="calling_webhook_error"' in page


def _lines(log: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in log.read_text().splitlines() if line.startswith("{")]


def _sample(metrics: str, name: str) -> float:
    return sum(float(line.rpartition(" ")[2]) for line in metrics.splitlines() if line.startswith(name))
