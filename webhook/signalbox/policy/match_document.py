"""The one vocabulary of ``match``, ``when``, overrides and exceptions, as strict models of the YAML.

Keys are ANDed, lists are ORed; ``not`` and ``any`` nest. The docstring of a field is its line in ``docs/policies.md``.
"""

import re
from typing import Annotated, Any, ClassVar, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationInfo, model_validator

from signalbox.policy.nearest import nearest
from signalbox.review import OPERATIONS
from signalbox.workload.judgement import CHECKPOINT_STATES, RESUME_STATES, SPOT_STATES, TYPES
from signalbox.workload.kinds.table import KINDS

NO_TYPE = "none"
DECLARED = "kinds"
"""In a validation's context: every kind there is, those that WorkloadKind documents declare among them."""
SELECTOR_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")

# Characters of no Kubernetes name, but of many a regular expression.
_REGEX_ONLY = re.compile(r"[\^$()|+\\]|\.\*")


class Strict(BaseModel):
    """A model that takes no unknown key and converts no type. ``shape`` shows how its mapping is written."""

    shape: ClassVar[str] = ""
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


def _check_any_glob(pattern: str) -> str:
    if not pattern or pattern != pattern.strip() or not pattern.isprintable():
        raise ValueError("a glob is expected, without spaces around it")
    if pattern.count("[") != pattern.count("]"):
        raise ValueError("a glob with an unclosed [")
    return pattern


def _check_name_glob(pattern: str) -> str:
    if _REGEX_ONLY.search(pattern):
        raise ValueError("looks like a regular expression, a glob is expected (team-*)")
    return _check_any_glob(pattern)


def _check_queue_glob(pattern: str) -> str:
    return pattern if pattern == "" else _check_name_glob(pattern)


def _one_of(words: tuple[str, ...], what: str) -> BeforeValidator:
    """A validator that names the nearest word there is."""

    def check(value: Any) -> Any:
        if not isinstance(value, str):
            return value
        if value not in words:
            raise ValueError(f"unknown {what} {value!r}{nearest(value, words)}")
        return value

    return BeforeValidator(check)


def kinds_named(name: str) -> tuple[tuple[str, str], ...]:
    """The (group, kind) a kind's name in a policy means: one, none, or several where it is ambiguous.

    A bare name is the core, apps or batch kind of that name; where there is none, the only kind of that name that is no
    mere namesake of another. A kind that a WorkloadKind declares is named with its group.
    """
    kind, _, group = name.partition(".")
    if group:
        return ((group, kind),)
    named = tuple(key for key in KINDS if key[1] == kind and not KINDS[key].namesake)
    built_in = tuple(key for key in named if KINDS[key].text == kind)
    return built_in or named


def _check_kind(name: str, info: ValidationInfo) -> str:
    kinds = (info.context or {}).get(DECLARED, KINDS)
    found = tuple(key for key in kinds_named(name) if key in kinds)
    texts = tuple(kinds[key].text for key in found)
    if not found:
        known = tuple(dict.fromkeys([kind for _, kind in KINDS] + [kind.text for kind in kinds.values()]))
        raise ValueError(f"unknown kind {name!r}{nearest(name, known)}")
    if len(found) > 1:
        raise ValueError(f"{name!r} is the name of several kinds: write {' or '.join(texts)}")
    return name


Item = TypeVar("Item")
# An empty list would match nothing.
Listed = Annotated[list[Item], Field(min_length=1)]

Glob = Annotated[str, AfterValidator(_check_any_glob)]
NameGlob = Annotated[str, AfterValidator(_check_name_glob)]
QueueGlob = Annotated[str, AfterValidator(_check_queue_glob)]
KindName = Annotated[str, AfterValidator(_check_kind)]


Document = TypeVar("Document", bound=Strict)


def _not_empty(document: Document) -> Document:
    if not document.model_fields_set:
        raise ValueError(f"one of {', '.join(type(document).model_fields)} is expected")
    return document


class Range(Strict):
    """``min`` and ``max``, both inclusive; at least one of them."""

    shape = "{min: 1}"
    min: Annotated[float, Field(ge=0)] | None = None
    max: Annotated[float, Field(ge=0)] | None = None

    @model_validator(mode="after")
    def _ordered(self) -> "Range":
        if self.min is None and self.max is None:
            raise ValueError("min or max is expected")
        if self.min is not None and self.max is not None and self.min > self.max:
            raise ValueError(f"min {self.min:g} is above max {self.max:g}: nothing can match")
        return self


class AcceleratorsDocument(Strict):
    """What is known of a workload's accelerators; the keys are ANDed."""

    shape = "{total: {min: 1}}"
    total: Range | None = None
    perPod: Range | None = None
    vendors: Listed[Glob] | None = None
    resources: Listed[Glob] | None = None

    @model_validator(mode="after")
    def _something(self) -> "AcceleratorsDocument":
        return _not_empty(self)


