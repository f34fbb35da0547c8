"""What is read is what kubectl would send: the right-hand sides were printed by kubectl 1.32 for the left-hand ones."""

import json
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signalbox.manifests import read_manifests
from signalbox.source import SourceError, SourceProblem, read_documents, read_documents_leniently

# (as written behind "a: ", as kubectl sends it)
SCALARS: list[tuple[str, Any]] = [
    ("2024-01-31", "2024-01-31"),
    ("2024-01-31T00:00:00Z", "2024-01-31T00:00:00Z"),
    ("1:30", "1:30"),
    ("190:20:30", "190:20:30"),
    ("yes", True),
    ("Yes", True),
    ("YES", True),
    ("yEs", "yEs"),
    ("no", False),
    ("No", False),
    ("NO", False),
    ("on", True),
    ("On", True),
    ("ON", True),
    ("off", False),
    ("Off", False),
    ("OFF", False),
    ("oFF", "oFF"),
    ("y", True),
    ("Y", True),
    ("n", False),
    ("N", False),
    ("true", True),
    ("True", True),
    ("TRUE", True),
    ("tRue", "tRue"),
    ("false", False),
    ("False", False),
    ("FALSE", False),
    ("0755", 493),
    ("0o755", 493),
    ("0O17", 15),
    ("0o8", "0o8"),
    ("0899", 899),
    ("00", 0),
    ("0", 0),
    ("-0", 0),
    ("-017", -15),
    ("-0o17", -15),
    ("0x1F", 31),
    ("0X1f", 31),
    ("-0x1F", -31),
    ("+0x1F", 31),
    ("0x1_F", 31),
    ("0x_", "0x_"),
    ("0x", "0x"),
    ("0x1p3", "0x1p3"),
    ("0b101", 5),
    ("0B11", 3),
    ("-0b11", -3),
    ("0b102", "0b102"),
    ("0b", "0b"),
    ("1_000", 1000),
    ("_1", "_1"),
    ("1__0", 10),
    ("1_", 1),
    ("0_", 0),
    ("0_7", 7),
    ("+12", 12),
    ("-12", -12),
    ("--1", "--1"),
    ("+-1", "+-1"),
    ("1e3", 1000),
    ("1E3", 1000),
    ("1e+3", 1000),
    ("1e-3", 0.001),
    ("1.", 1),
    (".5", 0.5),
    ("-.5", -0.5),
    ("+.5", 0.5),
    ("._5", "._5"),
    ("1_0.5", 10.5),
    ("1._5", 1.5),
    ("1.5e", "1.5e"),
    ("1e", "1e"),
    ("e1", "e1"),
    ("1.e3", 1000),
    ("0e0", 0),
    ("12e03", 12000),
    ("1e400", "1e400"),
    ("0.1e-7", 1e-08),
    ("1.0", 1),
    ("-0.0", 0),
    ("1e20", 100000000000000000000),
    ("1e21", 1e21),
    ("18446744073709551615", 18446744073709552000),
    ("18446744073709551616", 18446744073709552000),
    ("9223372036854775807", 9223372036854775807),
    ("9223372036854775808", 9223372036854776000),
    ("-9223372036854775808", -9223372036854775808),
    ("-9223372036854775809", -9223372036854776000),
    ("0x7fffffffffffffff", 9223372036854775807),
    ("0x8000000000000000", 9223372036854776000),
    ("0xffffffffffffffff", 18446744073709552000),
    ("0x10000000000000000", "0x10000000000000000"),
    ("99999999999999999999999999", 1e26),
    ("~", None),
    ("null", None),
    ("Null", None),
    ("NULL", None),
    ("nULL", "nULL"),
    ('""', ""),
    ('"yes"', "yes"),
    ("'1'", "1"),
    ("inf", "inf"),
    ("nan", "nan"),
    ("NaN", "NaN"),
    (".", "."),
    ("+", "+"),
    ("=", "="),
    ("<<", "<<"),
    ("!!str 123", "123"),
    ("!!str yes", "yes"),
    ('!!int "12"', 12),
    ("!!float 1", 1),
    ('!!float "0x10"', 16),
    ("!!bool yes", True),
    ('!!null ""', None),
    ("!!binary aGVsbG8=", "hello"),
    ("!!timestamp 2024-01-01", "2024-01-01"),
    ("!foo 1", "1"),
    ("2001:db8::1", "2001:db8::1"),
    ("1.2.3", "1.2.3"),
    ("1,000", "1,000"),
    ("0.5m", "0.5m"),
    ("500m", "500m"),
    ("1k", "1k"),
    ("1e0", 1),
    ("2.0", 2),
    ("v1", "v1"),
    ("-1.5e-7", -1.5e-07),
    ("123456789.123", 123456789.123),
    ("0.1", 0.1),
    ("1e-7", 1e-07),
    ("4096Mi", "4096Mi"),
]

