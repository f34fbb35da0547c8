"""What a check finds, and what a rule makes of it."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

from signalbox.fieldpath import Path
from signalbox.policy.mode import Mode
from signalbox.workload.judgement import Evidence

if TYPE_CHECKING:
    from signalbox.review import Request
    from signalbox.workload.view import WorkloadView


@dataclass(frozen=True, slots=True)
class Edit:
    """One change of the object that is part of a fix: set ``value`` at ``path``, or remove what stands there."""

    path: Path
    value: Any = None
    removes: bool = False


@dataclass(frozen=True, slots=True)
class Fix:
    """What to write instead: words for people, edits for machines (applied together)."""

    text: str = ""
    edits: tuple[Edit, ...] = ()


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing a check found wrong.

    ``key`` names what is wrong so that an UPDATE is refused only for what it brings: the offending value for allow-lists,
    the container's name for container checks, never an index. ``amount`` is how bad it is, where it is countable: larger
    is worse. ``fixed_by`` names the injector that would mend it. ``at_most`` lowers the rule's mode for this problem
    (a checkpoint state that cannot be known is not a missing checkpoint).
    """

    message: str
    evidence: tuple[Evidence, ...] = ()
    fix: Fix = Fix()
    key: str = ""
    amount: float | None = None
    fixed_by: str = ""
    at_most: Mode = Mode.ENFORCE


@dataclass(frozen=True, slots=True)
class NotJudged:
    """A check that could not be made, and what it would have had to know."""

    reason: str


class Result(Enum):
    """What became of a rule that did not simply pass."""

    FAIL = "fail"
    SKIP = "skip"
    ERROR = "error"
    NOT_JUDGED = "not-judged"
    UNCHANGED = "unchanged"


@dataclass(frozen=True, slots=True)
class Finding:
    """One problem under one rule. ``mode`` is the rule's effective mode here; ``excepted_by`` names an exception."""

    rule: str
    check: str
    mode: Mode
    result: Result
    message: str
    evidence: tuple[Evidence, ...] = ()
    fix: Fix = Fix()
    key: str = ""
    amount: float | None = None
    fixed_by: str = ""
    excepted_by: str = ""
    refuses_on_error: bool = False
    help: str = ""

    @property
    def refuses(self) -> bool:
        """Whether it refuses the request."""
        if self.result is Result.ERROR:
            return self.refuses_on_error and self.mode is Mode.ENFORCE
        return self.result is Result.FAIL and self.mode is Mode.ENFORCE

    @property
    def warns(self) -> bool:
        """Whether the user is told of it in a warning."""
        if self.result is Result.FAIL:
            return self.mode is Mode.WARN
        return self.result in (Result.ERROR, Result.NOT_JUDGED) and self.mode >= Mode.WARN and not self.refuses


@dataclass(frozen=True, slots=True)
class CheckSubject:
    """What a check is handed: the workload, on UPDATE the workload as it was, and the request."""

    view: "WorkloadView"
    old: "WorkloadView | None"
    request: "Request"


Findings = Iterable[Problem] | NotJudged
Run = Callable[[CheckSubject, Any], Findings]
