"""Every patch applies with somebody else's RFC 6902 library, and leads to the object that was built."""

import copy
from typing import Any

import jsonpatch
import pytest
from hypothesis import given
from hypothesis import strategies as st

from signalbox.patch import PatchRecorder, pointer

KEYS = st.sampled_from(["metadata", "labels", "a/b", "x~y", "spec", "list", ""])
SCALARS = st.none() | st.booleans() | st.integers(-3, 3) | st.text(max_size=3)
JSON = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4), max_leaves=12
)
OBJECTS = st.dictionaries(KEYS, JSON, max_size=5)
PATHS = st.lists(KEYS | st.integers(0, 3), min_size=1, max_size=4).map(tuple)
WRITES = st.lists(st.tuples(st.sampled_from(["set", "append", "remove"]), PATHS, JSON), max_size=8)


def write(recorder: PatchRecorder, verb: str, path: Any, value: Any) -> bool:
    if verb == "set":
        return recorder.set(path, value)
    return recorder.append(path, value) if verb == "append" else recorder.remove(path)


@given(OBJECTS, WRITES)
def test_any_sequence_of_writes_gives_a_patch_that_applies(obj: Any, writes: Any) -> None:
    before = copy.deepcopy(obj)
    recorder = PatchRecorder(obj)
    for verb, path, value in writes:
        write(recorder, verb, path, value)
    operations = copy.deepcopy(recorder.operations)
    assert jsonpatch.apply_patch(before, operations) == recorder.object
    assert obj == before, "the object handed in was changed"


@given(OBJECTS, PATHS, JSON)
def test_a_write_that_is_refused_leaves_no_trace(obj: Any, path: Any, value: Any) -> None:
    recorder = PatchRecorder(obj)
    if not recorder.set(path, value):
        assert recorder.operations == []
        assert recorder.object == obj


@pytest.mark.parametrize("metadata", [{}, {"annotations": None}, None])
def test_a_missing_or_null_map_is_created_as_a_map(metadata: Any) -> None:
    """kubernetes#90623: adding below a map that is null failed, creating it as the string "{}" failed too."""
    recorder = PatchRecorder({"metadata": metadata})
    assert recorder.set(("metadata", "annotations", "foo"), "bar")
    assert jsonpatch.apply_patch({"metadata": metadata}, recorder.operations) == {"metadata": {"annotations": {"foo": "bar"}}}


def test_a_present_map_keeps_its_other_keys_and_the_slash_is_escaped() -> None:
    """open-policy-agent/library#25: an unescaped slash lost the new annotation and the old ones."""
    obj = {"metadata": {"labels": {"team": "a"}}}
    recorder = PatchRecorder(obj)
    recorder.set(("metadata", "labels", "workload.ai/type"), "training")
    assert recorder.operations == [{"op": "add", "path": "/metadata/labels/workload.ai~1type", "value": "training"}]
    assert recorder.object["metadata"]["labels"] == {"team": "a", "workload.ai/type": "training"}


def test_appending_to_a_list_that_does_not_exist_creates_it() -> None:
    """kyverno#1340: `add …/tolerations/-` on a missing list is refused by the API server."""
    recorder = PatchRecorder({"spec": {}})
    recorder.append(("spec", "tolerations"), {"key": "a"})
    recorder.append(("spec", "tolerations"), {"key": "b"})
    assert recorder.operations == [
        {"op": "add", "path": "/spec/tolerations", "value": [{"key": "a"}]},
        {"op": "add", "path": "/spec/tolerations/-", "value": {"key": "b"}},
    ]


def test_a_parent_of_another_shape_is_left_alone() -> None:
    recorder = PatchRecorder({"metadata": "x", "spec": {"tolerations": {"a": 1}}})
    assert not recorder.set(("metadata", "labels", "a"), "b")
    assert not recorder.append(("spec", "tolerations"), {})
    assert recorder.operations == []


def test_tilde_is_escaped_before_slash() -> None:
    assert pointer(("a~b/c", 0)) == "/a~0b~1c/0"


def test_a_null_list_member_is_replaced_not_pushed_aside() -> None:
    recorder = PatchRecorder({"a": [None, 1]})
    assert recorder.set(("a", 0, "b"), 2)
    assert jsonpatch.apply_patch({"a": [None, 1]}, recorder.operations) == recorder.object == {"a": [{"b": 2}, 1]}


@given(OBJECTS, st.lists(st.tuples(PATHS, st.dictionaries(KEYS, JSON, max_size=3)), max_size=4))
def test_merging_keys_gives_a_patch_that_applies(obj: Any, merges: Any) -> None:
    recorder = PatchRecorder(obj)
    for path, values in merges:
        recorder.merge(path, values)
    assert jsonpatch.apply_patch(copy.deepcopy(obj), copy.deepcopy(recorder.operations)) == recorder.object
