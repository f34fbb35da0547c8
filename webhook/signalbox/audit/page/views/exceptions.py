"""Exceptions and overrides, by when they end: what they cover is refused from then on, or no longer."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from signalbox.audit.ledger.reading import Count
from signalbox.audit.page.look import Look
from signalbox.audit.page.render import render
from signalbox.policy.policy_set import Rule, expired


@dataclass(frozen=True, slots=True)
class Ending:
    """One exception, or an override of a mode that has an end.

    ``standing`` and ``requests`` are what it covers; None: not known.
    """

    what: str
    name: str
    rules: tuple[str, ...]
    until: date
    over: bool
    says: str
    approved_by: str = ""
    standing: int | None = None
    requests: int | None = None


def exceptions_view(look: Look) -> bytes:
    """All of them, the next to end first."""
    counts = look.ask_ledger(lambda ledger: ledger.counts("exception", look.wanted))
    found = endings(look, counts)
    return render(
        "exceptions.html",
        look.filters,
        look=look,
        here="/exceptions",
        ahead=[one for one in found if not one.over],
        over=[one for one in found if one.over],
    )


def endings(look: Look, counts: Sequence[Count] | None) -> list[Ending]:
    """Exceptions and overrides of the policies in force, the next to end first; ``counts`` are the ledger's by exception."""
    if look.setup is None:
        return []
    requests = {count.key: count.excepted for count in counts or ()}
    policies = look.setup.policies
    covered = Counter(
        name
        for subject in (look.scan.subjects if look.scan is not None else ())
        for name in {finding.excepted_by for finding in subject.findings if finding.excepted_by}
    )
    found = [
        Ending(
            "exception",
            one.name,
            one.rules,
            one.until,
            expired(one.until, look.now),
            one.reason,
            one.approved_by,
            None if look.scan is None else covered[one.name],
            None if counts is None else requests.get(one.name, 0),
        )
        for one in policies.exceptions
        if not look.filters.rule or one.covers(look.filters.rule)
    ]
    for policy in policies.policies:
        for rule in policy.rules:
            if not look.filters.rule or rule.id == look.filters.rule:
                found += _overrides(rule, look)
    return sorted(found, key=lambda one: (one.until, one.name))


def _overrides(rule: Rule, look: Look) -> list[Ending]:
    return [
        Ending(
            "override",
            rule.id,
            (rule.id,),
            one.until,
            expired(one.until, look.now),
            f"{one.mode.text} instead of {rule.mode.text}" + (" for some of its workloads" if one.match is not None else ""),
        )
        for one in rule.overrides
        if one.until is not None
    ]
