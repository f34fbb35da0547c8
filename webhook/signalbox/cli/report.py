"""What ``check`` says of one workload: as text for people, as data for machines."""

from signalbox.admission import Admission
from signalbox.cli.changes import changes_of, write_changes
from signalbox.cli.terminal import Terminal
from signalbox.engine import Outcome
from signalbox.fieldpath import format_path
from signalbox.finding import Finding, Result
from signalbox.manifests import Manifest
from signalbox.message import describe, exception_text
from signalbox.plain_text import clean, wrap
from signalbox.review import JsonObject

# The words with which the engine says what it has not been told.
_USER = "the user who asks"
# What no option tells: the manifest, or the machine that the Pod is placed on.
_NOBODY_TELLS = ("placeholder", "how many devices", "machine type")


def write_report(admission: Admission, note: str, out: Terminal) -> None:
    """One line that says it all, then the note, what was injected, warned of, refused, and not judged."""
    view = admission.decided.view or admission.mutation.view
    if view is None:
        return
    marks = out.marks
    if not admission.allowed:
        mark, style = marks.refused, "red"
    elif (
        note
        or any(finding.warns for finding in admission.decided.findings)
        or admission.decided.errors
        or admission.mutation.errors
    ):
        mark, style = marks.warned, "yellow"
    else:
        mark, style = marks.fine, "green"
    out.line(f"{out.styled(mark, style, 'bold')} {out.styled(describe(view), 'bold')}")
    if note:
        _write_wrapped(out, note, "yellow")
    write_changes(changes_of(admission), out)
    for warning in admission.warnings:
        _write_wrapped(out, f"Warning: {warning}", "yellow")
    for finding in admission.decided.findings:
        if finding.excepted_by:
            text = f"excepted: [{finding.rule}] {clean(finding.message, 300)} ({exception_text(finding)})"
            _write_wrapped(out, text, "dim")
    for error in (*admission.mutation.errors, *admission.decided.errors):
        fault = f"{error.where}: {type(error.error).__name__}: {clean(error.error)}"
        _write_wrapped(out, f"fault of Signalbox: {fault}", "red")
    if not admission.allowed:
        out.line()
        _write_refusal(admission.refusal(), out)
        if admission.not_judged:
            out.line()
    for reason, rules in _not_judged(admission).items():
        _write_wrapped(out, f"not judged: {', '.join(rules)} ({reason})", "dim")


def report_json(manifest: Manifest, admission: Admission) -> JsonObject:
    """The same as one JSON object."""
    outcome: Outcome = admission.decided
    view = outcome.view or admission.mutation.view
    root = view.object if view is not None else admission.after
    return {
        "file": manifest.file,
        "document": manifest.index,
        "kind": manifest.kind,
        "name": view.name if view is not None else "",
        "namespace": view.namespace if view is not None else "",
        "allowed": admission.allowed,
        "message": admission.refusal(),
        "warnings": list(admission.warnings),
        "injected": [change.as_json() for change in changes_of(admission)],
        "findings": [_finding_json(finding, root) for finding in outcome.findings if finding.result is not Result.NOT_JUDGED],
        "notJudged": [
            {"rule": finding.rule, "mode": finding.mode.text, "reason": finding.message} for finding in admission.not_judged
        ],
    }


def _finding_json(finding: Finding, root: JsonObject) -> JsonObject:
    return {
        "rule": finding.rule,
        "check": finding.check,
        "mode": finding.mode.text,
        "result": finding.result.value,
        "message": finding.message,
        "key": finding.key,
        "amount": finding.amount,
        "evidence": [evidence.as_json(root) for evidence in finding.evidence],
        "fix": {
            "text": finding.fix.text,
            "edits": [
                {"path": format_path(edit.path, root), **({"remove": True} if edit.removes else {"value": edit.value})}
                for edit in finding.fix.edits
            ],
        },
        "fixedBy": finding.fixed_by or None,
        "exceptedBy": finding.excepted_by or None,
        "exceptedUntil": str(finding.excepted_until) if finding.excepted_until else None,
        "approvedBy": finding.approved_by or None,
    }


def _not_judged(admission: Admission) -> dict[str, list[str]]:
    reasons: dict[str, list[str]] = {}
    for finding in admission.not_judged:
        reason = clean(finding.message, 200)
        hints = ", ".join(options_that_tell(finding.unknown))
        reasons.setdefault(f"{reason}; see {hints}" if hints else reason, []).append(finding.rule)
    return reasons


def options_that_tell(words: tuple[str, ...]) -> list[str]:
    """Which options would have told what was not known."""
    unknown = [part for part in words if not any(one in part for one in _NOBODY_TELLS)]
    options = [] if _USER not in unknown else ["--as", "--as-group"]
    return options + (["--cluster"] if set(unknown) - {_USER} else [])


def _write_refusal(text: str, out: Terminal) -> None:
    for number, line in enumerate(text.split("\n")):
        if number == 0:
            out.line(line, "red", "bold")
        elif line.startswith("  ["):
            rule, bracket, message = line.partition("]")
            out.line(out.styled(rule + bracket, "bold") + message)
        elif line.startswith("    fix "):
            out.line("    " + out.styled("fix", "green", "bold") + line[7:])
        elif line.startswith("    seen"):
            out.line("    " + out.styled("seen", "dim") + line[8:])
        else:
            out.line(line)


def _write_wrapped(out: Terminal, text: str, style: str) -> None:
    for line in wrap("", text, "    ", "      "):
        out.line(line, style)
