"""CEL rules and message templates: what lint refuses, what is judged, and what is not."""

import contextlib
import subprocess
import sys
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signalbox.policy.expression import ExpressionError, NotJudged, compile_expression
from signalbox.policy.expression_syntax import FUNCTIONS, MAX_BRACKETS, MAX_TOKENS, InvalidExpressionError
from signalbox.policy.template import TemplateError, compile_template
from signalbox.policy.workload_value import SAMPLE, WORKLOAD_FIELDS, workload_builder
from signalbox.review import UserInfo
from signalbox.workload.judgement import Judgement
from signalbox.workload.priority import Priority
from tests.fake_view import gpus, subject

CONTAINERS = "object.spec.template.spec.containers"

# (expression, line, column, a part of the message)
REFUSED = [
    ("workload.accelerators.totl <= 2", 1, 1, 'did you mean "total"?'),
    ("true && workload.quue == ''", 1, 9, 'did you mean "queue"?'),
    ("workload.queue.length > 1", 1, 1, "workload.queue has no fields"),
    ("workload", 1, 1, "name a field of workload"),
    ("workload['queue'] == ''", 1, 1, "name a field of workload"),
    ("obj.spec.x == 1", 1, 1, "unknown variable 'obj'"),
    ("oldobject == null", 1, 1, 'did you mean "oldObject"?'),
    ("request.user == ''", 1, 1, 'did you mean "userInfo"?'),
    ("request.userInfo.name == ''", 1, 1, 'did you mean "username"?'),
    ("c.image == '' || object.a.all(c, true)", 1, 1, "unknown variable 'c'"),
    ("siz(workload.queue) > 1", 1, 1, 'did you mean "size"?'),
    ("workload.queue.lowerAscii() == ''", 1, 16, "unknown function lowerAscii()"),
    (f"{CONTAINERS}.all(c, c.env.exists(e, e.name == 'X'))", 1, 51, "exists() inside another macro"),
    ("object.a.all(x, object.b[x].map(y, y) == [])", 1, 29, "map() inside another macro"),
    ("object.a.all(x, [object.b][0].exists(y, true))", 1, 31, "exists() inside another macro"),
    ("workload.kind", 1, 1, "the result is text"),
    ("workload.accelerators.total", 1, 1, "the result is a number"),
    ("workload.queue > 3", 1, 1, "types it is not defined for"),
    ("workload.queue.matches('a(')", 1, 1, "not a valid regex"),
    ("workload.accelerators.total <=", 1, 31, "not a CEL expression"),
    ("workload.trains &&\n  workload.spot = 'no'", 2, 17, "cannot read"),
    ("workload.trains; true", 1, 16, "cannot read"),
    ("object.a.exists(1, true)", 1, 17, "not a CEL expression"),
    ("object.a.exists(x)", 1, 10, "takes a name and what is asked of it"),
    ("object.?a.orValue(1) == 1", 1, 7, "not a CEL expression"),
    ("", 1, 1, "not a CEL expression"),
    ("1" + " + 1" * MAX_TOKENS, 1, 2001, "more than 1000"),
    ("(" * 100 + "true" + ")" * 100, 1, MAX_BRACKETS + 1, "nested deeper"),
    ("[" * 100_000, 1, MAX_BRACKETS + 1, "nested deeper"),
]


@pytest.mark.parametrize(("text", "line", "column", "message"), REFUSED)
def test_expression_that_must_not_run_is_refused_with_its_place(text: str, line: int, column: int, message: str) -> None:
    with pytest.raises(InvalidExpressionError) as caught:
        compile_expression(text)
    assert message in caught.value.message
    assert (caught.value.line, caught.value.column) == (line, column)


POD = {
    "metadata": {"labels": {"team": "research"}},
    "spec": {"template": {"spec": {"containers": [{"name": "a", "image": "x:1"}, {"name": "b", "image": "y:latest"}]}}},
}

