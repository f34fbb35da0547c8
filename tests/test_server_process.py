"""Start, reload and end of the webhook process."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

from signalbox.certs.issue import issue_development
from tests.server_process import Webhook, command, environment, review, running, wait_for


def issue(folder: Path, now: datetime | None = None, *, days: int = 30, force: bool = False) -> None:
    issue_development(folder, ["localhost", "127.0.0.1"], days, now or datetime.now(UTC), force=force)


def refused_start(folder: Path, **options: object) -> str:
    """The one line on stderr of a server that does not start."""
    (folder / "policies").mkdir(exist_ok=True)
    done = subprocess.run(
        command(folder, **options), stderr=subprocess.PIPE, text=True, timeout=20, check=False, env=environment(folder)
    )
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1, done.stderr
    return done.stderr


def put(folder: Path, name: str, text: str) -> None:
    """Replace a file in one step, as an editor or kubelet does."""
    (folder / ".new").write_text(text)
    (folder / ".new").rename(folder / name)


def test_a_port_in_use_is_one_clear_line(tmp_path: Path) -> None:
    issue(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        expected = f"signalbox: cannot listen on 127.0.0.1 port {port}: Address already in use\n"
        assert refused_start(tmp_path, port=port) == expected
        assert refused_start(tmp_path, metrics_port=port) == expected


def test_an_unreadable_certificate_is_one_clear_line(tmp_path: Path) -> None:
    assert "tls.crt: No such file or directory (signalbox certs issue makes a pair" in refused_start(tmp_path)
    issue(tmp_path)
    (tmp_path / "tls.crt").write_text("-----BEGIN CERTIFICATE-----\nhalf")
    assert "the certificate is no PEM certificate" in refused_start(tmp_path)


def test_a_key_of_another_certificate_is_one_clear_line(tmp_path: Path) -> None:
    issue(tmp_path)
    key = (tmp_path / "tls.key").read_bytes()
    issue(tmp_path)
    (tmp_path / "tls.key").write_bytes(key)
    assert "the key does not belong to the certificate" in refused_start(tmp_path)


def test_an_expired_certificate_is_served_with_a_loud_warning(tmp_path: Path) -> None:
    issue(tmp_path, datetime.now(UTC) - timedelta(days=60))
    with running(tmp_path) as webhook:
        assert "expired at" in webhook.logged("certificate")[0]["text"]
        webhook.takes_any_certificate = True
        state = webhook.readyz()
        webhook.takes_any_certificate = False
        assert state["certificate"]["expired"] is True
        assert "put a new pair where --cert and --key point" in " ".join(state["advice"])
        # It can be renewed under the running server, which then is right without a restart.
        issue(tmp_path, force=True)
        wait_for(lambda: webhook.logged("certificate changed, workers are replaced"))
        wait_for(lambda: served_certificate_is_valid(webhook))


def served_certificate_is_valid(webhook: Webhook) -> bool:
    try:
        return webhook.post("/validate", review())[0] == 200
    except OSError:
        return False


def test_every_request_in_flight_at_sigterm_is_answered(tmp_path: Path) -> None:
    answers: list[int] = []
    with running(tmp_path) as webhook:
        threads = [
            threading.Thread(target=lambda n=n: answers.append(webhook.post("/validate", review(f"u-{n}", hold="y"))[0]))
            for n in range(8)
        ]
        for thread in threads:
            thread.start()
        wait_for(lambda: len(list(tmp_path.glob("held-*"))) == 8)
        idle = webhook.connect()
        idle.connect()
        webhook.process.terminate()
        wait_for(lambda: webhook.logged("draining"))
        (tmp_path / "release").touch()
        for thread in threads:
            thread.join(10)
        assert answers == [200] * 8
        assert webhook.process.wait(10) == 0
        assert "Traceback" not in "".join(webhook.raw)
        idle.close()


def test_it_stops_in_order_when_nobody_reads_its_log(tmp_path: Path) -> None:
    (tmp_path / "policies").mkdir()
    issue(tmp_path)
    process = subprocess.Popen(command(tmp_path), stderr=subprocess.PIPE, env=environment(tmp_path))
    assert process.stderr is not None
    assert any(b'"serving"' in line for line in iter(process.stderr.readline, b""))
    process.stderr.close()
    process.terminate()
    assert process.wait(10) == 0


def test_a_worker_hears_that_it_is_to_end_though_its_main_thread_runs_nothing(tmp_path: Path) -> None:
    program = """
