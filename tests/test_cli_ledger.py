"""`signalbox replay` and `signalbox audit readiness`: what people and programs see, and the exit codes."""

import json
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from signalbox.cli.main import main
from signalbox.configuration import load_setup
from tests.audit_world import job
from tests.fake_api_server import FakeApiServer
from tests.ledgers import recording
from tests.manifests import gpu_job, pod_spec
from tests.test_cli_audit import Capture, kubeconfig, lines, live, run
from tests.world import policy

__all__ = ["kubeconfig"]
RULES = """
rules:
  - {name: limit, check: accelerator-limit, with: {maxTotal: 16}, mode: enforce}
  - {name: grace, check: termination-grace, with: {min: 60}, mode: audit}
"""
DOCUMENT = policy(RULES, "team")


@pytest.fixture
def fake() -> Iterator[FakeApiServer]:
    with FakeApiServer() as server:
        yield server


@pytest.fixture
def policies(tmp_path: Path) -> Path:
    (tmp_path / "policies").mkdir()
    (tmp_path / "policies" / "team.yaml").write_text(DOCUMENT)
    return tmp_path / "policies"


@pytest.fixture
def stricter(tmp_path: Path) -> Path:
    file = tmp_path / "stricter.yaml"
    file.write_text(DOCUMENT.replace("maxTotal: 16", "maxTotal: 4"))
    return file


