"""``docs/policies.md`` is true: its tables name the keys there are, and its examples load without a complaint."""

import re
import shutil
from pathlib import Path

import pytest
from pydantic import BaseModel

from signalbox.check.table import PARAMETERS
from signalbox.cli.main import main
from signalbox.policy.documents import InjectDocument, PolicySpec, RuleDocument
from signalbox.policy.expression_syntax import REQUEST_FIELDS
from signalbox.policy.loading import load_policy_set
from signalbox.policy.match_document import MatchDocument
from signalbox.policy.workload_value import WORKLOAD_FIELDS
from signalbox.source import read_documents
from tests.policy_samples import MATCH_KEYS

PAGE = (Path(__file__).parents[1] / "docs" / "policies.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| (.+) \|$", PAGE, re.MULTILINE)
BLOCKS = re.findall(r"^```yaml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
EXAMPLES = [block for block in BLOCKS if "kind: PolicyTest" not in block]
TESTS = [block for block in BLOCKS if "kind: PolicyTest" in block]


def table(first_head: str) -> list[list[str]]:
    """The rows of the table whose first column is headed so."""
    start = next(index for index, row in enumerate(ROWS) if row.startswith(f"{first_head} |"))
    rows = []
    for row in ROWS[start + 2 :]:
        cells = row.split(" | ")
        if not cells[0].startswith("`"):
            break
        rows.append(cells)
    return rows


def keys(model: type[BaseModel]) -> list[str]:
    return [field.alias or name for name, field in model.model_fields.items()]


def test_vocabulary_table_has_every_key_in_the_words_of_the_model() -> None:
    described = [(row[0].strip("`"), row[2]) for row in table("key")]
    fields = {field.alias or name: field.description for name, field in MatchDocument.model_fields.items()}
    assert described == [(key, fields[key]) for key in MATCH_KEYS]


@pytest.mark.parametrize("row", table("key"), ids=lambda row: row[0].strip("`"))
def test_example_of_each_key_is_valid(row: list[str]) -> None:
    (document,) = read_documents(f"{row[0].strip('`')}: {row[1].strip('`')}", "docs/policies.md")
    MatchDocument.model_validate(document.value)


@pytest.mark.parametrize(
    ("head", "model"), [("key of `spec`", PolicySpec), ("key of a rule", RuleDocument), ("key of `inject`", InjectDocument)]
)
def test_tables_have_every_key(head: str, model: type[BaseModel]) -> None:
    assert sorted(row[0].strip("`") for row in table(head)) == sorted(keys(model))


def test_table_of_variables_has_every_field() -> None:
    rows = {row[0]: row[1] for row in table("variable")}
    workload = re.findall(r"`(\w+)`", rows["`workload`"])
    assert sorted(workload) == sorted([*WORKLOAD_FIELDS, *(name for inner in WORKLOAD_FIELDS.values() for name in inner)])
    request = re.findall(r"`(\w+)`", rows["`request`"])
    assert sorted(request) == sorted([*REQUEST_FIELDS, *(name for inner in REQUEST_FIELDS.values() for name in inner)])


def test_examples_load_together_without_a_complaint() -> None:
    documents = read_documents("---\n".join(EXAMPLES), "docs/policies.md")
    loaded = load_policy_set(documents, PARAMETERS)
    assert [str(problem) for problem in loaded.problems] == []
    assert len(loaded.policy_set.policies) == 6
    assert len(loaded.policy_set.exceptions) == 1


def test_the_example_of_a_test_passes_against_the_shipped_policies(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copytree(Path(__file__).parents[1] / "policies" / "tests" / "cluster", tmp_path / "cluster")
    (tmp_path / "test.yaml").write_text("\n---\n".join(TESTS), encoding="utf-8")
    assert main(["test", str(tmp_path / "test.yaml")]) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("1 case passed")
