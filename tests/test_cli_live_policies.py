"""`--live`: lint and the list of policies read what stands in a cluster beside the files."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result

from signalbox.cli.lint import command as lint
from signalbox.cli.policies import command as policies

from .fake_api_server import FakeApiServer
from .policy_samples import exception, install, policy


@pytest.fixture
def fake() -> Iterator[FakeApiServer]:
    with FakeApiServer() as started:
        yield install(started)


@pytest.fixture
def cluster(fake: FakeApiServer, tmp_path: Path) -> list[str]:
    """The options that lead to the cluster."""
    config = {
        "clusters": [{"name": "fake", "cluster": {"server": fake.url}}],
        "users": [{"name": "ann", "user": {"token": "t"}}],
        "contexts": [{"name": "fake", "context": {"cluster": "fake", "user": "ann"}}],
        "current-context": "fake",
    }
    (tmp_path / "config").write_text(yaml.safe_dump({"apiVersion": "v1", "kind": "Config", **config}))
    return ["--live", "--kubeconfig", str(tmp_path / "config")]


@pytest.fixture
def folder(tmp_path: Path) -> str:
    (tmp_path / "policies").mkdir()
    (tmp_path / "policies" / "base.yaml").write_text(json.dumps({**policy("base"), "metadata": {"name": "base"}}))
    return str(tmp_path / "policies")


def run(command: object, *arguments: str) -> Result:
    return CliRunner().invoke(command, arguments, standalone_mode=False)  # type: ignore[arg-type]


def test_lint_reads_objects_behind_the_files(fake: FakeApiServer, cluster: list[str], folder: str) -> None:
    fake.put(policy(mode="enforced"))
    fake.put(policy("base"))
    fake.put(exception("legacy", "base/small"))
    printed = run(lint, folder, *cluster)
    assert printed.return_value == 1
    assert printed.stdout.splitlines() == [
        f"WorkloadPolicy base:4:9: metadata.name: WorkloadPolicy/base is defined at {folder}/base.yaml:1 already",
        "WorkloadPolicy research:9:11: spec.rules[0].mode: unknown mode 'enforced', did you mean \"enforce\"?",
    ]
    fake.remove("WorkloadPolicy", "base")
    fake.put(policy())
    assert run(lint, folder, *cluster).return_value == 0


def test_the_list_shows_both(fake: FakeApiServer, cluster: list[str], folder: str) -> None:
    fake.put(policy(precedence=5))
    printed = run(policies, "list", "--policies", folder, "-o", "json", *cluster)
    assert [one["name"] for one in json.loads(printed.stdout)] == ["research", "base"]


def test_without_the_definitions_files_are_all_there_is(fake: FakeApiServer, cluster: list[str], folder: str) -> None:
    fake.kinds.clear()
    assert run(lint, folder, *cluster).return_value == 0


def test_a_cluster_that_cannot_be_asked_is_one_line(fake: FakeApiServer, cluster: list[str], folder: str) -> None:
    fake.fail(403, path="policyexceptions")
    failed = run(lint, folder, *cluster)
    assert str(failed.exception) == "as the test wants it"
    missing = run(lint, folder, "--kubeconfig", "x")
    assert "--live that one is asked" in str(missing.exception)
