"""Whether a workload is what a policy speaks of: true, false, or unknown.

Unknown (None) is what the view has not been told: the labels of a namespace, the user where a scan asks. ``not`` and
``any`` follow Kleene: unknown or true is true, unknown and false is false. A matcher is built once; it holds a test for
each key that is written, the cheapest first, and asks for no judgement that the answer does not need.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from signalbox.cluster.view import UNKNOWN, UnknownType
from signalbox.policy.globs import compile_globs
from signalbox.policy.label_selector import label_tests
from signalbox.policy.match_document import (
    AcceleratorsDocument,
    LabelSelector,
    MatchDocument,
    PriorityDocument,
    Range,
    kinds_named,
)
from signalbox.policy.subject import Subject
from signalbox.policy.workload_value import NONE, unknown_number, unknown_priority

Answer = bool | None
Test = Callable[[Subject], Answer]
Explain = Callable[[Subject], tuple[str, ...]]

_POD = ("", "Pod")
_NAMESPACE_NAME = "kubernetes.io/metadata.name"
_USER = "the user who asks"


@dataclass(frozen=True, slots=True)
class Term:
    """One key of a match: its test, the keys it reads, and the words for what was unknown when the test said so."""

    key: str
    test: Test
    explain: Explain
    reads: frozenset[str] = field(default=frozenset())


@dataclass(frozen=True, slots=True)
class Matcher:
    """A compiled match. ``reads`` names every key it reads, nested ones too."""

    terms: tuple[Term, ...]
    reads: frozenset[str]
    _tests: tuple[Test, ...]
    _namespaces: Callable[[str], bool] | None = None

    def may_match_in(self, namespace: str) -> bool:
        """Whether anything in that namespace can match: what is no business of a namespace is sorted out once for it."""
        return self._namespaces is None or self._namespaces(namespace)

    def __call__(self, subject: Subject) -> Answer:
        """Whether all keys hold; None where that is unknown."""
        answer: Answer = True
        for test in self._tests:
            one = test(subject)
            if one is False:
                return False
            if one is None:
                answer = None
        return answer

    def unknowns(self, subject: Subject) -> tuple[str, ...]:
        """What the view did not know, in words, where the answer was None."""
        words: dict[str, None] = {}
        for term in self.terms:
            if term.test(subject) is None:
                words.update(dict.fromkeys(term.explain(subject)))
        return tuple(words)


def compile_match(document: MatchDocument) -> Matcher:
    """The matcher of a document. A document without a key matches everything."""
    terms = tuple(compiler(value) for name, compiler in _COMPILERS.items() if (value := getattr(document, name)) is not None)
    reads = frozenset().union(*(term.reads or {term.key} for term in terms)) if terms else frozenset()
    namespaces = None if document.namespaces is None else compile_globs(document.namespaces)
    return Matcher(terms, reads, tuple(term.test for term in terms), namespaces)


def _known(subject: Subject) -> tuple[str, ...]:
    return ()


def _text_term(key: str, text: Callable[[Subject], str]) -> Callable[[list[str]], Term]:
    def compiler(patterns: list[str]) -> Term:
        fits = compile_globs(patterns)
        return Term(key, lambda subject: fits(text(subject)), _known)

    return compiler


def _word_term(key: str, word: Callable[[Subject], str | None]) -> Callable[[list[str]], Term]:
    def compiler(words: list[str]) -> Term:
        wanted = frozenset(words)
        return Term(key, lambda subject: word(subject) in wanted, _known)

    return compiler


def _flag_term(key: str, flag: Callable[[Subject], bool]) -> Callable[[bool], Term]:
    return lambda wanted: Term(key, lambda subject: flag(subject) is wanted, _known)


def _kinds(names: list[str]) -> Term:
    wanted = frozenset(key for name in names for key in kinds_named(name))

    def test(subject: Subject) -> Answer:
        view = subject.view
        key = (view.kind.group, view.kind.kind)
        if key not in wanted:
            return False
        # What a controller made of a workload we judge is judged there. An ownerReference alone proves nothing.
        return not (key == _POD and subject.made_by_controller)

    return Term("kinds", test, _known)


def _users(patterns: list[str]) -> Term:
    fits = compile_globs(patterns)

    def test(subject: Subject) -> Answer:
        user = subject.request.user
        return None if user is None else fits(user.username)

    return Term("users", test, lambda subject: (_USER,))


def _groups(patterns: list[str]) -> Term:
    fits = compile_globs(patterns)

    def test(subject: Subject) -> Answer:
        user = subject.request.user
        return None if user is None else any(fits(group) for group in user.groups)

    return Term("groups", test, lambda subject: (_USER,))


def _labels(selector: LabelSelector) -> Term:
    wanted = tuple(test for _, test in label_tests(selector))
    return Term("labels", lambda subject: all(test(subject.view.labels) for test in wanted), _known)


def _queues(patterns: list[str]) -> Term:
    fits = compile_globs(patterns)

    def test(subject: Subject) -> Answer:
        view = subject.view
        # A queue named anywhere in the object counts; "no queue" is a matter of the place that counts.
        return any(map(fits, view.queues)) or (not view.queue and fits(""))

    return Term("queues", test, _known)


def _namespace_selector(selector: LabelSelector) -> Term:
    requirements = label_tests(selector)

    def test(subject: Subject) -> Answer:
        view = subject.view
        labels: Mapping[str, str] | UnknownType = view.cluster.namespace_labels(view.namespace)
        if labels is not UNKNOWN:
            return all(one(labels) for _, one in requirements)
        # The API server puts this one label on every namespace, so it is known without asking.
        known = {_NAMESPACE_NAME: view.namespace}
        if not all(one(known) for key, one in requirements if key == _NAMESPACE_NAME):
            return False
        return True if all(key == _NAMESPACE_NAME for key, _ in requirements) else None

    return Term("namespaceSelector", test, lambda subject: (f"the labels of namespace {subject.view.namespace}",))


def _priority(wanted: PriorityDocument) -> Term:
    below, at_least, unset = wanted.below, wanted.atLeast, wanted.unset

    def test(subject: Subject) -> Answer:
        priority = subject.view.priority
        if priority.state == "unknown":
            # What is known bounds it from above: it may be lower still, so only "below" can be certain.
            if priority.value is None or unset:
                return None
            if at_least is not None and priority.value < at_least:
                return False
            return True if at_least is None and below is not None and priority.value < below else None
        if priority.value is None:
            return unset is True
        if unset:
            return False
        return (below is None or priority.value < below) and (at_least is None or priority.value >= at_least)

    return Term("priority", test, lambda subject: (unknown_priority(subject.view),))


def _range(wanted: Range | None) -> Callable[[int | Fraction, bool], Answer]:
    if wanted is None:
        return lambda count, placeholder: True
    low, high = _exact(wanted.min), _exact(wanted.max)

    def test(count: int | Fraction, placeholder: bool) -> Answer:
        if high is not None and count > high:
            return False
        if not placeholder:
            return low is None or count >= low
        # What is written counts already, and a placeholder stands for one at the least.
        enough = low is None or max(count, 1) >= low
        return True if enough and high is None else None

    return test


def _exact(bound: float | None) -> int | Fraction | None:
    """A bound as it was written; whole ones compare faster as integers."""
    if bound is None:
        return None
    return int(bound) if bound == int(bound) else Fraction(str(bound))


def _accelerators(wanted: AcceleratorsDocument) -> Term:
    total, per_pod = _range(wanted.total), _range(wanted.perPod)
    vendors = None if wanted.vendors is None else compile_globs(wanted.vendors)
    resources = None if wanted.resources is None else compile_globs(wanted.resources)

    def test(subject: Subject) -> Answer:
        found = subject.view.accelerators
        # A placeholder's resource is not counted, so whether it is of that vendor is not known.
        other: Answer = None if found.placeholder else False
        answers = (
            total(found.total, found.placeholder),
            per_pod(found.per_pod, found.placeholder),
            vendors is None or any(map(vendors, found.vendors)) or other,
            resources is None or any(map(resources, found.resources)) or other,
        )
        if False in answers:
            return False
        return None if None in answers else True

    return Term("accelerators", test, lambda subject: (unknown_number(subject.view),))


def _not(document: MatchDocument) -> Term:
    inner = compile_match(document)

    def test(subject: Subject) -> Answer:
        answer = inner(subject)
        return None if answer is None else not answer

    return Term("not", test, inner.unknowns, inner.reads | {"not"})


def _any(documents: list[MatchDocument]) -> Term:
    inner = tuple(compile_match(document) for document in documents)

    def test(subject: Subject) -> Answer:
        answer: Answer = False
        for matcher in inner:
            one = matcher(subject)
            if one:
                return True
            if one is None:
                answer = None
        return answer

    def explain(subject: Subject) -> tuple[str, ...]:
        return tuple(words for matcher in inner for words in matcher.unknowns(subject))

    reads = frozenset({"any"}).union(*(matcher.reads for matcher in inner))
    return Term("any", test, explain, reads)


# In the order of what a test costs: names and the request first, then what is counted, then what is judged.
_COMPILERS: dict[str, Callable[[Any], Term]] = {
    "kinds": _kinds,
    "operations": _word_term("operations", lambda subject: subject.request.operation),
    "namespaces": _text_term("namespaces", lambda subject: subject.view.namespace),
    "names": _text_term("names", lambda subject: subject.view.name),
    "queues": _queues,
    "users": _users,
    "groups": _groups,
    "labels": _labels,
    "namespaceSelector": _namespace_selector,
    "accelerators": _accelerators,
    "priority": _priority,
    "spot": _word_term("spot", lambda subject: subject.view.spot.state),
    "distributed": _flag_term("distributed", lambda subject: subject.view.distributed),
    "trains": _flag_term("trains", lambda subject: subject.view.trains),
    "types": _word_term("types", lambda subject: subject.view.type.state or NONE),
    "frameworks": _text_term("frameworks", lambda subject: subject.view.framework.state or NONE),
    "checkpoint": _word_term("checkpoint", lambda subject: subject.view.checkpoint.state),
    "resume": _word_term("resume", lambda subject: subject.view.resume.state),
    "any": _any,
    "not_": _not,
}
