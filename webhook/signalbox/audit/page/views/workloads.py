"""The workloads that something was found in, and the page of one of them."""

from dataclasses import dataclass, replace

from signalbox.audit.ledger.reading import Wanted
from signalbox.audit.page.filters import BadQueryError, kind_text, ledger_kind
from signalbox.audit.page.judgements import Judged, judgements
from signalbox.audit.page.look import Look, NotFoundError
from signalbox.audit.page.render import render
from signalbox.audit.page.views.facts import DECISION_WORDS
from signalbox.audit.result import ScanFinding, Subject

_A_PAGE = 50
_MOST_REQUESTS = 20
WORDS = {
    "refused": "refused today",
    "if-enforced": "refused if enforced",
    "told": "told only",
    "mended": "mended by injection",
    "excepted": "excepted",
    "fault": "no answer",
}


@dataclass(frozen=True, slots=True)
class Row:
    """One workload in a list: what comes of it, in a word, and by which rules."""

    subject: Subject
    word: str
    rules: tuple[str, ...]


def workloads_view(look: Look) -> bytes:
    """The list, the hardest hit first."""
    wanted = look.query.get("result", "")
    if wanted and wanted not in WORDS:
        raise BadQueryError(f"result={wanted!r} is none of {', '.join(WORDS)}")
    rows = rows_of(look, wanted)
    page = look.number("page")
    page = 1 if page is None else page
    if page < 1:
        raise BadQueryError("page=0 is no page: the first is 1")
    shown = rows[(page - 1) * _A_PAGE : page * _A_PAGE]
    return render(
        "workloads.html",
        look.filters,
        look=look,
        here="/workloads",
        rows=shown,
        total=len(rows),
        first=(page - 1) * _A_PAGE + 1,
        page=page,
        last=max(1, -(-len(rows) // _A_PAGE)),
        result=wanted,
        words=WORDS,
    )


def rows_of(look: Look, wanted: str = "") -> list[Row]:
    """The workloads that the filters choose."""
    if look.scan is None:
        return []
    rows = [_row(subject, look.filters.rule) for subject in look.filters.subjects(look.scan)]
    return [row for row in rows if not wanted or row.word == wanted]


def workload_view(look: Look) -> bytes:
    """The page of the workload that ``kind``, ``namespace`` and ``name`` say. Raises NotFoundError."""
    filters, name = look.filters, look.query.get("name", "")
    if not filters.kind or not name:
        raise BadQueryError("kind, namespace and name say which workload: the list leads here")
    subject = next((one for one in look.scan.subjects if filters.fit(one) and one.name == name), None) if look.scan else None
    kind, group = ledger_kind(filters.kind, look.setup)
    wanted = Wanted(kind=kind, group=group, namespace=filters.namespace)
    called = replace(wanted, generate_name=name.removesuffix("*")) if name.endswith("*") else replace(wanted, name=name)
    entries = look.ask_ledger(lambda ledger: list(ledger.entries(called, _MOST_REQUESTS, newest_first=True)))
    if subject is None and not entries and not look.troubles:
        raise NotFoundError(
            "Neither the last scan found something in this workload nor does the ledger hold a request for it. "
            "It may be gone, or nothing is wrong with it."
        )
    return render(
        "workload.html",
        look.filters,
        look=look,
        here="/workload",
        name=name,
        subject=subject,
        findings=[] if subject is None else sorted(subject.findings, key=_rank),
        word=word_of,
        words=WORDS,
        children=0 if subject is None or look.scan is None else look.scan.children.get(subject.uid, 0),
        entries=entries,
        address_of=address_of,
        decision_words=DECISION_WORDS,
        judged=_judged(look, entries[0].id) if entries else None,
    )


def _judged(look: Look, entry: int) -> tuple[Judged, ...] | None:
    recorded = look.ask_ledger(lambda ledger: ledger.entry(entry))
    return None if recorded is None or look.setup is None else judgements(look.setup, recorded)


def _row(subject: Subject, rule: str) -> Row:
    findings = sorted((one for one in subject.findings if not rule or one.rule == rule), key=_rank)
    return Row(subject, word_of(findings[0]) if findings else "", tuple(dict.fromkeys(one.rule for one in findings)))


def word_of(finding: ScanFinding) -> str:
    """What comes of a finding, as ``WORDS`` has it."""
    if finding.refuses:
        return "refused"
    if finding.refuses_if_enforced:
        return "if-enforced"
    if finding.stands:
        return "told"
    if finding.fixed_by:
        return "mended"
    return "excepted" if finding.excepted_by else "fault"


def _rank(finding: ScanFinding) -> tuple[int, str]:
    return list(WORDS).index(word_of(finding)), finding.rule


def address_of(kind: str, group: str, namespace: str, name: str) -> dict[str, str]:
    """The fields of the address of a workload's page."""
    return {"kind": kind_text(group, kind), "namespace": namespace, "name": name}