@pytest.fixture
def ledger(tmp_path: Path, policies: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Two weeks of requests: each day one of ann's and one of bob's, the second without a finding."""
    file, now = tmp_path / "ledger.db", datetime.now(UTC)
    monkeypatch.delenv("SIGNALBOX_LEDGER", raising=False)
    with recording(file, load_setup([policies]).setup) as made:
        for day in range(14):
            short, fine = gpu_job("llama", "research"), gpu_job(f"fine-{day}", "eval")
            pod_spec(fine)["terminationGracePeriodSeconds"] = 300
            at = now - timedelta(days=day, minutes=5)
            made.ask(short, user="ann", now=at)
            made.ask(short, user="ann", now=at)
            made.ask(fine, user="bob", now=at)
            made.ask(fine, user="bob", now=at)
        made.settled(56)
    return str(file)


def test_replay_tells_who_is_newly_refused_by_rule_and_namespace(capsys: Capture, ledger: str, stricter: Path) -> None:
    code, out, err = run(capsys, "replay", "--policies", str(stricter), "--ledger", ledger, "--since", "3d")
    assert (code, err) == (1, "")
    shown = out.splitlines()
    assert shown[0] == "newly refused (12)"
    assert shown[1] == "- [team/limit] passes → refuses"
    assert "such as: At most 4 accelerators in total are allowed" in shown[2]
    assert "    research: 6 requests, by ann, 48 accelerators asked" in shown
    assert "      Job research/llama (6 times)" in shown
    assert "    eval: 6 requests, by bob, 48 accelerators asked" in shown
    assert " ".join(out.split()).endswith("judged as of then: 12 newly refused")


def test_replay_of_the_same_set_changes_nothing(capsys: Capture, ledger: str, policies: Path) -> None:
    code, out, _ = run(capsys, "replay", "--policies", str(policies), "--ledger", ledger)
    assert code == 0
    assert "no difference" in " ".join(out.split())


def test_replay_as_json_is_a_line_a_request_and_the_sums_last(capsys: Capture, ledger: str, stricter: Path) -> None:
    code, out, _ = run(capsys, "replay", "--policies", str(stricter), "--ledger", ledger, "--since", "1d", "-o", "json")
    *found, last = lines(out)
    assert code == 1
    assert len(found) == 4
    assert found[0]["change"] == "newly refused"
    assert found[0]["rules"][0]["rule"] == "team/limit"
    assert {one["user"] for one in found} == {"ann", "bob"}
    summary = last["summary"]
    assert (summary["judged"], summary["asBefore"], summary["changes"]["newly refused"]) == (4, 0, 4)
    assert summary["asOf"] == "request"


def test_replay_takes_the_ledger_from_the_environment(
    capsys: Capture, ledger: str, policies: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SIGNALBOX_LEDGER", f"sqlite:///{ledger}")
    assert run(capsys, "replay", "--policies", str(policies))[0] == 0


def test_replay_of_one_namespace_and_of_a_time(capsys: Capture, ledger: str, stricter: Path) -> None:
    words = ["replay", "--policies", str(stricter), "--ledger", ledger, "-n", "eval", "--since", "5d", "--until", "2d"]
    code, out, _ = run(capsys, *words)
    assert code == 1
    assert "research" not in out
    assert out.startswith("newly refused (6)")


def test_replay_says_where_requests_that_found_nothing_are_not_recorded(
    capsys: Capture, tmp_path: Path, policies: Path
) -> None:
    file = tmp_path / "found.db"
    with recording(file, load_setup([policies]).setup, allowed="none") as made:
        made.ask(gpu_job(), now=datetime.now(UTC))
        made.settled(1)
    code, out, _ = run(capsys, "replay", "--policies", str(policies), "--ledger", str(file))
    assert code == 0
    assert "Requests that found nothing are not in this ledger" in " ".join(out.split())


def test_replay_doubts_what_may_come_from_values_that_were_not_kept(
    capsys: Capture, tmp_path: Path, policies: Path, stricter: Path
) -> None:
    file, odd = tmp_path / "odd.db", gpu_job()
    pod_spec(odd)["containers"][0]["env"] = [{"name": "A_TOKEN", "value": "x"}]
    pod_spec(odd)["containers"][0]["command"] = ["torchrun", "sft.py", "--output_dir=s3://b/$(A_TOKEN)/x"]
    with recording(file, load_setup([policies]).setup) as made:
        made.ask(odd, now=datetime.now(UTC))
        made.settled(1)
    code, out, _ = run(capsys, "replay", "--policies", str(stricter), "--ledger", str(file))
    assert code == 1
    assert "uncertain (1 of the above)" in out
    assert "the value of A_TOKEN was not kept (1 request)" in out


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["replay"], "Missing option '--policies'"),
        (["replay", "--policies", "{policies}"], "which ledger?"),
        (["replay", "--policies", "{policies}", "--ledger", "missing.db"], "missing.db: there is no such ledger"),
        (["replay", "--policies", "{policies}", "--ledger", "mysql://u:pw@h/d"], "sqlite or postgresql"),
        (["replay", "--policies", "missing", "--ledger", "{ledger}"], "missing"),
        (["replay", "--policies", "{policies}", "--ledger", "{ledger}", "--since", "soon"], "neither a span"),
        (["replay", "--policies", "{policies}", "--ledger", "{ledger}", "--since", "0m"], "no request of this time"),
        (
            ["audit", "readiness", "team/grcae", "--no-cluster", "--policies", "{policies}", "--ledger", "{ledger}"],
            "team/grace",
        ),
        (["audit", "readiness", "team/grace", "--no-cluster", "--kubeconfig", "x"], "asks no cluster"),
        (["audit", "readiness", "team/grace", "--kubeconfig", "missing", "--ledger", "{ledger}"], "missing"),
    ],
)
def test_what_cannot_be_done_is_told_in_a_line(
    capsys: Capture, ledger: str, policies: Path, words: list[str], says: str
) -> None:
    filled = [word.format(policies=policies, ledger=ledger) for word in words]
    code, _, err = run(capsys, *filled)
    assert code == 2
    assert says in err
    assert "pw" not in err
    assert "Traceback" not in err


def test_a_ledger_of_another_version_is_told(capsys: Capture, ledger: str, policies: Path) -> None:
    import sqlite3

    with closing(sqlite3.connect(ledger)) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
        connection.commit()
    code, _, err = run(capsys, "replay", "--policies", str(policies), "--ledger", ledger)
    assert (code, "9999" in err, "update it" in err) == (2, True, True)


def readiness(capsys: Capture, ledger: str, policies: Path, *words: str) -> tuple[int, str, str]:
    return run(capsys, "audit", "readiness", "team/grace", "--ledger", ledger, "--policies", str(policies), *words)


def test_readiness_says_not_yet_of_whom_and_what_to_hand_to_them(capsys: Capture, ledger: str, policies: Path) -> None:
    code, out, err = readiness(capsys, ledger, policies, "--no-cluster")
    assert (code, err) == (1, "")
    shown = " ".join(out.split())
    assert shown.startswith("team/grace (termination-grace), in mode audit,")
    assert "not yet: 14 requests of the last 7 days would be refused as things are now" in shown
    assert "note: the cluster was not looked at" in shown
    assert "requests 56 seen, 28 would be refused (1 user, 224 accelerators asked)" in shown
    assert "trend level: 14 in the first 7 days, 14 in the last" in shown
    assert "for team research: 1 workload to mend, 8 accelerators" in shown
    assert "Job research/llama: 28 requests by ann, last on" in shown
    assert "the injector termination-grace could mend it" in shown


def test_readiness_with_an_injector_that_mends_it_is_ready(capsys: Capture, ledger: str, tmp_path: Path) -> None:
    mended = tmp_path / "mended.yaml"
    mended.write_text(policy(f"inject: {{terminationGracePeriodSeconds: 300}}{RULES}", "team"))
    code, out, _ = readiness(capsys, ledger, mended, "--no-cluster")
    assert code == 0
    assert "ready: none of 56 requests would be refused as things are now" in " ".join(out.split())
    assert "28 mended by an injector" in " ".join(out.split())


def test_readiness_looks_at_the_cluster_too(
    capsys: Capture, fake: FakeApiServer, kubeconfig: str, ledger: str, policies: Path
) -> None:
    fake.put(job("standing", metadata={"labels": {"workload.ai/team": "nlp"}}))
    code, out, _ = readiness(capsys, ledger, policies, *live(kubeconfig), "-o", "json")
    (found,) = lines(out)
    assert code == 1
    assert found["verdict"] == "not yet"
    assert found["standing"]["refused"] == 1
    assert found["reasons"][-1] == "1 standing workload would be refused if made again"
    (standing,) = found["teams"]["nlp"]
    assert (standing["name"], standing["standing"], standing["requests"]) == ("standing", True, 0)
    assert found["requests"]["refused"] == sum(found["trend"]["days"].values()) == 28


def test_readiness_of_a_ledger_that_has_just_begun_says_too_little_seen(
    capsys: Capture, tmp_path: Path, policies: Path
) -> None:
    file = tmp_path / "young.db"
    with recording(file, load_setup([policies]).setup) as made:
        made.ask(gpu_job(gpus=1) | {"metadata": {"name": "x", "namespace": "y"}}, now=datetime.now(UTC) - timedelta(days=5))
        made.settled(1)
    code, out, _ = readiness(capsys, str(file), policies, "--no-cluster", "--days", "30")
    assert code == 1
    assert "not yet" in out
    code, out, _ = readiness(capsys, str(file), policies, "--no-cluster", "--days", "4")
    assert "too little seen: 0 requests seen, 50 is the least" in " ".join(out.split())


def test_names_from_manifests_reach_no_terminal_with_control_characters(
    capsys: Capture, tmp_path: Path, policies: Path, stricter: Path
) -> None:
    file, odd = tmp_path / "odd.db", gpu_job()
    odd["metadata"] = {"name": "x\x1b[31m<b>", "namespace": "a\nb"}
    with recording(file, load_setup([policies]).setup) as made:
        made.ask(odd, now=datetime.now(UTC), user="\x1b]0;x\x07")
        made.settled(1)
    for words in (
        ["replay", "--policies", str(stricter)],
        ["audit", "readiness", "team/grace", "--no-cluster", "--policies", str(policies)],
    ):
        out = run(capsys, *words, "--ledger", str(file))[1]
        assert all(character == "\n" or character.isprintable() for character in out)


def test_both_commands_show_their_exit_codes_and_examples(capsys: Capture) -> None:
    for words in (["replay"], ["audit", "readiness"]):
        assert main([*words, "--help"]) == 0
        out: Any = capsys.readouterr().out
        assert "Exit codes" in out
        assert "Examples" in out
        assert json.dumps(out)
