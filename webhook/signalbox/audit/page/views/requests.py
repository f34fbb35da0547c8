"""What was asked and how it was answered: the ledger's entries, and the page of one of them."""

from dataclasses import replace

import yaml

from signalbox.audit.ledger.entry import DECISIONS
from signalbox.audit.ledger.reading import Wanted
from signalbox.audit.page.filters import BadQueryError
from signalbox.audit.page.judgements import judgements
from signalbox.audit.page.look import Look, NotFoundError
from signalbox.audit.page.render import render
from signalbox.audit.page.views.facts import DECISION_WORDS
from signalbox.audit.page.views.workloads import address_of
from signalbox.review import JsonObject

_A_PAGE = 50
_LONGEST_OBJECT = 100_000


def requests_view(look: Look) -> bytes:
    """The entries, the newest first."""
    decision, after = look.query.get("decision", ""), look.number("after")
    wanted = wanted_of(look)
    found = look.ask_ledger(lambda ledger: list(ledger.entries(wanted, _A_PAGE + 1, newest_first=True, after=after)))
    return render(
        "requests.html",
        look.filters,
        look=look,
        here="/requests",
        entries=None if found is None else found[:_A_PAGE],
        older=found[_A_PAGE - 1].id if found is not None and len(found) > _A_PAGE else None,
        decision=decision,
        user=wanted.user,
        words=DECISION_WORDS,
        address_of=address_of,
        later=after is not None,
    )


def request_view(look: Look) -> bytes:
    """One entry, with the object as it was kept. Raises NotFoundError."""
    number = look.number("id")
    if number is None:
        raise BadQueryError("id says which request: the list leads here")
    recorded = look.ask_ledger(lambda ledger: ledger.entry(number))
    if recorded is None:
        raise NotFoundError(look.ledger_advice or f"The ledger holds no request {number}: it may be too old to be kept.")
    entry = recorded.entry
    return render(
        "request.html",
        look.filters,
        look=look,
        here="/request",
        entry=entry,
        words=DECISION_WORDS,
        judged=None if look.setup is None else judgements(look.setup, recorded),
        object=_text(recorded.documents.object),
        old_object=_text(recorded.documents.old_object),
        address=address_of(entry.kind, entry.group, entry.namespace, entry.name or f"{entry.generate_name}*"),
    )


def wanted_of(look: Look) -> Wanted:
    """What of the ledger: the filters, and who asked, and how it was answered."""
    decision = look.query.get("decision", "")
    if decision and decision not in DECISIONS:
        raise BadQueryError(f"decision={decision!r} is none of {', '.join(DECISIONS)}")
    return replace(look.wanted, decision=decision, user=look.query.get("user", ""))


def _text(obj: JsonObject | None) -> str:
    if obj is None:
        return ""
    try:
        text: str = yaml.dump(obj, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120)
    except (UnicodeError, RecursionError) as error:
        return f"It cannot be written as YAML: {type(error).__name__}."
    return text if len(text) <= _LONGEST_OBJECT else f"{text[:_LONGEST_OBJECT]}\n… the rest is in the download"


_Dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
