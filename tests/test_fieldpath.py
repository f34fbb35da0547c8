"""Field paths: what people read is what a fix can be applied by."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signalbox.fieldpath import FieldPathError, format_path, parse_path, resolve_path, value_at

JOB = {
    "metadata": {"labels": {"kueue.x-k8s.io/queue-name": "q"}},
    "spec": {"containers": [{"name": "proxy"}, {"name": "trainer", "args": ["a"]}]},
}


def test_list_members_are_shown_by_name() -> None:
    assert format_path(("spec", "containers", 1, "args"), JOB) == "spec.containers[trainer].args"


def test_keys_with_a_slash_stand_in_brackets() -> None:
    assert format_path(("metadata", "labels", "kueue.x-k8s.io/queue-name")) == "metadata.labels[kueue.x-k8s.io/queue-name]"


def test_a_written_path_finds_the_member_by_name_or_index() -> None:
    path = resolve_path(parse_path("spec.containers[trainer].args"), JOB)
    assert path == ("spec", "containers", 1, "args")
    assert value_at(JOB, path) == ["a"]
    assert resolve_path(parse_path("spec.containers[0].image"), JOB) == ("spec", "containers", 0, "image")


@pytest.mark.parametrize("text", ["", ".", "a..b", "a[b", "a]b", "a b", "[]", '["a', '["a"', 'a["\\x"]'])
def test_what_is_no_path_says_so(text: str) -> None:
    with pytest.raises(FieldPathError):
        parse_path(text)


def test_a_member_that_is_not_there_says_so() -> None:
    with pytest.raises(FieldPathError, match=r"no member named 'x' at spec\.containers"):
        resolve_path(parse_path("spec.containers[x].image"), JOB)


@given(st.lists(st.from_regex(r"[A-Za-z][A-Za-z0-9-]{0,5}|[a-z.]{1,5}/[a-z-]{1,9}", fullmatch=True), min_size=1, max_size=5))
def test_formatting_and_parsing_are_inverse(steps: list[str]) -> None:
    assert parse_path(format_path(tuple(steps))) == tuple(steps)


def test_a_key_with_a_bracket_is_quoted() -> None:
    assert format_path(("spec", "roles", "[0]", "n")) == 'spec.roles["[0]"].n'


@given(st.lists(st.text(max_size=5) | st.sampled_from(["[0]", '"', "a]", ""]), min_size=1, max_size=4))
def test_any_key_there_is_can_be_written_and_read(steps: list[str]) -> None:
    assert parse_path(format_path(tuple(steps))) == tuple(steps)
