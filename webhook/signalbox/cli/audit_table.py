"""What ``audit`` says on a terminal: the sums by rule, team and kind, then the workloads hit hardest."""

from collections.abc import Callable, Iterable, Sequence

from signalbox.audit.as_json import by_weight, heaviest
from signalbox.audit.largest import Largest
from signalbox.audit.result import Asked, ScanFinding, ScanSummary, Subject
from signalbox.audit.tally import GroupTally, RuleTally, Tally
from signalbox.audit.words import number, plural
from signalbox.cli.inputs import kinds_of
from signalbox.cli.terminal import Terminal
from signalbox.finding import Result
from signalbox.manifests import Manifest
from signalbox.plain_text import clean, wrap
from signalbox.policy.mode import Mode

_MOST_ROWS = 40
_MOST_ERRORS = 40
_MOST_FINDINGS = 5
_LONGEST_NAME = 48


def write_table(
    summary: ScanSummary,
    tally: Tally,
    largest: Largest,
    children_of: Callable[[str], int],
    others: Sequence[Manifest],
    out: Terminal,
) -> None:
    """The whole report."""
    _write_head(summary, tally, others, out)
    _write_rules(tally, out)
    _write_groups("by team", tally.teams.values(), out)
    _write_groups("by kind", tally.kinds.values(), out)
    _write_largest(largest, children_of, out)
    _write_unknown(tally, out)
    if summary.error_count:
        out.line()
        out.line("could not be read or judged", "bold")
        for error in summary.errors[:_MOST_ERRORS]:
            _wrapped(f"{error.what}: {error.text}", out, "red")
        if summary.error_count > _MOST_ERRORS:
            out.line(f"  and {summary.error_count - _MOST_ERRORS:,} more")


def _write_head(summary: ScanSummary, tally: Tally, others: Sequence[Manifest], out: Terminal) -> None:
    total = tally.total
    parts = [plural(total.workloads, "workload") + " judged"]
    children, ended = sum(summary.children.values()), sum(summary.finished.values())
    if children:
        parts.append(f"{plural(children, 'child', 'children')} counted under them")
    if ended:
        parts.append(f"{ended:,} ended already")
    if others:
        parts.append(f"{plural(len(others), 'other object')} skipped: {kinds_of(list(others))}")
    for line in wrap("", ", ".join(parts), "", "  "):
        out.line(line)
    if not total.workloads:
        return
    today = f"{total.refused:,} of {plural(total.workloads, 'workload')}" if total.refused else "nothing"
    if total.refused_accelerators:
        today += f", with {number(total.refused_accelerators)} of {number(total.accelerators)} accelerators"
    out.line(f"would be refused today: {today}", *(("red", "bold") if total.refused else ("green", "bold")))
    more = total.if_enforced - total.refused
    if more:
        asked = number(total.if_enforced_accelerators - total.refused_accelerators)
        held = f", with {asked} accelerators" if asked != "0" else ""
        out.line(f"if every rule were enforced: {more:,} more{held}", "yellow", "bold")
    if tally.unknown_amounts:
        out.line(f"how many accelerators {plural(tally.unknown_amounts, 'workload')} ask for is not known in full", "dim")


def _write_rules(tally: Tally, out: Terminal) -> None:
    rows = [
        (_mark(rule, out), rule.rule, rule.mode.text, f"{rule.refused + rule.told:,}", number(rule.accelerators), _remark(rule))
        for rule in by_weight(tally.rules.values())
        if rule.refused or rule.told or rule.mended or rule.excepted or rule.faults
    ]
    if not rows:
        return
    out.line()
    width = _width(row[1] for row in rows)
    out.line(f"  {'by rule':<{width}}  {'mode':<7}  workloads  accelerators", "bold")
    for (mark, style), rule, mode, hit, asked, remark in rows:
        text = f"{clean(rule, width):<{width}}  {mode:<7}  {hit:>9}  {asked:>12}  {remark}".rstrip()
        out.line(f"{out.styled(mark, style, 'bold')} {text}")


def _mark(rule: RuleTally, out: Terminal) -> tuple[str, str]:
    if rule.refused and rule.mode is Mode.ENFORCE:
        return out.marks.refused[0], "red"
    if rule.refused or rule.told or rule.faults:
        return out.marks.warned, "yellow"
    return " ", "dim"


