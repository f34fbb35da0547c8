"""Policies as objects: one order with files, and what a write of one is answered."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from signalbox.cli.lint import command as lint
from signalbox.configuration import LoadedSetup, SetupFiles, load_setup_files
from signalbox.message import LIMIT
from signalbox.policy.documents import API_VERSION
from signalbox.policy_objects import object_bytes, with_objects
from signalbox.policy_writes import judge_policy_write
from signalbox.review import JsonObject, Operation, Request, Response
from signalbox.source import read_documents

from .policy_samples import exception, files, lab_kind, policy, signs

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
FILE = """\
apiVersion: policy.workload.ai/v1alpha1
kind: WorkloadPolicy
metadata: {name: base}
spec:
  rules:
    - {name: few, cel: workload.pods <= 9, message: too many Pods, mode: warn}
"""


def load(*objects: JsonObject, beside: SetupFiles | None = None) -> LoadedSetup:
    return load_setup_files(with_objects(beside or files(FILE), objects), now=NOW)


def problems(loaded: LoadedSetup) -> list[str]:
    return [str(problem) for problem in loaded.problems]


def write(
    operation: Operation, obj: JsonObject, *there: JsonObject, old: JsonObject | None = None, beside: SetupFiles | None = None
) -> Response:
    new = None if operation == "DELETE" else obj
    old = obj if operation == "DELETE" else old
    asked = Request("u", operation, "policy.workload.ai", "v1alpha1", obj["kind"], object=new, old_object=old)
    return judge_policy_write(with_objects(beside or files(FILE), there), asked, NOW)


# The order of files and objects


def test_an_object_counts_like_a_file() -> None:
    loaded = load(policy(), exception())
    assert problems(loaded) == []
    assert [one.name for one in loaded.setup.policies.policies] == ["base", "research"]
    assert [one.name for one in loaded.setup.policies.exceptions] == ["legacy"]


def test_what_the_api_server_adds_and_the_status_have_no_say() -> None:
    bare = {"kind": "WorkloadPolicy", "metadata": {"name": "research"}, "spec": policy()["spec"]}
    full = {**policy(), "status": {"loaded": False, "problems": ["x"]}}
    full["metadata"] |= {"resourceVersion": "7", "labels": {"a": "b"}, "managedFields": [{"manager": "kubectl"}]}
    assert object_bytes(bare) == object_bytes(full)


def test_objects_come_in_one_order_whoever_lists_them() -> None:
    some = [policy("b"), exception("z", "b/small"), policy("a"), signs("s", "x", "training"), policy("a.b")]
    read = with_objects(files(FILE), some)
    assert read == with_objects(files(FILE), reversed(some))
    assert [one.path for one in read.objects] == [
        "PolicyException z",
        "WorkloadPolicy a",
        "WorkloadPolicy a.b",
        "WorkloadPolicy b",
        "WorkloadSigns s",
    ]


def test_objects_replace_those_that_were_there() -> None:
    assert with_objects(with_objects(files(FILE), [policy("a")]), [policy("b")]) == with_objects(files(FILE), [policy("b")])


def test_an_object_that_names_what_a_file_has_is_left_out_and_says_so() -> None:
    loaded = load(policy("base"))
    assert problems(loaded) == [
        "WorkloadPolicy base:4:9: metadata.name: WorkloadPolicy/base is defined at policies/all.yaml:1 already"
    ]
    assert [rule.name for one in loaded.setup.policies.policies for rule in one.rules] == ["few"]
    assert loaded.left_out == ("WorkloadPolicy base",)


@pytest.mark.parametrize("obj", [exception("x", "base/few"), signs("x", "spell", "training"), lab_kind("x")])
def test_that_holds_for_every_kind(obj: JsonObject) -> None:
    in_file = files(FILE, json.dumps({**obj, "metadata": {"name": "x"}}) + "\n")
    assert problems(load(beside=in_file)) == []
    (problem,) = problems(load(obj, beside=in_file))
    assert problem.endswith(f"metadata.name: {obj['kind']}/x is defined at policies/all.yaml:8 already")


def test_signs_of_objects_are_read_after_those_of_every_file() -> None:
    """Where two speak of the same word the later one wins, so objects win over files given with --signs as well."""
    of_files = files(FILE)
    given = files(json.dumps({**signs("mine", "spell", "training"), "metadata": {"name": "mine"}}), name="signs.yaml")
    loaded = load(signs("theirs", "spell", "evaluation"), beside=SetupFiles(of_files.policies, given.policies))
    assert loaded.signs == ("mine", "theirs")
    assert loaded.setup.signs.types.commands["spell"].says == "evaluation"


def test_a_kind_of_an_object_may_be_named_by_a_policy_in_a_file() -> None:
    text = FILE.replace("  rules:", "  match: {kinds: [LabRun.lab.example.com]}\n  rules:")
    assert "unknown kind" in problems(load(beside=files(text)))[0]
    assert problems(load(lab_kind(), beside=files(text))) == []


def test_precedence_then_name_decide_injection_whether_file_or_object() -> None:
    text = FILE.replace("  rules:", "  precedence: 5\n  rules:")
    names = [
        one.name
        for one in load(policy("z", precedence=1), policy("a", precedence=5), beside=files(text)).setup.policies.policies
    ]
    assert names == ["z", "a", "base"]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(st.text(), below, max_size=3),
)


@given(JSON, st.dictionaries(st.text(), JSON, max_size=2))
def test_whatever_an_object_holds_is_read_as_it_is(spec: Any, more: dict[str, Any]) -> None:
    rest = {key: value for key, value in more.items() if key not in ("apiVersion", "kind", "metadata", "spec", "status")}
    obj = {**rest, "apiVersion": API_VERSION, "kind": "WorkloadPolicy", "metadata": {"name": "x"}, "spec": spec}
    (file,) = object_bytes(obj).files
    (document,) = read_documents(file.data, file.name)
    assert document.value == obj


@settings(max_examples=40)
@given(JSON)
def test_no_object_stops_the_others(metadata: Any) -> None:
    loaded = load({"kind": "WorkloadPolicy", "metadata": metadata, "spec": metadata}, policy("after"))
    assert loaded.errors
    assert "after" in [one.name for one in loaded.setup.policies.policies]


def test_an_object_nested_a_thousand_levels_deep_is_a_problem_and_no_crash() -> None:
    deep: Any = {}
    for _ in range(1000):
        deep = {"not": deep}
    assert problems(load(policy(match=deep)))[0] == "WorkloadPolicy research: nested deeper than 190 levels"


# A write of an object


def test_a_bad_object_is_refused_with_the_text_that_lint_prints(tmp_path: Path) -> None:
    bad = policy(precedance=1, mode="enforced")
    bad["spec"]["rules"].append({"name": "big", "check": "chekpoint", "mode": "audit"})
    (tmp_path / "base.yaml").write_text(FILE)
    (tmp_path / "research.yaml").write_bytes(object_bytes(bad).files[0].data)
    printed = CliRunner().invoke(lint, [str(tmp_path)]).stdout
    refused = write("CREATE", bad)
    assert (refused.allowed, refused.code) == (False, 403)
    head, _, *lines = refused.message.splitlines()
    assert head == "3 problems with WorkloadPolicy research"
    assert "\n".join(line.strip() for line in lines) + "\n" == printed.replace(
        f"{tmp_path}/research.yaml", "WorkloadPolicy research"
    )
    assert 'did you mean "precedence"?' in refused.message


def test_a_good_object_is_let_in() -> None:
    assert write("CREATE", policy()) == Response("u")
    assert write("UPDATE", policy(mode="audit"), policy(), old=policy()) == Response("u")
    assert write("DELETE", policy(), policy()) == Response("u")


def test_what_is_no_policy_of_ours_is_let_in() -> None:
    asked = Request("u", "CREATE", "batch", "v1", "Job", object={"spec": None})
    assert judge_policy_write(files(FILE), asked, NOW) == Response("u")
    assert judge_policy_write(
        files(FILE), Request("u", "DELETE", "policy.workload.ai", "v1alpha1", "WorkloadPolicy"), NOW
    ).allowed


def test_an_object_that_a_file_has_already_is_refused() -> None:
    assert "WorkloadPolicy/base is defined at policies/all.yaml:1 already" in write("CREATE", policy("base")).message


def test_an_exception_to_a_rule_that_is_not_there_is_refused() -> None:
    assert "no rule is named 'research/small'" in write("CREATE", exception()).message
    assert write("CREATE", exception(), policy()).allowed
    assert write("CREATE", exception("legacy", "base/few")).allowed


def test_a_policy_is_not_deleted_from_under_an_exception() -> None:
    refused = write("DELETE", policy(), policy(), exception())
    assert refused.message.splitlines()[0] == "without WorkloadPolicy research there would be 1 problem"
    assert refused.message.splitlines()[2:] == [
        "  PolicyException legacy:12:5: spec.rules[0]: no rule is named 'research/small'"
    ]
    assert write("DELETE", exception(), policy(), exception()).allowed


def test_nor_a_rule_taken_out_of_it() -> None:
    refused = write("UPDATE", policy(rule="large"), policy(), exception(), old=policy())
    assert "PolicyException legacy:12:5: spec.rules[0]: no rule is named 'research/small'" in refused.message


def test_nor_a_kind_from_under_a_policy() -> None:
    of_lab = policy(match={"kinds": ["LabRun.lab.example.com"]})
    assert "unknown kind 'LabRun.lab.example.com'" in write("CREATE", of_lab).message
    assert "unknown kind 'LabRun.lab.example.com'" in write("DELETE", lab_kind(), lab_kind(), of_lab).message


def test_nobody_is_blamed_for_what_was_wrong_before() -> None:
    broken, in_file = policy("broken", mode="enforced"), files(FILE, "kind: WorkloadPolicy\n")
    assert write("CREATE", policy(), broken, exception("lost", "nowhere/at-all"), beside=in_file) == Response("u")
    assert write("DELETE", policy(), policy(), broken, beside=in_file).allowed


def test_an_object_with_two_faults_may_be_mended_one_at_a_time() -> None:
    both = policy(mode="enforced", precedance=1)
    one, other = policy(precedance=1), policy(mode="enforcd", precedance=1)
    assert write("UPDATE", one, both, old=both).allowed
    refused = write("UPDATE", other, both, old=both)
    assert refused.message.splitlines()[0] == "1 problem with WorkloadPolicy research"
    assert "enforcd" in refused.message


def test_a_rule_put_before_a_faulty_one_does_not_make_the_fault_a_new_one() -> None:
    old = policy(mode="enforced")
    new = policy()
    new["spec"]["rules"] = [{**policy()["spec"]["rules"][0], "name": "first"}, *old["spec"]["rules"]]
    assert write("UPDATE", new, old, old=old).allowed
    twice = policy()
    twice["spec"]["rules"] = [*old["spec"]["rules"], {**old["spec"]["rules"][0], "name": "second"}]
    assert write("UPDATE", twice, old, old=old).message.splitlines()[0] == "1 problem with WorkloadPolicy research"


def test_another_guess_at_what_was_meant_is_no_new_fault() -> None:
    """Without the policy lint would guess differently at the exception's mistake: that is not the policy's fault."""
    there = [policy(), exception("typo", "research/smal")]
    assert "did you mean" in problems(load(*there))[0]
    assert write("DELETE", policy(), *there).allowed


def test_the_api_server_is_believed_about_what_was_there() -> None:
    """The watch may be behind: then the object that is changed is not known here yet, or still is."""
    broken = policy(mode="enforced")
    assert write("UPDATE", broken, old=broken).allowed
    assert write("CREATE", policy(), broken).allowed
    assert not write("CREATE", broken, broken).allowed


def test_an_exception_that_has_ended_is_let_in_with_a_warning() -> None:
    answer = write("CREATE", exception(until="2026-05-31"), policy())
    assert answer.allowed
    (warning,) = answer.warnings
    assert warning.startswith("PolicyException legacy:13:10: warning: spec.until: this exception ended on 2026-05-31")


def test_a_name_still_to_be_made_is_no_fault() -> None:
    unnamed = policy()
    unnamed["metadata"] = {"generateName": "research-"}
    assert write("CREATE", unnamed).allowed


def test_a_refusal_stays_short_and_printable() -> None:
    bad = policy("a\x1b[31m\nb")
    bad["spec"] |= {f"key{number}\x1b": number for number in range(500)}
    message = write("CREATE", bad).message
    assert len(message.encode()) < LIMIT
    assert message.replace("\n", "").isprintable()
    assert message.splitlines()[-1].endswith("more, which signalbox lint shows")


@settings(max_examples=40)
@given(JSON, JSON, st.sampled_from(["CREATE", "UPDATE", "DELETE"]))
def test_any_json_is_answered(spec: Any, metadata: Any, operation: Operation) -> None:
    obj = {"kind": "WorkloadPolicy", "metadata": metadata, "spec": spec}
    assert isinstance(write(operation, obj, policy(), exception(), old=obj), Response)
