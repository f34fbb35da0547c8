"""The command line where it meets machines, pipes and faults; what people see stands in cases/cli."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from signalbox.cli.main import main
from signalbox.cli.match_words import match_words
from signalbox.fieldpath import parse_path, resolve_path, value_at
from signalbox.patch import path_in
from signalbox.source import read_documents
from signalbox.yaml_text import yaml_documents
from tests.policy_samples import MATCH_KEYS

FILES = Path(__file__).parent / "cases" / "cli" / "files"
POLICIES = ("--policies", "policies")
# Written out, as the child process is not the one under test: it only needs the package.
PROGRAM = (sys.executable, "-c", "import sys; from signalbox.cli.main import main; sys.exit(main())")


@pytest.fixture(autouse=True)
def _in_the_folder_of_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(FILES)


def output(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    main(words)
    return capsys.readouterr().out


def objects(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def test_inspect_prints_one_object_a_line_with_exactly_these_keys(capsys: pytest.CaptureFixture[str]) -> None:
    (found,) = objects(output(capsys, "inspect", "manifests/bad.yaml", "-o", "json"))
    assert list(found) == [
        *("file", "document", "kind", "name", "namespace", "type", "framework"),
        *("checkpoint", "resume", "spot", "accelerators", "priority", "queue"),
    ]
    assert found["accelerators"] == {"perPod": 8, "total": 32, "placeholder": False}
    assert found["file"] == "manifests/bad.yaml"
    assert set(found["spot"]["evidence"][0]) == {"path", "value", "note"}


def test_check_as_json_tells_what_was_injected_found_and_not_judged(capsys: pytest.CaptureFixture[str]) -> None:
    good, bad = objects(output(capsys, "check", "manifests/good.yaml", "manifests/bad.yaml", *POLICIES, "-o", "json"))
    assert good["allowed"]
    assert {"path": "spec.suspend", "value": True, "was": False, "by": "research"} in good["injected"]
    assert [one["rule"] for one in good["notJudged"]] == ["urgent/by-release-team"]
    assert not bad["allowed"]
    assert {finding["rule"] for finding in bad["findings"]} == {"gpus/equal", "gpus/restartable", "gpus/small"}
    assert bad["message"].startswith("3 problems with JobSet vision/pretrain")
    assert bad["findings"][0]["fix"]["edits"]


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("check", "manifests/good.yaml", *POLICIES), 0),
        (("check", "manifests/bad.yaml", *POLICIES), 1),
        (("check", "manifests/bad.yaml", *POLICIES, "-o", "json"), 1),
        (("check", "manifests/bad.yaml", *POLICIES, "--max-mode", "warn"), 0),
        (("check", "broken/template.yaml", *POLICIES), 2),
        (("check", "broken/template.yaml", "manifests/bad.yaml", *POLICIES), 1),
        (("inspect", "broken/template.yaml"), 0),
        (("inspect", "nowhere.yaml"), 2),
        (("lint", "policies"), 0),
        (("lint", "broken/policy.yaml"), 1),
        (("lint", "nowhere"), 2),
        (("--version",), 0),
        (("check", "--help"), 0),
        ((), 2),
    ],
)
def test_exit_codes(words: tuple[str, ...], code: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == code


def test_what_check_fix_writes_passes_and_is_what_kubectl_reads(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    fixed = tmp_path / "fixed.yaml"
    fixed.write_text(output(capsys, "check", "manifests/bad.yaml", *POLICIES, "--fix"))
    (found,) = objects(output(capsys, "check", str(fixed), *POLICIES, "-o", "json"))
    # 32 GPUs are too many for anyone but their owner to mend, and the bucket is still to be named.
    modes = {finding["rule"]: finding["mode"] for finding in found["findings"]}
    assert modes == {"gpus/restartable": "warn", "gpus/small": "enforce"}
    assert found["injected"] == []


def test_the_fixed_manifest_holds_what_is_injected_but_not_the_api_servers_defaults(
    capsys: pytest.CaptureFixture[str],
) -> None:
    (fixed,) = read_documents(output(capsys, "check", "manifests/good.yaml", *POLICIES, "--fix"), "fixed")
    (report,) = objects(output(capsys, "check", "manifests/good.yaml", *POLICIES, "-o", "json"))
    assert report["injected"]
    for change in report["injected"]:
        path = resolve_path(parse_path(change["path"]), fixed.value)
        assert value_at(fixed.value, path) == change["value"]
    assert set(fixed.value["spec"]) == {"template", "suspend"}
    assert "dnsPolicy" not in fixed.value["spec"]["template"]["spec"]


@pytest.mark.parametrize(
    "text", ["yes", "1e3", "0x10", "1_000", "12:30:45", "2026-01-01", "null", "~", "", "#x", "a: b", "a\nb\n"]
)
def test_strings_stay_strings_in_the_yaml_written(text: str) -> None:
    written = yaml_documents([{"key": text, text or "empty": 1}])
    (document,) = read_documents(written, "written")
    assert document.value["key"] == text
    assert yaml.safe_load(written)["key"] == text


def test_as_gives_the_groups_that_the_api_server_gives(capsys: pytest.CaptureFixture[str]) -> None:
    cluster = ("--cluster", "cluster")
    words = ("check", "manifests/good.yaml", *POLICIES, *cluster, "-o", "json")
    (unknown,) = objects(output(capsys, *words))
    (ada,) = objects(output(capsys, *words, "--as", "ada"))
    (release,) = objects(output(capsys, *words, "--as", "ada", "--as-group", "release"))
    assert unknown["notJudged"]
    assert unknown["allowed"]
    assert not ada["allowed"]
    assert release["allowed"]
    assert not release["notJudged"]


def test_the_namespace_of_the_manifest_wins_over_n(capsys: pytest.CaptureFixture[str]) -> None:
    found = objects(output(capsys, "check", "manifests", *POLICIES, "-n", "web", "-o", "json"))
    assert {one["name"]: one["namespace"] for one in found} == {"pretrain": "vision", "sweep": "research", "test": "web"}


class Screen(io.TextIOWrapper):
    """A terminal."""

    def isatty(self) -> bool:
        return True


def screen(monkeypatch: pytest.MonkeyPatch, encoding: str, *words: str) -> str:
    stream = Screen(io.BytesIO(), encoding=encoding, write_through=True)
    monkeypatch.setattr(sys, "stdout", stream)
    monkeypatch.setenv("TERM", "xterm")
    main(words)
    buffer = stream.buffer
    assert isinstance(buffer, io.BytesIO)
    return buffer.getvalue().decode(encoding)


def test_colour_is_for_terminals_and_not_with_no_color(monkeypatch: pytest.MonkeyPatch) -> None:
    words = ("check", "manifests/bad.yaml", *POLICIES)
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert "\x1b[" in screen(monkeypatch, "utf-8", *words)
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[" not in screen(monkeypatch, "utf-8", *words)


def test_colour_changes_no_letter(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    import re

    words = ("check", "manifests", *POLICIES)
    plain = output(capsys, *words)
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert re.sub(r"\x1b\[[0-9;]*m", "", screen(monkeypatch, "utf-8", *words)) == plain


def test_a_terminal_that_knows_only_ascii_gets_ascii(monkeypatch: pytest.MonkeyPatch) -> None:
    text = screen(monkeypatch, "ascii", "check", "manifests", *POLICIES)
    assert "x JobSet vision/pretrain" in text.replace("\x1b[31;1m", "").replace("\x1b[1m", "").replace("\x1b[0m", "")
    assert "false -> true" in text


def test_a_report_fits_into_80_columns(capsys: pytest.CaptureFixture[str]) -> None:
    lines = output(capsys, "check", "manifests/bad.yaml", "manifests/good.yaml", *POLICIES).splitlines()
    # The head of a refusal follows kubectl's own words on one line: nothing to break there.
    assert [line for line in lines if len(line) > 80 and " problems with " not in line] == []


def test_escape_sequences_in_names_never_reach_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "m.yaml"
    spec = "spec: {template: {spec: {containers: [{name: m, resources: {limits: {nvidia.com/gpu: 64}}}]}}}"
    file.write_text(f'apiVersion: batch/v1\nkind: Job\nmetadata: {{name: "a\\e[31m\\e]8;;x", namespace: "b\\u202e"}}\n{spec}\n')
    text = output(capsys, "check", str(file), *POLICIES)
    assert "\x1b" not in text.replace(str(file), "")
    assert "\u202e" not in text


def test_a_fault_of_ours_is_one_line_and_exit_70(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("first\nsecond")

    monkeypatch.setattr("signalbox.admission.apply_defaults", broken)
    assert main(["check", "manifests/good.yaml", *POLICIES]) == 70
    assert capsys.readouterr().err == (
        "signalbox: internal error: RuntimeError: first second (run with --debug for the traceback)\n"
    )
    with pytest.raises(RuntimeError):
        main(["check", "manifests/good.yaml", *POLICIES, "--debug"])


def test_ctrl_c_is_exit_130(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("signalbox.cli.check.load", interrupted)
    assert main(["check", "manifests/good.yaml"]) == 130


def test_a_reader_that_has_seen_enough_is_no_error() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with open(writing, "wb") as pipe:
        ended = subprocess.run([*PROGRAM, "check", "manifests", *POLICIES], stdout=pipe, stderr=subprocess.PIPE, check=False)
    assert ended.stderr == b""


def test_as_a_kubectl_plugin_it_calls_itself_so(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["/usr/local/bin/kubectl-signalbox"])
    assert output(capsys, "check", "--help").startswith("Usage: kubectl signalbox check")


def test_check_imports_neither_server_nor_cryptography() -> None:
    script = "import sys; from signalbox.cli.main import main; main(); print(*sys.modules)"
    words = ["check", "manifests/good.yaml", "--policies", "policies"]
    ended = subprocess.run([sys.executable, "-c", script, *words], capture_output=True, check=True, text=True)
    loaded = set(ended.stdout.splitlines()[-1].split())
    assert loaded.isdisjoint({"flask", "granian", "cryptography", "prometheus_client", "jsonpatch", "jinja2"})


@pytest.mark.parametrize("command", ["check", "inspect", "lint", "test", "policies", "serve", "certs", "completion"])
def test_every_command_has_help_with_an_example(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = {"policies": ("policies", "list"), "certs": ("certs", "issue")}.get(command, (command,))
    text = output(capsys, *words, "--help")
    assert "Examples:" in text
    assert f"signalbox {words[0]}" in text


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert "_SIGNALBOX_COMPLETE" in output(capsys, "completion", shell)


def test_a_choice_left_out_is_told_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion"]) == 2
    told = "signalbox: Missing argument 'SHELL'. Choose from: bash, zsh, fish (see signalbox completion --help)\n"
    assert capsys.readouterr().err == told


def test_certificates_are_issued_where_asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["certs", "issue", "--out", str(tmp_path)]) == 0
    assert sorted(file.name for file in tmp_path.iterdir()) == ["ca.crt", "ca.key", "tls.crt", "tls.key"]
    assert (tmp_path / "tls.key").stat().st_mode & 0o777 == 0o600
    assert main(["certs", "issue", "--out", str(tmp_path), "--days", "0"]) == 2


def test_serve_hands_on_its_options_and_loads_what_they_name(monkeypatch: pytest.MonkeyPatch) -> None:
    served: list[Any] = []

    def run_server(options: Any, policies: Any) -> int:
        served.extend((options, policies.load(policies.read())))
        return 3

    monkeypatch.setattr("signalbox.server.serve.run_server", run_server)
    monkeypatch.setenv("SIGNALBOX_PORT", "9443")
    monkeypatch.setenv("SIGNALBOX_MAX_MODE", "audit")
    assert main(["serve", "--cert", "c.pem", "--key", "k.pem", *POLICIES, "--cluster", "cluster", "--no-metrics"]) == 3
    options, loaded = served
    assert (options.port, options.metrics_port, options.certificate) == (9443, None, Path("c.pem"))
    assert options.watch == (Path("policies"), Path("cluster"))
    assert loaded.good
    assert loaded.policies == ("research", "gpus", "urgent")
    assert loaded.setup.max_mode.text == "audit"


def test_serve_has_no_setup_where_no_policy_can_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded: list[Any] = []

    def run_server(options: Any, policies: Any) -> int:
        loaded.append(policies.load(policies.read()))
        return 0

    monkeypatch.setattr("signalbox.server.serve.run_server", run_server)
    main(["serve", "--policies", "broken/policy.yaml"])
    assert loaded[0].setup is None
    assert len(loaded[0].problems) == 3


def test_a_bad_environment_variable_is_called_by_its_name(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SIGNALBOX_PORT", "abc")
    assert main(["serve"]) == 2
    assert "Invalid value for 'SIGNALBOX_PORT': 'abc'" in capsys.readouterr().err
    assert main(["serve", "--port", "abc"]) == 2
    assert "Invalid value for '--port': 'abc'" in capsys.readouterr().err


@pytest.mark.parametrize("words", [("check", "-"), ("check", "-", "-o", "json"), ("check", "-", "--fix"), ("inspect", "-")])
def test_a_pipe_whose_first_half_failed_does_not_pass(
    words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"\n# nothing\n")))
    assert main(words) == 2
    assert "standard input holds no object, nothing was judged" in capsys.readouterr().err


def test_a_folder_without_manifests_does_not_pass(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "notes.txt").write_text("nothing")
    assert main(["check", str(tmp_path)]) == 2
    assert capsys.readouterr().err == f"signalbox: {tmp_path}: no object in it, nothing was judged\n"


def test_objects_of_other_kinds_are_named_and_fine(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "other.yaml"
    file.write_text("".join(f"---\napiVersion: v1\nkind: {kind}\n" for kind in ("RayFoo", "ConfigMap", "RayFoo")))
    assert main(["check", str(file)]) == 0
    assert "no workload found, 3 other objects skipped: RayFoo, ConfigMap" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("kind: Job\n", "1:1: apiVersion is missing; for a Job it is batch/v1"),
        ("metadata: {}\nkind: Pod\napiVersion: ''\n", "3:1: apiVersion is missing; for a Pod it is v1"),
        ("kind: Deployment\napiVersion: 1\n", "2:1: apiVersion must be a text; for a Deployment it is apps/v1"),
        ("kind: JobSet\n", "1:1: apiVersion is missing; for a JobSet it starts with jobset.x-k8s.io/"),
        ("kind: ConfigMap\n", "1:1: apiVersion is missing"),
        ("apiVersion: batch/v1\n", "1:1: kind is missing"),
        ("apiVersion: batch/v1\nkind: [Job]\n", "2:1: kind must be a text"),
    ],
)
@pytest.mark.parametrize("more", [(), ("-o", "json"), ("--table",), ("--fix",)])
def test_an_object_that_does_not_say_what_it_is_does_not_pass(
    text: str, told: str, more: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "job.yaml"
    file.write_text(text)
    assert main(["check", str(file), *more]) == 2
    assert capsys.readouterr().err == f"{file}:{told}\n"


def test_files_of_other_tools_in_a_folder_need_no_kind(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "kustomization.yaml").write_text("resources: [job.yaml]\n")
    assert main(["check", str(tmp_path)]) == 0
    assert "1 other object skipped: no kind" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("spec", "missing"),
    [
        ("tmplate: {}", "no pod template at spec.template, so"),
        ("template: {}", "no Pod spec at spec.template.spec, so"),
        ("template: {spec: {containers: [{name: a, image: b}]}}", ""),
    ],
)
def test_a_job_without_a_pod_template_is_not_fine(
    spec: str, missing: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "job.yaml"
    file.write_text(f"apiVersion: batch/v1\nkind: Job\nmetadata: {{name: typo}}\nspec: {{{spec}}}\n")
    assert main(["check", str(file), *POLICIES]) == 0
    shown = capsys.readouterr().out
    assert missing in shown
    assert ("nothing of it could be judged" in shown) is bool(missing)


@pytest.mark.parametrize("more", [(), ("-o", "json"), ("--fix",)])
def test_check_does_not_send_anybody_to_check(more: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "manifests/bad.yaml", *POLICIES, *more]) == 1
    written = "".join(capsys.readouterr())
    assert "Try again without the cluster" not in written
    assert "Help: https://docs.example.com/gpus" in written


def test_a_cluster_folder_that_tells_nothing_is_warned_of(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "manifests/good.yaml", *POLICIES, "--cluster", str(tmp_path)]) == 0
    assert "nothing is known of the cluster" in capsys.readouterr().err
    assert main(["check", "manifests/good.yaml", *POLICIES, "--cluster", "cluster"]) == 0
    assert capsys.readouterr().err == ""


def test_lint_names_the_files_that_it_does_not_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "research.yaml").write_text(Path("policies/research.yaml").read_text())
    for name in ("gpu.yam", "Kustomization", ".hidden.yam"):
        (tmp_path / name).write_text("kind: WorkloadPolicy\n")
    assert main(["lint", str(tmp_path)]) == 0
    assert capsys.readouterr().err == (
        f"{tmp_path}/gpu.yam: not read, only files that end in .yaml, .yml, .json are\n3 policies read, no problems\n"
    )


TEST = """apiVersion: policy.workload.ai/v1alpha1
kind: PolicyTest
metadata: {name: ours}
spec:
  cases:
    - name: a plain Job
      object: {apiVersion: batch/v1, kind: Job, metadata: {name: a}, spec: {template: {spec: {containers: [{name: c}]}}}}
      expect: {allowed: true}
