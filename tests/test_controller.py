"""The controller's process: who leads, what happens to duties that fail, and how it ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client import CollectorRegistry

from signalbox.apiserver.error import ApiError
from signalbox.controller.duty import DutyError
from signalbox.controller.lease import Election
from signalbox.controller.options import ControllerOptions
from signalbox.controller.run import Controller
from signalbox.controller.runner import DutyMeters, DutyRunner
from signalbox.process.logs import Log
from signalbox.process.port import listen
from tests.fake_api_server import FakeApiServer
from tests.server_process import wait_for

NAMESPACE = "signalbox-system"


@pytest.fixture
def fake() -> Iterator[FakeApiServer]:
    with FakeApiServer() as server:
        yield server


class Clock:
    """Moves when it is told to."""

    def __init__(self) -> None:
        self.seconds = 1000.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def clock() -> Clock:
    return Clock()


def candidate(fake: FakeApiServer, name: str, clock: Callable[[], float]) -> Election:
    return Election(fake.api(), NAMESPACE, "signalbox-controller", name, 15.0, monotonic=clock)


def lease(fake: FakeApiServer) -> dict[str, Any]:
    found = fake.object("Lease", "signalbox-controller", NAMESPACE)
    assert found is not None
    spec: dict[str, Any] = found["spec"]
    return spec


def test_the_first_candidate_leads_and_the_second_waits(fake: FakeApiServer, clock: Clock) -> None:
    first, second = candidate(fake, "one", clock), candidate(fake, "two", clock)
    first.tick()
    second.tick()
    assert (first.leading, second.leading) == (True, False)
    assert (first.leader, second.leader) == ("one", "one")
    assert lease(fake)["holderIdentity"] == "one"
    assert lease(fake)["renewTime"].endswith("Z")


def test_a_leader_that_renews_is_never_replaced(fake: FakeApiServer, clock: Clock) -> None:
    first, second = candidate(fake, "one", clock), candidate(fake, "two", clock)
    for _ in range(20):
        first.tick()
        second.tick()
        clock.seconds += 4
        assert (first.leading, second.leading) == (True, False)
    assert lease(fake)["leaseTransitions"] == 0


def test_a_leader_that_fell_silent_has_ended_before_another_begins(fake: FakeApiServer, clock: Clock) -> None:
    first, second = candidate(fake, "one", clock), candidate(fake, "two", clock)
    first.tick()
    for _ in range(20):
        second.tick()
        assert not (first.leading and second.leading)
        clock.seconds += 1
    assert (first.leading, second.leading) == (False, True)
    assert (lease(fake)["holderIdentity"], lease(fake)["leaseTransitions"]) == ("two", 1)


def test_a_lease_given_up_is_taken_at_once(fake: FakeApiServer, clock: Clock) -> None:
    first, second = candidate(fake, "one", clock), candidate(fake, "two", clock)
    first.tick()
    second.tick()
    first.release()
    second.tick()
    assert (first.leading, second.leading) == (False, True)


def test_who_does_not_lead_gives_nothing_up(fake: FakeApiServer, clock: Clock) -> None:
    first, second = candidate(fake, "one", clock), candidate(fake, "two", clock)
    first.tick()
    second.release()
    assert lease(fake)["holderIdentity"] == "one"


@pytest.mark.parametrize("exists", [True, False])
def test_of_two_that_take_it_in_the_same_moment_one_leads(fake: FakeApiServer, clock: Clock, exists: bool) -> None:
    """Both have read that nobody holds it; the resourceVersion, or the name, refuses the second."""
    first, second = candidate(fake, "one", clock), candidate(fake, "two", clock)
    if exists:
        first.tick()
        first.release()
    read = second.api.send

    def read_and_be_overtaken(verb: Any, path: str, *rest: Any, **named: Any) -> Any:
        try:
            return read(verb, path, *rest, **named)
        finally:
            if verb == "GET":
                first.tick()

    second.api.send = read_and_be_overtaken  # type: ignore[method-assign]
    second.tick()
    assert (first.leading, second.leading) == (True, False)
    assert lease(fake)["holderIdentity"] == "one"


def test_clocks_that_differ_do_not_take_a_lease_away(fake: FakeApiServer, clock: Clock) -> None:
    """The renewal time in the Lease is the other's word, and a year old: what counts is that it changes."""
    first, second = candidate(fake, "one", clock), candidate(fake, "two", clock)
    first.now = lambda: datetime(2025, 1, 1).astimezone()
    for _ in range(10):
        first.tick()
        second.tick()
        clock.seconds += 5
        assert not second.leading


def test_while_the_api_server_is_away_nobody_leads_for_long(fake: FakeApiServer, clock: Clock) -> None:
    one = candidate(fake, "one", clock)
    one.tick()
    fake.fail(500, times=1)
    with pytest.raises(ApiError):
        one.tick()
    assert one.leading
    clock.seconds += 11
    assert not one.leading
    one.tick()
    assert one.leading


