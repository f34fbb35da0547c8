"""``check --table``: many workloads at once, by what their rules say of them.

One row a rule with what it refuses, warns of and records, then each rule with its workloads and the reasons: what one reads
before a rule is put in force.
"""

from dataclasses import dataclass, field

from signalbox.admission import Admission
from signalbox.cli.terminal import Terminal
from signalbox.finding import Finding, Result
from signalbox.manifests import STDIN, Manifest
from signalbox.message import describe
from signalbox.plain_text import clean, wrap

REFUSED, WARNED, RECORDED, NOT_JUDGED = "refused", "warned", "recorded", "not judged"
_COLUMNS = (REFUSED, WARNED, RECORDED, NOT_JUDGED)
_STYLES = {REFUSED: "red", WARNED: "yellow"}
_WIDEST_RULE = 48
_MOST_WORKLOADS = 200


@dataclass(frozen=True, slots=True)
class Row:
    """One workload under one rule: where it stands, what it is taken for, and why the rule speaks."""

    place: str
    workload: str
    why: str


@dataclass(slots=True)
class Tally:
    """What was said so far, by rule and result."""

    rows: dict[tuple[str, str], list[Row]] = field(default_factory=dict)

    def add(self, manifest: Manifest, admission: Admission) -> None:
        """Counts what one workload's rules say; several problems under one rule are one row."""
        view = admission.decided.view or admission.mutation.view
        if view is None:
            return
        file = "standard input" if manifest.file == STDIN else clean(manifest.file, 200)
        place, workload = f"{file}:{manifest.document.line}", describe(view)
        told: dict[tuple[str, str], str] = {}
        for finding in admission.decided.findings:
            result = _result(finding)
            if result:
                told.setdefault((finding.rule, result), clean(finding.message, 300))
        for key, why in told.items():
            self.rows.setdefault(key, []).append(Row(place, workload, why))

    def write(self, out: Terminal) -> None:
        """The table, and below it what is refused and warned of, rule by rule."""
        rules = sorted({rule for rule, _ in self.rows})
        if not rules:
            return
        width = min(max(len("rule"), *(len(rule) for rule in rules)), _WIDEST_RULE)
        out.line(f"{'rule':<{width}}" + "".join(f"  {column:>10}" for column in _COLUMNS), "bold")
        for rule in rules:
            counts = [len(self.rows.get((rule, column), ())) for column in _COLUMNS]
            out.line(f"{clean(rule):<{width}}" + "".join(f"  {count or '-':>10}" for count in counts))
        for result in (REFUSED, WARNED):
            for rule in rules:
                self._write_rule(rule, result, out)

    def _write_rule(self, rule: str, result: str, out: Terminal) -> None:
        rows = self.rows.get((rule, result), [])
        if not rows:
            return
        out.line()
        out.line(out.styled(result, _STYLES[result], "bold") + out.styled(f" by {clean(rule)}", "bold"))
        for why in dict.fromkeys(row.why for row in rows):
            for line in wrap("", why, "  ", "    "):
                out.line(line)
            same = [row for row in rows if row.why == why]
            for row in same[:_MOST_WORKLOADS]:
                out.line(f"    {row.workload}")
                out.line(f"      {row.place}", "dim")
            if len(same) > _MOST_WORKLOADS:
                out.line(f"    and {len(same) - _MOST_WORKLOADS} more", "dim")


def _result(finding: Finding) -> str:
    if finding.refuses:
        return REFUSED
    if finding.result is Result.NOT_JUDGED:
        return NOT_JUDGED
    if finding.result is Result.FAIL:
        return WARNED if finding.warns else RECORDED
    return ""