"""


def test_policy_tests_judge_the_policies_beside_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "team" / "tests").mkdir(parents=True)
    (tmp_path / "team" / "ours.yaml").write_text(Path("policies/research.yaml").read_text())
    (tmp_path / "team" / "tests" / "ours.yaml").write_text(TEST)
    monkeypatch.chdir(tmp_path)
    assert output(capsys, "test", "team/tests") == "1 case passed against team (3 policies)\n"
    monkeypatch.chdir(tmp_path / "team" / "tests")
    assert output(capsys, "test", ".") == f"1 case passed against {tmp_path}/team (3 policies)\n"
    # Where no policy stands beside them, they are the shipped set's.
    (tmp_path / "team" / "ours.yaml").write_text("apiVersion: v1\nkind: ConfigMap\n")
    assert output(capsys, "test", ".").startswith("1 case passed against the shipped set (")


def test_test_says_what_it_runs_where_there_is_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["test"]) == 0
    printed = capsys.readouterr()
    assert printed.err == "no policies/tests here, the tests of the shipped set are run\n"
    assert " passed against the shipped set (" in printed.out


def test_policies_as_json_have_owner_and_match(capsys: pytest.CaptureFixture[str]) -> None:
    listed = json.loads(output(capsys, "policies", "list", "-o", "json"))
    assert all(policy["owner"] for policy in listed)
    assert any("namespaces" in policy["match"] for policy in listed)


def test_the_list_of_policies_fits_into_80_columns(capsys: pytest.CaptureFixture[str]) -> None:
    assert [line for line in output(capsys, "policies", "list").splitlines() if len(line) > 80] == []


@pytest.mark.parametrize(
    ("match", "words"),
    [
        ({}, "every workload"),
        ({"namespaces": ["a", "b-*"], "trains": True}, "namespace a or b-*; trains"),
        ({"labels": {"team": "x"}}, "labelled team=x"),
        (
            {"namespaceSelector": {"matchExpressions": [{"key": "team", "operator": "In", "values": ["a", "b"]}]}},
            "namespace labelled team In (a, b)",
        ),
        ({"queues": ["", "eval"]}, "queue eval or no queue"),
        (
            {"accelerators": {"total": {"min": 1, "max": 8}, "vendors": ["*"], "resources": ["a/b"]}},
            "accelerators: 1 to 8 in total, any vendor, resource a/b",
        ),
        ({"priority": {"atLeast": 5, "below": 10}}, "priority at least 5 and below 10"),
        ({"any": [{"spot": ["demanded"]}, {"priority": {"unset": True}}]}, "either (spot demanded) or (priority not set)"),
        ({"not": {"users": ["ada"]}}, "not (user ada)"),
    ],
)
def test_a_match_is_told_in_words(match: dict[str, Any], words: str) -> None:
    assert match_words(match) == words


def test_every_key_of_a_match_has_words() -> None:
    samples = {"trains": False, "distributed": False, "labels": {"a": "b"}, "namespaceSelector": {"a": "b"}}
    nested = {
        "accelerators": {"total": {"min": 1}},
        "priority": {"below": 1},
        "not": {"names": ["a"]},
        "any": [{"names": ["a"]}],
    }
    for key in MATCH_KEYS:
        assert match_words({key: (samples | nested).get(key, ["a"])}) != "every workload"


def test_fix_tells_nothing_of_fields_that_only_the_api_server_wrote(capsys: pytest.CaptureFixture[str]) -> None:
    manifest = Path(__file__).parent / "demo" / "manifests" / "04-deployment-training.yaml"
    assert main(["check", "--fix", str(manifest)]) == 0
    told = [line.strip() for line in capsys.readouterr().err.splitlines()]
    assert [line for line in told if line.startswith("removed")] == ["removed spec.replicas", "removed spec.selector"]
    assert "set kind: Job" in told


def test_a_digit_as_a_key_of_a_mapping_stays_a_key() -> None:
    root = {"metadata": {"labels": {"1": "x", "a/b~c": "y"}}, "items": [{"a": 1}]}
    assert path_in(root, "/metadata/labels/1") == ("metadata", "labels", "1")
    assert path_in(root, "/metadata/labels/a~1b~0c") == ("metadata", "labels", "a/b~c")
    assert path_in(root, "/items/0/a") == ("items", 0, "a")
    assert path_in(root, "/items/-") == ("items", "-")


VALUE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                (
                    *("labels", "annotations", "name", "namespace", "template", "spec", "jobTemplate", "replicatedJobs"),
                    *("containers", "initContainers", "args", "command", "env", "resources", "limits", "requests"),
                    *("nvidia.com/gpu", "nodeSelector", "tolerations", "affinity", "volumes", "volumeMounts", "metadata"),
                )
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=25,
)
KIND = st.sampled_from(("v1 Pod", "batch/v1 Job", "batch/v1 CronJob", "apps/v1 Deployment", "jobset.x-k8s.io/v1alpha2 JobSet"))


@settings(deadline=None)  # the first run imports the commands
@given(KIND, VALUE, VALUE)
def test_no_manifest_makes_check_or_inspect_fail(kind: str, metadata: Any, spec: Any) -> None:
    version, name = kind.split()
    text = json.dumps({"apiVersion": version, "kind": name, "metadata": metadata, "spec": spec})
    for words in (("check", "-", *POLICIES), ("check", "-", *POLICIES, "-o", "json"), ("inspect", "-", "-o", "json")):
        out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
            patched.setattr(sys, "stdout", out)
            patched.setattr(sys, "stderr", err)
            assert main(words) in (0, 1)
        assert b"fault of Signalbox" not in out.buffer.getvalue() + err.buffer.getvalue()  # type: ignore[attr-defined]


def test_a_full_disk_is_one_line(capfd: pytest.CaptureFixture[str]) -> None:
    with open("/dev/full", "w", encoding="utf-8") as full:
        ended = subprocess.run([*PROGRAM, "policies", "list"], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (2, "signalbox: cannot write the output: No space left on device\n")


def test_a_pipe_that_lies_about_in_a_folder_is_passed_by(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.yaml")
    (tmp_path / "job.yaml").write_text("apiVersion: batch/v1\nkind: Job\nmetadata: {name: x}\n")
    ended = subprocess.run([*PROGRAM, "check", str(tmp_path)], capture_output=True, text=True, check=False, timeout=30)
    assert ended.returncode == 0, ended.stderr