@pytest.mark.parametrize("spec", [None, {}, {"holderIdentity": None}, {"holderIdentity": "", "leaseTransitions": "x"}])
def test_a_lease_with_anything_in_it_is_taken(fake: FakeApiServer, clock: Clock, spec: Any) -> None:
    metadata = {"name": "signalbox-controller", "namespace": NAMESPACE}
    fake.put({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec})
    one = candidate(fake, "one", clock)
    one.tick()
    assert one.leading


def test_a_lease_that_is_deleted_is_made_anew(fake: FakeApiServer, clock: Clock) -> None:
    one = candidate(fake, "one", clock)
    one.tick()
    fake.remove("Lease", "signalbox-controller", NAMESPACE)
    one.tick()
    assert one.leading
    assert lease(fake)["holderIdentity"] == "one"


def test_a_forged_lease_of_years_does_not_keep_everybody_from_leading(fake: FakeApiServer, clock: Clock) -> None:
    forged = {"holderIdentity": "nobody", "leaseDurationSeconds": 2**31 - 1, "leaseTransitions": 2**31 - 1}
    metadata = {"name": "signalbox-controller", "namespace": NAMESPACE}
    one = candidate(fake, "one", clock)
    one.tick()
    fake.put({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": forged})
    one.tick()
    assert not one.leading, "a leader that sees another's name stops at once"
    clock.seconds += 299
    one.tick()
    assert not one.leading
    clock.seconds += 2
    one.tick()
    assert one.leading
    assert lease(fake)["leaseTransitions"] == 2**31 - 1, "more the API server refuses, and nobody would lead"


@dataclass
class Counted:
    """A duty that counts its runs, and fails while it is told to."""

    name: str = "counted"
    seconds: float = 0.01
    runs: int = 0
    error: Exception | None = None
    ran: threading.Event = field(default_factory=threading.Event)

    def run(self, now: datetime) -> None:
        self.runs += 1
        self.ran.set()
        if self.error is not None:
            raise self.error


def runner(duty: Counted, registry: CollectorRegistry | None = None, leading: bool = True) -> DutyRunner:
    meters = DutyMeters(registry or CollectorRegistry())
    return DutyRunner(duty, lambda: leading, threading.Event(), meters, Log("error"))


def test_a_failing_duty_is_counted_told_and_tried_again_later_and_later(capfd: pytest.CaptureFixture[str]) -> None:
    registry = CollectorRegistry()
    duty = Counted(error=ValueError("a secret"))
    one = runner(duty, registry)
    assert [one.run_once() for _ in range(8)] == [1, 2, 4, 8, 16, 30, 30, 30]
    assert registry.get_sample_value("signalbox_duty_runs_total", {"duty": "counted", "result": "failed"}) == 8
    lines = [json.loads(line) for line in capfd.readouterr().err.splitlines()]
    assert lines[0]["exception"] == "ValueError"
    assert lines[0]["frames"][-1].endswith("run")
    assert "a secret" not in json.dumps(lines)
    duty.error = None
    assert one.run_once() == duty.seconds
    assert (one.failures, one.error) == (0, "")


@pytest.mark.parametrize("error", [ApiError(403, "Forbidden", "may not get secrets"), DutyError("may not get secrets")])
def test_what_is_meant_for_people_is_told_in_its_words(capfd: pytest.CaptureFixture[str], error: Exception) -> None:
    one = runner(Counted(error=error))
    one.run_once()
    assert one.error == "may not get secrets"
    assert json.loads(capfd.readouterr().err)["text"] == "may not get secrets"


def test_a_duty_runs_only_where_its_replica_leads() -> None:
    standing_by, leading = Counted(), Counted()
    others = [runner(standing_by, leading=False), runner(leading)]
    for one in others:
        one.start()
    assert leading.ran.wait(5)
    for one in others:
        one.stopping.set()
        assert one.join(5)
    assert standing_by.runs == 0


@contextmanager
def controller(fake: FakeApiServer, duties: list[Any], seconds: float = 0.5) -> Iterator[tuple[Controller, str]]:
    options = ControllerOptions(lease_seconds=seconds, stop_seconds=5.0, log_level="error")
    listening = listen("127.0.0.1", 0)
    made = Controller(fake.api(), options, listening, lambda _: duties)
    made.start()
    try:
        yield made, f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        made.stop()
        listening.close()


def fetch(url: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def _told(url: str) -> Any:
    return json.loads(fetch(f"{url}/readyz?verbose")[1])


def test_one_failing_duty_leaves_the_others_alone(fake: FakeApiServer) -> None:
    failing, fine = Counted("failing", error=RuntimeError()), Counted("fine")
    with controller(fake, [failing, fine]) as (_, url):
        wait_for(lambda: fine.runs > 5 and failing.runs >= 1)
        # Each runs in a thread of its own, and tells how it went when it is back.
        state = wait_for(lambda: (told := _told(url))["duties"][0]["failures"] > 0 and told)
        metrics = wait_for(lambda: 'result="failed"' in (page := fetch(f"{url}/metrics")[1]) and page)
    assert [(one["name"], one["failures"] > 0) for one in state["duties"]] == [("failing", True), ("fine", False)]
    assert state["duties"][0]["error"] == "RuntimeError"
    assert state["leading"] is True
    assert 'signalbox_duty_runs_total{duty="failing",result="failed"}' in metrics
    assert "signalbox_controller_leading 1.0" in metrics


def test_alive_without_an_api_server_ready_with_one(fake: FakeApiServer) -> None:
    with fake.paused(), controller(fake, []) as (_, url):
        assert fetch(f"{url}/livez") == (200, "ok\n")
        assert fetch(f"{url}/readyz") == (503, "not ready\n")
        assert fetch(f"{url}/nothing")[0] == 404
        fake.running.set()
        wait_for(lambda: fetch(f"{url}/readyz")[0] == 200)


def test_a_replica_that_ends_hands_over_at_once(fake: FakeApiServer) -> None:
    """The Lease would last a minute."""
    first, second = Counted("first"), Counted("second")
    with controller(fake, [first], seconds=60) as (leader, _):
        wait_for(lambda: first.runs)
        with controller(fake, [second], seconds=1) as (heir, _):
            wait_for(lambda: heir.election.leader == leader.election.identity)
            assert second.runs == 0
            leader.stop()
            wait_for(lambda: second.runs, seconds=10)
    assert lease(fake)["holderIdentity"] == ""


def test_a_duty_that_never_ends_does_not_keep_the_process(fake: FakeApiServer, capfd: pytest.CaptureFixture[str]) -> None:
    never = threading.Event()

    @dataclass
    class Endless(Counted):
        def run(self, now: datetime) -> None:
            self.ran.set()
            never.wait()

    duty = Endless()
    options = ControllerOptions(lease_seconds=0.5, stop_seconds=0.1, log_level="warning")
    made = Controller(fake.api(), options, None, lambda _: [duty])
    made.start()
    assert duty.ran.wait(10)
    made.stop()
    never.set()
    assert "duties cut short" in capfd.readouterr().err


SIGNALBOX = Path(sys.executable).with_name("signalbox")


def _kubeconfig(fake: FakeApiServer, folder: Path) -> Path:
    path = folder / "kubeconfig"
    text = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "x",
        "clusters": [{"name": "x", "cluster": {"server": fake.url}}],
        "users": [{"name": "x", "user": {"token": "t"}}],
        "contexts": [{"name": "x", "context": {"cluster": "x", "user": "x"}}],
    }
    path.write_text(yaml.safe_dump(text))
    return path


def test_the_program_installs_certificates_and_ends_on_sigterm_without_its_lease(fake: FakeApiServer, tmp_path: Path) -> None:
    for configuration in yaml.safe_load_all((Path(__file__).parents[1] / "manifests/base/webhooks.yaml").read_text()):
        fake.put(configuration)
    # The API server is not well while it starts.
    fake.fail(503, times=6)
    settings = ["--kubeconfig", _kubeconfig(fake, tmp_path), "--metrics-port", "0", "--lease-seconds", "2"]
    command = [SIGNALBOX, "controller", *settings]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            wait_for(lambda: fake.object("Secret", "signalbox-tls", NAMESPACE))
            entries = fake.object("ValidatingWebhookConfiguration", "signalbox")
            assert entries is not None
            assert all(one["clientConfig"]["caBundle"] for one in entries["webhooks"])
            process.send_signal(signal.SIGTERM)
            assert process.wait(30) == 0
        finally:
            process.kill()
        assert process.stderr is not None
        events = [json.loads(line)["event"] for line in process.stderr]
    assert lease(fake)["holderIdentity"] == ""
    assert [one for one in events if "made" in one] == ["CA made", "serving certificate made"]
    assert events[-1] == "stopped"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--kubeconfig", "/nonexistent"], "no API server to ask"),
        (["--expected", "/nonexistent"], "/nonexistent: No such file"),
        (["--metrics-address", "203.0.113.1"], "cannot listen on 203.0.113.1"),
    ],
)
def test_what_keeps_it_from_starting_is_one_line(fake: FakeApiServer, tmp_path: Path, arguments: list[str], told: str) -> None:
    command = [SIGNALBOX, "controller", "--kubeconfig", _kubeconfig(fake, tmp_path), "--metrics-port", "0", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "KUBECONFIG": ""}, timeout=30)
    assert done.returncode == 1
    [line] = done.stderr.splitlines()
    assert told in line