import os, signal, threading
from signalbox.server.ending import hear_in_a_thread
signal.signal(signal.SIGTERM, lambda *_: os._exit(7 if threading.current_thread() is not threading.main_thread() else 8))
hear_in_a_thread()
os.kill(os.getpid(), signal.SIGTERM)
threading.Lock().acquire() and threading.Event().wait()
"""
    assert subprocess.run([sys.executable, "-c", program], timeout=20, check=False).returncode == 7


def test_a_worker_that_is_told_to_end_twice_answers_what_it_has(tmp_path: Path) -> None:
    with running(tmp_path) as webhook:
        worker = int(webhook.judge()["warnings"][0].split()[1])
        answers: list[int] = []
        held = threading.Thread(target=lambda: answers.append(webhook.post("/validate", review("u-1", hold="y"))[0]))
        held.start()
        wait_for(lambda: list(tmp_path.glob("held-*")))
        for _ in range(2):
            os.kill(worker, signal.SIGTERM)
        (tmp_path / "release").touch()
        held.join(10)
        assert answers == [200]
        wait_for(lambda: not process_runs(worker))


def test_readiness_fails_first_and_connections_are_closed_politely(tmp_path: Path) -> None:
    with running(tmp_path, drain_seconds=60) as webhook:
        kept = webhook.connect()
        kept.request("GET", "/readyz")
        first = kept.getresponse()
        assert (first.status, first.headers["Connection"], first.read()) == (200, None, b"ok\n")
        webhook.process.terminate()
        wait_for(lambda: webhook.logged("draining"))
        kept.request("GET", "/readyz")
        last = kept.getresponse()
        assert (last.status, last.headers["Connection"], last.read()) == (503, "close", b"draining\n")
        kept.close()
        assert webhook.judge()["allowed"] is True
        # A second signal says: now.
        webhook.process.terminate()
        assert webhook.process.wait(10) == 0


def test_a_renewed_certificate_is_served_without_dropping_a_request(tmp_path: Path) -> None:
    with running(tmp_path) as webhook:
        before = webhook.judge()["warnings"][0]
        statuses: list[int] = []
        done = threading.Event()

        def load() -> None:
            kept = webhook.connect()
            while not done.is_set():
                try:
                    kept.request("POST", "/validate", json.dumps(review()), {"Content-Type": "application/json"})
                    response = kept.getresponse()
                    response.read()
                    statuses.append(response.status)
                except OSError:
                    statuses.append(0)
                    kept.close()
            kept.close()

        threads = [threading.Thread(target=load) for _ in range(3)]
        for thread in threads:
            thread.start()
        try:
            issue(tmp_path)
            wait_for(lambda: webhook.judge()["warnings"][0] != before)
            wait_for(lambda: not Path(f"/proc/{before.split()[1]}").exists())
        finally:
            # A test that fails must not leave threads behind for which the interpreter waits.
            done.set()
            for thread in threads:
                thread.join()
        assert set(statuses) == {200}
        text = webhook.metrics()
        assert 'signalbox_certificate_reloads_total{result="ok"} 1.0' in text
        # What the worker that is gone had counted is neither lost nor doubled.
        total = next(line for line in text.splitlines() if line.startswith("signalbox_reviews_total"))
        assert float(total.split()[-1]) >= len(statuses)


def test_a_half_written_certificate_keeps_the_old_one(tmp_path: Path) -> None:
    with running(tmp_path) as webhook:
        key = (tmp_path / "tls.key").read_text()
        put(tmp_path, "tls.key", "-----BEGIN PRIVATE KEY-----\nhalf")
        line = wait_for(lambda: webhook.logged("certificate kept, the new one cannot be used"))[0]
        assert "the pair before stays in service" in line["advice"]
        assert webhook.judge()["allowed"] is True
        assert 'signalbox_certificate_reloads_total{result="bad"} 1.0' in webhook.metrics()
        state = wait_for(lambda: (state := webhook.readyz())["certificate"]["rejected"] and state)
        assert state["certificate"]["rejected"] == "the key is no PEM private key without a password"
        assert line["advice"] in state["advice"]
        put(tmp_path, "tls.key", key)
        wait_for(lambda: webhook.readyz()["certificate"]["rejected"] is None)
        assert not webhook.logged("certificate changed, workers are replaced")


def test_a_certificate_that_is_gone_is_told_once(tmp_path: Path) -> None:
    with running(tmp_path) as webhook:
        key = (tmp_path / "tls.key").read_text()
        (tmp_path / "tls.key").unlink()
        wait_for(lambda: "tls.key: No such file" in str(webhook.readyz()["certificate"]["rejected"]))
        put(tmp_path, "tls.key", key)
        wait_for(lambda: webhook.readyz()["certificate"]["rejected"] is None)
        assert len(webhook.logged("certificate kept, the new one cannot be used")) == 1


def test_changed_policies_are_in_force_and_a_bad_set_never_is(tmp_path: Path) -> None:
    policies = tmp_path / "policies"
    policies.mkdir()
    put(policies, "a.txt", "first")
    with running(tmp_path) as webhook:
        assert webhook.judge()["warnings"][1] == "first"
        put(policies, "a.txt", "second")
        wait_for(lambda: webhook.judge()["warnings"][1] == "second")
        put(policies, "b.txt", "bad")
        wait_for(lambda: webhook.readyz()["rejected"] == ["b.txt:1:1: bad word"])
        state = webhook.readyz()
        assert (state["policies"], state["digest"], state["problems"]) == (["second"], "second", [])
        assert state["rejectedDocuments"] == ["b.txt"]
        assert state["advice"] == ["mend the documents in rejectedDocuments: until then the set shown here stays in force"]
        assert webhook.judge()["warnings"][1] == "second"
        (line,) = wait_for(lambda: webhook.logged("policies kept, the new set cannot be used"))
        assert (line["level"], line["policies"], line["digest"]) == ("error", 1, "second")
        assert (line["rejected"], line["problems"]) == (["b.txt"], ["b.txt:1:1: bad word"])
        wait_for(lambda: "signalbox_policy_problems 1.0" in webhook.metrics())
        # A worker that is made while the files are bad has the last good set as well.
        before = webhook.judge()["warnings"][0]
        issue(tmp_path)
        wait_for(lambda: webhook.judge()["warnings"][0] != before)
        assert webhook.judge()["warnings"][1] == "second"
        put(policies, "b.txt", "third")
        wait_for(lambda: webhook.judge()["warnings"][1] == "second third")
        wait_for(lambda: webhook.readyz()["rejected"] == [])
        assert [line["digest"] for line in webhook.logged("policies in force")] == ["first", "second", "second+third"]


def test_a_set_that_is_bad_at_the_start_is_served_without_its_bad_documents(tmp_path: Path) -> None:
    (tmp_path / "policies").mkdir()
    put(tmp_path / "policies", "a.txt", "good")
    put(tmp_path / "policies", "b.txt", "bad")
    with running(tmp_path) as webhook:
        assert webhook.readyz()["problems"] == ["b.txt:1:1: bad word"]
        assert webhook.readyz()["leftOut"] == ["b.txt"]
        (line,) = webhook.logged("policies in force without the documents that have problems")
        assert (line["level"], line["policies"], line["leftOut"]) == ("error", 1, ["b.txt"])
        assert line["problems"] == ["b.txt:1:1: bad word"]
        assert webhook.judge()["warnings"][1] == "good"


def test_a_warning_of_a_policy_is_logged_and_shown(tmp_path: Path) -> None:
    (tmp_path / "policies").mkdir()
    put(tmp_path / "policies", "a.txt", "old")
    with running(tmp_path) as webhook:
        assert webhook.logged("policy warnings")[0]["warnings"] == ["a.txt:1:1: warning: old"]
        assert webhook.readyz()["warnings"] == ["a.txt:1:1: warning: old"]
        assert webhook.readyz()["problems"] == []


def test_a_worker_that_dies_is_replaced_by_one_that_judges_by_the_newest_set(tmp_path: Path) -> None:
    (tmp_path / "policies").mkdir()
    put(tmp_path / "policies", "a.txt", "first")
    with running(tmp_path) as webhook:
        put(tmp_path / "policies", "a.txt", "second")
        pid = wait_for(lambda: (said := webhook.judge()["warnings"])[1] == "second" and said[0])
        os.kill(int(pid.split()[1]), signal.SIGKILL)
        (line,) = wait_for(lambda: webhook.logged("worker replaced after an unexpected exit"))
        assert (line["workers"], line["exitCodes"]) == ([1], [-signal.SIGKILL])
        new_pid, word = webhook.judge()["warnings"]
        assert new_pid != pid
        assert word == "second"


def test_a_path_that_is_not_there_is_one_clear_line(tmp_path: Path) -> None:
    issue(tmp_path)
    missing = tmp_path / "nope"
    expected = f"signalbox: {missing}: there is no such file or folder\n"
    assert refused_start(tmp_path, watch=[str(tmp_path / "policies"), str(missing)]) == expected


def test_a_config_map_swap_is_seen(tmp_path: Path) -> None:
    policies = tmp_path / "policies"
    for name, word in (("..v1", "first"), ("..v2", "second")):
        (policies / name).mkdir(parents=True)
        (policies / name / "a.txt").write_text(word)
    (policies / "..data").symlink_to("..v1")
    (policies / "a.txt").symlink_to("..data/a.txt")
    with running(tmp_path) as webhook:
        assert webhook.judge()["warnings"][1] == "first"
        (policies / "..data_tmp").symlink_to("..v2")
        (policies / "..data_tmp").rename(policies / "..data")
        wait_for(lambda: webhook.judge()["warnings"][1] == "second")


def test_two_workers_count_as_one(tmp_path: Path) -> None:
    with running(tmp_path, workers=2) as webhook:
        for _ in range(30):
            webhook.judge()
        labels = 'decision="allowed",endpoint="validate",kind="Job",operation="CREATE"'
        text = webhook.metrics()
        assert f"signalbox_reviews_total{{{labels}}} 30.0" in text
        assert text.count("signalbox_policies_loaded 0.0") == 1


def test_workers_do_not_outlive_their_main_process(tmp_path: Path) -> None:
    with running(tmp_path) as webhook:
        worker = int(webhook.judge()["warnings"][0].split()[1])
        webhook.process.kill()
        webhook.process.wait(10)
        wait_for(lambda: not process_runs(worker))


def process_runs(pid: int) -> bool:
    try:
        return os.readlink(f"/proc/{pid}/exe") != ""
    except OSError:
        return False
