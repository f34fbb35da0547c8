"""Whatever stands in a manifest or a request is text on the page and nothing else: no element, no attribute, no formula."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from signalbox.audit.from_json import KnownScan, chosen
from signalbox.audit.ledger.entry import Documents, LedgerEntry, LedgerFinding, Recorded
from signalbox.audit.ledger.reading import Count, DayCount, Extent, Ledger
from signalbox.audit.page.known import Known
from signalbox.audit.result import Asked, NotJudged, ScanError, ScanFinding, ScanSummary, Seen, Subject
from signalbox.finding import Result
from signalbox.policy.mode import Mode
from tests.page_app import FixedSources, Pages, known_setup, tags
from tests.world import NOW

PIECES = (
    "<script>alert(1)</script>",
    '"><x-evil onx="1">',
    "' onmouseover='alert(1)",
    "</title></style></textarea><x-evil>",
    "<!--",
    "]]>",
    "&lt;x-evil&gt;",
    "{{ 7 * 7 }}{% raw %}",
    "javascript:alert(1)",
    "=HYPERLINK(1)",
    "+1",
    "-1",
    "@x",
    "\u202e\u2066\u200b",
    "\x00\x1b[31m\r\n",
    "\ud800",
    "🚀",
    "a/b c.d*",
)
texts = st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=8)), min_size=1, max_size=4).map("".join)
_HIDING = {"\u202e", "\u2066", "\u200b", "\x00", "\x1b", "\r"}
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def scan_of_text(text: str) -> KnownScan:
    """A scan in which every text is this one."""
    finding = ScanFinding(
        text, text, Mode.WARN, Result.FAIL, text, would_refuse=True, key=text, evidence=(Seen(text, text, text),), fix=text
    )
    findings = (
        finding,
        replace(finding, result=Result.SKIP, would_refuse=False, excepted_by=text),
        replace(finding, fixed_by=text),
    )
    subject = Subject(
        *(text, text, text, text),
        uid=text,
        place=text,
        owner=text,
        type=text,
        team=text,
        accelerators=Asked(8, {text: 8.0}),
        findings=findings,
        not_judged=(NotJudged(text, Mode.AUDIT, text),),
    )
    summary = ScanSummary(
        NOW, 1.0, text, {text: 1}, {text: 1}, {text: 1}, (ScanError(text, text),), error_count=1, incomplete=frozenset({text})
    )
    return KnownScan(summary, chosen([subject]), (subject,), {text: 1}, left_out=3)


class LedgerOfText:
    """A ledger in which every text is this one."""

    def __init__(self, text: str) -> None:
        finding = LedgerFinding(text, text, "warn", "fail", False, True, text, text, 1.0, text, text)
        self._entry = LedgerEntry(
            *(NOW - timedelta(days=1), text, text, (text, text)),
            operation="CREATE",
            endpoint="validate",
            group="batch",
            version=text,
            kind="Job",
            namespace=text,
            name=text,
            generate_name=text,
            labels={"workload.ai/team": text},
            decision="warned",
            type=text,
            accelerators=8.0,
            by_resource={text: 8.0},
            digest=text,
            excepted_by=(text,),
            doubts=(text,),
            findings=(finding,),
            id=1,
        )
        self._text = text

    def entries(self, *_: Any, **__: Any) -> Iterator[LedgerEntry]:
        yield self._entry

    def replayable(self, *_: Any, **__: Any) -> Iterator[Recorded]:
        yield self.entry(1)

    def entry(self, _: int) -> Recorded:
        text = self._text
        container = {"name": text, "image": text, "command": [text], "resources": {"limits": {"nvidia.com/gpu": text}}}
        obj = {"metadata": {"name": text, "labels": {text: text}}, "spec": {"template": {"spec": {"containers": [container]}}}}
        return Recorded(self._entry, Documents(obj, {"metadata": text}))

    def counts(self, by: str, *_: Any) -> list[Count]:
        key = NOW.date().isoformat() if by == "day" else "refused" if by == "decision" else self._text
        return [Count(key, 1.0, 1, 1, 1, 1, 1, 1, 8.0, 1, 8.0)]

    def days(self, *_: Any) -> list[DayCount]:
        return [DayCount(NOW.date().isoformat(), self._text, "refused", 3.0)]

    def extent(self, *_: Any) -> Extent:
        return Extent(NOW - timedelta(days=20), NOW, 1, 0)


def pages_of(text: str) -> Pages:
    ledger: Any = LedgerOfText(text)
    known: Known[Ledger] = Known(ledger)
    return Pages(FixedSources(known, Known(scan_of_text(text), trouble=text), known_setup()))


def addresses(text: str) -> list[str]:
    from signalbox.audit.page.filters import Filters, address

    named = Filters(kind=text.strip()[:600] or "x", namespace=text.strip()[:600])
    return [
        "/",
        "/workloads",
        "/requests",
        "/accelerators",
        "/exceptions",
        address("/rule", Filters(rule=text.strip())),
        address("/", Filters(team=text.strip())),
        address("/workload", named, name=text),
        address("/requests", Filters(rule=text.strip()), user=text),
        "/request?id=1",
        address("/workloads", result=text),
        address("/", since=text),
    ]


@pytest.fixture(scope="module")
def allowed() -> set[tuple[str, str]]:
    """The elements and attributes of pages in which nothing bad stands."""
    pages = pages_of("plain")
    found = {("", "")}
    for one in (*addresses("plain"), "/rule?rule=interruptible/checkpoint", "/rule?rule=limits/within-reach", "/nowhere"):
        for tag, attributes in tags(pages.get(one).body.decode()):
            found |= {(tag, ""), *((tag, name) for name in attributes)}
    return found


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=texts)
def test_no_text_becomes_an_element_or_an_attribute(allowed: set[tuple[str, str]], text: str) -> None:
    pages = pages_of(text)
    for one in addresses(text):
        page = pages.get(one)
        assert page.status in (200, 400, 404), f"{one}: {page.status}"
        html = page.body.decode()
        assert not _HIDING & set(html), one
        for tag, attributes in tags(html):
            for name in ("", *attributes):
                assert (tag, name) in allowed, f"{one}: <{tag} {name}>"
            for name in ("href", "src", "action"):
                assert (attributes.get(name) or "/").startswith(("/", "#")), attributes


@settings(max_examples=12, deadline=None)
@given(text=texts)
def test_no_download_holds_a_formula_and_each_can_be_read_again(text: str) -> None:
    pages = pages_of(text)
    for name in ("/workloads.csv", "/requests.csv"):
        page = pages.get(name)
        assert page.status == 200
        assert dict(page.headers)["Content-Disposition"] == f'attachment; filename="signalbox-{name[1:]}"'
        rows = list(csv.reader(io.StringIO(page.body.decode("utf-8-sig"), newline="")))
        assert len(rows) > 1
        for row in rows:
            assert len(row) == len(rows[0])
            assert not [cell for cell in row if cell.startswith(_FORMULA)]
    for name in ("/workloads.json", "/requests.json"):
        assert json.loads(pages.get(name).body)


def test_a_name_of_html_is_shown_as_it_is_written() -> None:
    html = pages_of("<b>llama</b>").html("/workloads")
    assert "&lt;b&gt;llama&lt;/b&gt;" in html
    assert "<b>llama" not in html
