"""Where the pages have their facts from: a cluster, files, a ledger, and what each says when it cannot be had."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from signalbox.audit.background import ScanSettings, scan_once
from signalbox.audit.kept_scan import CONFIG_MAP
from signalbox.audit.page.settings import PageSettings
from signalbox.audit.page.sources import LiveSources, _Reopened, scan_of_file
from signalbox.audit.page.start import PageOptions, listen_for_pages
from signalbox.configuration import read_setup_files
from signalbox.last_good import CONFIG_MAP as LAST_GOOD
from signalbox.last_good import pack
from signalbox.process.logs import Log
from signalbox.process.port import listen
from tests.audit_world import SMALL, job
from tests.fake_api_server import FakeApiServer
from tests.ledgers import recording
from tests.manifests import gpu_job
from tests.page_app import Pages
from tests.page_world import TEXT, write_scan_file
from tests.world import NOW, policy

NAMESPACE = "signalbox-system"


@pytest.fixture
def fake() -> Iterator[FakeApiServer]:
    with FakeApiServer() as server:
        yield server


@pytest.fixture
def kubeconfig(fake: FakeApiServer, tmp_path: Path) -> str:
    file = tmp_path / "kubeconfig"
    text = {
        "current-context": "test",
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
        "clusters": [{"name": "test", "cluster": {"server": fake.url}}],
        "users": [{"name": "test", "user": {}}],
    }
    file.write_text(yaml.safe_dump(text))
    return str(file)


@pytest.fixture
def of_cluster(kubeconfig: str) -> Callable[..., LiveSources]:
    def make(**settings: object) -> LiveSources:
        return LiveSources(PageSettings(asks_cluster=True, kubeconfig=kubeconfig, **settings), Log("error"))  # type: ignore[arg-type]

    return make


def test_the_last_scan_and_the_policies_come_from_the_cluster(
    fake: FakeApiServer, of_cluster: Callable[..., LiveSources], tmp_path: Path
) -> None:
    (tmp_path / "p.yaml").write_text(SMALL)
    fake.put(job("big"))
    scan_once(fake.api(), ScanSettings(NAMESPACE, policies=(str(tmp_path / "p.yaml"),)), NOW)
    sources = of_cluster(policies=(str(tmp_path / "p.yaml"),))
    scan, setup = sources.scan().value, sources.setup().value
    assert scan is not None
    assert [one.name for one in scan.subjects] == ["big"]
    assert setup is not None
    assert [one.name for one in setup.policies.policies] == ["limits"]
    assert "limits/small" in Pages(sources).text("/")


def test_a_scan_is_asked_for_once_however_many_pages_are_looked_at(
    fake: FakeApiServer, of_cluster: Callable[..., LiveSources]
) -> None:
    pages = Pages(of_cluster())
    for _ in range(5):
        assert pages.get("/workloads").status == 200
    assert len([path for verb, path in fake.requests if CONFIG_MAP in path]) == 1


def test_before_the_first_scan_it_says_who_makes_one(of_cluster: Callable[..., LiveSources]) -> None:
    sources = of_cluster()
    assert sources.scan().value is None
    assert "No scan has been kept yet" in sources.scan().advice
    assert "--scan-minutes 0" in Pages(sources).text("/workloads")


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ({}, "has no binaryData"),
        ({"scan.json.gz": "%"}, "is no base64"),
        ({"scan.json.gz": "AAAA"}, "cannot be read"),
    ],
)
def test_a_scan_that_is_none_of_ours_is_told(
    fake: FakeApiServer, of_cluster: Callable[..., LiveSources], data: dict[str, str], says: str
) -> None:
    kept = {"name": CONFIG_MAP, "namespace": NAMESPACE}
    fake.put({"apiVersion": "v1", "kind": "ConfigMap", "metadata": kept, "binaryData": data})
    assert says in of_cluster().scan().trouble


def test_an_api_server_that_refuses_is_told_on_the_page(fake: FakeApiServer, of_cluster: Callable[..., LiveSources]) -> None:
    fake.fail(403, times=99)
    text = Pages(of_cluster()).text("/")
    assert "Not everything is known." in text
    assert "the last scan cannot be read: as the test wants it" in text


def test_without_files_of_its_own_it_judges_by_the_set_that_the_controller_keeps(
    fake: FakeApiServer, of_cluster: Callable[..., LiveSources], tmp_path: Path
) -> None:
    import base64

    (tmp_path / "p.yaml").write_text(policy("rules: [{name: kept, check: image-tag, mode: audit}]", "kept"))
    data = base64.b64encode(pack(read_setup_files([tmp_path / "p.yaml"]))).decode()
    kept = {"name": LAST_GOOD, "namespace": NAMESPACE}
    fake.put({"apiVersion": "v1", "kind": "ConfigMap", "metadata": kept, "binaryData": {"policies.json.gz": data}})
    setup = of_cluster().setup().value
    assert setup is not None
    assert [one.name for one in setup.policies.policies] == ["kept"]


def test_a_cluster_that_cannot_be_named_is_told(tmp_path: Path) -> None:
    sources = LiveSources(PageSettings(asks_cluster=True, kubeconfig=str(tmp_path / "none")), Log("error"))
    assert "the cluster cannot be asked" in sources.scan().trouble
    assert "the cluster cannot be asked" in sources.setup().trouble


def test_files_are_enough(tmp_path: Path) -> None:
    write_scan_file(tmp_path / "scan.json")
    (tmp_path / "p.yaml").write_text(TEXT)
    settings = PageSettings(scan=str(tmp_path / "scan.json"), policies=(str(tmp_path / "p.yaml"),))
    text = Pages(LiveSources(settings, Log("error"))).text("/")
    assert "interruptible/checkpoint" in text
    assert "No ledger is named." in text


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "the line with the sums is missing"),
        ("{", "scan.json:1:"),
        ("[1]", "an object is expected on each line"),
        ('{"summary": 1}', "the line with the sums is missing"),
        ('{"summary": {"version": 1}}', "cannot be read"),
        ("kind: Job\n", "scan.json:1: no JSON, so this is not what `signalbox audit -o json` writes"),
    ],
)
def test_a_file_that_is_no_scan_is_told(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "scan.json").write_text(text)
    sources = LiveSources(PageSettings(scan=str(tmp_path / "scan.json")), Log("error"))
    assert says in sources.scan().trouble
    assert sources.scan().value is None


def test_a_scan_of_files_is_what_the_command_writes(tmp_path: Path) -> None:
    write_scan_file(tmp_path / "scan.json")
    scan = scan_of_file(tmp_path / "scan.json")
    assert scan["total"]["workloads"] == 53
    assert all(one["findings"] for one in scan["workloads"])
    assert json.loads((tmp_path / "scan.json").read_text().splitlines()[-1])["summary"]["rules"] == scan["rules"]


def test_a_ledger_that_is_not_there_yet_is_found_when_it_is(tmp_path: Path) -> None:
    file = tmp_path / "ledger.db"
    opened = _Reopened(str(file))
    assert "there is no such ledger" in opened().trouble
    with recording(file) as made:
        made.offer(gpu_job())
        made.settled(1)
    ledger = opened().value
    assert ledger is not None
    assert ledger.extent().entries == 1
    assert _Reopened("")().advice.startswith("No ledger is named.")


def test_settings_reach_the_other_process_as_they_are() -> None:
    settings = PageSettings(ledger="postgresql://a:b@c/d", policies=("p", "q"), hosts=("h",), asks_cluster=True, parent=7)
    assert PageSettings.unpacked(settings.packed()) == settings


def test_a_port_that_is_taken_keeps_nobody_from_starting(capfd: pytest.CaptureFixture[str]) -> None:
    with listen("127.0.0.1", 0) as taken:
        assert listen_for_pages(PageOptions(port=taken.getsockname()[1]), Log("info")) is None
    line = json.loads(capfd.readouterr().err)
    assert (line["level"], line["event"]) == ("warning", "no pages for people")
    assert "cannot listen on 127.0.0.1" in line["text"]
    assert listen_for_pages(None, Log("info")) is None