# (expression, the workload, the answer)
ANSWERS: list[tuple[str, dict[str, Any], bool]] = [
    ("workload.accelerators.total <= 2", {"accelerators": gpus(2)}, True),
    ("workload.accelerators.total <= 2", {"accelerators": gpus(3)}, False),
    ("workload.accelerators.total < 1", {"accelerators": gpus("0.5")}, True),
    ("workload.accelerators.vendors == ['nvidia']", {"accelerators": gpus(1)}, True),
    (
        "workload.accelerators.resources.all(r, ['nvidia.com/', 'amd.com/'].exists(p, r.startsWith(p)))",
        {"accelerators": gpus(1)},
        True,
    ),
    ("workload.kind in ['Job', 'JobSet']", {}, True),
    ("workload.type == 'none' && workload.framework == 'none'", {}, True),
    ("workload.type == 'training'", {"type": Judgement("training")}, True),
    ("workload.queue == '' && workload.spot == 'no' && workload.checkpoint == 'none'", {}, True),
    ("workload.trains || workload.distributed", {}, False),
    ("'team' in workload.labels && workload.labels.team == 'a'", {"labels": {"team": "a"}}, True),
    ("workload.labels['team'] == 'a'", {"labels": {"team": "a"}}, True),
    ("workload.priority.unset || workload.priority.value >= 5", {}, True),
    ("has(workload.priority.value)", {}, False),
    ("workload.priority.value >= 5", {"priority": Priority("known", 5)}, True),
    ("workload.priority.class == 'x'", {"priority": Priority("unknown", class_name="x")}, True),
    ("workload.pods < 4", {"pods": 3}, True),
    (f"{CONTAINERS}.all(c, !c.image.endsWith(':latest'))", {"object": POD}, False),
    (f"{CONTAINERS}.filter(c, c.name == 'a').all(c, c.image == 'x:1')", {"object": POD}, True),
    (f"size({CONTAINERS}) == 2 && object.metadata.labels.team == 'research'", {"object": POD}, True),
    ("has(object.spec.suspend) && object.spec.suspend", {"object": POD}, False),
    ("!has(object.spec.template.spec.volumes)", {"object": POD}, True),
    ("'template' in object.spec && size(object.spec.template.spec) == 1", {"object": POD}, True),
    ("object.spec == object.spec && size(object) == 2", {"object": POD}, True),
    ("oldObject == null", {}, True),
    ("request.operation == 'CREATE' && request.namespace == 'team-research' && !request.dryRun", {}, True),
    ("request.kind.kind == 'Job' && request.kind.group == 'batch'", {}, True),
    ("'admins' in request.userInfo.groups", {"user": UserInfo("ann", ("admins",))}, True),
    ("type(workload.queue) == string", {}, True),
    (r"workload.name.matches(r'^llama-\w+$') // the names we give", {}, True),
    ("'workload.foo' != 'object.all(x, y)'", {}, True),
    ("true", {}, True),
]


@pytest.mark.parametrize(("text", "workload", "answer"), ANSWERS)
def test_expression_is_judged(text: str, workload: dict[str, Any], answer: bool) -> None:
    assert compile_expression(text).evaluate(subject(**workload)) is answer


@pytest.mark.parametrize(
    ("text", "workload", "amount"),
    [
        ("workload.accelerators.total", {"accelerators": gpus(3)}, 3.0),
        ("workload.accelerators.total", {"accelerators": gpus("0.5")}, 0.5),
        ("size(object.spec.template.spec.containers)", {"object": POD}, 2.0),
        ("object.spec.replicas", {"object": POD}, None),
        ("object.metadata.labels.team", {"object": POD}, None),
        ("1.0 / 0.0", {}, None),
    ],
)
def test_an_amount_is_a_number_or_has_no_value(text: str, workload: dict[str, Any], amount: float | None) -> None:
    assert compile_expression(text, number=True).amount(subject(**workload)) == amount


def test_an_amount_that_can_be_no_number_is_refused_before_it_runs() -> None:
    with pytest.raises(InvalidExpressionError, match="a number is expected"):
        compile_expression("workload.trains", number=True)


def test_old_object_is_the_one_given() -> None:
    expression = compile_expression("oldObject == null || object.spec.replicas <= oldObject.spec.replicas")
    asked = subject(object={"spec": {"replicas": 3}})
    assert expression.evaluate(asked) is True
    assert expression.evaluate(asked, {"spec": {"replicas": 2}}) is False


