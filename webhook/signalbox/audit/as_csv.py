"""What was found as rows for a spreadsheet, none of whose cells it takes for a formula."""

from collections.abc import Iterator
from typing import Any

from signalbox.audit.result import Subject

COLUMNS = (
    "team",
    "namespace",
    "kind",
    "name",
    "owner",
    "type",
    "accelerators",
    "rule",
    "mode",
    "result",
    "refused",
    "message",
    "fix",
    "fixedBy",
    "exceptedBy",
    "uid",
    "place",
)
# A spreadsheet takes a cell that begins like this for a formula, and runs it.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def cell(text: str) -> str:
    """A text that no spreadsheet takes for a formula."""
    return f"'{text}" if text.startswith(_FORMULA) else text


def subject_rows(subject: Subject, every: bool) -> Iterator[list[str]]:
    """A row a finding, in the order of ``COLUMNS``. ``every``: a row for a workload without one too."""
    for finding in subject.findings:
        refused = "now" if finding.refuses else "if enforced" if finding.refuses_if_enforced else ""
        yield _row(
            subject,
            rule=finding.rule,
            mode=finding.mode.text,
            result=finding.result.value,
            refused=refused,
            message=finding.message,
            fix=finding.fix,
            fixedBy=finding.fixed_by,
            exceptedBy=finding.excepted_by,
        )
    for unknown in subject.not_judged:
        yield _row(subject, rule=unknown.rule, mode=unknown.mode.text, result="not-judged", message=unknown.reason)
    if every and not subject.findings and not subject.not_judged:
        yield _row(subject)


def _row(subject: Subject, **found: str) -> list[str]:
    asked = subject.accelerators
    row: dict[str, Any] = {
        "team": subject.team,
        "namespace": subject.namespace,
        "kind": subject.kind,
        "name": subject.name,
        "owner": subject.owner,
        "type": subject.type,
        "accelerators": "unknown" if asked.unknown and not asked.total else f"{asked.total:g}",
        "uid": subject.uid,
        "place": subject.place,
        **found,
    }
    return [cell(str(row.get(column, ""))) for column in COLUMNS]
