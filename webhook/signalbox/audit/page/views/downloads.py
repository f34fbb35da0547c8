"""What the lists show, to take along: CSV for a spreadsheet and JSON for programs, within bounds."""

import csv
import io
import json
from collections.abc import Callable, Iterable, Sequence

import orjson

from signalbox.audit.as_csv import COLUMNS, cell, subject_rows
from signalbox.audit.as_json import subject_json
from signalbox.audit.ledger.entry import LedgerEntry
from signalbox.audit.page.filters import kind_text
from signalbox.audit.page.look import Look, NotFoundError
from signalbox.audit.page.views.requests import wanted_of
from signalbox.audit.page.views.workloads import rows_of
from signalbox.audit.result import Subject
from signalbox.process.listener import Page
from signalbox.review import JsonObject

MOST_REQUESTS = 5_000
_REQUEST_COLUMNS = (
    "at",
    "decision",
    "operation",
    "user",
    "team",
    "namespace",
    "kind",
    "name",
    "type",
    "accelerators",
    "rule",
    "mode",
    "result",
    "refused",
    "wouldRefuse",
    "message",
    "exceptedBy",
    "uid",
    "policies",
)
Headers = tuple[tuple[str, str], ...]


def _workloads_csv(look: Look, headers: Headers) -> Page:
    rows = (row for one in _subjects(look) for row in subject_rows(one, every=False))
    return _csv("workloads", COLUMNS, rows, headers)


def _workloads_json(look: Look, headers: Headers) -> Page:
    return _json("workloads", [subject_json(one) for one in _subjects(look)], headers)


def _requests_csv(look: Look, headers: Headers) -> Page:
    return _csv("requests", _REQUEST_COLUMNS, (row for entry in _entries(look) for row in _rows(entry)), headers)


def _requests_json(look: Look, headers: Headers) -> Page:
    return _json("requests", [_entry_json(entry) for entry in _entries(look)], headers)


def _subjects(look: Look) -> list[Subject]:
    if look.scan is None:
        raise NotFoundError(look.scan_advice)
    return [row.subject for row in rows_of(look, look.query.get("result", ""))]


def _entries(look: Look) -> list[LedgerEntry]:
    wanted = wanted_of(look)
    found = look.ask_ledger(lambda ledger: list(ledger.entries(wanted, MOST_REQUESTS, newest_first=True)))
    if found is None:
        raise NotFoundError(look.ledger_advice)
    return found


def _rows(entry: LedgerEntry) -> Iterable[list[str]]:
    common = _entry_json(entry)
    first = [
        common["at"],
        entry.decision,
        entry.operation,
        entry.user,
        entry.team,
        entry.namespace,
        common["kind"],
        entry.shown_name,
        entry.type,
        f"{entry.accelerators:g}",
    ]
    last = [entry.uid, entry.digest]
    if not entry.findings:
        yield [cell(str(text)) for text in (*first, "", "", "", "", "", "", "", *last)]
    for one in entry.findings:
        found = (one.rule, one.mode, one.result, _yes(one.refused), _yes(one.would_refuse), one.message, one.excepted_by)
        yield [cell(str(text)) for text in (*first, *found, *last)]


def _entry_json(entry: LedgerEntry) -> JsonObject:
    return {
        "id": entry.id,
        "at": entry.at.isoformat(timespec="milliseconds"),
        "decision": entry.decision,
        "operation": entry.operation,
        "endpoint": entry.endpoint,
        "uid": entry.uid,
        "user": entry.user,
        "groups": list(entry.groups),
        "team": entry.team,
        "namespace": entry.namespace,
        "kind": kind_text(entry.group, entry.kind),
        "name": entry.name,
        "generateName": entry.generate_name,
        "labels": entry.labels,
        "type": entry.type,
        "accelerators": {"total": entry.accelerators, "byResource": entry.by_resource},
        "weight": entry.weight,
        "policyDigest": entry.digest,
        "exceptedBy": list(entry.excepted_by),
        "findings": [
            {
                "rule": one.rule,
                "check": one.check,
                "mode": one.mode,
                "result": one.result,
                "refused": one.refused,
                "wouldRefuse": one.would_refuse,
                "message": one.message,
                "key": one.key,
                "fixedBy": one.fixed_by or None,
                "exceptedBy": one.excepted_by or None,
            }
            for one in entry.findings
        ],
    }


def _yes(value: bool) -> str:
    return "yes" if value else "no"


def _csv(name: str, columns: Sequence[str], rows: Iterable[Sequence[str]], headers: Headers) -> Page:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(columns)
    writer.writerows(rows)
    # Without the mark a spreadsheet takes the text for one of an old code page.
    return Page(
        out.getvalue().encode("utf-8-sig", "replace"), "text/csv; charset=utf-8", headers=_saved(f"{name}.csv", headers)
    )


def _json(name: str, found: list[JsonObject], headers: Headers) -> Page:
    try:
        body = orjson.dumps(found)
    except TypeError:
        # A lone surrogate in a name: orjson writes none, the standard library escapes it.
        body = json.dumps(found).encode()
    return Page(body, "application/json", headers=_saved(f"{name}.json", headers))


def _saved(name: str, headers: Headers) -> Headers:
    return (("Content-Disposition", f'attachment; filename="signalbox-{name}"'), *headers)


Download = Callable[[Look, Headers], Page]
DOWNLOADS: dict[str, Download] = {
    "/workloads.csv": _workloads_csv,
    "/workloads.json": _workloads_json,
    "/requests.csv": _requests_csv,
    "/requests.json": _requests_json,
}