# (expression, the workload, a part of what is said)
WITHOUT_VALUE: list[tuple[str, dict[str, Any], str]] = [
    ("object.spec.replicas > 1", {"object": {"spec": {}}}, "no such key: replicas"),
    ("object.spec.replicas > 1", {"object": {}}, "no such key: spec"),
    ("object.spec.replicas > 1", {"object": {"spec": None}}, "types"),
    ("object.spec.replicas > 1", {"object": {"spec": {"replicas": "2"}}}, "types"),
    ("object.spec.x[0] == 1", {"object": {"spec": {"x": []}}}, "index out of bounds"),
    ("object.spec.x / 0 == 1", {"object": {"spec": {"x": 1}}}, "division by zero"),
    ("object.spec.x", {"object": {"spec": {"x": "yes"}}}, "the result is text"),
    ("object.spec.x.startsWith('a')", {"object": {"spec": {"x": 1}}}, "startsWith() takes other types"),
    ("workload.labels.team == 'a'", {}, "no such key: team"),
    ("workload.priority.value > 1", {}, "no such key: value"),
    ("oldObject.spec.x == 1", {}, "types"),
]


@pytest.mark.parametrize(("text", "workload", "message"), WITHOUT_VALUE)
def test_missing_field_or_other_type_is_an_error_and_no_exception(text: str, workload: dict[str, Any], message: str) -> None:
    answer = compile_expression(text).evaluate(subject(**workload))
    assert isinstance(answer, ExpressionError)
    assert message in answer.text
    assert "\n" not in answer.text


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = {"a": value}
    return value


NOT_JUDGED: list[tuple[str, dict[str, Any], str]] = [
    ("object.list.exists(x, x == 1)", {"object": {"list": list(range(1001))}}, "1001 members"),
    ("object.a == object.a", {"object": {"a": {"deep": {"list": list(range(5000))}}}}, "5000 members"),
    ("object.a == object.a", {"object": {"a": [list(range(999))] * 50}}, "more than 20000 values"),
    ("object.a == object.a", {"object": nested(10_000)}, "nested deeper"),
    ("workload.labels.all(k, k != '')", {"labels": {str(n): "" for n in range(2000)}}, "2000 members"),
    ("workload.accelerators.total <= 2", {"accelerators": gpus(0, placeholder=True)}, "placeholder"),
    ("workload.pods <= 2", {"pods": None}, "placeholder"),
    ("workload.priority.value > 1", {"priority": Priority("unknown", class_name="low")}, "the value of PriorityClass low"),
    ("request.userInfo.username == 'ann'", {}, "the user who asks"),
]


@pytest.mark.parametrize(("text", "workload", "reason"), NOT_JUDGED)
def test_what_is_unknown_or_too_long_is_not_judged(text: str, workload: dict[str, Any], reason: str) -> None:
    answer = compile_expression(text).evaluate(subject(**workload))
    assert isinstance(answer, NotJudged)
    assert reason in answer.reason


def test_only_what_the_expression_names_is_looked_at() -> None:
    huge = {"spec": {"replicas": 1, "list": list(range(100_000))}, "metadata": nested(10_000)}
    assert compile_expression("object.spec.replicas == 1").evaluate(subject(object=huge)) is True


def test_fields_of_the_workload_value_are_those_that_are_documented() -> None:
    value = workload_builder(frozenset((name,) for name in WORKLOAD_FIELDS))(subject(priority=Priority("known", 1)).view)
    assert set(value) == set(WORKLOAD_FIELDS) == set(SAMPLE)
    for name, inner in WORKLOAD_FIELDS.items():
        if inner:
            assert set(value[name]) == set(SAMPLE[name]) == set(inner)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_that_lint_allows_exist_in_the_library(name: str) -> None:
    calls = {
        "size": "size('a') == 1",
        "contains": "'a'.contains('a')",
        "startsWith": "'a'.startsWith('a')",
        "endsWith": "'a'.endsWith('a')",
        "matches": "'a'.matches('a')",
        "int": "int('1') == 1",
        "uint": "uint(1) == 1u",
        "double": "double(1) == 1.0",
        "string": "string(1) == '1'",
        "bytes": "bytes('a') == b'a'",
        "timestamp": "timestamp('2026-01-01T00:00:00Z') == timestamp('2026-01-01T00:00:00Z')",
        "duration": "duration('1h') < duration('2h')",
        "dyn": "dyn(1) == 1",
        "type": "type(1) == int",
    }
    date = "timestamp('2026-01-01T00:00:00Z')"
    text = calls.get(name, f"{date}.{name}() >= 0")
    assert compile_expression(text).evaluate(subject()) is True


@given(st.text(max_size=60) | st.text("workload.object()[]{}'\"&|!=<>, 01xall", max_size=80))
def test_no_text_makes_the_compiler_fall_over(text: str) -> None:
    with contextlib.suppress(InvalidExpressionError):
        compile_expression(text)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda x: st.lists(x) | st.dictionaries(st.text(), x),
    )
)
def test_no_object_makes_an_expression_fall_over(value: Any) -> None:
    expression = compile_expression("object.a.all(x, x.b == 1) && object.a[0] > 1 && object.c == oldObject.c")
    answer = expression.evaluate(subject(object={"a": value, "c": value}), {"c": value})
    assert isinstance(answer, (bool, ExpressionError, NotJudged))


