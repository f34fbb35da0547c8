"""What of everything a page is about, as it stands in its address."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from urllib.parse import parse_qsl, urlencode

from signalbox.audit.from_json import KnownScan
from signalbox.audit.ledger.reading import Wanted
from signalbox.audit.result import Subject
from signalbox.engine import Setup

DEFAULT_SINCE = "14d"
SPANS = {"1d": "1 day", "7d": "7 days", "14d": "14 days", "30d": "30 days", "90d": "90 days"}
_SPAN = re.compile(r"([1-9][0-9]{0,3})([hdw])\Z")
_UNITS = {"h": ("hours", "hour"), "d": ("days", "day"), "w": ("weeks", "week")}
_LONGEST = timedelta(days=366)
_LONGEST_TEXT = 600
_MOST_FIELDS = 20


class BadQueryError(ValueError):
    """Something in the address cannot be used; the text says what would be right."""


@dataclass(frozen=True, slots=True)
class Filters:
    """Empty: any. ``kind`` is the name that policies use, or a kind alone."""

    since: str = DEFAULT_SINCE
    rule: str = ""
    team: str = ""
    namespace: str = ""
    kind: str = ""

    @classmethod
    def of(cls, query: Mapping[str, str]) -> "Filters":
        """Those of an address. Raises BadQueryError."""
        given = {field.name: query[field.name].strip() for field in fields(cls) if query.get(field.name, "").strip()}
        filters = cls(**given)
        filters.span  # noqa: B018 a wrong one is told at once
        return filters

    @property
    def span(self) -> timedelta:
        """How far back."""
        found = _SPAN.match(self.since)
        if found is None:
            raise BadQueryError(f"since={self.since!r} is no time: write 12h, 7d or 4w")
        span = timedelta(**{_UNITS[found[2]][0]: int(found[1])})
        if span > _LONGEST:
            raise BadQueryError(f"since={self.since!r} is too long: at most {_LONGEST.days}d")
        return span

    @property
    def days(self) -> float:
        """The same in days."""
        return self.span / timedelta(days=1)

    @property
    def span_words(self) -> str:
        """``14 days``."""
        count, unit = int(self.since[:-1]), self.since[-1]
        many, one = _UNITS[unit]
        return f"{count} {one if count == 1 else many}"

    @property
    def chosen(self) -> dict[str, str]:
        """What is filtered by beside the time."""
        return {name: value for name in ("rule", "team", "namespace", "kind") if (value := getattr(self, name))}

    @property
    def narrows(self) -> bool:
        """Whether some of the workloads are left out."""
        return bool(self.team or self.namespace or self.kind)

    @property
    def divides_teams(self) -> bool:
        """Whether of one team some of the workloads are left out."""
        return bool(self.namespace or self.kind or self.rule)

    def as_query(self) -> dict[str, str]:
        """The parts of an address that are not as they are by themselves."""
        found = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in found.items() if value and (name != "since" or value != DEFAULT_SINCE)}

    def fit(self, subject: Subject) -> bool:
        """Whether a workload is one of those. The rule is not asked: it chooses findings."""
        return (
            (not self.team or subject.team == self.team)
            and (not self.namespace or subject.namespace == self.namespace)
            and (not self.kind or self.kind in (subject.kind, subject.kind.partition(".")[0]))
        )

    def subjects(self, scan: KnownScan) -> list[Subject]:
        """The workloads that a scan knows, those with a finding of the rule where one is chosen."""
        return [
            subject
            for subject in scan.subjects
            if self.fit(subject) and (not self.rule or any(finding.rule == self.rule for finding in subject.findings))
        ]

    def wanted(self, now: datetime, setup: Setup | None) -> Wanted:
        """The same for a ledger."""
        kind, group = ledger_kind(self.kind, setup)
        since = now - self.span
        return Wanted(since=since, rule=self.rule, team=self.team, namespace=self.namespace, kind=kind, group=group)


def ledger_kind(text: str, setup: Setup | None) -> tuple[str, str | None]:
    """Kind and API group of a name as policies use it; of a kind alone every group."""
    if setup is not None:
        for group, kind in setup.kinds:
            if setup.kinds[group, kind].text == text:
                return kind, group
    kind, dot, group = text.partition(".")
    return kind, group if dot else None


def kind_text(group: str, kind: str) -> str:
    """The name that policies use for a kind of a ledger's entry."""
    return kind if group in ("", "apps", "batch") else f"{kind}.{group}"


def parse_query(query: str) -> dict[str, str]:
    """The fields of an address, of each the first. Raises BadQueryError where there are too many or too long ones."""
    try:
        pairs = parse_qsl(query, keep_blank_values=True, max_num_fields=_MOST_FIELDS, errors="replace")
    except ValueError:
        raise BadQueryError(f"the address has more than {_MOST_FIELDS} fields") from None
    found: dict[str, str] = {}
    for name, value in pairs:
        if len(value) > _LONGEST_TEXT:
            raise BadQueryError("a field of the address is longer than any name can be")
        found.setdefault(name, value)
    return found


def address(path: str, filters: Filters | None = None, **more: object) -> str:
    """An address of the page."""
    query = {} if filters is None else filters.as_query()
    query |= {name: str(value) for name, value in more.items()}
    query = {name: value for name, value in query.items() if value != ""}
    return f"{path}?{urlencode(query, errors='replace')}" if query else path
