"""Manifests as people have them: files, folders, lists, templates that are not rendered, and things that are none."""

import io
import sys
from pathlib import Path

import pytest

from signalbox.manifests import Manifests, read_manifests

JOB = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: %s}\n"


def read(tmp_path: Path, text: str) -> Manifests:
    file = tmp_path / "m.yaml"
    file.write_text(text)
    return read_manifests([str(file)])


def names(read: Manifests) -> list[object]:
    return [manifest.value["metadata"]["name"] for manifest in read.objects]


def test_what_helm_prints(tmp_path: Path) -> None:
    found = read(tmp_path, f"---\n# Source: a/b.yaml\n{JOB % 'a'}---\n# Source: a/c.yaml\n---\n{JOB % 'b'}")
    assert names(found) == ["a", "b"]
    assert [manifest.index for manifest in found.objects] == [0, 1]
    assert [manifest.document.line for manifest in found.objects] == [3, 9]
    assert found.problems == ()


def test_what_began_in_the_group_extensions_is_read_as_what_it_became(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        "apiVersion: extensions/v1beta1\nkind: Deployment\nmetadata: {name: a}\n"
        "---\napiVersion: extensions/v1beta1\nkind: Ingress\nmetadata: {name: b}\n",
    )
    assert [manifest.group for manifest in found.objects] == ["apps", "extensions"]


def test_json(tmp_path: Path) -> None:
    assert names(read(tmp_path, '{"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "a"}}')) == ["a"]


def test_the_items_of_a_list_are_objects_of_their_own(tmp_path: Path) -> None:
    items = "".join("- " + (JOB % name).rstrip("\n").replace("\n", "\n  ") + "\n" for name in "abc")
    found = read(tmp_path, f"apiVersion: v1\nkind: List\nitems:\n{items}---\n{JOB % 'd'}")
    assert names(found) == ["a", "b", "c", "d"]
    assert [manifest.index for manifest in found.objects] == [0, 1, 2, 3]
    assert found.objects[1].document.line == 7


def test_the_items_of_the_apis_own_lists_have_its_kind(tmp_path: Path) -> None:
    found = read(tmp_path, "apiVersion: v1\nkind: PodList\nitems: [{metadata: {name: a}}]\n")
    assert [(manifest.group, manifest.version, manifest.kind) for manifest in found.objects] == [("", "v1", "Pod")]


@pytest.mark.parametrize("text", ["a: b\n  c: d\n", "a: b: c\n"])
def test_a_key_where_none_can_stand_says_what_it_may_come_from(tmp_path: Path, text: str) -> None:
    (problem,) = read(tmp_path, text).problems
    assert "indented too deep" in problem.message


def test_lists_in_lists_without_end_are_a_problem(tmp_path: Path) -> None:
    text = "{kind: List, items: [" * 20 + "]}" * 20
    assert "nested" in read(tmp_path, text).problems[0].message


@pytest.mark.parametrize(
    ("text", "what"), [("- a\n", "a list"), ("words\n", "text"), ("7\n", "a number"), ("true\n", "true or")]
)
def test_a_document_that_is_no_mapping_is_a_problem(tmp_path: Path, text: str, what: str) -> None:
    found = read(tmp_path, f"{JOB % 'a'}---\n{text}")
    assert names(found) == ["a"]
    assert what in found.problems[0].message
    assert found.problems[0].line == 5


def test_a_template_that_is_not_rendered_is_a_problem_and_the_rest_is_read(tmp_path: Path) -> None:
    unquoted, branch, shell = JOB % "{{ .Values.name }}", "{{- if .Values.x }}\n" + JOB % "b", JOB % '"${NAME}"'
    found = read(tmp_path, "---\n".join((unquoted, branch, shell)))
    assert names(found) == ["${NAME}"]
    assert [problem.line for problem in found.problems] == [3, 5]
    assert all("template" in problem.message for problem in found.problems)


def test_a_folder_is_read_in_order_without_hidden_files(tmp_path: Path) -> None:
    for name in ("b.yaml", "a.yml", "sub/c.json", ".hidden.yaml", ".git/d.yaml", "notes.md"):
        file = tmp_path / name
        file.parent.mkdir(exist_ok=True)
        file.write_text("{kind: Job, metadata: {name: " + file.stem + "}}")
    assert names(read_manifests([str(tmp_path)])) == ["a", "b", "c"]


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO((JOB % "a").encode())))
    found = read_manifests(["-"])
    assert names(found) == ["a"]
    assert found.objects[0].file == "-"


def test_what_cannot_be_opened_does_not_end_the_reading(tmp_path: Path) -> None:
    file = tmp_path / "m.yaml"
    file.write_text(JOB % "a")
    found = read_manifests([str(tmp_path / "nowhere.yaml"), str(file)])
    assert names(found) == ["a"]
    assert [str(problem) for problem in found.problems] == [f"{tmp_path}/nowhere.yaml: there is no such file or folder"]
