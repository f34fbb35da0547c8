"""`signalbox audit` and `signalbox diff`: what people and programs see, and the exit codes."""

from __future__ import annotations

import base64
import csv
import io
import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
import yaml

from signalbox.audit.as_csv import COLUMNS, cell
from signalbox.cli.main import main
from signalbox.cli.progress import Progress, progress_line
from signalbox.configuration import read_setup_files
from signalbox.last_good import CONFIG_MAP as LAST_GOOD
from signalbox.last_good import pack
from tests.audit_world import GRACE, SMALL, Manifest, deployment, job, pod, replica_set
from tests.fake_api_server import FakeApiServer
from tests.world import policy

MIXED = "\n---\n".join(
    (
        SMALL,
        policy(
            "rules:\n- {name: tag, check: image-tag, mode: enforce}\n- {name: ends, check: time-limits, mode: audit}", "more"
        ),
    )
)
Capture = pytest.CaptureFixture[str]


@pytest.fixture
def policies(tmp_path: Path) -> str:
    file = tmp_path / "policies.yaml"
    file.write_text(MIXED)
    return str(file)


@pytest.fixture
def fake() -> Iterator[FakeApiServer]:
    with FakeApiServer() as server:
        yield server


@pytest.fixture
def kubeconfig(fake: FakeApiServer, tmp_path: Path) -> str:
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": fake.url}}],
        "users": [{"name": "u", "user": {}}],
    }
    file = tmp_path / "kubeconfig"
    file.write_text(yaml.safe_dump(config))
    return str(file)


def live(kubeconfig: str) -> tuple[str, ...]:
    return ("--kubeconfig", kubeconfig, "--per-second", "1000")


def manifests(tmp_path: Path, *objects: Manifest, uid: bool = False) -> str:
    file = tmp_path / "manifests.yaml"
    for obj in objects:
        if not uid:
            obj["metadata"].pop("uid", None)
    file.write_text(yaml.safe_dump_all(objects))
    return str(file)


def run(capsys: Capture, *words: str) -> tuple[int, str, str]:
    code = main(words)
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def test_a_live_cluster_is_told_by_rule_team_and_kind(
    capsys: Capture, fake: FakeApiServer, kubeconfig: str, policies: str
) -> None:
    web = fake.put(deployment("web"))
    fake.put(replica_set("web-1", owner=web))
    fake.put(job("big", metadata={"labels": {"workload.ai/team": "nlp"}}))
    fake.put(job("done", status={"conditions": [{"type": "Complete", "status": "True"}]}))
    code, out, err = run(capsys, "audit", *live(kubeconfig), "--policies", policies)
    assert (code, err) == (1, "")
    head, *rest = out.splitlines()
    assert head == "2 workloads judged, 1 child counted under them, 1 ended already"
    assert rest[0] == "would be refused today: 1 of 2 workloads, with 8 of 8 accelerators"
    assert re.search(r"limits/small +enforce +1 +8  refused today", out)
    assert re.search(r"more/ends +audit +1 +8  would refuse if enforced", out)
    assert re.search(r"nlp +1 +8 +1 \(8\) +-", out)
    assert re.search(r"Job +1 +8 +1 \(8\) +-", out)
    assert "Job research/big (distributed-training, 8 accelerators)" in out


def test_only_the_rules_namespaces_and_kinds_that_were_asked_for(
    capsys: Capture, fake: FakeApiServer, kubeconfig: str, policies: str
) -> None:
    fake.put(job("big"))
    fake.put(job("other", namespace="other"))
    fake.put(pod("bare"))
    base = ("audit", *live(kubeconfig), "--policies", policies, "-n", "research", "--kind", "job", "-o", "json")
    code, out, _ = run(capsys, *base, "--rule", "more/*")
    workload, summary = lines(out)
    assert code == 0
    assert (workload["kind"], workload["name"]) == ("Job", "big")
    assert {finding["rule"] for finding in workload["findings"]} == {"more/ends"}
    assert summary["summary"]["objects"]["judged"] == {"Job": 1}


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--kind", "Jobb"), "no kind 'Jobb', did you mean \"Job\"?"),
        (("--rule", "limits/smal"), "no rule 'limits/smal', did you mean \"limits/small\"? (see signalbox policies list)"),
        (("-A", "-n", "research"), "-A means every namespace, -n only some"),
        (("--cluster", "x"), "a live cluster is asked what it knows"),
        (("--kubeconfig", "/nowhere"), "looked into /nowhere"),
        (("--kubeconfig", "/nowhere"), "; name FILES to judge manifests, or a cluster with --kubeconfig FILE"),
        (("file.yaml",), "--kubeconfig and --context say nothing there"),
    ],
)
def test_what_cannot_be_meant_is_told(
    capsys: Capture, kubeconfig: str, policies: str, words: tuple[str, ...], told: str
) -> None:
    code, out, err = run(capsys, "audit", *live(kubeconfig), "--policies", policies, *words)
    assert (code, out) == (2, "")
    assert told in err