REFUSED_SCALARS = [
    "@@",
    ".inf",
    "-.inf",
    "+.INF",
    ".nan",
    ".NaN",
    "!!int x",
    "!!int 1.5",
    "!!bool 1",
    "!!float .inf",
    '!!binary "#"',
    "!!null x",
]

# (a mapping as written, its keys as kubectl sends them)
KEYS = [
    ("1: x", ["1"]),
    ("1.5: x", ["1.5"]),
    ("1.0: x", ["1"]),
    ("1e3: x", ["1000"]),
    ("1e6: x", ["1e+06"]),
    ("1e21: x", ["1e+21"]),
    ("123456789.5: x", ["1.2345679e+08"]),
    ("1e-7: x", ["1e-07"]),
    ("-0.0: x", ["-0"]),
    ("1e100: x", [".inf"]),
    ("-1: x", ["-1"]),
    ("0x10: x", ["16"]),
    ("010: x", ["8"]),
    ("yes: x", ["true"]),
    ("off: x", ["false"]),
    ("2024-01-01: x", ["2024-01-01"]),
    ("1:1: x", ["1:1"]),
    ("? a\n: b", ["a"]),
    ("!!str 1: a", ["1"]),
    ('"<<": x', ["<<"]),
]

MERGES: list[tuple[str, Any]] = [
    ("b: &x {a: 1}\n<<: *x\nc: 2", {"a": 1, "b": {"a": 1}, "c": 2}),
    ("b: &x {a: 1}\nc: {<<: *x, a: 3}", {"b": {"a": 1}, "c": {"a": 3}}),
    # go-yaml v2 merges in place: what stands before the << is overwritten.
    ("b: &x {a: 1}\nd: {a: 4, <<: *x}", {"b": {"a": 1}, "d": {"a": 1}}),
    ("b: &x {a: 1}\ne: &y {a: 2, z: 1}\nc: {<<: [*x, *y]}", {"b": {"a": 1}, "e": {"a": 2, "z": 1}, "c": {"a": 1, "z": 1}}),
    ('c: {"<<": {a: 1}}', {"c": {"<<": {"a": 1}}}),
]

# (text, where, a part of the message)
REFUSED = [
    ("a: 1\na: 2\n", (2, 1), "'a' stands here twice"),
    ("a: {b: 1, b: 2}\n", (1, 11), "'b' stands here twice"),
    ('yes: 1\n"true": 2\n', (2, 1), "'true' stands here twice"),
    ("a:\n\tb: 1\n", (2, 1), "a tab stands where YAML wants spaces"),
    ("a:\n  - b\n\t- c\n", (3, 1), "tab"),
    ("a: [1, 2\n", (2, 1), "did not find expected"),
    ("a: \x1b[31m\n", (1, 4), "control characters are not allowed (U+001B)"),
    ("a: *nope\n", (1, 4), "undefined alias"),
    ("a: &x [*x]\n", (1, 4), "contains itself"),
    ("a: .nan\n", (1, 4), "no value in JSON"),
    ("null: 1\n", (1, 1), "cannot be a key"),
    ("18446744073709551615: 1\n", (1, 1), "cannot be a key"),
    ("[a]: 1\n", (1, 1), "cannot be a key"),
    ("c: {<<: 3}\n", (1, 9), "<< merges a mapping"),
    ("a: {{ .Values.gpus }}\n", (1, 5), "template"),
    ("a: 1\n...\nb: 2\n", (3, 1), "kubectl would ignore it"),
    ("a: 1\n--- {b: 2}\n", (2, 1), "put it on the next line"),
    ("\n--- {b: 2}\n", (2, 1), "put it on the next line"),
    ("---b: 2\n", (1, 1), "put it on the next line"),
    ('{"a": 1, "e": "\\ud83d\\ude00", "a": 2}', (1, 1), "'a' stands twice"),
    ('{"e": "\\ud83d\\ude00", "a": NaN}', (1, 1), "no value in JSON"),
]


def value(text: str) -> Any:
    return read_documents(text, "f.yaml")[0].value


@pytest.mark.parametrize(("written", "sent"), SCALARS)
def test_scalar_is_what_kubectl_sends(written: str, sent: Any) -> None:
    read = value(f"a: {written}\n")["a"]
    if isinstance(sent, int) and not isinstance(sent, bool) and abs(sent) >= 2**53:
        # kubectl prints the shortest digits of the same float.
        assert float(read) == float(sent)
    else:
        assert (type(read), read) == (type(sent), sent)


