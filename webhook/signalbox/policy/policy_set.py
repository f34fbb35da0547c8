"""Compiled policies: what the engine works with. Built by ``loading``, never changed afterwards."""

from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import Any

from pydantic import BaseModel

from signalbox.policy.expression import Expression
from signalbox.policy.globs import any_glob
from signalbox.policy.match import Matcher
from signalbox.policy.mode import Mode
from signalbox.policy.subject import Subject
from signalbox.policy.template import Template
from signalbox.review import JsonObject

Edit = tuple[tuple[str, ...], Any]
"""The steps of a field path as ``fieldpath.parse_path`` gives them, and the value to write there."""


@dataclass(frozen=True, slots=True)
class Injection:
    """What a policy writes into the objects it matches. Empty or None: nothing."""

    queue: str = ""
    priority_class_name: str = ""
    tolerations: tuple[JsonObject, ...] = ()
    termination_grace_period_seconds: int | None = None
    labels: dict[str, str] = field(default_factory=dict)
    annotations: dict[str, str] = field(default_factory=dict)
    env: dict[str, str] = field(default_factory=dict)
    node_selector: dict[str, str] = field(default_factory=dict)
    force: bool = False


@dataclass(frozen=True, slots=True)
class RuleFix:
    """How to mend what a CEL rule refuses: words for people, edits for machines; either may be empty."""

    text: Template | None = None
    edits: tuple[Edit, ...] = ()


@dataclass(frozen=True, slots=True)
class Override:
    """Another mode for what ``match`` fits (None: everything), up to the end of the day ``until`` in UTC."""

    mode: Mode
    match: Matcher | None = None
    until: date | None = None


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule: a built-in ``check`` with its ``parameters``, or a CEL ``expression`` with a ``message``.

    ``amount`` is how badly the expression is broken: larger is worse.
    """

    name: str
    policy: str
    mode: Mode
    check: str | None = None
    parameters: BaseModel | None = None
    expression: Expression | None = None
    amount: Expression | None = None
    message: Template | None = None
    fix: RuleFix | None = None
    when: Matcher | None = None
    overrides: tuple[Override, ...] = ()
    refuse_on_error: bool = False
    help: str = ""
    id: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "id", f"{self.policy}/{self.name}")


@dataclass(frozen=True, slots=True)
class Policy:
    """One WorkloadPolicy; without ``match`` it holds for every workload."""

    name: str
    description: str = ""
    precedence: int = 1000
    match: Matcher | None = None
    inject: Injection | None = None
    rules: tuple[Rule, ...] = ()
    owner: str = ""
    help: str = ""


@dataclass(frozen=True, slots=True)
class PolicyException:
    """Workloads for which some rules' findings are skipped, up to the end of a day."""

    name: str
    rules: tuple[str, ...]
    match: Matcher
    until: date
    reason: str
    approved_by: str

    def covers(self, rule_id: str) -> bool:
        """Whether the exception names the rule (``policy/rule``, globs)."""
        return any_glob(self.rules, rule_id)

    def applies(self, rule_id: str, subject: Subject, now: datetime) -> bool | None:
        """Whether the rule's findings on this workload are skipped; None where the match is unknown."""
        if not self.covers(rule_id) or expired(self.until, now):
            return False
        return self.match(subject)


@dataclass(frozen=True, slots=True)
class PolicySet:
    """All policies, in the order of precedence and name, and all exceptions. ``digest`` names this very content."""

    policies: tuple[Policy, ...] = ()
    exceptions: tuple[PolicyException, ...] = ()
    digest: str = ""


def expired(until: date, now: datetime) -> bool:
    """Whether the day ``until`` is over in UTC. ``now`` must know its time zone."""
    return now.astimezone(UTC).date() > until


def effective_mode(rule: Rule, subject: Subject, now: datetime, cap: Mode = Mode.ENFORCE) -> Mode:
    """The lower of the cap and the first unexpired override that matches, else the rule's own mode.

    An override of which it is unknown whether it matches can only lower the mode: nobody is refused on a guess.
    """
    mode = rule.mode
    if not rule.overrides:
        return mode if mode <= cap else cap
    lowest = cap
    for override in rule.overrides:
        if override.until is not None and expired(override.until, now):
            continue
        matches = True if override.match is None else override.match(subject)
        if matches:
            mode = override.mode
            break
        if matches is None:
            lowest = min(lowest, override.mode)
    return min(mode, lowest)