def test_a_folder_named_like_a_command_can_still_be_named(capsys: Capture, tmp_path: Path, policies: str) -> None:
    folder = tmp_path / "scan"
    folder.mkdir()
    (folder / "job.yaml").write_text(yaml.safe_dump(job("big")))
    assert run(capsys, "audit", str(folder), "--policies", policies)[0] == 1
    assert run(capsys, "audit", "scan", str(folder), "--policies", policies)[0] == 1


@pytest.mark.parametrize(("fail_on", "code"), [("enforce", 0), ("warn", 0), ("audit", 1), ("never", 0)])
def test_fail_on_says_which_modes_count(capsys: Capture, tmp_path: Path, policies: str, fail_on: str, code: int) -> None:
    file = manifests(tmp_path, job("small", 2))
    assert run(capsys, "audit", file, "--policies", policies, "--fail-on", fail_on)[0] == code


def test_a_cap_on_the_mode_refuses_nobody_today_and_shows_whom_it_would(capsys: Capture, tmp_path: Path, policies: str) -> None:
    file = manifests(tmp_path, job("big"))
    code, out, _ = run(capsys, "audit", file, "--policies", policies, "--max-mode", "audit")
    assert code == 0
    assert "would be refused today: nothing" in out
    assert "if every rule were enforced: 1 more, with 8 accelerators" in out


def test_manifests_are_judged_as_they_would_be_stored(capsys: Capture, tmp_path: Path) -> None:
    by = tmp_path / "grace.yaml"
    by.write_text(GRACE)
    file = manifests(tmp_path, job("run"))
    _, out, _ = run(capsys, "audit", file, "--policies", str(by), "-o", "json", "--all")
    assert not lines(out)[0]["findings"]
    stored = manifests(tmp_path, job("run"), uid=True)
    _, out, _ = run(capsys, "audit", stored, "--policies", str(by), "-o", "json")
    assert lines(out)[0]["findings"][0]["fixedBy"] == "termination-grace"


def test_what_kubectl_printed_is_read_with_its_children(capsys: Capture, tmp_path: Path, policies: str) -> None:
    run_, bare = job("run"), pod("bare", owner=job("not-in-the-file"))
    file = manifests(tmp_path, pod("run-0", owner=run_), bare, run_, uid=True)
    _, out, _ = run(capsys, "audit", file, "--policies", policies, "-o", "json")
    *workloads, summary = lines(out)
    assert sorted(one["name"] for one in workloads) == ["bare", "run"]
    assert summary["summary"]["objects"]["children"] == {"Pod": 1}


def test_what_cannot_be_read_is_told_and_is_no_success(capsys: Capture, tmp_path: Path, policies: str) -> None:
    (tmp_path / "broken.yaml").write_text("a: [\n")
    good = manifests(tmp_path, job("small", 2))
    code, out, _ = run(capsys, "audit", good, str(tmp_path / "broken.yaml"), "--policies", policies)
    assert code == 2
    assert "could not be read or judged" in out
    # Where the lines are broken hangs on how long the folder's name is.
    assert "broken.yaml:" in "".join(out.split())
    code, out, err = run(capsys, "audit", good, str(tmp_path / "broken.yaml"), "--policies", policies, "-o", "csv")
    assert code == 2
    assert "broken.yaml:" in err


def test_a_namespace_in_which_nothing_is_found_is_no_success(
    capsys: Capture, fake: FakeApiServer, kubeconfig: str, tmp_path: Path, policies: str
) -> None:
    fake.put(job("run", 2))
    for where in ((manifests(tmp_path, job("run", 2)),), live(kubeconfig)):
        code, _, err = run(capsys, "audit", *where, "--policies", policies, "-n", "reserch")
        assert code == 2
        assert "no workload in reserch, nothing was judged" in err
        assert run(capsys, "audit", *where, "--policies", policies, "-n", "research")[0] == 0


def test_an_empty_pipe_is_no_success(capsys: Capture, monkeypatch: pytest.MonkeyPatch, policies: str) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"")))
    code, _, err = run(capsys, "audit", "-", "--policies", policies)
    assert code == 2
    assert "standard input holds no object" in err