def _remark(rule: RuleTally) -> str:
    words = []
    if rule.refused:
        words.append("refused today" if rule.mode is Mode.ENFORCE else "would refuse if enforced")
    for count, what in (
        (rule.told, "told only, never refused"),
        (rule.mended, "mended by injection"),
        (rule.excepted, "excepted"),
        (rule.faults, "without an answer"),
    ):
        if count:
            words.append(f"{count:,} {what}")
    return ", ".join(words)


def _write_groups(title: str, groups: Iterable[GroupTally], out: Terminal) -> None:
    listed = heaviest(groups)
    if not listed:
        return
    out.line()
    width = _width([title, *(group.name for group in listed)])
    out.line(f"  {title:<{width}}  workloads  accelerators  refused today  more if enforced", "bold")
    for group in listed[:_MOST_ROWS]:
        more = group.if_enforced - group.refused
        today = _with_accelerators(group.refused, group.refused_accelerators)
        later = _with_accelerators(more, group.if_enforced_accelerators - group.refused_accelerators)
        name, asked = f"{clean(group.name, width):<{width}}", number(group.accelerators)
        text = f"  {name}  {group.workloads:>9,}  {asked:>12}  {today:>13}  {later:>16}"
        out.line(text.rstrip(), *(("red",) if group.refused else ("yellow",) if more else ()))
    if len(listed) > _MOST_ROWS:
        out.line(f"  and {len(listed) - _MOST_ROWS} more: -o json lists them all", "dim")


def _with_accelerators(workloads: int, accelerators: float) -> str:
    if not workloads:
        return "-"
    return f"{workloads:,} ({number(accelerators)})" if accelerators else f"{workloads:,}"


def _write_largest(largest: Largest, children_of: Callable[[str], int], out: Terminal) -> None:
    if not largest:
        return
    out.line()
    out.line("workloads, those that are refused first, then by accelerators", "bold")
    for subject in largest:
        mark, style = (out.marks.refused, "red") if subject.refused else (out.marks.warned, "yellow")
        if not any(finding.stands or finding.result is Result.ERROR for finding in subject.findings):
            mark, style = " ", "dim"
        first, *rest = wrap("", subject_text(subject, children_of(subject.uid)), "  ", "    ")
        out.line(f"{out.styled(mark[0], style, 'bold')} {first[2:]}")
        for line in rest:
            out.line(line)
        for finding in subject.findings[:_MOST_FINDINGS]:
            _wrapped(f"[{finding.rule}] {finding.mode.text}{_why(finding)}: {finding.message}", out, "dim")
        if len(subject.findings) > _MOST_FINDINGS:
            out.line(f"  and {len(subject.findings) - _MOST_FINDINGS} more findings", "dim")
    if largest.dropped:
        out.line(f"and {largest.dropped:,} more: -o csv or -o json lists them all", "dim")


def subject_text(subject: Subject, children: int = 0) -> str:
    """``Job research/llama-sft (fine-tuning, 32 accelerators, 3 children)``."""
    facts = [subject.type, _asked_text(subject.accelerators), plural(children, "child", "children") if children else ""]
    facts += [f"of {subject.owner}" if subject.owner else "", subject.place]
    told = ", ".join(fact for fact in facts if fact)
    name = f"{subject.kind} {subject.namespace}/{subject.name or 'without a name'}"
    return f"{name} ({told})" if told else name


def _asked_text(asked: Asked) -> str:
    if asked.unknown:
        return f"{number(asked.total)} accelerators or more" if asked.total else "accelerators, how many is not known"
    return plural(asked.total, "accelerator") if asked.total else ""


def _why(finding: ScanFinding) -> str:
    if finding.fixed_by:
        return ", mended by injection"
    if finding.excepted_by:
        return f", excepted by {finding.excepted_by}"
    return ", fault" if finding.result is Result.ERROR else ""


def _write_unknown(tally: Tally, out: Terminal) -> None:
    if not tally.reasons:
        return
    out.line()
    out.line("not judged", "bold")
    for (rule, reason), workloads in sorted(tally.reasons.items())[:_MOST_ROWS]:
        _wrapped(f"{rule} for {plural(workloads, 'workload')} ({reason})", out, "dim")
    if len(tally.reasons) > _MOST_ROWS:
        out.line(f"  and {len(tally.reasons) - _MOST_ROWS} more", "dim")


def _width(names: Iterable[str]) -> int:
    return min(_LONGEST_NAME, max((len(name) for name in names), default=0))


def _wrapped(text: str, out: Terminal, *styles: str) -> None:
    for line in wrap("", text, "  ", "    "):
        out.line(line, *styles)
