"""What people read: refusals, warnings, and the facts line about a workload.

Everything quoted from a manifest is stripped of control characters (an ESC sequence would reach the terminal as it is) and
shortened. A whole refusal stays under 4 kB: events and conditions store it uncut. A warning is one line: one that held a
newline would be dropped without a trace.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import orjson

from signalbox.fieldpath import format_path, value_at
from signalbox.finding import Edit, Finding, Fix, Result
from signalbox.quantity import format_quantity
from signalbox.review import JsonObject
from signalbox.workload.judgement import TRAINING_TYPES, TYPES, Evidence
from signalbox.workload.kinds.kind import mapping
from signalbox.workload.labels import TYPE_LABEL
from signalbox.workload.view import WorkloadView

WIDTH = 80
LIMIT = 4000
WARNING_LIMIT = 400
_VALUE_LIMIT = 100
_EVIDENCE_LIMIT = 4
# A fix of more lines than this is shown as field paths: as YAML it would be a ladder.
_YAML_LINES_OF_ONE, _YAML_LINES_EACH = 6, 5
_FEW_EDITS = 2
_EDIT_LIMIT = 4
_MORE = ", and {} more"
# By which field a list member is known, the usual one first.
_IDENTITIES = ("name", "mountPath", "key")
# An object of thousands of containers has thousands of findings; the API server keeps them all in its audit log.
_AUDIT_LIMIT = 50
# What is copied from a manifest into a fix may be nested as deep as somebody likes.
_DEEPEST_EDIT = 12


def clean(text: object, limit: int = _VALUE_LIMIT) -> str:
    """A value from a manifest made safe to print: one line, no control characters, at most ``limit`` characters."""
    shown = str(text)
    if not shown.isprintable():
        # Controls, ESC, line breaks, marks that reorder or hide text, lone surrogates: runs of them become one space.
        shown = " ".join("".join(character if character.isprintable() else " " for character in shown).split())
    shown = shown.strip()
    return shown if len(shown) <= limit else shown[: limit - 1].rstrip() + "…"


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
        lines += _labelled("seen", evidence_text(evidence, root))
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
    return f" = {clean(value) if number and value else _scalar(clean(value))}"


def fix_lines(fix: Fix, root: JsonObject) -> list[str]:
    """What to write instead: the words, then the fields."""
    shown = _shown_edits(fix)
    lines = _labelled("fix", clean(fix.text, 400)) if fix.text else []
    introduces = fix.text.endswith(":")
    if fix.text and not introduces and len(shown) > _FEW_EDITS:
        # Words that stand on their own say it all when the edits are many.
        return lines
    edits = shown[:_EDIT_LIMIT]
    more = [f"          and {len(shown) - len(edits)} more"] if len(shown) > len(edits) else []
    if introduces and not any(edit.removes for edit in edits):
        written = edit_yaml(edits, root)
        if len(written) <= max(_YAML_LINES_OF_ONE, _YAML_LINES_EACH * len(edits)):
            return [*lines, *("            " + line for line in written), *more]
    for index, edit in enumerate(edits):
        lines += _labelled("" if fix.text or index else "fix", _edit_line(edit, root))
    return lines + more


def _shown_edits(fix: Fix) -> list[Edit]:
    """The edits that are shown as fields, what is taken out last; those of whole structures value by value."""
    setting = [edit for edit in fix.edits if not edit.removes]
    if fix.text and not fix.text.endswith(":"):
        # Words that stand on their own speak of structures, and of the lines above them, which were shown as seen.
        return [edit for edit in setting if not isinstance(edit.value, (dict, list))]
    return [*(leaf for edit in setting for leaf in _leaves(edit)), *(edit for edit in fix.edits if edit.removes)]


def _leaves(edit: Edit, depth: int = 0) -> Iterator[Edit]:
    steps: Iterable[tuple[str | int, Any]]
    if depth > _DEEPEST_EDIT:
        yield replace(edit, value="…")
        return
    if isinstance(edit.value, dict) and edit.value:
        steps = edit.value.items()
    elif isinstance(edit.value, list) and edit.value:
        steps = enumerate(edit.value)
    else:
        yield edit
        return
    for step, value in steps:
        yield from _leaves(replace(edit, path=(*edit.path, step), value=value), depth + 1)


def edit_yaml(edits: Sequence[Edit], root: JsonObject) -> list[str]:
    """Edits as the lines of YAML one would write; a list member is shown by what it is known by."""
    lines: list[str] = []
    above: tuple[Any, ...] = ()
    for edit in edits:
        steps = edit.path
        shared = 0
        while shared < min(len(above), len(steps) - 1) and above[shared] == steps[shared]:
            shared += 1
        here: Any = root
        dash = ""
        for depth, step in enumerate(steps):
            here = _step_into(here, step)
            if depth < shared:
                continue
            pad = "  " * (depth - len(dash) // 2) + dash
            dash = ""
            last = depth == len(steps) - 1
            if not isinstance(step, int):
                lines.append(f"{pad}{clean(step)}: {_scalar(edit.value)}" if last else f"{pad}{clean(step)}:")
            elif last:
                lines.append(f"{pad}- {_scalar(edit.value)}")
            elif known := next((name for name in _IDENTITIES if isinstance(mapping(here).get(name), str)), ""):
                lines.append(f"{pad}- {known}: {_scalar(here[known])}")
            else:
                # Its first line comes with the next step.
                dash = "- "
        above = steps[:-1]
    return lines


def warning(finding: Finding, root: JsonObject) -> str:
    """A finding as one line for ``kubectl``'s ``Warning:``."""
    if finding.result is Result.ERROR:
        return clean(f"[{finding.rule}] {finding.message}", WARNING_LIMIT)
    text, fix = f"[{finding.rule}] {finding.message}", finding.fix
    shown = _shown_edits(fix) if not fix.text or fix.text.endswith(":") else []
    if not fix.text and not shown:
        return clean(text, WARNING_LIMIT)
    line = clean(f"{text} Fix: {fix.text}", WARNING_LIMIT)
    for index, edit in enumerate(shown):
        longer = f"{line}{', ' if index else ' '}{_edit_line(edit, root)}"
        if index and (index == _EDIT_LIMIT or len(longer) > WARNING_LIMIT - len(_MORE)):
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
    entries = [
        {"rule": finding.rule, "mode": finding.mode.text, "result": finding.result.value, "key": clean(finding.key)}
        | ({"exceptedBy": finding.excepted_by} if finding.excepted_by else {})
        for finding in sorted(findings, key=lambda finding: (finding.rule, finding.key))
    ]
    if len(entries) > _AUDIT_LIMIT:
        entries = [*entries[:_AUDIT_LIMIT], {"rule": f"and {len(entries) - _AUDIT_LIMIT} more"}]
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


