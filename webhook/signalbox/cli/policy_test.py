"""PolicyTest documents: what policies must say to given workloads, as strict as the policies themselves."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, ValidationError, model_validator

from signalbox.manifests import read_manifests
from signalbox.policy.documents import API_VERSION, ApiVersion, Metadata, Text
from signalbox.policy.match_document import Listed, Strict
from signalbox.policy.nearest import nearest
from signalbox.policy.problem import PolicyProblem, Problems
from signalbox.review import JsonObject
from signalbox.source import Document
from signalbox.workload.kinds.table import KINDS

_KIND = "PolicyTest"


def _instant(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        read = datetime.fromisoformat(value)
    except ValueError:
        raise ValueError(f"{value!r} is no time: 2026-12-31T12:00:00Z is how one is written") from None
    return read if read.tzinfo is not None else read.replace(tzinfo=UTC)


Instant = Annotated[datetime, BeforeValidator(_instant, json_schema_input_type=str)]
Rules = list[Text]


class Expectation(Strict):
    """What must come of a case. What is not written is not looked at, except ``allowed``: by default it is allowed.

    The lists of rules are whole: a rule that is not in them must not be there.
    """

    allowed: bool | None = None
    refusedBy: Rules | None = None
    warnedBy: Rules | None = None
    audited: Rules | None = None
    notJudged: Rules | None = None
    injected: Annotated[dict[str, Any], Field(default_factory=dict)]
    notInjected: Annotated[list[Text], Field(default_factory=list)]
    message: Annotated[list[Text], Field(default_factory=list)]

    @model_validator(mode="after")
    def _agrees(self) -> "Expectation":
        if not self.model_fields_set:
            raise ValueError("nothing is expected: allowed is the least")
        if self.allowed and self.refusedBy:
            raise ValueError("allowed: true and refusedBy contradict each other")
        return self

    @property
    def is_allowed(self) -> bool:
        """Whether the workload must be let in."""
        return not self.refusedBy if self.allowed is None else self.allowed


class Case(Strict):
    """One workload, how it comes to the API server, and what must come of it."""

    name: Text
    object: JsonObject | None = None
    file: Text | None = None
    oldObject: JsonObject | None = None
    operation: Literal["CREATE", "UPDATE"] = "CREATE"
    namespace: str = ""
    user: Text | None = None
    groups: Annotated[list[Text], Field(default_factory=list)]
    subResource: str = ""
    expect: Expectation

    @model_validator(mode="after")
    def _whole(self) -> "Case":
        if (self.object is None) == (self.file is None):
            raise ValueError("either object or file is expected")
        if (self.oldObject is not None) != (self.operation == "UPDATE"):
            raise ValueError("oldObject belongs to operation UPDATE, and UPDATE needs it")
        return self


class PolicyTestSpec(Strict):
    """``policies`` and ``cluster`` are paths from the document's own folder; ``now`` is the time of the cases."""

    policies: Text | None = None
    cluster: Text | None = None
    now: Instant | None = None
    cases: Listed[Case]


class PolicyTestDocument(Strict):
    """``kind: PolicyTest``."""

    apiVersion: ApiVersion
    kind: Literal["PolicyTest"]
    metadata: Metadata
    spec: PolicyTestSpec


@dataclass(frozen=True, slots=True)
class PolicyTest:
    """A document, the objects of its cases, and where it stands."""

    document: Document
    name: str
    spec: PolicyTestSpec
    objects: tuple[JsonObject, ...]

    @property
    def folder(self) -> Path:
        """Where its relative paths start."""
        return Path(self.document.file).parent

    def line(self, index: int) -> int:
        """The line of a case."""
        return self.document.position(("spec", "cases", index)).line


def read_policy_tests(paths: Sequence[str]) -> tuple[list[PolicyTest], list[PolicyProblem]]:
    """Every PolicyTest under the paths, and the faults. Other documents there are manifests that the cases name."""
    read = read_manifests(paths)
    problems = [PolicyProblem(one.file, one.line, one.column, "", one.message) for one in read.problems]
    tests: list[PolicyTest] = []
    for manifest in read.objects:
        if manifest.kind != _KIND and manifest.value.get("apiVersion") != API_VERSION:
            continue
        found = Problems(manifest.document)
        if manifest.kind != _KIND:
            found.add(("kind",), f"unknown kind {manifest.kind!r}{nearest(manifest.kind, (_KIND,))}")
        else:
            test = _read(manifest.document, found)
            if test is not None:
                tests.append(test)
        problems += found.found
    return tests, problems


def _read(document: Document, found: Problems) -> PolicyTest | None:
    try:
        model = PolicyTestDocument.model_validate(document.value)
    except ValidationError as error:
        found.add_validation(error, PolicyTestDocument)
        return None
    names: dict[str, int] = {}
    objects: list[JsonObject] = []
    for index, case in enumerate(model.spec.cases):
        if names.setdefault(case.name, index) != index:
            found.add(("spec", "cases", index, "name"), f"a case named {case.name!r} stands above already")
        obj = case.object if case.file is None else _object_in(document, index, case.file, found)
        if obj is None:
            continue
        if case.file is None and not _is_workload(obj):
            found.add(("spec", "cases", index, "object"), "this is no workload of a kind that is judged")
        objects.append(obj)
    return None if found.broken else PolicyTest(document, model.metadata.name, model.spec, tuple(objects))


def _object_in(document: Document, index: int, file: str, found: Problems) -> JsonObject | None:
    read = read_manifests([str(Path(document.file).parent / file)])
    path = ("spec", "cases", index, "file")
    for problem in read.problems:
        found.add(path, str(problem))
    workloads = [manifest.value for manifest in read.objects if _is_workload(manifest.value)]
    if len(workloads) != 1 and not read.problems:
        found.add(path, f"{len(workloads)} workloads are in {file}, one is expected")
    return workloads[0] if len(workloads) == 1 else None


def _is_workload(obj: JsonObject) -> bool:
    version, kind = obj.get("apiVersion"), obj.get("kind")
    return isinstance(version, str) and isinstance(kind, str) and (version.rpartition("/")[0], kind) in KINDS
