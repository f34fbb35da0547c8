"""The last good policies: kept by the controller, read by a server that starts while the present ones have faults."""

from __future__ import annotations

import base64
import gzip
import json
import random
import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, generate_latest

from signalbox.apiserver.error import ApiError
from signalbox.configuration import SetupFiles, load_setup_files, read_setup_files
from signalbox.controller.duty import DutyContext
from signalbox.controller.last_good import LastGoodDuty
from signalbox.controller.options import ControllerOptions
from signalbox.controller.policies import PresentPolicies
from signalbox.last_good import CONFIG_MAP, KEY, LastGoodError, is_too_large, pack, read_last_good, unpack
from signalbox.manifests import FileBytes, PathBytes
from signalbox.policy_objects import with_objects
from signalbox.process.logs import Log

from .fake_api_server import FakeApiServer
from .policy_samples import exception, files, install, policy

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
LATER = datetime(2026, 6, 2, 12, tzinfo=UTC)
SYSTEM = "signalbox-system"


@pytest.fixture
def fake() -> Iterator[FakeApiServer]:
    with FakeApiServer() as started:
        yield install(started)


class Controller:
    """The duty, with the policies of a folder."""

    def __init__(self, fake: FakeApiServer, folder: Path, leading: bool = True) -> None:
        self.registry = CollectorRegistry()
        options = ControllerOptions()
        context = DutyContext(fake.api(), options, Log("info"), self.registry, lambda: leading, threading.Event())
        self.duty = LastGoodDuty(context, PresentPolicies(context.api, (folder,)))

    def run(self, now: datetime = NOW) -> None:
        self.duty.run(now)

    @property
    def metrics(self) -> str:
        return generate_latest(self.registry).decode()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "base.yaml").write_text(json.dumps({**policy("base"), "metadata": {"name": "base"}}))
    return tmp_path


def kept(fake: FakeApiServer) -> SetupFiles | None:
    return read_last_good(fake.api())


NAMES = st.text(min_size=1, max_size=8)
FILES = st.lists(st.builds(FileBytes, NAMES, st.binary(max_size=40)), max_size=3).map(tuple)
PATHS = st.lists(st.builds(PathBytes, NAMES, FILES), max_size=3).map(tuple)


@given(st.builds(SetupFiles, PATHS, PATHS, st.none(), PATHS))
def test_what_is_packed_comes_back_byte_for_byte(made: SetupFiles) -> None:
    assert unpack(pack(made)) == made
    assert pack(made) == pack(made)


def test_what_is_known_of_the_cluster_is_not_kept() -> None:
    cluster = PathBytes("cluster", (FileBytes("cluster/ns.yaml", b"x"),))
    assert unpack(pack(replace(files("a: b"), cluster=cluster))) == files("a: b")


def test_the_shipped_set_fits_many_times() -> None:
    assert len(pack(read_setup_files())) < 20_000


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"no gzip",
        gzip.compress(b"{", mtime=0),
        gzip.compress(b"[]", mtime=0),
        gzip.compress(b"null", mtime=0),
        gzip.compress(b"{}", mtime=0),
        gzip.compress(b"\xff", mtime=0),
        gzip.compress(b"[" * 100_000, mtime=0),
        gzip.compress(
            b'{"policies": [{"path": "x", "files": [{"name": "y", "text": 5}]}], "signs": [], "objects": []}', mtime=0
        ),
        pack(files("a: b"))[:-9],
    ],
)
def test_what_is_not_ours_is_told_and_no_crash(data: bytes, fake: FakeApiServer) -> None:
    with pytest.raises(LastGoodError, match="the set that was kept"):
        unpack(data)
    put(fake, base64.b64encode(data).decode())
    with pytest.raises(LastGoodError):
        kept(fake)


def test_a_bomb_does_not_fill_the_memory() -> None:
    with pytest.raises(LastGoodError, match="too large"):
        unpack(gzip.compress(b" " * (65 * 1024 * 1024), mtime=0))


