"""Start, reload and end of the webhook process."""

import json
import os
import socket
import subprocess
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

from signalbox.certs.issue import issue_development
from tests.server_process import Webhook, command, environment, review, running, wait_for

NOW = datetime.now(UTC)


def issue(folder: Path, now: datetime = NOW, *, days: int = 30, force: bool = False) -> None:
    issue_development(folder, ["localhost", "127.0.0.1"], days, now, force=force)


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
    assert "tls.crt: No such file or directory" in refused_start(tmp_path)
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
    issue(tmp_path, NOW - timedelta(days=60))
    with running(tmp_path) as webhook:
        assert "expired at" in webhook.logged("certificate")[0]["text"]
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
    assert b"serving" in process.stderr.readline()
    process.stderr.close()
    process.terminate()
    assert process.wait(10) == 0


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
        issue(tmp_path)
        wait_for(lambda: webhook.judge()["warnings"][0] != before)
        wait_for(lambda: not Path(f"/proc/{before.split()[1]}").exists())
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
        (tmp_path / "tls.key").write_text("-----BEGIN PRIVATE KEY-----\nhalf")
        wait_for(lambda: webhook.logged("certificate kept, the new one cannot be used"))
        assert webhook.judge()["allowed"] is True
        assert 'signalbox_certificate_reloads_total{result="bad"} 1.0' in webhook.metrics()


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
        assert webhook.judge()["warnings"][1] == "second"
        wait_for(lambda: "signalbox_policy_problems 1.0" in webhook.metrics())
        # A worker that is made while the files are bad has the last good set as well.
        before = webhook.judge()["warnings"][0]
        issue(tmp_path)
        wait_for(lambda: webhook.judge()["warnings"][0] != before)
        assert webhook.judge()["warnings"][1] == "second"
        put(policies, "b.txt", "third")
        wait_for(lambda: webhook.judge()["warnings"][1] == "second third")
        assert webhook.readyz()["rejected"] == []


def test_a_set_that_is_bad_at_the_start_is_served_without_its_bad_documents(tmp_path: Path) -> None:
    (tmp_path / "policies").mkdir()
    put(tmp_path / "policies", "a.txt", "good")
    put(tmp_path / "policies", "b.txt", "bad")
    with running(tmp_path) as webhook:
        assert webhook.readyz()["problems"] == ["b.txt:1:1: bad word"]
        assert webhook.logged("policy problem")[0]["text"] == "b.txt:1:1: bad word"
        assert webhook.judge()["warnings"][1] == "good"


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
