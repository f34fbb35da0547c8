"""What people read: refusals, warnings, and the facts line about a workload.

Everything quoted from a manifest is stripped of control characters (an ESC sequence would reach the terminal as it is) and
shortened. A whole refusal stays under 4 kB: events and conditions store it uncut. A warning is one line: one that held a
newline would be dropped without a trace.
"""

from collections.abc import Sequence
from dataclasses import replace

import orjson

from signalbox.fieldpath import format_path, value_at
from signalbox.finding import Finding, Result
from signalbox.message_fix import EDIT_LIMIT, edit_line, fix_lines, labelled, shown_edits, yaml_scalar
from signalbox.plain_text import WIDTH, clean, wrap
from signalbox.quantity import format_quantity
from signalbox.review import JsonObject
from signalbox.workload.judgement import TRAINING_TYPES, TYPES, Evidence
from signalbox.workload.labels import TYPE_LABEL
from signalbox.workload.view import WorkloadView

LIMIT = 4000
WARNING_LIMIT = 400
_EVIDENCE_LIMIT = 4
_MORE = ", and {} more"
_QUANTITIES = (("limits",), ("requests",))
# An object of thousands of containers has thousands of findings; the API server keeps them all in its audit log.
_AUDIT_LIMIT = 50


def describe(view: WorkloadView) -> str:
    """``Job research/llama-sft (fine-tuning, 4 Pods, 32 GPUs, spot)``."""
    facts = []
    if view.type.state:
        facts.append(view.type.state)
    if view.pods is not None and view.kind.runs != "pod":
        facts.append(f"{view.pods} Pod{'' if view.pods == 1 else 's'}")
    accelerators = view.accelerators
    if accelerators.total:
        unit = "GPU" if set(accelerators.vendors) <= {"nvidia", "amd", "intel"} else "accelerator"
        facts.append(f"{format_quantity(accelerators.total)} {unit}{'' if accelerators.total == 1 else 's'}")
    if view.spot.state == "demanded":
        facts.append("spot")
    elif view.spot.state == "preferred":
        facts.append("prefers spot")
    return f"{name_of(view)} ({', '.join(facts)})" if facts else name_of(view)


def name_of(view: WorkloadView) -> str:
    """``Job research/llama-sft``; an object still without a name shows its generateName."""
    name = clean(view.name) or "without a name"
    return f"{view.kind.kind} {clean(view.namespace)}/{name}" if view.namespace else f"{view.kind.kind} {name}"


def refusal(findings: Sequence[Finding], view: WorkloadView, file: str = "FILE", help_page: str = "") -> str:
    """The whole text of a refusal: every problem, what was seen, what to write instead, and where to read on.

    ``help_page`` is named where the policies that refuse name none. ``file`` empty: it is read in ``check`` itself, which
    need not be told of.
    """
    refused = [finding for finding in findings if finding.refuses]
    problems = f"{len(refused)} problem{'' if len(refused) == 1 else 's'}"
    lines = [f"{problems} with {describe(view)}"]
    if view.owner is not None:
        owner = f"{clean(view.owner.kind)} {clean(view.owner.name)}"
        lines += ["", f"  It was made by {owner}: mend that one, not this."]
    closing = _closing(refused, file, help_page)
    tail = [*_way_out(refused, view), *(["", *closing] if closing else [])]
    room = LIMIT - sum(len(line.encode()) + 1 for line in (*lines, *tail)) - 80
    for index, finding in enumerate(refused):
        block = ["", *finding_lines(finding, view.object)]
        size = sum(len(line.encode()) + 1 for line in block)
        if size > room:
            block = ["", *wrap(f"[{finding.rule}] ", clean(finding.message, 200), "  ", "    ")]
            size = sum(len(line.encode()) + 1 for line in block)
        if size > room:
            left = len(refused) - index
            lines += ["", f"  and {left} more problem{'' if left == 1 else 's'}."]
            break
        lines += block
        room -= size
    return "\n".join((*lines, *tail))


def finding_lines(finding: Finding, root: JsonObject) -> list[str]:
    """One finding: message, evidence, fix."""
    lines = wrap(f"[{finding.rule}] ", clean(finding.message, 600), "  ", "  ")
    for evidence in finding.evidence[:_EVIDENCE_LIMIT]:
        lines += labelled("seen", evidence_text(evidence, root))
    if len(finding.evidence) > _EVIDENCE_LIMIT:
        lines.append(f"          and {len(finding.evidence) - _EVIDENCE_LIMIT} more")
    return lines + fix_lines(finding.fix, root)


def evidence_text(evidence: Evidence, root: JsonObject) -> str:
    """``spec.template.spec.nodeSelector[x] = "true"``, with the remark behind it."""
    path = clean(format_path(evidence.path, root), 160)
    return f"{path}{_value_text(evidence, root)}" + (f"  ({clean(evidence.note)})" if evidence.note else "")


