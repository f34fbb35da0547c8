"""Lint: every fault of a policy folder in one run, with file, line, column, key path and the nearest valid key.

The cases are YAML files whose last lines, marked ``#:``, say what lint must print about the lines above.
"""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signalbox.check.table import PARAMETERS
from signalbox.policy.documents import API_VERSION
from signalbox.policy.loading import LoadedPolicies, load_policy_set
from signalbox.policy.mode import Mode
from signalbox.signs_loading import load_default_signs
from signalbox.source import Document, SourceError, read_documents
from tests.call_count import calls_of

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
LINT = sorted((Path(__file__).parent / "cases" / "lint").glob("*.yaml"))
HEAD = f"apiVersion: {API_VERSION}\nkind: WorkloadPolicy\n"


def load(text: str | bytes, file: str = "p.yaml") -> LoadedPolicies:
    return load_policy_set(read_documents(text, file), PARAMETERS, load_default_signs(), NOW)


def rules(name: str, *lines: str, spec: str = "") -> str:
    return f"{HEAD}metadata: {{name: {name}}}\nspec:\n{spec}  rules:\n" + "".join(f"    - {line}\n" for line in lines)


@pytest.mark.parametrize("case", LINT, ids=lambda path: path.stem)
def test_lint_prints_every_fault_with_its_place(case: Path) -> None:
    text = case.read_text(encoding="utf-8")
    expected = [line.removeprefix("#: ") for line in text.splitlines() if line.startswith("#: ")]
    printed = [str(problem).removeprefix(f"{case.name}:") for problem in load(text, case.name).problems]
    assert printed == expected


def test_everything_of_a_policy_is_compiled() -> None:
    (case,) = (path for path in LINT if path.stem == "good")
    loaded = load(case.read_bytes(), "good.yaml")
    (policy,) = loaded.policy_set.policies
    assert (policy.name, policy.precedence, policy.owner, policy.help) == (
        "research",
        100,
        "platform-team",
        "https://wiki.example/training",
    )
    assert policy.inject is not None
    assert (policy.inject.queue, policy.inject.priority_class_name) == ("training-large", "train-normal")
    assert policy.inject.tolerations == ({"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"},)
    assert policy.inject.termination_grace_period_seconds == 300
    restartable, small = policy.rules
    assert (restartable.id, restartable.check, restartable.mode) == ("research/restartable", "checkpoint", Mode.ENFORCE)
    assert restartable.refuse_on_error
    assert restartable.when is not None
    assert [override.mode for override in restartable.overrides] == [Mode.AUDIT]
    assert small.expression is not None
    assert small.fix is not None
    assert small.fix.edits == ((("metadata", "labels", "kueue.x-k8s.io/queue-name"), None), (("spec", "suspend"), True))
    assert loaded.documents["WorkloadPolicy/research"].line == 2


def test_policies_come_in_the_order_of_precedence_and_name_whatever_the_files() -> None:
    rule = "{name: r, check: checkpoint, mode: warn}"
    texts = [
        rules("z", rule),
        rules("b", rule, spec="  precedence: 5\n"),
        rules("a", rule),
        rules("c", rule, spec="  precedence: 5\n"),
    ]
    loaded = load("\n---\n".join(texts))
    assert [policy.name for policy in loaded.policy_set.policies] == ["b", "c", "a", "z"]
    assert load("\n---\n".join(reversed(texts))).policy_set.digest == loaded.policy_set.digest


def test_digest_changes_with_the_content_and_not_with_comments() -> None:
    one = rules("a", "{name: r, check: checkpoint, mode: warn}")
    assert load(one).policy_set.digest == load(f"# why\n{one}").policy_set.digest
    assert load(one).policy_set.digest != load(one.replace("warn", "audit")).policy_set.digest


def test_bad_documents_are_left_out_and_good_ones_stay() -> None:
    good = rules("good", "{name: r, check: checkpoint, mode: warn}")
    bad = rules("bad", "{name: r, check: checkpoint, mod: warn}")
    loaded = load(f"{bad}---\n{good}---\n{bad}")
    assert [policy.name for policy in loaded.policy_set.policies] == ["good"]
    assert len(loaded.errors) == len(loaded.problems) == 5


