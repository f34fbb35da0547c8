"""Documents to a policy set: every problem of every document in one run, each with its place.

A document with an error is left out of the set, the others stay: whether such a set may be used is the caller's decision
(the server keeps its last good one).
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any

from pydantic import BaseModel, ValidationError

from signalbox.policy.compile import (
    Checks,
    RuleParts,
    compile_exception,
    compile_policy,
    compile_rule_parts,
    expired_days,
)
from signalbox.policy.documents import API_VERSION, PolicyExceptionDocument, WorkloadPolicyDocument
from signalbox.policy.globs import any_glob
from signalbox.policy.match_document import DECLARED
from signalbox.policy.nearest import nearest
from signalbox.policy.policy_set import Injection, Policy, PolicyException, PolicySet
from signalbox.policy.problem import PolicyProblem, Problems
from signalbox.policy.resources import PLURALS
from signalbox.review import JsonObject
from signalbox.source import Document
from signalbox.workload.kinds.kind import WorkloadKind, mapping, members
from signalbox.workload.kinds.table import KINDS
from signalbox.workload.signs import Signs

Kinds = Mapping[tuple[str, str], WorkloadKind]

_MODELS: dict[str, type[BaseModel]] = {
    "WorkloadPolicy": WorkloadPolicyDocument,
    "PolicyException": PolicyExceptionDocument,
}
# The match keys that look at what the record may hold as ours: a second pass would see another object than the first.
_RECORDED_KEYS = ("queues", "priority")


@dataclass(frozen=True, slots=True)
class LoadedPolicies:
    """``policy_set`` holds what is right; ``documents`` leads from ``WorkloadPolicy/name`` to where it is written."""

    policy_set: PolicySet
    problems: tuple[PolicyProblem, ...]
    documents: Mapping[str, Document]

    @property
    def errors(self) -> tuple[PolicyProblem, ...]:
        """The problems that keep a document out."""
        return tuple(problem for problem in self.problems if problem.severity == "error")


def load_policy_set(
    documents: Sequence[Document],
    checks: Checks,
    signs: Signs | None = None,
    now: datetime | None = None,
    kinds: Kinds = KINDS,
) -> LoadedPolicies:
    """The policy set of these documents.

    ``checks`` gives the parameters' model of each built-in check; ``signs`` says which injected tolerations and node
    selectors are spot signs; with ``now`` exceptions and overrides that are over are warned of; ``kinds`` are those a policy
    may name.
    """
    today = None if now is None else now.astimezone(UTC).date()
    rule_ids = _rule_ids(documents)
    problems: dict[PolicyProblem, None] = {}
    places: dict[str, Document] = {}
    policies: list[Policy] = []
    exceptions: list[PolicyException] = []
    contents: list[str] = []
    for document in documents:
        found = Problems(document)
        compiled = _load(document, checks, signs, kinds, found)
        if mapping(document.value).get("kind") == "PolicyException":
            _check_exception(document.value, rule_ids, found)
        _warn_of_expired(document, compiled, today, found)
        name = _identity(document)
        if name in places:
            first = places[name]
            found.add(("metadata", "name"), f"{name} is defined at {first.file}:{first.line} already")
        elif name:
            places[name] = document
        problems.update(found.found)
        if compiled is None or found.broken:
            continue
        contents.append(json.dumps(document.value, sort_keys=True))
        if isinstance(compiled, Policy):
            policies.append(compiled)
        else:
            exceptions.append(compiled)
    policies.sort(key=lambda policy: (policy.precedence, policy.name))
    exceptions.sort(key=lambda exception: exception.name)
    digest = hashlib.sha256("\n".join(sorted(contents)).encode()).hexdigest()
    policy_set = PolicySet(tuple(policies), tuple(exceptions), digest)
    ordered = sorted(problems, key=lambda problem: (problem.file, problem.line, problem.column))
    return LoadedPolicies(policy_set, tuple(ordered), places)


def _load(
    document: Document, checks: Checks, signs: Signs | None, kinds: Kinds, found: Problems
) -> Policy | PolicyException | None:
    value = document.value
    model = _model(value, found)
    if model is None:
        return None
    found.add_nulls(value, (), lambda path: path[3:5] == ("fix", "set"))
    parts = _rule_parts(value, checks, found) if model is WorkloadPolicyDocument else []
    try:
        validated = model.model_validate(value, context={DECLARED: kinds})
    except ValidationError as error:
        found.add_validation(error, model)
        return None
    if isinstance(validated, PolicyExceptionDocument):
        return compile_exception(validated)
    if not isinstance(validated, WorkloadPolicyDocument):
        return None
    policy = compile_policy(validated, parts)
    _check_injection(policy, signs, found)
    return policy


def _model(value: Any, found: Problems) -> type[BaseModel] | None:
    if not isinstance(value, dict):
        found.add((), "a policy document is a mapping with apiVersion, kind, metadata and spec")
        return None
    version, kind = value.get("apiVersion"), value.get("kind")
    model = _MODELS.get(kind) if isinstance(kind, str) else None
    if model is None:
        shown = "is missing" if kind is None else f"unknown kind {kind!r}{nearest(str(kind), PLURALS)}"
        found.add(("kind",), shown)
    if version != API_VERSION:
        shown = "is missing" if version is None else f"unknown version {version!r}, this is read here: {API_VERSION}"
        found.add(("apiVersion",), shown)
    return model if version == API_VERSION else None


def _rule_parts(value: Any, checks: Checks, found: Problems) -> list[RuleParts]:
    parts: list[RuleParts] = []
    names: dict[str, int] = {}
    for index, rule in enumerate(members(mapping(value.get("spec")).get("rules"))):
        path = ("spec", "rules", index)
        parts.append(compile_rule_parts(mapping(rule), path, checks, found))
        name = mapping(rule).get("name")
        if isinstance(name, str) and names.setdefault(name, index) != index:
            found.add((*path, "name"), f"spec.rules[{names[name]}] has the name {name!r} already")
    return parts


def _check_injection(policy: Policy, signs: Signs | None, found: Problems) -> None:
    if policy.inject is None or policy.match is None:
        return
    path = ("spec", "match")
    for key in _RECORDED_KEYS:
        if key in policy.match.reads:
            found.add(
                path,
                f"{key} cannot decide an injection: Signalbox may have written it itself, "
                "and a second pass would not match what the first did (move inject to a policy of its own)",
                key=True,
            )
    if "spot" in policy.match.reads:
        reason = _spot_by_injection(policy.inject, signs)
        if reason:
            found.add(path, f"spot cannot decide this injection: {reason}", key=True)


def _spot_by_injection(injection: Injection, signs: Signs | None) -> str:
    """How an injection itself decides whether the work runs on spot; empty where it does not."""
    spot_keys = {label.key for label in signs.spot_labels} if signs is not None else set()
    # A toleration without a key tolerates every taint, that of spot nodes too.
    if any(toleration.get("key", "") in spot_keys | {""} for toleration in injection.tolerations):
        return "one of the tolerations it writes permits spot itself"
    if not spot_keys.isdisjoint(injection.node_selector):
        return "the nodeSelector it writes asks for spot, or rules it out, itself"
    return ""


def _check_exception(value: JsonObject, rule_ids: frozenset[str], found: Problems) -> None:
    for index, pattern in enumerate(members(mapping(value.get("spec")).get("rules"))):
        if isinstance(pattern, str) and not any(any_glob((pattern,), rule_id) for rule_id in rule_ids):
            close = nearest(pattern, sorted(rule_ids)) if len(rule_ids) <= 1000 else ""
            found.add(("spec", "rules", index), f"no rule is named {pattern!r}{close}")


def _warn_of_expired(
    document: Document, compiled: Policy | PolicyException | None, today: date | None, found: Problems
) -> None:
    if today is None:
        return
    if isinstance(compiled, PolicyException) and compiled.until < today:
        ended = f"this exception ended on {compiled.until}: it waives nothing any more"
        found.add(("spec", "until"), ended, severity="warning")
    if isinstance(compiled, Policy):
        for path in expired_days(document.value, today):
            found.add(path, "this override has ended", severity="warning")


def _identity(document: Document) -> str:
    kind, name = mapping(document.value).get("kind"), mapping(mapping(document.value).get("metadata")).get("name")
    return f"{kind}/{name}" if isinstance(name, str) and kind in _MODELS else ""


def _rule_ids(documents: Sequence[Document]) -> frozenset[str]:
    """``policy/rule`` of every rule that is written, in broken documents as well: an exception may name it."""

    def names() -> Iterator[str]:
        for document in documents:
            identity = _identity(document)
            if identity.startswith("WorkloadPolicy/"):
                for rule in members(mapping(mapping(document.value).get("spec")).get("rules")):
                    name = mapping(rule).get("name")
                    if isinstance(name, str):
                        yield f"{identity.partition('/')[2]}/{name}"

    return frozenset(names())