def test_one_bad_policy_leaves_the_others_in_force(capsys: Capture, tmp_path: Path, policies: str) -> None:
    with Path(policies).open("a") as file:
        file.write("---\n" + policy("rules:\n- {name: x, check: chekpoint, mode: enforce}", "bad"))
    code, out, _ = run(capsys, "audit", manifests(tmp_path, job("big")), "--policies", policies)
    assert code == 1
    assert "limits/small" in out
    assert 'did you mean "checkpoint"?' in " ".join(out.split())
    assert run(capsys, "audit", manifests(tmp_path, job("ok", 1)), "--policies", policies)[0] == 2


def test_csv_has_a_row_a_finding(capsys: Capture, tmp_path: Path, policies: str) -> None:
    file = manifests(tmp_path, job("big"), deployment("web"))
    _, out, _ = run(capsys, "audit", file, "--policies", policies, "-o", "csv", "--all")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert tuple(rows[0]) == COLUMNS
    told = [(row["name"], row["rule"], row["mode"], row["refused"]) for row in rows]
    assert told == [
        ("web", "", "", ""),
        ("big", "limits/small", "enforce", "now"),
        ("big", "more/ends", "audit", "if enforced"),
    ]


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\tx", "\rx", '=HYPERLINK("http://x")'])
def test_no_cell_is_a_formula(text: str) -> None:
    assert cell(text) == f"'{text}"


def test_a_name_that_is_a_formula_or_a_tag_stays_a_text(capsys: Capture, tmp_path: Path, policies: str) -> None:
    evil = job("x", metadata={"name": "=cmd|' /C calc'!A0", "labels": {"workload.ai/team": "<script>alert(1)</script>"}})
    file = manifests(tmp_path, evil)
    _, out, _ = run(capsys, "audit", file, "--policies", policies, "-o", "csv")
    row = next(csv.DictReader(io.StringIO(out)))
    assert row["name"] == "'=cmd|' /C calc'!A0"
    _, page, _ = run(capsys, "audit", file, "--policies", policies, "-o", "html")
    assert "<script" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    _, out, _ = run(capsys, "audit", file, "--policies", policies)
    assert "\x1b" not in out


def test_a_control_character_in_a_name_reaches_no_terminal(capsys: Capture, tmp_path: Path, policies: str) -> None:
    file = manifests(tmp_path, job("x", metadata={"name": "a\x1b[31mred", "labels": {"workload.ai/team": "t\x07"}}))
    for output in ("table", "csv", "html", "json"):
        _, out, _ = run(capsys, "audit", file, "--policies", policies, "-o", output)
        assert "\x1b" not in out
        assert "\x07" not in out


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [value or "" for name, value in attrs if name in ("src", "href", "action")]


def test_the_page_stands_alone_and_runs_nothing(capsys: Capture, tmp_path: Path, policies: str) -> None:
    file = manifests(tmp_path, job("big"), job("small", 2))
    code, page, _ = run(capsys, "audit", file, "--policies", policies, "-o", "html")
    assert code == 1
    parser = _Tags()
    parser.feed(page)
    assert not parser.links
    assert "script" not in parser.tags
    assert "default-src 'none'" in page
    assert "prefers-color-scheme: dark" in page
    assert 'name="viewport"' in page
    assert "limits/small" in page
    assert "Job research/big" in page


def test_json_sums_what_the_lines_say(capsys: Capture, tmp_path: Path, policies: str) -> None:
    file = manifests(tmp_path, *(job(f"run-{number}", number) for number in range(1, 9)))
    _, out, _ = run(capsys, "audit", file, "--policies", policies, "-o", "json", "--all")
    *workloads, last = lines(out)
    total = last["summary"]["total"]
    assert total["workloads"] == len(workloads) == 8
    assert total["refused"] == sum(one["refused"] for one in workloads) == 4
    assert total["accelerators"] == sum(one["accelerators"]["total"] for one in workloads) == 36
    assert total["refusedAccelerators"] == 5 + 6 + 7 + 8
    (rule,) = [one for one in last["summary"]["rules"] if one["rule"] == "limits/small"]
    assert (rule["refused"], rule["accelerators"]) == (4, 26)


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_how_far_it_is_shows_on_a_terminal_alone() -> None:
    assert progress_line("Pod", 12500, 37500) == "[######..................]  12,500 of 50,000  Pod"
    pipe, terminal = io.StringIO(), _Terminal()
    for stream in (pipe, terminal):
        progress = Progress(stream)
        progress("Pod", 500, 1500)
        progress("Pod", 2000, 0)
        progress.close()
    assert pipe.getvalue() == ""
    assert "2,000 of 2,000  Pod" in terminal.getvalue()
    assert terminal.getvalue().endswith("\r\x1b[K")


