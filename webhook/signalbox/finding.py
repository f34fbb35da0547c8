"""What a check finds, and what a rule makes of it."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date
from enum import Enum
from typing import TYPE_CHECKING, Any

from signalbox.fieldpath import Path
from signalbox.policy.mode import Mode
from signalbox.workload.judgement import Evidence

if TYPE_CHECKING:
    from signalbox.workload.view import WorkloadView


@dataclass(frozen=True, slots=True)
class Edit:
    """One change of the object that is part of a fix: set ``value`` at ``path``, or remove what stands there.

    ``to_fill_in``: the value is an example (``s3://BUCKET/run``), which its user has to replace.
    """

    path: Path
    value: Any = None
    removes: bool = False
    to_fill_in: bool = False


@dataclass(frozen=True, slots=True)
class Fix:
    """What to write instead: words for people, edits for machines (applied together).

    A text that ends with a colon introduces the edits, which are shown below it; one that does not stands for itself.
    """

    text: str = ""
    edits: tuple[Edit, ...] = ()


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing a check found wrong.

    ``key`` names what is wrong so that an UPDATE is refused only for what it brings: the offending value for allow-lists,
    the container's name for container checks, never an index. ``amount`` is how bad it is, where it is countable: larger
    is worse. ``fixed_by`` names the injector that would mend it. ``at_most`` lowers the rule's mode for this problem
    (a checkpoint state that cannot be known is not a missing checkpoint). ``by_type``: it is one only because of what its
    check takes the workload for; whether the rule looks at it for its type alone is for the engine to find out.
    """

    message: str
    evidence: tuple[Evidence, ...] = ()
    fix: Fix = Fix()
    key: str = ""
    amount: float | None = None
    fixed_by: str = ""
    at_most: Mode = Mode.ENFORCE
    by_type: bool = False


@dataclass(frozen=True, slots=True)
class Unjudged:
    """What a check would have had to know of the cluster, in words (``the LocalQueues of namespace team-a``)."""

    what: str


class Result(Enum):
    """What became of a rule that did not simply pass."""

    FAIL = "fail"
    SKIP = "skip"
    ERROR = "error"
    NOT_JUDGED = "not-judged"
    UNCHANGED = "unchanged"


@dataclass(frozen=True, slots=True)
class Finding:
    """One problem under one rule. ``mode`` is the rule's effective mode here.

    ``excepted_by`` names the exception that skips it, which ``approved_by`` answers for up to the day ``excepted_until``.
    ``at_most`` is the problem's own bound: however hard the rule is made to bite, this finding bites no harder.
    ``unknown``: in words, what would have had to be known to judge (``the labels of namespace team-a``).
    """

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
    approved_by: str = ""
    excepted_until: date | None = None
    refuses_on_error: bool = False
    help: str = ""
    unknown: tuple[str, ...] = ()
    by_type: bool = False
    at_most: Mode = Mode.ENFORCE

    @property
    def refuses(self) -> bool:
        """Whether it refuses the request."""
        if self.result is Result.ERROR:
            return self.refuses_on_error and self.mode is Mode.ENFORCE
        return self.result is Result.FAIL and self.mode is Mode.ENFORCE

    @property
    def would_refuse(self) -> bool:
        """Whether it refuses the request, or would if the rule's mode were ``enforce``."""
        return self.refuses or (self.result is Result.FAIL and self.at_most is Mode.ENFORCE)

    @property
    def warns(self) -> bool:
        """Whether the user is told of it in a warning."""
        if self.result is Result.FAIL:
            return self.mode is Mode.WARN
        return self.result in (Result.ERROR, Result.NOT_JUDGED) and self.mode >= Mode.WARN and not self.refuses


def _never(path: Path) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class CheckSubject:
    """What a check is handed: the workload, and on UPDATE the workload as it was.

    ``is_ours(path)``: the label that stands there is one that Signalbox puts there, by a policy that is in force.
    """

    view: "WorkloadView"
    old: "WorkloadView | None" = None
    is_ours: Callable[[Path], bool] = _never


Problems = Iterable[Problem | Unjudged]