@pytest.mark.parametrize("written", REFUSED_SCALARS)
def test_scalar_that_kubectl_refuses_is_refused(written: str) -> None:
    with pytest.raises(SourceError):
        read_documents(f"a: {written}\n", "f.yaml")


@pytest.mark.parametrize(("written", "keys"), KEYS)
def test_keys_are_the_strings_that_kubectl_sends(written: str, keys: list[str]) -> None:
    assert list(value(f"{written}\n")) == keys


@pytest.mark.parametrize(("written", "sent"), MERGES)
def test_merge_keys_are_merged_as_kubectl_does(written: str, sent: Any) -> None:
    assert value(written) == sent


@pytest.mark.parametrize(("text", "where", "message"), REFUSED)
def test_refused_text_is_named_with_its_place(text: str, where: tuple[int, int], message: str) -> None:
    with pytest.raises(SourceError) as caught:
        read_documents(text, "f.yaml")
    (problem,) = caught.value.problems
    assert message in problem.message
    assert (problem.line, problem.column) == where
    assert str(problem).startswith(f"f.yaml:{where[0]}:{where[1]}: ")


def test_billion_laughs_is_refused_quickly() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10)]
    started = time.process_time()
    with pytest.raises(SourceError, match="aliases make more than"):
        read_documents("\n".join(lines), "f.yaml")
    assert time.process_time() - started < 2


def test_merged_laughs_are_refused_too() -> None:
    lines = ["a0: &a0 {k: [x, x, x, x, x, x, x, x, x, x]}"]
    lines += [f"a{n}: &a{n} {{{', '.join(f'k{i}: *a{n - 1}' for i in range(10))}}}" for n in range(1, 10)]
    with pytest.raises(SourceError, match="aliases make more than"):
        read_documents("\n".join([*lines, "<<: *a9"]), "f.yaml")


def test_anchors_may_be_used_and_each_use_is_a_value_of_its_own() -> None:
    read = value("a: &x {b: [1]}\nc: *x\nd: *x\n")
    assert read["c"] == read["d"] == {"b": [1]}
    assert read["c"] is not read["d"]


@pytest.mark.parametrize(
    "deep", ["[" * 10_000 + "]" * 10_000, "- " * 10_000 + "a", "{a: " * 300 + "1" + "}" * 300, "[" * 201 + "]" * 201]
)
def test_document_nested_too_deep_is_refused(deep: str) -> None:
    with pytest.raises(SourceError):
        read_documents(deep, "f.yaml")


def test_json_nested_too_deep_is_refused() -> None:
    text = '{"e": "\\ud83d\\ude00", "a": ' + "[" * 300 + "]" * 300 + "}"
    with pytest.raises(SourceError, match="deeper than 200"):
        read_documents(text, "f.json")


def test_documents_are_counted_with_their_lines_and_empty_ones_dropped() -> None:
    documents = read_documents("---\n# nothing\n---\na: 1\n--- # next\n\nb: 2\n---\n", "f.yaml")
    assert [(document.value, document.index, document.line) for document in documents] == [({"a": 1}, 0, 4), ({"b": 2}, 1, 7)]


def test_windows_line_ends_and_byte_order_marks_are_read() -> None:
    assert [document.value for document in read_documents(b"\xef\xbb\xbfa: 1\r\n---\r\nb: 2\r\n", "f")] == [{"a": 1}, {"b": 2}]
    assert value("\ufeffa: 1") == {"a": 1}
    assert read_documents("a: ü\n".encode("utf-16"), "f")[0].value == {"a": "ü"}


def test_latin_1_is_named_with_its_place() -> None:
    with pytest.raises(SourceError) as caught:
        read_documents("a: 1\nname: Müller\n".encode("latin-1"), "f.yaml")
    assert str(caught.value).startswith("f.yaml:2:8: not UTF-8: byte 0xfc")


def test_one_broken_document_does_not_lose_the_others() -> None:
    documents, problems = read_documents_leniently("a: 1\n---\nb: [\n---\nc: 3\n", "f.yaml")
    assert [document.value for document in documents] == [{"a": 1}, {"c": 3}]
    assert [problem.line for problem in problems] == [4]


def test_all_broken_documents_are_named_at_once() -> None:
    with pytest.raises(SourceError) as caught:
        read_documents("a: [\n---\nb: 1\nb: 2\n", "f.yaml")
    assert [problem.line for problem in caught.value.problems] == [2, 4]