@pytest.mark.parametrize("piece", [b"[],", b'{"name":"a","text":"b"},'])
def test_nor_do_values_that_take_twenty_times_their_text(piece: bytes) -> None:
    body = b'{"policies":[' + piece * (15 * 1024 * 1024 // len(piece)) + b'[]],"signs":[],"objects":[]}'
    with pytest.raises(LastGoodError, match="more values"):
        unpack(gzip.compress(body, 1, mtime=0))


def test_what_a_server_would_not_read_is_not_kept_either() -> None:
    assert is_too_large(gzip.compress(b" " * (17 * 1024 * 1024), 1, mtime=0))
    assert not is_too_large(pack(read_setup_files()))


def put(fake: FakeApiServer, text: object) -> None:
    config_map = {"metadata": {"name": CONFIG_MAP, "namespace": SYSTEM}, "binaryData": {KEY: text}}
    fake.put({"apiVersion": "v1", "kind": "ConfigMap", **config_map})


@pytest.mark.parametrize("text", ["%%%", None, 5, ["x"]])
def test_nor_is_a_config_map_of_somebody_elses(text: object, fake: FakeApiServer) -> None:
    put(fake, text)
    with pytest.raises(LastGoodError, match="ConfigMap signalbox-last-good-policies"):
        kept(fake)


def test_where_nothing_was_kept_there_is_none(fake: FakeApiServer) -> None:
    assert kept(fake) is None


def test_that_nobody_could_be_asked_is_another_thing(fake: FakeApiServer) -> None:
    fake.fail(403, path=CONFIG_MAP)
    with pytest.raises(ApiError):
        kept(fake)


def test_a_good_set_is_kept_files_and_objects(fake: FakeApiServer, folder: Path) -> None:
    fake.put(policy())
    fake.put(exception())
    controller = Controller(fake, folder)
    controller.run()
    found = kept(fake)
    assert found == with_objects(read_setup_files([folder]), [policy(), exception()])
    assert found is not None
    loaded = load_setup_files(found)
    assert [one.name for one in loaded.setup.policies.policies] == ["base", "research"]
    config_map = fake.object("ConfigMap", CONFIG_MAP, SYSTEM)
    assert config_map is not None
    assert config_map["metadata"]["annotations"] == {
        "policy.workload.ai/digest": loaded.setup.policies.digest[:12],
        "policy.workload.ai/kept-at": "2026-06-01T12:00:00+00:00",
    }
    assert "signalbox_last_good_policies_current 1.0" in controller.metrics


def test_a_bad_set_leaves_what_is_kept(fake: FakeApiServer, folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    controller = Controller(fake, folder)
    controller.run()
    before = fake.object("ConfigMap", CONFIG_MAP, SYSTEM)
    fake.put(policy(mode="enforced"))
    controller.run(LATER)
    controller.run(LATER)
    assert fake.object("ConfigMap", CONFIG_MAP, SYSTEM) == before
    assert "signalbox_last_good_policies_current 0.0" in controller.metrics
    told = [line for line in capfd.readouterr().err.splitlines() if "policies have problems" in line]
    assert len(told) == 1
    assert "unknown mode 'enforced'" in told[0]
    fake.put(policy(mode="audit"))
    controller.run(LATER)
    found = kept(fake)
    assert found is not None
    assert [one.path for one in found.objects] == ["WorkloadPolicy research"]


def test_a_folder_without_a_policy_is_no_good_set(fake: FakeApiServer, tmp_path: Path) -> None:
    (tmp_path / "exceptions.yaml").write_text("# nothing\n")
    Controller(fake, tmp_path).run()
    assert kept(fake) is None


def test_nothing_is_written_while_nothing_changes(fake: FakeApiServer, folder: Path) -> None:
    controller = Controller(fake, folder)
    controller.run()
    controller.run(LATER)
    Controller(fake, folder).run(LATER)
    assert (fake.count("POST", "configmaps"), fake.count("PUT", CONFIG_MAP)) == (1, 0)


def test_a_config_map_that_was_taken_away_or_spoiled_is_written_again(fake: FakeApiServer, folder: Path) -> None:
    controller = Controller(fake, folder)
    controller.run()
    fake.remove("ConfigMap", CONFIG_MAP, SYSTEM)
    controller.run()
    assert kept(fake) is not None
    put(fake, "spoiled")
    controller.run()
    assert kept(fake) is not None


@pytest.mark.parametrize("status", [403, 410, 429, 500])
def test_half_of_a_set_is_never_kept(status: int, fake: FakeApiServer, folder: Path) -> None:
    fake.put(policy())
    controller = Controller(fake, folder)
    controller.run()
    fake.fail(status, times=50, path="workloadpolicies")
    with pytest.raises(ApiError):
        controller.run()
    found = kept(fake)
    assert found is not None
    assert [one.path for one in found.objects] == ["WorkloadPolicy research"]


def test_without_the_definitions_the_files_are_kept(fake: FakeApiServer, folder: Path) -> None:
    with FakeApiServer() as bare:
        Controller(bare, folder).run()
        assert kept(bare) == read_setup_files([folder])


def test_two_leaders_for_a_moment_do_no_harm(fake: FakeApiServer, folder: Path) -> None:
    controller = Controller(fake, folder)
    controller.run()
    fake.put(policy())
    fake.fail(409, verb="PUT", path=CONFIG_MAP)
    with pytest.raises(ApiError):
        controller.run()
    controller.run()
    found = kept(fake)
    assert found is not None
    assert len(found.objects) == 1


def test_a_set_too_large_for_a_config_map_is_told_loudly(
    fake: FakeApiServer, folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    controller = Controller(fake, folder)
    controller.run()
    before = fake.object("ConfigMap", CONFIG_MAP, SYSTEM)
    noise = "".join(random.Random(1).choices("abcdefghijklmnopqrstuvwxyz0123456789", k=2_000_000))
    (folder / "large.yaml").write_text(json.dumps({**policy("large", description=noise), "metadata": {"name": "large"}}))
    controller.run()
    assert fake.object("ConfigMap", CONFIG_MAP, SYSTEM) == before
    assert "last good policies not kept, they are too large for a ConfigMap" in capfd.readouterr().err
    assert "signalbox_last_good_policies_current 0.0" in controller.metrics


def test_only_the_leader_shows_the_gauges(fake: FakeApiServer, folder: Path) -> None:
    controller = Controller(fake, folder, leading=False)
    controller.run()
    assert "signalbox_last_good" not in controller.metrics
