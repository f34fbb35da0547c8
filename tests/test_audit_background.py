"""The controller's scan: one run against an API server, the process it runs in, and what is shown of it."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client import CollectorRegistry, generate_latest

from signalbox.audit import background
from signalbox.audit.background import ScanSettings, scan_once
from signalbox.audit.kept_scan import CONFIG_MAP, KeptScanError, pack_scan, read_scan, unpack_scan, write_scan
from signalbox.audit.reports.kinds import OPEN_REPORT
from signalbox.configuration import read_setup_files
from signalbox.controller.background_scan import BackgroundScan, ScanFailedError, ScanMeters
from signalbox.controller.duty import DutyContext
from signalbox.controller.options import ControllerOptions
from signalbox.last_good import CONFIG_MAP as LAST_GOOD
from signalbox.last_good import pack
from signalbox.process.logs import Log
from tests.audit_world import SMALL, job
from tests.fake_api_server import FakeApiServer
from tests.world import NOW, policy

NAMESPACE = "signalbox-system"


@pytest.fixture
def settings(tmp_path: Path) -> ScanSettings:
    file = tmp_path / "policies.yaml"
    file.write_text(SMALL)
    return ScanSettings(NAMESPACE, policies=(str(file),))


def test_a_run_says_what_it_found_writes_reports_and_keeps_the_scan(settings: ScanSettings) -> None:
    with FakeApiServer() as fake:
        fake.install(OPEN_REPORT.group, OPEN_REPORT.version, OPEN_REPORT.plural, OPEN_REPORT.kind)
        fake.put(job("big"))
        fake.put(job("small", 2))
        answer = scan_once(fake.api(), settings, NOW)
        kept = read_scan(fake.api(), NAMESPACE)
        assert fake.object("Report", "signalbox-job-research-big", "research")
    assert answer["total"]["refused"] == 1
    assert (answer["reports"]["kind"], answer["reports"]["written"]) == ("Report", 1)
    assert kept is not None
    assert kept["rules"] == answer["rules"]
    assert [one["name"] for one in kept["workloads"]] == ["big"]
    assert kept["workloadsLeftOut"] == 0


def test_without_a_report_kind_it_says_so_and_scans_all_the_same(settings: ScanSettings) -> None:
    with FakeApiServer() as fake:
        fake.put(job("big"))
        answer = scan_once(fake.api(), settings, NOW)
    assert answer["total"]["refused"] == 1
    assert answer["reports"]["told"].startswith("neither the CustomResourceDefinition of OpenReports")


def test_reports_that_may_not_be_read_end_no_scan(settings: ScanSettings) -> None:
    with FakeApiServer() as fake:
        fake.install(OPEN_REPORT.group, OPEN_REPORT.version, OPEN_REPORT.plural, OPEN_REPORT.kind)
        fake.put(job("big"))
        fake.fail(403, path="/reports?")
        answer = scan_once(fake.api(), settings, NOW)
    assert answer["total"]["refused"] == 1
    assert answer["reports"]["told"] == "reports cannot be read: as the test wants it"


def test_neither_reports_nor_the_kept_scan_quote_a_secret(settings: ScanSettings) -> None:
    secret = "Tr0ub4dor3"
    text = f"{policy('rules: [{name: spot, check: checkpoint, mode: warn}, {name: tag, check: image-tag, mode: warn}]')}"
    Path(settings.policies[0]).write_text(text)
    with FakeApiServer() as fake:
        fake.install(OPEN_REPORT.group, OPEN_REPORT.version, OPEN_REPORT.plural, OPEN_REPORT.kind)
        for name, command in {
            "a": ["torchrun", "train.py", "--resume_from_checkpoint", f"https://u:{secret}@h/x"],
            "b": ["sh", "-c", f"DB_PASSWORD={secret} torchrun train.py --checkpoint_dir /tmp/x"],
            "c": ["python", "train.py", "--token", secret],
        }.items():
            made = job(name)
            made["metadata"]["annotations"] = {"workload.ai/checkpoint-uri": f"s3://u:{secret}@bucket/x"}
            made["spec"]["template"]["spec"]["containers"][0] |= {"command": command, "image": f"registry/{name}:latest"}
            fake.put(made)
        scan_once(fake.api(), settings, NOW)
        kept = read_scan(fake.api(), NAMESPACE)
        reports = [one for (kind, _, _), one in fake.objects.items() if kind.name == "Report"]
    assert kept is not None
    assert kept["workloads"]
    assert reports
    assert secret not in str((kept, reports))


def test_a_fault_of_ours_ends_a_run_without_quoting_what_it_read(
    settings: ScanSettings, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def faulty(*_: object, **__: object) -> None:
        raise KeyError("hunter2")

    monkeypatch.setattr(background, "connect", faulty)
    monkeypatch.setattr(background.resource, "setrlimit", lambda *_: None)
    monkeypatch.setattr(background.os, "nice", lambda _: 0)
    assert background.main(settings.argument()) == 1
    said = capfd.readouterr().err
    assert "KeyError" in said
    assert "hunter2" not in said


def test_a_scan_that_cannot_be_kept_is_told(settings: ScanSettings) -> None:
    with FakeApiServer() as fake:
        fake.fail(403, times=9, path=CONFIG_MAP)
        answer = scan_once(fake.api(), settings, NOW)
    assert (answer["kept"], answer["keepError"]) == (False, "as the test wants it")


def test_where_policies_have_faults_the_last_good_ones_are_judged_by(settings: ScanSettings, tmp_path: Path) -> None:
    good = read_setup_files([Path(settings.policies[0])])
    with FakeApiServer() as fake:
        import base64

        data = {"policies.json.gz": base64.b64encode(pack(good)).decode()}
        metadata = {"name": LAST_GOOD, "namespace": NAMESPACE}
        fake.put({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "binaryData": data})
        fake.put(job("big"))
        Path(settings.policies[0]).write_text(policy("rules:\n- {name: x, check: nothing, mode: warn}"))
        answer = scan_once(fake.api(), settings, NOW)
    assert [rule["rule"] for rule in answer["rules"]] == ["limits/small"]
    assert "left out: " in answer["errors"][0]["text"]


def test_a_kept_scan_fits_into_a_config_map_whatever_it_found() -> None:
    # Random enough that it hardly packs.
    workloads = [{"name": f"{number}-{hash((number, 'salt')):x}-{hash(number * 7919):x}"} for number in range(5000)]
    packed = pack_scan({"total": 5000}, workloads, 20_000)
    assert len(packed) <= 20_000
    content = unpack_scan(packed)
    assert content["workloads"]
    assert len(content["workloads"]) + content["workloadsLeftOut"] == 5000
    assert content["workloads"][0] == workloads[0]


def test_a_bomb_in_its_place_fills_no_memory() -> None:
    import gzip

    with pytest.raises(KeptScanError, match="more values"):
        unpack_scan(gzip.compress(b"[" + b"[]," * 4_000_000 + b"[]]", 1))


def test_the_last_scan_takes_the_place_of_the_one_before() -> None:
    with FakeApiServer() as fake:
        assert read_scan(fake.api(), NAMESPACE) is None
        for number in (1, 2):
            write_scan(fake.api(), NAMESPACE, pack_scan({"number": number}, []))
        kept = read_scan(fake.api(), NAMESPACE)
    assert kept is not None
    assert kept["number"] == 2


@pytest.mark.parametrize("data", [None, {}, {"scan.json.gz": 7}, {"scan.json.gz": "%"}, {"scan.json.gz": "AAAA"}], ids=repr)
def test_what_is_no_scan_of_ours_is_told(data: Any) -> None:
    with FakeApiServer() as fake:
        metadata = {"name": CONFIG_MAP, "namespace": NAMESPACE}
        fake.put({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "binaryData": data})
        with pytest.raises(KeptScanError):
            read_scan(fake.api(), NAMESPACE)


def duty(settings: ScanSettings, leading: Callable[[], bool] = lambda: True, longest: float = 60.0) -> BackgroundScan:
    context = DutyContext(
        api=None,  # type: ignore[arg-type]
        options=ControllerOptions(),
        log=Log("error"),
        registry=CollectorRegistry(),
        leading=leading,
        stopping=threading.Event(),
    )
    return BackgroundScan(context, settings, 600, longest)


def program(text: str) -> list[str]:
    return [sys.executable, "-S", "-c", text]


def test_it_runs_in_a_process_of_its_own(settings: ScanSettings, tmp_path: Path) -> None:
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "users": [{"name": "u", "user": {}}],
    }
    with FakeApiServer() as fake:
        fake.put(job("big"))
        config["clusters"] = [{"name": "c", "cluster": {"server": fake.url}}]
        kubeconfig = tmp_path / "kubeconfig"
        kubeconfig.write_text(yaml.safe_dump(config))
        told = ScanSettings(NAMESPACE, kubeconfig=str(kubeconfig), policies=settings.policies, per_second=1000, memory_mib=1024)
        scan = duty(told)
        scan.run(NOW)
    assert scan.last is not None
    assert scan.last["total"]["refused"] == 1


def test_a_process_that_fails_says_why_in_its_last_line(settings: ScanSettings) -> None:
    with pytest.raises(ScanFailedError, match="ended with 3: no such host"):
        duty(settings)._scan(program("import sys; print('x\\nno such host', file=sys.stderr); sys.exit(3)"))


def test_an_answer_that_is_none_is_a_failure(settings: ScanSettings) -> None:
    with pytest.raises(ScanFailedError, match="cannot be read"):
        duty(settings)._scan(program("print('[1')"))


def test_a_process_that_takes_too_long_is_ended(settings: ScanSettings) -> None:
    with pytest.raises(ScanFailedError, match="not done after 0 s"):
        duty(settings, longest=0.01)._scan(program("import time; time.sleep(60)"))


def test_a_process_is_ended_where_this_replica_leads_no_longer(settings: ScanSettings) -> None:
    assert duty(settings, leading=lambda: False)._scan(program("import time; time.sleep(60)")) is None


def test_a_large_answer_does_not_stop_the_process(settings: ScanSettings) -> None:
    answer = duty(settings)._scan(program("print('{\"x\": \"' + 'y' * 1000000 + '\"}')"))
    assert answer is not None
    assert len(answer["x"]) == 1_000_000


def test_without_its_parent_a_run_ends(settings: ScanSettings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background.os, "getppid", lambda: 1)
    with FakeApiServer() as fake:
        fake.put(job("big"))
        with pytest.raises(SystemExit):
            scan_once(fake.api(), ScanSettings(NAMESPACE, policies=settings.policies, parent=4711), NOW)


def test_what_a_scan_found_is_shown_by_the_leader_alone(settings: ScanSettings) -> None:
    with FakeApiServer() as fake:
        fake.put(job("big"))
        answer = scan_once(fake.api(), settings, NOW)
    leads, clock = [True], [100.0]
    meters = ScanMeters(lambda: leads[0], lambda: clock[0])
    registry = CollectorRegistry()
    registry.register(meters)
    assert b"signalbox_scan" not in generate_latest(registry)
    meters.show(answer)
    clock[0] = 160.0
    text = generate_latest(registry).decode()
    for line in (
        "signalbox_scan_age_seconds 60.0",
        'signalbox_scan_findings{mode="enforce",policy="limits",result="refused",rule="small"} 1.0',
        'signalbox_scan_refused_accelerators{mode="enforce",policy="limits",rule="small"} 8.0',
        'signalbox_scan_objects{what="judged"} 1.0',
        "signalbox_scan_errors 0.0",
    ):
        assert line in text.splitlines()
    leads[0] = False
    assert b"signalbox_scan" not in generate_latest(registry)