TEMPLATES: list[tuple[str, dict[str, Any], str]] = [
    ("asks for {workload.accelerators.total}.", {"accelerators": gpus(32)}, "asks for 32."),
    ("{workload.accelerators.perPod} per Pod", {"accelerators": gpus("0.5")}, "0.5 per Pod"),
    ("{workload.accelerators.total} GPUs", {"accelerators": gpus(0, placeholder=True)}, "an unknown number GPUs"),
    ("{ workload.kind }/{workload.name}", {}, "Job/llama-sft"),
    ("{workload.type}, {workload.framework}, queue {workload.queue}", {}, "none, none, queue none"),
    ("{workload.accelerators.resources}", {"accelerators": gpus(1)}, "nvidia.com/gpu"),
    ("{workload.trains} {workload.priority.value} {workload.priority.unset}", {}, "false none true"),
    ("{workload.priority.value}", {"priority": Priority("unknown")}, "unknown"),
    ("{workload.labels.team}", {"labels": {"team": "a"}}, "a"),
    ("{workload.labels}", {"labels": {"team": "a", "n": 1}}, "team=a, n=1"),
    ("{{literal}} {{workload.kind}}", {}, "{literal} {workload.kind}"),
    ("no places", {}, "no places"),
]


@pytest.mark.parametrize(("text", "workload", "rendered"), TEMPLATES)
def test_message_is_rendered(text: str, workload: dict[str, Any], rendered: str) -> None:
    assert compile_template(text).render(subject(**workload)) == rendered


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("{workload.totl}", 1),
        ("a {workload.kind.__class__}", 3),
        ("{workload.labels.a.b}", 1),
        ("{object.spec}", 1),
        ("{}", 1),
        ("{0}", 1),
        ("{workload.kind!r}", 1),
        ("{workload.kind:>10}", 1),
        ("{workload.kind", 1),
        ("workload.kind}", 14),
        ("{workload.__class__}", 1),
    ],
)
def test_message_with_an_unknown_place_is_refused(text: str, column: int) -> None:
    with pytest.raises(TemplateError) as caught:
        compile_template(text)
    assert caught.value.column == column


@given(st.text(max_size=50))
def test_no_text_makes_the_template_fall_over(text: str) -> None:
    try:
        rendered = compile_template(text).render(subject())
    except TemplateError:
        return
    assert rendered == text.replace("{{", "{").replace("}}", "}")


@pytest.mark.parametrize(
    "text",
    [
        "object.spec.x.filter(i, i > 0).size() < 5",
        "object.spec.x.map(i, object.spec.x).size() > 0",
        "object.spec.x.map(i, object.spec.s + object.spec.s).size() > 0",
    ],
)
def test_lists_that_an_expression_would_build_are_bounded(text: str) -> None:
    long = subject(object={"spec": {"x": list(range(1000)), "s": "a" * 700_000}})
    answer = compile_expression(text).evaluate(long)
    assert isinstance(answer, NotJudged)
    few = subject(object={"spec": {"x": [1, 2], "s": "a"}})
    assert isinstance(compile_expression(text).evaluate(few), bool)


def test_threads_that_compile_their_first_expression_together_do_no_harm() -> None:
    """The library panics where it is loaded twice; a controller's duties start at the same moment."""
    code = """
from threading import Barrier, Thread
from signalbox.policy.expression import compile_expression
barrier, done = Barrier(8), []
def compile_one():
    barrier.wait()
    done.append(compile_expression("workload.pods <= 2"))
threads = [Thread(target=compile_one) for _ in range(8)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
assert len(done) == 8, len(done)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_panic_of_the_library_is_a_fault_like_any_other() -> None:
    """pyo3 raises it as a BaseException: what catches every Exception, so that no request fails, would not catch it."""

    class Panic(BaseException):
        pass

    class Panicking:
        def execute(self, variables: object) -> object:
            raise Panic("unreachable")

    good = compile_expression("workload.trains")
    bad = replace(good, _program=Panicking())
    with pytest.raises(RuntimeError, match="the CEL library panicked: unreachable"):
        bad.evaluate(subject())