@pytest.fixture
def newer(tmp_path: Path) -> str:
    file = tmp_path / "newer.yaml"
    file.write_text(MIXED.replace("maxTotal: 4", "maxTotal: 2"))
    return str(file)


def test_diff_tells_who_is_newly_refused(capsys: Capture, tmp_path: Path, policies: str, newer: str) -> None:
    file = manifests(tmp_path, *(job(f"run-{number}", number) for number in (1, 3, 8)))
    code, out, _ = run(capsys, "diff", policies, newer, file)
    assert code == 1
    assert "newly refused (1)\n- Job research/run-3" in out
    assert "[limits/small] passes → refuses: At most 2" in out
    assert out.splitlines()[-1] == "3 workloads compared: 1 newly refused"
    code, out, _ = run(capsys, "diff", newer, policies, file)
    assert code == 0
    assert "newly allowed (1)" in out


def test_diff_of_a_set_with_itself_is_none(capsys: Capture, tmp_path: Path, policies: str) -> None:
    code, out, _ = run(capsys, "diff", policies, policies, manifests(tmp_path, job("run")))
    assert (code, out) == (0, "1 workload compared: no difference\n")


def test_diff_tells_what_is_injected_otherwise(capsys: Capture, tmp_path: Path) -> None:
    old, new = tmp_path / "old.yaml", tmp_path / "new.yaml"
    toleration = "inject: {tolerations: [{key: gpu, operator: Exists}], labels: {team: %s}}"
    old.write_text(policy(toleration % "a"))
    new.write_text(policy(toleration.replace("key: gpu", "key: nvidia.com/gpu") % "b"))
    code, out, _ = run(capsys, "diff", str(old), str(new), manifests(tmp_path, job("run")))
    assert code == 0
    assert "~ metadata.labels.team: a → b" in out
    assert "~ spec.template.spec.tolerations[0].key: gpu → nvidia.com/gpu" in out
    assert "workload.ai/injected" not in out


def test_diff_over_a_live_cluster(capsys: Capture, fake: FakeApiServer, kubeconfig: str, policies: str, newer: str) -> None:
    fake.put(pod("run-0", owner=fake.put(job("run", 3))))
    code, out, _ = run(capsys, "diff", policies, newer, "--live", *live(kubeconfig), "-o", "json")
    (found,) = lines(out)
    assert code == 1
    assert found["change"] == "newly refused"
    assert found["rules"] == [
        {"rule": "limits/small", "before": "passes", "after": "refuses", "message": found["rules"][0]["message"]}
    ]


def test_diff_over_a_cluster_that_may_not_be_read_is_no_success(
    capsys: Capture, fake: FakeApiServer, kubeconfig: str, policies: str
) -> None:
    fake.fail(403, times=99, path="/jobs?")
    code, _, err = run(capsys, "diff", policies, policies, "--live", *live(kubeconfig))
    assert code == 2
    assert "signalbox: Job: " in err


def test_half_a_policy_set_is_not_compared(capsys: Capture, tmp_path: Path, policies: str) -> None:
    broken = tmp_path / "broken.yaml"
    broken.write_text(policy("rules:\n- {name: x, check: nothing, mode: warn}"))
    code, out, err = run(capsys, "diff", policies, str(broken), manifests(tmp_path, job("run")))
    assert (code, out) == (2, "")
    assert "broken.yaml:" in err


def test_diff_wants_files_or_a_cluster(capsys: Capture, policies: str) -> None:
    code, _, err = run(capsys, "diff", policies, policies)
    assert code == 2
    assert "name FILES to compare over, or --live" in err


def test_without_policies_a_cluster_is_judged_by_those_in_force_there(
    capsys: Capture, fake: FakeApiServer, kubeconfig: str, policies: str
) -> None:
    packed = base64.b64encode(pack(read_setup_files([Path(policies)]))).decode()
    metadata = {"name": LAST_GOOD, "namespace": "signalbox-system"}
    kept = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "binaryData": {"policies.json.gz": packed}}
    fake.put(job("big"))
    fake.put(kept)
    code, out, _ = run(capsys, "audit", *live(kubeconfig), "-o", "json")
    *_, summary = lines(out)
    assert code == 1
    assert {rule["rule"] for rule in summary["summary"]["rules"]} == {"limits/small", "more/ends"}
    fake.put({**kept, "binaryData": {"policies.json.gz": "AAAA"}})
    _, out, _ = run(capsys, "audit", *live(kubeconfig), "-o", "json")
    assert "limits/small" not in {rule["rule"] for rule in lines(out)[-1]["summary"]["rules"]}
