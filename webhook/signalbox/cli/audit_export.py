"""A scan as lines for programs: JSON, one object a line, and CSV, one row a finding. Written as it goes, nothing is kept."""

import csv
import sys
from typing import Any

from signalbox.audit.as_json import scan_json, subject_json
from signalbox.audit.result import ScanSummary, Subject
from signalbox.audit.tally import Tally
from signalbox.cli.json_line import json_line

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


class JsonLines:
    """A workload a line, and ``{"summary": …}`` last. ``every``: those without a finding too."""

    def __init__(self, every: bool) -> None:
        self._every = every

    def add(self, subject: Subject) -> None:
        """Write a workload."""
        if self._every or subject.findings or subject.not_judged:
            sys.stdout.write(json_line(subject_json(subject)) + "\n")

    def finish(self, summary: ScanSummary, tally: Tally) -> None:
        """Write the sums."""
        sys.stdout.write(json_line({"summary": scan_json(summary, tally)}) + "\n")


class CsvRows:
    """A row a finding. ``every``: a row for each workload without one too."""

    def __init__(self, every: bool) -> None:
        self._every = every
        self._writer = csv.writer(sys.stdout, lineterminator="\n")
        self._writer.writerow(COLUMNS)

    def add(self, subject: Subject) -> None:
        """Write a workload's rows."""
        for finding in subject.findings:
            refused = "now" if finding.refuses else "if enforced" if finding.refuses_if_enforced else ""
            self._row(
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
            self._row(subject, rule=unknown.rule, mode=unknown.mode.text, result="not-judged", message=unknown.reason)
        if self._every and not subject.findings and not subject.not_judged:
            self._row(subject)

    def finish(self, summary: ScanSummary, tally: Tally) -> None:
        """Rows have no place for sums."""

    def _row(self, subject: Subject, **found: str) -> None:
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
        self._writer.writerow([cell(str(row.get(column, ""))) for column in COLUMNS])


def cell(text: str) -> str:
    """A text that no spreadsheet takes for a formula."""
    return f"'{text}" if text.startswith(_FORMULA) else text