class PriorityDocument(Strict):
    """``below`` and ``atLeast`` compare a known value; a priority that is not set matches only ``unset: true``."""

    shape = "{below: 10000}"
    below: int | None = None
    atLeast: int | None = None
    unset: bool | None = None

    @model_validator(mode="after")
    def _possible(self) -> "PriorityDocument":
        _not_empty(self)
        if self.unset and (self.below is not None or self.atLeast is not None):
            raise ValueError("a priority that is unset has no value: put the two into any: [{priority: …}, {priority: …}]")
        if self.below is not None and self.atLeast is not None and self.atLeast >= self.below:
            raise ValueError(f"nothing is at least {self.atLeast} and below {self.below}")
        return self


class Requirement(Strict):
    """One of a label selector's matchExpressions."""

    key: Annotated[str, Field(min_length=1)]
    operator: Annotated[str, _one_of(SELECTOR_OPERATORS, "operator")]
    values: Annotated[list[str], Field(default_factory=list)]

    @model_validator(mode="after")
    def _values_fit(self) -> "Requirement":
        if self.operator in ("In", "NotIn") and not self.values:
            raise ValueError(f"operator {self.operator} needs values")
        if self.operator in ("Exists", "DoesNotExist") and self.values:
            raise ValueError(f"operator {self.operator} takes no values")
        return self


class LabelSelector(Strict):
    """A Kubernetes label selector. A plain mapping of labels is short for ``matchLabels``."""

    shape = "{team: research}"
    matchLabels: Annotated[dict[str, str], Field(default_factory=dict)]
    matchExpressions: Annotated[list[Requirement], Field(default_factory=list)]

    @model_validator(mode="before")
    @classmethod
    def _plain_map(cls, value: Any) -> Any:
        if isinstance(value, dict) and value and not value.keys() & {"matchLabels", "matchExpressions"}:
            # A label has no value of this shape: it is a key of a selector, misspelt.
            if any(isinstance(one, (dict, list)) for one in value.values()):
                return value
            return {"matchLabels": value}
        return value

    @model_validator(mode="after")
    def _something(self) -> "LabelSelector":
        if not self.matchLabels and not self.matchExpressions:
            raise ValueError("an empty selector selects everything: leave it out, or name a label")
        return self


class MatchDocument(Strict):
    """What a workload must be like."""

    namespaces: Annotated[Listed[NameGlob] | None, Field(description="the namespace's name (globs)")] = None
    namespaceSelector: Annotated[LabelSelector | None, Field(description="the labels of the namespace")] = None
    kinds: Annotated[
        Listed[KindName] | None,
        Field(description="the kind (`Job`, `JobSet` or `JobSet.jobset.x-k8s.io`); `Pod`: Pods without an owner we judge"),
    ] = None
    names: Annotated[
        Listed[NameGlob] | None,
        Field(description="`metadata.name`, or `generateName` where there is none (globs)"),
    ] = None
    labels: Annotated[LabelSelector | None, Field(description="the workload's own labels")] = None
    types: Annotated[
        Listed[Annotated[str, _one_of((*TYPES, NO_TYPE), "type")]] | None,
        Field(description="what kind of AI work it is; `none`: no type was found"),
    ] = None
    trains: Annotated[bool | None, Field(description="whether it makes progress that an interruption would lose")] = None
    distributed: Annotated[bool | None, Field(description="whether several processes work on one run")] = None
    frameworks: Annotated[
        Listed[Glob] | None,
        Field(description="the framework (globs); `none`: no framework was found"),
    ] = None
    accelerators: Annotated[AcceleratorsDocument | None, Field(description="how many accelerators, and whose")] = None
    queues: Annotated[
        Listed[QueueGlob] | None,
        Field(description='the Kueue queue (globs); `""`: it has none, which no other glob matches'),
    ] = None
    spot: Annotated[
        Listed[Annotated[str, _one_of(SPOT_STATES, "spot state")]] | None,
        Field(description="whether it runs on capacity that is taken back without notice"),
    ] = None
    checkpoint: Annotated[
        Listed[Annotated[str, _one_of(CHECKPOINT_STATES, "checkpoint state")]] | None,
        Field(description="where its progress is kept"),
    ] = None
    resume: Annotated[
        Listed[Annotated[str, _one_of(RESUME_STATES, "resume state")]] | None,
        Field(description="whether anything says that its progress is read back"),
    ] = None
    priority: Annotated[
        PriorityDocument | None,
        Field(description="the lower of the Pod class's value and Kueue's; unset matches only `unset: true`"),
    ] = None
    users: Annotated[Listed[Glob] | None, Field(description="who asks (globs)")] = None
    groups: Annotated[Listed[Glob] | None, Field(description="any group of who asks (globs)")] = None
    operations: Annotated[
        Listed[Annotated[str, _one_of(OPERATIONS, "operation")]] | None,
        Field(description="what is asked for"),
    ] = None
    not_: Annotated["Nested | None", Field(alias="not", description="everything this does not match")] = None
    any: Annotated["list[Nested] | None", Field(min_length=1, description="at least one of these matches")] = None


def _some_key(document: MatchDocument) -> MatchDocument:
    if not document.model_fields_set:
        raise ValueError("an empty mapping matches everything: name a key")
    return document


Nested = Annotated[MatchDocument, AfterValidator(_some_key)]
"""A match that says something: an empty one, at the top of a policy, holds for every workload."""

MatchDocument.model_rebuild()
