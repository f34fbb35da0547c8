"""The ledger: what is recorded of a decision, how much waits at most, and how entries are ordered."""

import json
import time
import tracemalloc
from datetime import UTC, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.ledgers import Recording, recording
from tests.manifests import deployment, gpu_job, pod_spec
from tests.world import NOW, policy, setup

JOB_CONTROLLER = "system:serviceaccount:kube-system:job-controller"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "ledger.db"


def logged(capfd: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capfd.readouterr().err.splitlines() if line.startswith("{")]


def small_job() -> dict[str, Any]:
    """No rule looks at it."""
    return gpu_job(gpus=0)


def test_a_refusal_is_recorded_with_who_and_what_and_why(file: Path) -> None:
    with recording(file) as ledger:
        ledger.offer(gpu_job("llama", "research"), user="ann", groups=("ml", "system:authenticated"), uid="u-7")
        ledger.settled(1)
        entry = next(ledger.read().entries())
    assert (entry.at, entry.uid, entry.user, entry.groups) == (NOW, "u-7", "ann", ("ml", "system:authenticated"))
    assert (entry.operation, entry.endpoint, entry.decision, entry.type) == ("CREATE", "validate", "refused", "fine-tuning")
    assert (entry.group, entry.version, entry.kind, entry.namespace, entry.name) == ("batch", "v1", "Job", "research", "llama")
    assert (entry.accelerators, entry.by_resource, entry.weight) == (8, {"nvidia.com/gpu": 8}, 1)
    assert entry.digest == ledger.world.policies.digest[:12]
    limit, checkpoint, grace = entry.findings
    assert (limit.rule, limit.mode, limit.result, limit.refused, limit.amount) == ("team/limit", "enforce", "fail", True, 8)
    assert (checkpoint.rule, checkpoint.check, checkpoint.mode, checkpoint.refused) == (
        "team/checkpoint",
        "checkpoint",
        "warn",
        False,
    )
    assert (grace.mode, grace.fixed_by) == ("audit", "termination-grace")
    assert "60" in grace.message


@pytest.mark.parametrize(
    ("mode", "decision"), [("enforce", "refused"), ("warn", "warned"), ("audit", "audited"), ("disabled", "allowed")]
)
def test_the_decision_is_one_word(file: Path, mode: str, decision: str) -> None:
    world = setup(policy(f"rules: [{{name: limit, check: accelerator-limit, with: {{maxTotal: 1}}, mode: {mode}}}]"))
    with recording(file, world) as ledger:
        ledger.offer(gpu_job())
        ledger.settled(1)
        assert [entry.decision for entry in ledger.read().entries()] == [decision]


def test_an_object_without_a_name_yet_is_known_by_its_generate_name(file: Path) -> None:
    job = gpu_job()
    job["metadata"] = {"generateName": "sweep-", "namespace": "research", "labels": {"workload.ai/team": "nlp", "other": "x"}}
    with recording(file) as ledger:
        ledger.offer(job)
        ledger.settled(1)
        entry = next(ledger.read().entries())
    assert (entry.name, entry.generate_name, entry.subject) == ("", "sweep-", "Job research/sweep-*")
    assert (entry.labels, entry.team) == ({"workload.ai/team": "nlp"}, "nlp")


def test_a_dry_run_leaves_no_entry(file: Path) -> None:
    with recording(file) as ledger:
        ledger.offer(gpu_job("dry"), dry_run=True)
        ledger.offer(gpu_job("real"))
        ledger.settled(1)
        assert [entry.name for entry in ledger.read().entries()] == ["real"]


def test_the_two_calls_of_one_request_are_one_entry_and_a_refusal_by_mutate_is_one_too(file: Path) -> None:
    world = setup(policy("rules: [{name: gpus, check: gpu-requests, mode: enforce}]"))
    mismatched = gpu_job("mismatched")
    pod_spec(mismatched)["containers"][0]["resources"]["requests"]["nvidia.com/gpu"] = "4"
    with recording(file, world) as ledger:
        ledger.offer(gpu_job("fine"), "mutate")
        ledger.offer(gpu_job("fine"), "validate")
        ledger.offer(mismatched, "mutate")
        ledger.settled(2)
        found = [(entry.name, entry.endpoint, entry.decision) for entry in ledger.read().entries()]
    assert found == [("fine", "validate", "allowed"), ("mismatched", "mutate", "refused")]


def test_what_a_controller_makes_of_a_judged_parent_is_no_entry_of_its_own(file: Path) -> None:
    pod: dict[str, Any] = {"apiVersion": "v1", "kind": "Pod", "spec": pod_spec(gpu_job())}
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "llama", "controller": True}
    pod["metadata"] = {"name": "llama-x", "namespace": "research", "ownerReferences": [owner]}
    with recording(file) as ledger:
        ledger.offer(pod, user=JOB_CONTROLLER)
        ledger.offer(pod, user="ann")
        ledger.settled(1)
        assert [entry.user for entry in ledger.read().entries()] == ["ann"]


@pytest.mark.parametrize(("allowed", "count"), [("none", 0), ("all", 40)])
def test_what_was_allowed_is_recorded_as_told(file: Path, allowed: str, count: int) -> None:
    with recording(file, allowed=allowed) as ledger:
        for _ in range(40):
            ledger.offer(small_job())
        ledger.offer(gpu_job())
        ledger.settled(count + 1)
        assert len(list(ledger.read().entries())) == count + 1


def test_a_sample_of_what_was_allowed_stands_for_the_rest(file: Path) -> None:
    chances = iter([0.05, 0.5, 0.09, 0.1, 0.99] * 2)
    with recording(file, chance=lambda: next(chances), allowed="sample", rate=0.1) as ledger:
        for _ in range(10):
            ledger.offer(small_job())
        ledger.settled(4)
        assert [entry.weight for entry in ledger.read().entries()] == [10.0] * 4