def test_name_taken_in_another_file_is_named_with_both_places() -> None:
    text = rules("a", "{name: r, check: checkpoint, mode: warn}")
    documents = [*read_documents(text, "one.yaml"), *read_documents(f"# second\n{text}", "two.yaml")]
    loaded = load_policy_set(documents, PARAMETERS)
    assert [str(problem) for problem in loaded.problems] == [
        "two.yaml:4:18: metadata.name: WorkloadPolicy/a is defined at one.yaml:1 already"
    ]
    assert len(loaded.policy_set.policies) == 1


def test_exception_may_name_a_rule_of_a_broken_policy() -> None:
    exception = (
        f"apiVersion: {API_VERSION}\nkind: PolicyException\nmetadata: {{name: e}}\n"
        "spec: {rules: [bad/r], match: {namespaces: [a]}, until: 2027-01-01, reason: r, approvedBy: o}\n"
    )
    loaded = load(f"{exception}---\n{rules('bad', '{name: r, check: checkpoint, mod: warn}')}")
    assert [str(problem).split(": ")[1] for problem in loaded.problems] == ["spec.rules[0].mode", "spec.rules[0].mod"]
    assert len(loaded.policy_set.exceptions) == 1


def test_days_that_are_over_are_warned_of_only_when_the_time_is_given() -> None:
    text = rules("a", "{name: r, check: checkpoint, mode: warn, overrides: [{mode: audit, until: 2020-01-31}]}")
    assert [problem.severity for problem in load(text).problems] == ["warning"]
    loaded = load_policy_set(read_documents(text, "p.yaml"), PARAMETERS)
    assert not loaded.problems
    assert len(load(text).policy_set.policies) == 1


def test_no_documents_are_an_empty_set() -> None:
    loaded = load("# nothing yet\n")
    assert (loaded.policy_set.policies, loaded.policy_set.exceptions, loaded.problems) == ((), (), ())


@pytest.mark.parametrize("text", [rules("a", "{name: r, check")[:-1], rules("a", "{name: ü}").encode("latin-1")])
def test_half_written_file_and_latin_1_are_refused_with_their_place(text: str | bytes) -> None:
    with pytest.raises(SourceError) as caught:
        load(text)
    assert str(caught.value).startswith("p.yaml:")


def test_a_policy_file_of_many_rules_takes_no_longer_than_there_are_rules() -> None:
    def loading(count: int) -> int:
        lines = [
            f"{{name: r{n}, cel: workload.accelerators.total <= {n}, message: at most {n}, when: {{trains: true}}, mode: warn}}"
            for n in range(count)
        ]
        text = rules("many", *lines)
        found: list[LoadedPolicies] = []
        calls = calls_of(lambda: found.append(load(text)))
        assert not found[0].problems
        assert len(found[0].policy_set.policies[0].rules) == count
        return calls

    # What is worked out once, whatever there is to load, is loaded before.
    loading(1)
    assert loading(1000) <= 2.1 * loading(500)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
SPEC_KEYS = ["description", "precedence", "match", "inject", "rules", "help", "owner"]
RULE_KEYS = ["name", "check", "cel", "message", "fix", "when", "with", "mode", "overrides", "onError"]
MATCH_KEYS = ["namespaces", "labels", "accelerators", "priority", "not", "any", "spot", "kinds"]


@given(
    st.dictionaries(st.sampled_from(SPEC_KEYS), JSON)
    | st.fixed_dictionaries({"rules": st.lists(st.dictionaries(st.sampled_from(RULE_KEYS), JSON), max_size=2)})
    | st.fixed_dictionaries({"match": st.dictionaries(st.sampled_from(MATCH_KEYS), JSON)})
)
def test_no_document_makes_lint_fall_over(spec: Any) -> None:
    value = {"apiVersion": API_VERSION, "kind": "WorkloadPolicy", "metadata": {"name": "a"}, "spec": spec}
    loaded = load_policy_set([Document(value, "p.yaml", 0, 1, None, 0)], PARAMETERS)
    for problem in loaded.problems:
        assert "\n" not in str(problem)
