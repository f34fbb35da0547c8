"""The match vocabulary, key by key; what is unknown; and how keys combine."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from signalbox.policy.match import compile_match
from signalbox.policy.match_document import MatchDocument
from signalbox.review import UserInfo
from signalbox.workload.judgement import Judgement
from signalbox.workload.kinds.table import KINDS
from signalbox.workload.priority import Priority
from signalbox.workload.view import Owner
from tests.fake_view import KnownNamespaces, gpus, matcher, subject
from tests.policy_samples import MATCH_KEYS

POD = KINDS["", "Pod"]
CRON_JOB = KINDS["batch", "CronJob"]
JOB_SET = KINDS["jobset.x-k8s.io", "JobSet"]
ANN = UserInfo("ann@example.com", ("ml-platform", "system:authenticated"))
KNOWN = KnownNamespaces({"team-research": {"team": "research", "tier": "gold"}, "bare": {}})

# (match, the workload, the answer)
TABLE: list[tuple[str, dict[str, Any], bool | None]] = [
    ("namespaces: [team-research]", {}, True),
    ("namespaces: ['team-*']", {}, True),
    ("namespaces: [other, 'prod-*']", {}, False),
    ("namespaces: ['*']", {}, True),
    ("namespaces: [Team-Research]", {}, False),
    ("namespaceSelector: {team: research}", {"cluster": KNOWN}, True),
    ("namespaceSelector: {matchLabels: {team: research}}", {"cluster": KNOWN}, True),
    ("namespaceSelector: {team: research}", {"cluster": KNOWN, "namespace": "bare"}, False),
    ("namespaceSelector: {team: research}", {}, None),
    ("namespaceSelector: {kubernetes.io/metadata.name: team-research}", {}, True),
    ("namespaceSelector: {kubernetes.io/metadata.name: other, team: research}", {}, False),
    ("namespaceSelector: {kubernetes.io/metadata.name: team-research, team: research}", {}, None),
    ("kinds: [Job]", {}, True),
    ("kinds: [Job.batch]", {}, True),
    ("kinds: [JobSet]", {}, False),
    ("kinds: [JobSet]", {"kind": JOB_SET}, True),
    ("kinds: [CronJob, JobSet.jobset.x-k8s.io]", {"kind": JOB_SET}, True),
    ("kinds: [Pod]", {"kind": POD}, True),
    ("kinds: [Pod]", {"kind": POD, "owner": Owner("batch", "Job", "x")}, True),
    ("kinds: [Pod]", {"kind": POD, "owner": Owner("batch.volcano.sh", "Job", "x")}, True),
    ("not: {kinds: [CronJob]}", {"kind": CRON_JOB}, False),
    ("names: ['llama-*']", {}, True),
    ("names: [nightly]", {}, False),
    ("labels: {team: research}", {"labels": {"team": "research"}}, True),
    ("labels: {team: research}", {"labels": {"team": "serving"}}, False),
    ("labels: {team: '5'}", {"labels": {"team": 5}}, False),
    ("labels: {matchExpressions: [{key: team, operator: In, values: [a, b]}]}", {"labels": {"team": "b"}}, True),
    ("labels: {matchExpressions: [{key: team, operator: In, values: [a, b]}]}", {"labels": {"team": ["b"]}}, False),
    ("labels: {matchExpressions: [{key: team, operator: NotIn, values: [a]}]}", {}, True),
    ("labels: {matchExpressions: [{key: team, operator: NotIn, values: [a]}]}", {"labels": {"team": "a"}}, False),
    ("labels: {matchExpressions: [{key: team, operator: Exists}]}", {"labels": {"team": 5}}, True),
    ("labels: {matchExpressions: [{key: team, operator: DoesNotExist}]}", {"labels": {"team": "a"}}, False),
    ("resume: [unsaid, starts-over]", {}, True),
    ("resume: [resumes]", {}, False),
    ("resume: [resumes]", {"resume": Judgement("resumes")}, True),
    ("types: [training, none]", {}, True),
    ("types: [training]", {"type": Judgement("training")}, True),
    ("types: [inference]", {}, False),
    ("trains: true", {"trains": True}, True),
    ("trains: false", {"trains": True}, False),
    ("distributed: true", {"distributed": True}, True),
    ("distributed: true", {}, False),
    ("frameworks: ['py*']", {"framework": Judgement("pytorch")}, True),
    ("frameworks: [none]", {}, True),
    ("frameworks: [jax]", {}, False),
    ("accelerators: {total: {min: 1}}", {"accelerators": gpus(8)}, True),
    ("accelerators: {total: {min: 1}}", {}, False),
    ("accelerators: {total: {min: 1, max: 8}}", {"accelerators": gpus(9)}, False),
    ("accelerators: {total: {max: 0}}", {}, True),
    ("accelerators: {perPod: {min: 8}}", {"accelerators": gpus(16, per_pod=8)}, True),
    ("accelerators: {perPod: {max: 7}}", {"accelerators": gpus(16, per_pod=8)}, False),
    ("accelerators: {total: {min: 0.5}}", {"accelerators": gpus("0.5")}, True),
    ("accelerators: {total: {max: 0.1}}", {"accelerators": gpus("0.1")}, True),
    ("accelerators: {total: {min: 1}}", {"accelerators": gpus(0, placeholder=True)}, True),
    ("accelerators: {total: {min: 2}}", {"accelerators": gpus(0, placeholder=True)}, None),
    ("accelerators: {total: {max: 2}}", {"accelerators": gpus(1, placeholder=True)}, None),
    ("accelerators: {total: {max: 2}}", {"accelerators": gpus(3, placeholder=True)}, False),
    ("accelerators: {vendors: [nvidia]}", {"accelerators": gpus(1)}, True),
    ("accelerators: {vendors: [amd]}", {"accelerators": gpus(1)}, False),
    ("accelerators: {vendors: [amd]}", {"accelerators": gpus(1, placeholder=True)}, None),
    ("accelerators: {resources: ['nvidia.com/mig-*']}", {"accelerators": gpus(1, resource="nvidia.com/mig-1g.5gb")}, True),
    ("accelerators: {resources: ['nvidia.com/mig-*']}", {"accelerators": gpus(1)}, False),
    ("queues: ['train*']", {"queue": "training-large"}, True),
    ("queues: [other]", {"queue": "training-large"}, False),
    ("queues: ['*']", {}, False),
    ("queues: ['']", {}, True),
    ("queues: ['', 'a*']", {"queue": "b"}, False),
    ("spot: [demanded, preferred]", {"spot": Judgement("preferred")}, True),
    ("spot: [demanded]", {}, False),
    ("checkpoint: [durable]", {"checkpoint": Judgement("durable")}, True),
    ("checkpoint: [durable]", {"checkpoint": Judgement("unknown")}, False),
    ("priority: {below: 100}", {"priority": Priority("known", 99)}, True),
    ("priority: {below: 100}", {"priority": Priority("known", 100)}, False),
    ("priority: {atLeast: 100}", {"priority": Priority("known", 100)}, True),
    ("priority: {atLeast: 100, below: 200}", {"priority": Priority("known", 200)}, False),
    ("priority: {below: 100}", {}, False),
    ("priority: {atLeast: -5}", {}, False),
    ("priority: {unset: true}", {}, True),
    ("priority: {unset: true}", {"priority": Priority("known", 0)}, False),
    ("priority: {unset: false}", {"priority": Priority("known", 0)}, True),
    ("priority: {unset: false}", {}, False),
    ("priority: {below: 100}", {"priority": Priority("unknown", class_name="x")}, None),
    ("priority: {unset: true}", {"priority": Priority("unknown")}, None),
    ("users: ['*@example.com']", {"user": ANN}, True),
    ("users: [bob]", {"user": ANN}, False),
    ("users: [bob]", {}, None),
    ("groups: ['ml-*']", {"user": ANN}, True),
    ("groups: [admins]", {"user": ANN}, False),
    ("groups: [admins]", {"user": UserInfo()}, False),
    ("groups: ['*']", {}, None),
    ("operations: [UPDATE]", {"operation": "UPDATE"}, True),
    ("operations: [UPDATE]", {}, False),
    ("any: [{trains: true}, {namespaces: ['team-*']}]", {}, True),
    ("any: [{trains: true}, {namespaces: [other]}]", {}, False),
    ("{}", {}, True),
    # Keys are ANDed; false settles it, whatever is unknown.
    ("{namespaces: ['team-*'], trains: true}", {"trains": True}, True),
    ("{namespaces: ['team-*'], trains: true}", {}, False),
    ("{users: [bob], trains: true}", {"trains": True}, None),
    ("{users: [bob], trains: true}", {}, False),
    ("any: [{users: [bob]}, {trains: true}]", {"trains": True}, True),
    ("any: [{users: [bob]}, {trains: true}]", {}, None),
    ("not: {users: [bob]}", {}, None),
    ("not: {users: [bob], trains: true}", {}, True),
    ("not: {any: [{users: [bob]}, {trains: false}]}", {}, False),
]


@pytest.mark.parametrize(("text", "workload", "answer"), TABLE)
def test_workload_matches(text: str, workload: dict[str, Any], answer: bool | None) -> None:
    assert matcher(text)(subject(**workload)) is answer


def test_every_key_of_the_vocabulary_is_in_the_table() -> None:
    text = "\n".join(row[0] for row in TABLE)
    assert [key for key in MATCH_KEYS if f"{key}:" not in text] == []


# (match, the workload, the words for what was not known)
UNKNOWN_WORDS: list[tuple[str, dict[str, Any], tuple[str, ...]]] = [
    ("namespaceSelector: {team: a}", {}, ("the labels of namespace team-research",)),
    ("{users: [bob], groups: [admins]}", {}, ("the user who asks",)),
    (
        "priority: {below: 5}",
        {"priority": Priority("unknown", class_name="train-low")},
        ("the value of PriorityClass train-low",),
    ),
    ("priority: {below: 5}", {"priority": Priority("unknown")}, ("whether there is a default PriorityClass",)),
    (
        "any: [{users: [bob]}, {trains: true}, {namespaceSelector: {team: a}}]",
        {},
        ("the user who asks", "the labels of namespace team-research"),
    ),
    ("not: {users: [bob]}", {}, ("the user who asks",)),
]


@pytest.mark.parametrize(("text", "workload", "words"), UNKNOWN_WORDS)
def test_what_was_not_known_is_said_in_words(text: str, workload: dict[str, Any], words: tuple[str, ...]) -> None:
    assert matcher(text).unknowns(subject(**workload)) == words


def test_nested_keys_are_among_those_read() -> None:
    assert matcher("{trains: true, any: [{queues: [a]}, {not: {priority: {below: 1}}}]}").reads == {
        "trains",
        "any",
        "queues",
        "not",
        "priority",
    }


class Unasked:
    """A view of which only the namespace may be asked."""

    namespace = "other"


def test_cheap_key_that_fails_leaves_the_judgements_unasked() -> None:
    asked = subject()
    object.__setattr__(asked, "view", Unasked())
    assert matcher("{trains: true, checkpoint: [none], namespaces: [team-a], types: [training]}")(asked) is False


REFUSED = [
    "namespaces: []",
    "namespaces: ['']",
    "namespaces: ['^team-.*$']",
    "namespaces: ['team-[ab']",
    "namespaces: team-a",
    "kinds: [Jobb]",
    "kinds: [Job.batch.example.io]",
    "types: [Training]",
    "spot: [maybe]",
    "checkpoint: [sometimes]",
    "operations: [PATCH]",
    "accelerators: {}",
    "accelerators: {total: {}}",
    "accelerators: {total: {min: 3, max: 2}}",
    "accelerators: {total: {min: -1}}",
    "accelerators: {total: {min: '1'}}",
    "priority: {}",
    "priority: {below: 1, unset: true}",
    "priority: {below: 1, atLeast: 1}",
    "priority: {below: true}",
    "labels: {}",
    "labels: {team: 5}",
    "labels: {matchExpressions: [{key: a, operator: in, values: [b]}]}",
    "labels: {matchExpressions: [{key: a, operator: In}]}",
    "labels: {matchExpressions: [{key: a, operator: Exists, values: [b]}]}",
    "labels: {matchLabels: {a: b}, team: c}",
    "trains: 'true'",
    "any: []",
    "any: [{}]",
    "not: {}",
    "namespace: [a]",
]


@pytest.mark.parametrize("text", REFUSED)
def test_match_that_cannot_be_meant_is_refused(text: str) -> None:
    with pytest.raises(ValidationError):
        matcher(text)


# Kleene logic: an answer is a match that gives it.
LEAVES: dict[bool | None, dict[str, Any]] = {True: {"trains": False}, False: {"trains": True}, None: {"users": ["bob"]}}


def kleene(tree: Any) -> bool | None:
    """The truth of a tree of ("not", tree), ("any", trees), ("all", trees) and leaves."""
    if not isinstance(tree, tuple):
        return tree  # type: ignore[no-any-return]
    word, inner = tree
    if word == "not":
        answer = kleene(inner)
        return None if answer is None else not answer
    answers = [kleene(one) for one in inner]
    settles = word == "any"
    return settles if settles in answers else None if None in answers else not settles


def document(tree: Any) -> dict[str, Any]:
    if not isinstance(tree, tuple):
        return LEAVES[tree]
    word, inner = tree
    if word == "not":
        return {"not": document(inner)}
    if word == "any":
        return {"any": [document(one) for one in inner]}
    # De Morgan: the vocabulary has no "all" for two matches of the same key.
    return {"not": {"any": [{"not": document(one)} for one in inner]}}


TREES = st.recursive(
    st.sampled_from([True, False, None]),
    lambda inner: (
        st.tuples(st.just("not"), inner) | st.tuples(st.sampled_from(["any", "all"]), st.lists(inner, min_size=1, max_size=3))
    ),
    max_leaves=10,
)


@given(TREES)
def test_not_and_any_follow_three_valued_logic(tree: Any) -> None:
    compiled = compile_match(MatchDocument.model_validate(document(tree)))
    answer = compiled(subject())
    assert answer is kleene(tree)
    assert (answer is not None) or compiled.unknowns(subject()) == ("the user who asks",)
