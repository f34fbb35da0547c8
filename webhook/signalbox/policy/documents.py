"""WorkloadPolicy and PolicyException as they are written: strict models, from which the JSON Schema comes as well."""

import re
from datetime import date
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from signalbox.policy.match_document import Glob, Listed, MatchDocument, Nested, Strict
from signalbox.policy.mode import MODE_WORDS, Mode
from signalbox.policy.nearest import nearest

ApiVersion = Literal["policy.workload.ai/v1alpha1"]
API_VERSION: ApiVersion = "policy.workload.ai/v1alpha1"
DEFAULT_PRECEDENCE = 1000

_DNS_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?\Z")
_DNS_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\Z")
_QUALIFIED_NAME = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?\Z")
_LABEL_VALUE = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?\Z")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}\Z")

_QUEUE_LABEL = "kueue.x-k8s.io/queue-name"
_RECORDS = frozenset(("workload.ai/injected", "workload.ai/injected-labels"))


def _mode(value: Any) -> Any:
    if isinstance(value, bool):
        raise ValueError(f"YAML reads this word as {str(value).lower()}: one of {', '.join(MODE_WORDS)} is expected")
    if not isinstance(value, str):
        return value
    if value not in MODE_WORDS:
        raise ValueError(f"unknown mode {value!r}{nearest(value, MODE_WORDS)}")
    return Mode.parse(value)


def _date(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return date.fromisoformat(value) if _DATE.match(value) else _no_date(value)
    except ValueError:
        return _no_date(value)


def _no_date(value: str) -> date:
    raise ValueError(f"{value!r} is no day: 2027-01-31 is how one is written")


def _dns_label(value: str) -> str:
    if not _DNS_LABEL.match(value):
        raise ValueError(f"{value!r} is no name: lower-case letters, digits and '-', at most 63 characters")
    return value


def _dns_subdomain(value: str) -> str:
    if len(value) > 253 or not _DNS_SUBDOMAIN.match(value):
        raise ValueError(f"{value!r} is no name: lower-case letters, digits, '-' and '.', at most 253 characters")
    return value


def _queue(value: str) -> str:
    # A LocalQueue's name also has to fit into a label's value.
    if len(value) > 63:
        raise ValueError(f"{value!r} is longer than the 63 characters of a label's value")
    return _dns_subdomain(value)


def _metadata_key(value: str) -> str:
    prefix, slash, name = value.rpartition("/")
    if (slash and (len(prefix) > 253 or not _DNS_SUBDOMAIN.match(prefix))) or not _QUALIFIED_NAME.match(name):
        raise ValueError(f"{value!r} is no key of a label or annotation")
    return value


def _variable(value: str) -> str:
    if not _VARIABLE.match(value):
        raise ValueError(f"{value!r} is no name of a variable: letters, digits and '_', no digit first")
    return value


def _label_value(value: str) -> str:
    if not _LABEL_VALUE.match(value):
        raise ValueError(f"{value!r} is no label value: letters, digits, '-', '_' and '.', at most 63 characters")
    return value


ModeWord = Annotated[Mode, BeforeValidator(_mode, json_schema_input_type=Literal["disabled", "audit", "warn", "enforce"])]
Day = Annotated[date, BeforeValidator(_date)]
RuleName = Annotated[str, AfterValidator(_dns_label)]
ObjectName = Annotated[str, AfterValidator(_dns_subdomain)]
QueueName = Annotated[str, AfterValidator(_queue)]
MetadataKey = Annotated[str, AfterValidator(_metadata_key)]
VariableName = Annotated[str, AfterValidator(_variable)]
LabelValue = Annotated[str, AfterValidator(_label_value)]
Text = Annotated[str, Field(min_length=1)]


class Metadata(Strict):
    """The part of an object's metadata that a policy file may hold."""

    name: ObjectName
    labels: Annotated[dict[str, str], Field(default_factory=dict)]
    annotations: Annotated[dict[str, str], Field(default_factory=dict)]


class TolerationDocument(Strict):
    """A Kubernetes toleration."""

    key: str = ""
    operator: Literal["Exists", "Equal"] = "Equal"
    value: str = ""
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] | None = None
    tolerationSeconds: int | None = None

    @model_validator(mode="after")
    def _valid(self) -> "TolerationDocument":
        # What the API server refuses (core/validation ValidateTolerations) would refuse every workload we inject it into.
        if not self.key and self.operator != "Exists":
            raise ValueError("without a key the operator must be Exists")
        if self.operator == "Exists" and self.value:
            raise ValueError("operator Exists takes no value")
        if self.tolerationSeconds is not None and self.effect != "NoExecute":
            raise ValueError("tolerationSeconds needs effect NoExecute")
        return self


class InjectDocument(Strict):
    """What is written into the workloads that match."""

    queue: Annotated[QueueName | None, Field(description="name of a LocalQueue")] = None
    priorityClassName: Annotated[ObjectName | None, Field(description="name of a PriorityClass")] = None
    tolerations: Annotated[list[TolerationDocument], Field(default_factory=list, description="Kubernetes tolerations")]
    terminationGracePeriodSeconds: Annotated[
        Annotated[int, Field(ge=1, le=86_400 * 7)] | None, Field(description="a floor: what is lower is raised to it")
    ] = None
    labels: Annotated[dict[MetadataKey, LabelValue], Field(default_factory=dict, description="labels")]
    annotations: Annotated[dict[MetadataKey, str], Field(default_factory=dict, description="annotations")]
    env: Annotated[
        dict[VariableName, str],
        Field(
            default_factory=dict,
            description="environment variables with literal values, for containers that ask for accelerators",
        ),
    ]
    nodeSelector: Annotated[dict[MetadataKey, LabelValue], Field(default_factory=dict, description="labels of nodes")]
    force: Annotated[bool, Field(description="overwrite what the user set, with a warning")] = False

    @model_validator(mode="after")
    def _not_ours(self) -> "InjectDocument":
        if _QUEUE_LABEL in self.labels:
            raise ValueError(f"the label {_QUEUE_LABEL} is written by inject.queue, which suspends the workload as well")
        for name in (*self.labels, *self.annotations):
            if name in _RECORDS:
                raise ValueError(f"{name} is Signalbox's own record")
        if not self.model_fields_set - {"force"}:
            raise ValueError("nothing to inject: one of " + ", ".join(set_fields(self)) + " is expected")
        return self


