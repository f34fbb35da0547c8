"""``WorkloadKind`` documents: a kind of one's own, described by field paths instead of Python.

Paths are written as in messages (``spec.roles[*].template``); ``[*]`` stands for every member of a list or mapping, and in
``pods`` for the same member as in ``path``.
"""

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationInfo, model_validator

from signalbox.fieldpath import FieldPathError, parse_path
from signalbox.policy.signs_document import Metadata
from signalbox.workload.judgement import SignedType
from signalbox.workload.kinds.declared import Accelerators, Declaration, Template, declared_kind
from signalbox.workload.kinds.kind import WorkloadKind
from signalbox.workload.kinds.table import KINDS

EVERY = "*"

_GROUP = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)+\Z")
_KIND = re.compile(r"[A-Z][A-Za-z0-9]*\Z")


def _steps(text: str) -> tuple[str, ...]:
    try:
        return parse_path(text)
    except FieldPathError as error:
        raise ValueError(str(error)) from None


def _path(text: str) -> str:
    _steps(text)
    return text


def _plain_path(text: str) -> str:
    if EVERY in _steps(text):
        raise ValueError("[*] can stand in the paths of templates and of their Pods and labels only")
    return text


def _group(text: str) -> str:
    if not _GROUP.match(text):
        raise ValueError(f"{text!r} is no API group: lower-case letters, digits, '-' and '.', as in lab.example.com")
    return text


def _kind(text: str) -> str:
    if not _KIND.match(text):
        raise ValueError(f"{text!r} is no kind: letters and digits, the first one upper case")
    return text


FieldPath = Annotated[str, AfterValidator(_path)]
PlainPath = Annotated[str, AfterValidator(_plain_path)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class TemplateEntry(_Strict):
    """Where pod templates stand, and the fields whose product is how many Pods each makes (one where none is named)."""

    path: FieldPath
    pods: list[FieldPath] = []
    inline: bool = False

    @model_validator(mode="after")
    def _same_members(self) -> "TemplateEntry":
        stars = _steps(self.path).count(EVERY)
        for path in self.pods:
            if _steps(path).count(EVERY) > stars:
                raise ValueError(f"{path} has more [*] than {self.path}")
        return self


class AcceleratorsEntry(_Strict):
    """A number of accelerators outside any container: how many one Pod gets, of which resource, and how many Pods get it."""

    path: PlainPath
    resource: Annotated[str, Field(min_length=1)]
    pods: list[PlainPath] = []


class KindSpec(_Strict):
    """One kind."""

    group: Annotated[str, AfterValidator(_group)]
    kind: Annotated[str, AfterValidator(_kind)]
    runs: Literal["once", "schedule", "forever", "open"] = "once"
    templates: list[TemplateEntry] = []
    accelerators: list[AcceleratorsEntry] = []
    entrypoint: PlainPath | None = None
    inject: bool = True
    labels: list[FieldPath] = []
    queueLabel: PlainPath | None = None
    queue: list[PlainPath] = []
    suspend: PlainPath | None = None
    priority: list[PlainPath] = []
    restarts: PlainPath | None = None
    type: SignedType | None = None
    typeDecides: bool = False
    framework: Annotated[str, Field(min_length=1)] | None = None

    @model_validator(mode="after")
    def _says_something(self, info: ValidationInfo) -> "KindSpec":
        if (self.group, self.kind) in KINDS:
            raise ValueError(f"{self.kind}.{self.group} is known already")
        if not self.templates and not self.accelerators and self.entrypoint is None:
            raise ValueError("one of templates, accelerators or entrypoint is expected")
        if self.suspend is not None and self.queueLabel is None:
            raise ValueError("suspend is set together with a queue label: queueLabel is missing")
        return self


class WorkloadKindDocument(_Strict):
    """One document."""

    apiVersion: Literal["policy.workload.ai/v1alpha1"]
    kind: Literal["WorkloadKind"]
    metadata: Metadata
    spec: KindSpec


def compile_kind(document: WorkloadKindDocument) -> WorkloadKind:
    """The kind that a document describes."""
    spec = document.spec
    return declared_kind(
        Declaration(
            group=spec.group,
            kind=spec.kind,
            runs=spec.runs,
            templates=tuple(
                [Template(_steps(entry.path), tuple(map(_steps, entry.pods)), entry.inline) for entry in spec.templates]
            ),
            accelerators=tuple(
                [
                    Accelerators(_steps(entry.path), entry.resource, tuple(map(_steps, entry.pods)))
                    for entry in spec.accelerators
                ]
            ),
            entrypoint=_optional(spec.entrypoint),
            writable=spec.inject,
            labels=tuple(map(_steps, spec.labels)),
            queue=_optional(spec.queueLabel),
            queue_fields=tuple(map(_steps, spec.queue)),
            suspend=_optional(spec.suspend),
            priority=tuple(map(_steps, spec.priority)),
            restarts=_optional(spec.restarts),
            type=spec.type,
            type_decides=spec.typeDecides,
            framework=spec.framework,
        )
    )


def _optional(text: str | None) -> tuple[str, ...] | None:
    return None if text is None else _steps(text)
