"""The ledger in the running webhook: workers write it, the end flushes it, and no trouble of it reaches a request."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from signalbox.audit.ledger.reading import Ledger
from signalbox.certs.issue import issue_development
from tests.ledgers import review
from tests.manifests import gpu_job
from tests.server_process import Webhook, environment, wait_for

POLICY = """
apiVersion: policy.workload.ai/v1alpha1
kind: WorkloadPolicy
metadata: {name: team}
spec:
  rules:
    - {name: limit, check: accelerator-limit, with: {maxTotal: 4}, mode: enforce}
"""
SERVE = "import sys; from signalbox.cli.main import main; sys.exit(main())"


@contextmanager
def serving(folder: Path, ledger: str, *options: str) -> Iterator[Webhook]:
    """`signalbox serve` with a ledger."""
    (folder / "policy.yaml").write_text(POLICY)
    issue_development(folder, ["localhost", "127.0.0.1"], 30, datetime.now(UTC))
    files = ["--cert", folder / "tls.crt", "--key", folder / "tls.key", "--policies", folder / "policy.yaml"]
    ports = ["--address", "127.0.0.1", "--port", "0", "--metrics-port", "0", "--drain-seconds", "0"]
    command = [sys.executable, "-c", SERVE, "serve", *files, *ports, "--ledger", ledger, "--ledger-allowed", "all", *options]
    process = subprocess.Popen([str(word) for word in command], stderr=subprocess.PIPE, env=environment(folder))
    try:
        yield Webhook(process, folder)
    finally:
        process.terminate()
        process.wait(20)
        assert process.stderr is not None
        process.stderr.close()


def ask(webhook: Webhook, count: int, path: str = "/validate") -> None:
    for number in range(count):
        status, text = webhook.post(path, review(gpu_job(f"job-{number}"), uid=f"u-{number}"))
        assert status == 200, text


def metric(webhook: Webhook, name: str) -> float:
    found = re.search(rf"^{re.escape(name)} (\S+)$", webhook.metrics(), re.MULTILINE)
    assert found, name
    return float(found[1])


def test_decisions_are_written_by_every_worker_and_what_waits_at_the_end_too(tmp_path: Path) -> None:
    file = tmp_path / "ledger.db"
    with serving(tmp_path, str(file), "--workers", "2") as webhook:
        ask(webhook, 20)
        wait_for(lambda: metric(webhook, "signalbox_ledger_entries_written_total") == 20)
        assert metric(webhook, "signalbox_ledger_queue_length") == 0
        assert metric(webhook, 'signalbox_ledger_entries_lost_total{reason="queue-full"}') == 0
        assert metric(webhook, "signalbox_ledger_last_write_timestamp_seconds") > 1.7e9
        ask(webhook, 20)
    entries = list(Ledger.open(str(file)).entries())
    assert len(entries) == 40
    assert {(entry.decision, entry.kind, entry.endpoint) for entry in entries} == {("refused", "Job", "validate")}


def test_a_ledger_that_cannot_be_written_fails_no_request_and_is_seen(tmp_path: Path) -> None:
    with serving(tmp_path, str(tmp_path / "missing" / "ledger.db"), "--ledger-queue", "5") as webhook:
        ask(webhook, 1)
        wait_for(lambda: webhook.logged("ledger cannot be written, admission goes on"))
        ask(webhook, 10)
        lost = 'signalbox_ledger_entries_lost_total{reason="unreachable"}'
        assert metric(webhook, lost) == 11 - 5 - 1
        assert webhook.readyz()
        (tmp_path / "missing").mkdir()
        wait_for(lambda: webhook.logged("ledger is written again"))
        assert metric(webhook, "signalbox_ledger_entries_written_total") == 6


def test_a_worker_that_is_killed_takes_its_queue_along_and_no_more(tmp_path: Path) -> None:
    file = tmp_path / "ledger.db"
    with serving(tmp_path, str(file)) as webhook:
        ask(webhook, 5)
        wait_for(lambda: metric(webhook, "signalbox_ledger_entries_written_total") == 5)
        worker = _children(webhook.process.pid)[0]
        os.kill(worker, signal.SIGKILL)
        wait_for(lambda: webhook.logged("worker replaced after an unexpected exit"))
        ask(webhook, 5)
        wait_for(lambda: metric(webhook, "signalbox_ledger_entries_written_total") == 10)
        assert metric(webhook, "signalbox_ledger_queue_length") == 0
    assert len(list(Ledger.open(str(file)).entries())) == 10


def test_an_address_that_is_none_is_told_at_the_start(tmp_path: Path) -> None:
    command = [sys.executable, "-c", SERVE, "serve", "--ledger", "mysql://root:hunter2@host/db"]
    ended = subprocess.run(command, capture_output=True, text=True, env=environment(tmp_path))
    assert ended.returncode == 2
    assert "sqlite or postgresql" in ended.stderr
    assert "hunter2" not in ended.stderr


@pytest.mark.parametrize("path", ["/mutate", "/validate"])
def test_without_a_ledger_nothing_is_kept(tmp_path: Path, path: str) -> None:
    with serving(tmp_path, "") as webhook:
        ask(webhook, 2, path)
        assert "signalbox_ledger" not in webhook.metrics()


def _children(parent: int) -> list[int]:
    found = []
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            fields: dict[str, Any] = dict(line.split(":", 1) for line in status.read_text().splitlines() if ":" in line)
        except OSError:
            continue
        if int(fields["PPid"]) == parent:
            found.append(int(fields["Pid"]))
    return found