def set_fields(document: InjectDocument) -> tuple[str, ...]:
    """The fields of an injection beside ``force``."""
    return tuple(name for name in type(document).model_fields if name != "force")


class FixDocument(Strict):
    """How to mend what a rule refuses: words, and edits that a machine can apply."""

    text: Annotated[Text | None, Field(description="words, which may name {workload.…}")] = None
    set: Annotated[dict[str, Any], Field(default_factory=dict, description="field paths, each with the value to write there")]

    @model_validator(mode="after")
    def _something(self) -> "FixDocument":
        if self.text is None and not self.set:
            raise ValueError("text or set is expected")
        return self


class OverrideDocument(MatchDocument):
    """Another mode for part of the workloads: the keys of the match vocabulary, ``mode`` and ``until``."""

    mode: Annotated[ModeWord, Field(description="the mode these workloads get")]
    until: Annotated[Day | None, Field(description="the last day it counts, to its end in UTC; left out: for good")] = None


class RuleDocument(Strict):
    """A built-in check with its parameters, or a CEL expression with its message."""

    name: Annotated[RuleName, Field(description="with the policy's name it is the rule's identifier: research/restartable")]
    check: Annotated[Text | None, Field(description="name of a built-in check; either this or cel")] = None
    cel: Annotated[Text | None, Field(description="an expression of your own: true passes")] = None
    amount: Annotated[
        Text | None, Field(description="an expression that says by how much a cel rule is broken: a number, larger is worse")
    ] = None
    message: Annotated[Text | None, Field(description="what a cel rule says when it fails")] = None
    fix: Annotated[FixDocument | None, Field(description="how to mend what a cel rule refuses")] = None
    when: Annotated[
        MatchDocument | None, Field(description="the workloads it is for, beside the policy's match, in the same words")
    ] = None
    with_: Annotated[dict[str, Any] | None, Field(alias="with", description="the parameters of the check")] = None
    mode: Annotated[ModeWord, Field(description="how hard it bites; always written")]
    overrides: Annotated[
        list[OverrideDocument],
        Field(default_factory=list, description="another mode for some workloads: the first that matches and is not over"),
    ]
    onError: Annotated[Literal["warn", "refuse"], Field(description="what happens where the rule itself fails")] = "warn"

    @model_validator(mode="after")
    def _check_or_cel(self) -> "RuleDocument":
        if (self.check is None) == (self.cel is None):
            raise ValueError("either check or cel is expected" if self.check is None else "check and cel exclude each other")
        if self.cel is not None and self.message is None:
            raise ValueError("a cel rule needs a message")
        if self.cel is not None and self.with_ is not None:
            raise ValueError("with belongs to check: a cel rule has no parameters")
        if self.check is not None and (self.message, self.fix, self.amount) != (None, None, None):
            raise ValueError("message, fix and amount belong to cel: a check has its own")
        return self


class PolicySpec(Strict):
    """What a policy says."""

    description: Annotated[str, Field(description="why the policy is there")] = ""
    owner: Annotated[str, Field(description="whom to ask")] = ""
    help: Annotated[str, Field(description="a link, shown with every refusal")] = ""
    precedence: Annotated[
        int,
        Field(
            description="who comes first where two policies inject the same field: the lower number, then the name; "
            f"{DEFAULT_PRECEDENCE} if left out"
        ),
    ] = DEFAULT_PRECEDENCE
    match: Annotated[MatchDocument | None, Field(description="the workloads it speaks of; left out: all")] = None
    inject: Annotated[InjectDocument | None, Field(description="what they are given")] = None
    rules: Annotated[list[RuleDocument], Field(default_factory=list, description="what they must keep")]

    @model_validator(mode="after")
    def _something(self) -> "PolicySpec":
        if self.inject is None and not self.rules:
            raise ValueError("a policy without inject and without rules does nothing")
        return self


class WorkloadPolicyDocument(Strict):
    """``kind: WorkloadPolicy``."""

    apiVersion: ApiVersion
    kind: Literal["WorkloadPolicy"]
    metadata: Metadata
    spec: PolicySpec


class ExceptionSpec(Strict):
    """Which rules are waived for which workloads, until when and why."""

    rules: Annotated[Listed[Glob], Field(description="the rules that are waived: policy/rule, globs")]
    match: Annotated[Nested, Field(description="for which workloads")]
    until: Annotated[Day, Field(description="the last day it counts, to its end in UTC")]
    reason: Annotated[Text, Field(description="why")]
    approvedBy: Annotated[Text, Field(description="who allowed it")]


class PolicyExceptionDocument(Strict):
    """``kind: PolicyException``."""

    apiVersion: ApiVersion
    kind: Literal["PolicyException"]
    metadata: Metadata
    spec: ExceptionSpec
