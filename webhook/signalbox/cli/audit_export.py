"""A scan as lines for programs: JSON, one object a line, and CSV, one row a finding. Written as it goes, nothing is kept."""

import csv
import sys

from signalbox.audit.as_csv import COLUMNS, subject_rows
from signalbox.audit.as_json import scan_json, subject_json
from signalbox.audit.result import ScanSummary, Subject
from signalbox.audit.tally import Tally
from signalbox.cli.json_line import json_line


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
        self._writer.writerows(subject_rows(subject, self._every))

    def finish(self, summary: ScanSummary, tally: Tally) -> None:
        """Rows have no place for sums."""