def test_kinds_that_are_none_of_our_business_leave_nothing(file: Path) -> None:
    with recording(file) as ledger:
        ledger.offer({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}, "data": {"a": "b"}})
        ledger.offer(deployment())
        ledger.settled(1)
        assert [entry.kind for entry in ledger.read().entries()] == ["Deployment"]


def test_an_object_that_is_too_large_is_recorded_without_it(file: Path) -> None:
    with recording(file, largest_object=100) as ledger:
        ledger.offer(gpu_job())
        ledger.settled(1)
        recorded = next(ledger.read().replayable())
    assert recorded.documents.object is None
    assert recorded.entry.doubts == ("the object, which is too large to keep",)


def test_messages_and_labels_carry_no_secret(file: Path) -> None:
    world = setup(policy("rules: [{name: image, check: image-tag, with: {require: digest}, mode: enforce}]"))
    job = gpu_job()
    pod_spec(job)["containers"][0]["image"] = "https://bob:hunter2hunter2@registry/x:latest"
    job["metadata"]["labels"] = {"workload.ai/team": "hf_abcdefghijklmnopqrst"}
    with recording(file, world) as ledger:
        ledger.offer(job)
        ledger.settled(1)
    assert b"hunter2" not in file.read_bytes()
    assert b"hf_abc" not in file.read_bytes()


def test_the_file_is_nobody_elses_to_read(file: Path) -> None:
    with recording(file) as ledger:
        ledger.offer(gpu_job())
        ledger.settled(1)
    assert file.stat().st_mode & 0o777 == 0o600


def test_ten_thousand_decisions_in_a_burst_are_bounded_and_what_finds_no_room_is_counted(file: Path) -> None:
    ledger = Recording(file, queue_bytes=4 * 1024 * 1024)
    tracemalloc.start()
    ledger.offer(gpu_job(), times=10_000)
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    waiting = len(ledger.recorder._queue)
    assert 500 < waiting < 2000
    assert ledger.watch.losses == {"queue-full": 10_000 - waiting}
    assert held < 8 * 1024 * 1024


def test_handing_a_decision_over_takes_microseconds(file: Path) -> None:
    ledger = Recording(file)
    started = time.process_time()
    ledger.offer(gpu_job(), times=5_000)
    # A tenth of a review; in truth it is some two microseconds, and the machine may be busy.
    assert (time.process_time() - started) / 5_000 < 50e-6
    assert len(ledger.recorder._queue) == 5_000


def test_a_full_queue_loses_the_newest_and_says_so(file: Path, capfd: pytest.CaptureFixture[str]) -> None:
    ledger = Recording(file, queue=2)
    for name in ("a", "b", "c"):
        ledger.offer(gpu_job(name))
    assert ledger.watch.losses == {"queue-full": 1}
    ledger.recorder.start()
    ledger.settled(3)
    ledger.recorder.stop()
    assert [entry.name for entry in ledger.read().entries()] == ["a", "b"]
    assert [line["queue-full"] for line in logged(capfd) if line["event"].startswith("ledger entries lost")] == [1]


def test_the_queue_is_bounded_in_bytes_too(file: Path) -> None:
    ledger = Recording(file, queue_bytes=10_000)
    for _ in range(10):
        ledger.offer(gpu_job())
    assert 0 < len(ledger.recorder._queue) < 10
    assert sum(ledger.watch.losses.values()) == 10 - len(ledger.recorder._queue)


def test_what_waits_is_written_at_the_end(file: Path) -> None:
    with recording(file, flush_seconds=60) as ledger:
        for number in range(300):
            ledger.offer(gpu_job(f"job-{number}"))
    assert ledger.watch.count == 300
    assert ledger.watch.length == 0
    assert len(list(ledger.read().entries())) == 300


def test_the_end_does_not_wait_longer_than_it_may_and_counts_what_it_left(tmp_path: Path) -> None:
    with recording(tmp_path / "missing" / "ledger.db", flush_seconds=60, stop_seconds=0.2) as ledger:
        ledger.offer(gpu_job())
        started = time.monotonic()
        ledger.recorder.stop()
    assert time.monotonic() - started < 10
    assert ledger.watch.losses == {"stopped": 1}


def test_an_entry_that_cannot_be_built_is_counted_and_the_next_is_written(file: Path) -> None:
    with recording(file) as ledger:
        ledger.offer(gpu_job("odd"))
        item = ledger.recorder._queue.take()
        if item is not None:
            ledger.recorder._queue.put(item._replace(body=b"no json"))
        ledger.offer(gpu_job("next"))
        ledger.settled(2)
        names = [entry.name for entry in ledger.read().entries()]
    assert names[-1] == "next"
    assert item is None or ledger.watch.losses == {"fault": 1}


def test_a_clock_that_goes_back_leaves_entries_in_their_order_and_reports_whole(file: Path) -> None:
    with recording(file) as ledger:
        for hours in (5, 3, 4):
            ledger.offer(gpu_job(f"at-{hours}"), now=NOW + timedelta(hours=hours))
        ledger.settled(3)
        read = ledger.read()
    assert [entry.name for entry in read.entries()] == ["at-5", "at-3", "at-4"]
    assert [entry.at.astimezone(UTC).hour for entry in read.entries()] == [17, 15, 16]
    extent = read.extent()
    assert (extent.first, extent.last) == (NOW + timedelta(hours=3), NOW + timedelta(hours=5))
    assert read.counts("day")[0].requests == 3