def _value_text(evidence: Evidence, root: JsonObject) -> str:
    """What stands there, behind its path: a field's value as its user would write it."""
    path, value = evidence.path, evidence.value
    if path and path[-1] in ("args", "command"):
        # A word out of a command line.
        return f": {clean(value)}"
    if len(path) > 1 and path[-2] == "env":
        # The path names the variable already.
        name = str(value_at(root, (*path, "name")))
        if value == name:
            return ""
        value = value.removeprefix(f"{name}=")
    number = isinstance(value_at(root, path), int | float) or (path[-2:-1] in _QUANTITIES and value.isdecimal())
    return f" = {clean(value) if number and value else yaml_scalar(clean(value))}"


def warning(finding: Finding, root: JsonObject) -> str:
    """A finding as one line for ``kubectl``'s ``Warning:``."""
    if finding.result is Result.ERROR:
        return clean(f"[{finding.rule}] {finding.message}", WARNING_LIMIT)
    text, fix = f"[{finding.rule}] {finding.message}", finding.fix
    shown = shown_edits(fix) if not fix.text or fix.text.endswith(":") else []
    if not fix.text and not shown:
        return clean(text, WARNING_LIMIT)
    line = clean(f"{text} Fix: {fix.text}", WARNING_LIMIT)
    for index, edit in enumerate(shown):
        longer = f"{line}{', ' if index else ' '}{edit_line(edit, root)}"
        if index and (index == EDIT_LIMIT or len(longer) > WARNING_LIMIT - len(_MORE)):
            # Half a field would be worse than none.
            return clean(f"{line}{_MORE.format(len(shown) - index)}", WARNING_LIMIT)
        line = longer
    return clean(line, WARNING_LIMIT)


def not_judged_warning(findings: Sequence[Finding]) -> str:
    """All that could not be judged as one line."""
    rules = ", ".join(dict.fromkeys(finding.rule for finding in findings))
    unknown = dict.fromkeys(words for finding in findings for words in finding.unknown)
    others = dict.fromkeys(finding.message for finding in findings if not finding.unknown)
    reasons = [*([f"not known: {', '.join(unknown)}"] if unknown else ()), *others]
    return clean(f"not judged: {rules} ({'; '.join(reasons)})", WARNING_LIMIT)


def exception_text(finding: Finding) -> str:
    """``by legacy-nightly-eval until 2026-12-31, approved by platform-oncall``."""
    return f"by {clean(finding.excepted_by)} until {finding.excepted_until}, approved by {clean(finding.approved_by)}"


def audit_text(findings: Sequence[Finding]) -> str:
    """The value of the audit annotation ``findings``: JSON, the same on every call for the same object."""
    in_order = sorted(findings, key=lambda finding: (finding.rule, finding.key))
    entries = [
        {"rule": finding.rule, "mode": finding.mode.text, "result": finding.result.value, "key": clean(finding.key)}
        | ({"exceptedBy": finding.excepted_by} if finding.excepted_by else {})
        for finding in in_order[:_AUDIT_LIMIT]
    ]
    if len(in_order) > _AUDIT_LIMIT:
        entries.append({"rule": f"and {len(in_order) - _AUDIT_LIMIT} more"})
    return orjson.dumps(entries).decode()


def _way_out(refused: Sequence[Finding], view: WorkloadView) -> list[str]:
    """Where a refusal rests on what we took the work for: why, and how to say that it is something else."""
    if not any(finding.by_type for finding in refused) or view.type.state is None or view.type.declared:
        return []
    shown = [evidence for finding in refused for evidence in finding.evidence]
    why = [evidence_text(replace(one, note=""), view.object) for one in view.type.evidence if one not in shown]
    seen = f" because of {' and '.join(why)}" if why else ""
    mine = TRAINING_TYPES if view.trains else {view.type.state}
    *others, last = (kind for kind in TYPES if kind not in mine)
    kinds = f"{', '.join(others)} or {last}"
    text = f"Taken for {view.type.state}{seen}. If it is something else, label it as what it is ({kinds}):"
    return ["", *wrap("", text, "  ", "  "), f"    metadata.labels[{TYPE_LABEL}]: TYPE"]


def _closing(refused: Sequence[Finding], file: str, help_page: str) -> list[str]:
    help_page = next((finding.help for finding in refused if finding.help), help_page)
    again = f"  Try again without the cluster: kubectl signalbox check {file}"
    if not file:
        return [f"  Help: {clean(help_page, 200)}"] if help_page else []
    if not help_page:
        return [again]
    together = f"{again}      Help: {clean(help_page, 200)}"
    return [together] if len(together) <= WIDTH else [again, f"  Help: {clean(help_page, 200)}"]
