"""The pages' own process: there when somebody asks, gone when nobody does, and no burden on who answers the API server."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from signalbox.audit.page import process as process_module
from signalbox.audit.page.settings import PageSettings
from signalbox.audit.page.start import PageOptions, pages_on_demand
from signalbox.process import on_demand as on_demand_module
from signalbox.process.logs import Log
from signalbox.process.port import listen
from tests.page_world import TEXT, write_ledger, write_scan_file
from tests.server_process import environment, wait_for
from tests.test_server_ledger import SERVE, ask, metric, serving


def get(port: int, path: str = "/", host: str = "localhost", method: str = "GET") -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    connection.request(method, path, headers={"Host": host})
    answer = connection.getresponse()
    return answer.status, answer.read().decode()


def page_processes() -> list[int]:
    """Those that this process, or a child of it, has started."""
    found = subprocess.run(["pgrep", "-f", "signalbox.audit.page.process"], capture_output=True, text=True).stdout
    return [int(pid) for pid in found.split() if _is_ours(int(pid))]


def _is_ours(pid: int) -> bool:
    while pid > 1:
        if pid == os.getpid():
            return True
        try:
            pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            return False
    return False


@contextmanager
def on_demand(settings: PageSettings) -> Iterator[int]:
    with listen("127.0.0.1", 0) as listening:
        pages = pages_on_demand(listening, PageOptions(settings=settings), Log("info"))
        pages.start()
        try:
            yield listening.getsockname()[1]
        finally:
            pages.stop()


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> PageSettings:
    folder = tmp_path_factory.mktemp("page")
    write_scan_file(folder / "scan.json")
    (folder / "p.yaml").write_text(TEXT)
    return PageSettings(scan=str(folder / "scan.json"), policies=(str(folder / "p.yaml"),), log_level="error")


def test_it_is_there_when_somebody_asks_again_after_a_crash_and_goes_when_told(
    files: PageSettings, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(on_demand_module, "_PAUSE_SECONDS", 0.01)
    with on_demand(replace(files, ledger="postgresql://signalbox:hunter2@127.0.0.1:1/ledger")) as port:
        assert not page_processes()
        status, text = get(port)
        assert (status, "interruptible/checkpoint" in text, "Not everything is known" in text) == (200, True, True)
        assert "hunter2" not in text
        assert get(port, host="evil.example")[0] == 421
        assert get(port, "/nowhere")[0] == 404
        assert get(port, method="POST") == (501, "Unsupported method ('POST')\n")
        [pid] = page_processes()
        assert os.getpriority(os.PRIO_PROCESS, pid) == min(19, os.getpriority(os.PRIO_PROCESS, 0) + 10)
        limits = Path(f"/proc/{pid}/limits").read_text()
        assert str(256 * 1024 * 1024) in next(line for line in limits.splitlines() if line.startswith("Max data size"))
        for file in ("cmdline", "environ"):
            assert b"hunter2" not in Path(f"/proc/{pid}/{file}").read_bytes()
        os.kill(pid, signal.SIGKILL)
        wait_for(lambda: not page_processes())
        assert get(port)[0] == 200
    assert not page_processes()
    line = json.loads(capfd.readouterr().err.splitlines()[0])
    assert line["event"] == "process ended, started again when it is asked for"
    assert (line["process"], line["exitCode"]) == ("page", -signal.SIGKILL)


def test_it_ends_when_nobody_asks_and_when_its_parent_is_gone(files: PageSettings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process_module, "_LOOK_SECONDS", 0.01)
    for settings, orphaned in ((replace(files, idle_seconds=0.01), False), (files, True)):
        with listen("127.0.0.1", 0) as listening:
            process_module.serve_pages(listening, settings, lambda orphaned=orphaned: orphaned, ended_by=())


def test_the_webhook_has_pages_of_its_ledger_and_leaves_no_process_behind(tmp_path: Path) -> None:
    with serving(tmp_path, str(tmp_path / "ledger.db"), "--page-port", "0") as webhook:
        ask(webhook, 5)
        wait_for(lambda: metric(webhook, "signalbox_ledger_entries_written_total") == 5)
        port = webhook.logged("serving")[0]["pagePort"]
        [worker] = _children(webhook.process.pid)
        # Else a connection could wait for a worker that never takes it.
        assert f":{port:04X}" not in "".join(_listening(worker))
        status, text = get(port)
        assert status == 200
        assert 'href="/requests?decision=refused">5<' in text
        assert "No scan is known." in text
        assert "team/limit" in get(port, "/requests?decision=refused")[1]
        # Neither on the port of the API server nor on that of the scraper.
        assert webhook.request("GET", "/requests")[0].status == 404
        assert get(webhook.metrics_port, "/requests")[0] == 404
        assert page_processes()
    wait_for(lambda: not page_processes())


def _children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _listening(pid: int) -> list[str]:
    """The local addresses of the sockets that a process holds, as the kernel writes them."""
    links = (os.readlink(link) for link in Path(f"/proc/{pid}/fd").iterdir() if link.is_symlink())
    inodes = {link[8:-1] for link in links if link.startswith("socket:[")}
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return [row[1] for row in rows if row[9] in inodes and row[3] == "0A"]


def test_the_command_shows_what_it_is_given_until_it_is_told_to_end(tmp_path: Path) -> None:
    write_ledger(tmp_path / "ledger.db", per_day=1)
    write_scan_file(tmp_path / "scan.json")
    options = ("--ledger", tmp_path / "ledger.db", "--scan", tmp_path / "scan.json", "--no-cluster", "--port", "0")
    command = [sys.executable, "-c", SERVE, "audit", "page", *map(str, options)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, env=environment(tmp_path)) as process:
        assert process.stderr is not None
        line = process.stderr.readline().decode()
        assert line.startswith("The pages are at http://localhost:")
        address = line.split()[4]
        with urllib.request.urlopen(address, timeout=20) as answer:
            assert b"interruptible/checkpoint" in answer.read()
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--no-cluster"], "there is nothing to show"),
        (["--no-cluster", "--context", "x"], "--no-cluster asks no cluster"),
        (["--no-cluster", "--ledger", "none.db"], "there is no such ledger"),
        (["--no-cluster", "--scan", "none.json"], "none.json"),
        (["--no-cluster", "--ledger", "here.db", "--policies", "none.yaml"], "none.yaml"),
        (["--kubeconfig", "none"], "--no-cluster shows a ledger and a --scan alone"),
        (["--cluster", "x"], "add --no-cluster"),
    ],
)
def test_what_cannot_be_shown_is_told_before_a_browser_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], options: list[str], says: str
) -> None:
    from signalbox.cli.main import main

    monkeypatch.chdir(tmp_path)
    if "here.db" in options:
        write_ledger(tmp_path / "here.db", per_day=1)
    assert main(["audit", "page", "--port", "0", *options]) == 2
    assert says in capsys.readouterr().err


def test_a_taken_port_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from signalbox.cli.main import main

    write_ledger(tmp_path / "here.db", per_day=1)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert main(["audit", "page", "--no-cluster", "--ledger", str(tmp_path / "here.db"), "--port", port]) == 2
    assert "--port takes another" in capsys.readouterr().err