def test_json_is_read_as_kubectl_reads_it() -> None:
    documents = read_documents('{"a": "\\ud83d\\ude00",\n\t"b": 1e3, "c": 1.0}\n{"d": 2}', "f.json")
    assert [document.value for document in documents] == [{"a": "\U0001f600", "b": 1000, "c": 1}, {"d": 2}]
    assert value('{"a": "\\ud83d", "b": 1}') == {"a": "\ufffd", "b": 1}


def test_empty_input_has_no_documents() -> None:
    assert read_documents("", "f") == read_documents(b"# only a comment\n", "f") == []


def test_scalars_and_lists_are_documents_as_well() -> None:
    assert [document.value for document in read_documents("just text\n---\n[1]\n", "f")] == ["just text", [1]]


POSITIONS = """\
kind: A
spec:
  rules:
    - name: one
      when: {spot: [no]}
    - name: two
---
b:   5
"""


def test_values_and_keys_have_positions_and_what_is_missing_that_of_its_parent() -> None:
    first, second = read_documents(POSITIONS, "f.yaml")

    def at(*path: str | int, key: bool = False) -> tuple[int, int]:
        found = first.position(path, key)
        return found.line, found.column

    assert at("spec", "rules", 1, "name") == (6, 13)
    assert at("spec", "rules", 1, "name", key=True) == (6, 7)
    assert at("spec", "rules", 0, "when", "spot", 0) == (5, 21)
    assert at("spec", "rules", 0, "mode") == (4, 7)
    assert at("spec", "rules", 7) == (4, 5)
    assert at() == (1, 1)
    found = second.position(("b",))
    assert (found.line, found.column) == (8, 6)


def test_part_of_a_list_knows_its_place() -> None:
    (document,) = read_documents("kind: List\nitems:\n  - kind: A\n    x: 1\n", "f.yaml")
    part = document.part(("items", 0))
    assert part.value == {"kind": "A", "x": 1}
    assert part.line == 3
    assert part.position(("x",)).line == 4


def test_input_beyond_the_limit_is_refused() -> None:
    documents, problems = read_documents_leniently(b" " * (32 * 1024 * 1024 + 1), "f")
    assert not documents
    assert problems == (SourceProblem("f", 1, 1, "larger than 32 MiB"),)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=20,
    )
)
def test_json_that_python_writes_comes_back(data: Any) -> None:
    documents = read_documents(json.dumps({"data": data}), "f.json")
    assert documents[0].value == {"data": data}


@given(st.text(max_size=200) | st.binary(max_size=200))
def test_no_text_makes_the_loader_fall_over(text: str | bytes) -> None:
    read_documents_leniently(text, "f.yaml")


@pytest.mark.parametrize("opening", ["{", "[", "[{", '{"a":'])
def test_brackets_that_are_opened_for_ever_are_refused_at_once(opening: str) -> None:
    started = time.process_time()
    assert read_documents_leniently(opening * 200_000, "f.yaml")[1]
    assert time.process_time() - started < 5


@pytest.mark.parametrize(
    ("path", "text", "line"),
    [
        (("args",), "b.py", 3),
        (("args",), "-m b.py", 3),
        (("args",), "not there", 1),
        (("script",), "train.py", 9),
        (("script",), "# train.py", 7),
        (("script",), "--out=/filled/in", 9),
        (("folded",), "train.py", 10),
        (("gone",), "train.py", 1),
    ],
)
def test_text_is_found_in_the_member_or_the_line_that_holds_it(path: tuple[str, ...], text: str, line: int) -> None:
    source = "args:\n  - a\n  - b.py\nother: 1\nx: 2\nscript: |\n  # train.py\n\n  python train.py --out=$OUT\n"
    source += "folded: >\n  python\n  train.py\n"
    (document,) = read_documents(source, "job.yaml")
    assert document.position_of(path, text).line == line


def test_of_a_key_that_stands_twice_the_last_one_counts_as_it_does_for_kubectl(tmp_path: Path) -> None:
    file = tmp_path / "job.yaml"
    file.write_text("kind: Job\nmetadata: {name: a}\nmetadata: {name: b}\n")
    read = read_manifests([str(file)], last_counts=True)
    assert [one.value["metadata"]["name"] for one in read.objects] == ["b"]
    assert [str(one) for one in read.warnings] == [f"{file}:3:1: key 'metadata' stands here twice: the last one counts"]
    assert read.problems == ()


def test_a_policy_with_a_key_that_stands_twice_is_not_guessed_at(tmp_path: Path) -> None:
    file = tmp_path / "policy.yaml"
    file.write_text("kind: WorkloadPolicy\nspec: {}\nspec: {}\n---\nkind: Other\n")
    read = read_manifests([str(file)])
    assert [one.kind for one in read.objects] == ["Other"]
    assert [str(one) for one in read.problems] == [f"{file}:3:1: key 'spec' stands here twice"]