def _labelled(label: str, text: str) -> list[str]:
    return wrap(f"{label:<6}", text, "    ", "          ")


def wrap(start: str, text: str, first: str, rest: str) -> list[str]:
    """``text`` behind ``start`` as lines of at most WIDTH; a field path too long for one is broken before a dot."""
    lines = [first + start]
    empty = True
    for word in text.split():
        room = WIDTH - 1 - len(lines[-1]) - (0 if empty else 1)
        if len(word) > room and not empty and len(word) <= WIDTH - 1 - len(rest):
            lines.append(rest)
            empty, room = True, WIDTH - 1 - len(rest)
        while len(word) > room and (cut := _last_dot(word, room)) > 0:
            lines[-1] += ("" if empty else " ") + word[:cut]
            word = word[cut:]
            lines.append(rest + "  ")
            empty, room = True, WIDTH - 1 - len(rest) - 2
        if len(word) > room and not empty:
            lines.append(rest)
            empty = True
        lines[-1] += ("" if empty else " ") + word
        empty = False
    return lines


def _last_dot(path: str, room: int) -> int:
    """Where to break a field path: before the last dot outside brackets that leaves the head within ``room``; 0 for none."""
    depth, cut = 0, 0
    for index, character in enumerate(path[: room + 1]):
        if character == "[":
            depth += 1
        elif character == "]":
            depth -= 1
        elif character == "." and depth == 0:
            cut = index
    return cut


def _edit_line(edit: Edit, root: JsonObject) -> str:
    path = clean(format_path(edit.path, root), 200)
    return f"take out {path}" if edit.removes else f"{path}: {_scalar(edit.value)}"


def _step_into(here: Any, step: str | int) -> Any:
    if isinstance(here, dict):
        return here.get(step)
    if isinstance(here, list) and isinstance(step, int) and 0 <= step < len(here):
        return here[step]
    return None


_QUANTITIES = (("limits",), ("requests",))
_BARE = re.compile(r"[A-Za-z_/][\w./:@-]*\Z")
_NOT_STRINGS = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})


def _scalar(value: Any) -> str:
    """A value as YAML, on one line."""
    if isinstance(value, str):
        shown = clean(value, 200)
        if _BARE.match(shown) and shown.lower() not in _NOT_STRINGS:
            return shown
        return orjson.dumps(shown).decode()
    # JSON's integers have 64 bits, a quantity has as many as somebody wrote.
    return clean(str(value) if type(value) is int else orjson.dumps(value).decode(), 200)
