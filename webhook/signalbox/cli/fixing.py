"""``check --fix``: the manifests as the cluster would store them, with the fixes of what would be refused applied."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import jsonpatch

from signalbox.admission import Admission, Asked, admit
from signalbox.cli.changes import shown
from signalbox.cli.terminal import Terminal
from signalbox.engine import Setup
from signalbox.fieldpath import Path, format_path, value_at
from signalbox.fix import apply_fixes
from signalbox.manifests import Manifest
from signalbox.message import describe
from signalbox.patch import PatchRecorder, path_in
from signalbox.plain_text import clean, wrap
from signalbox.review import JsonObject
from signalbox.yaml_text import yaml_documents

# A fix may uncover another problem; a chain of them is short.
_MOST_ROUNDS = 4


def write_fixed(setup: Setup, manifests: Sequence[Manifest], asked: Asked, out: Terminal, err: Terminal) -> int:
    """Writes all objects, the workloads among them mended, and tells on ``err`` what was done.

    How many are not done: still refused, or mended with an example that their user has to replace.
    """
    now, refused = datetime.now(UTC), 0
    written: list[Any] = []
    for manifest in manifests:
        if (manifest.group, manifest.kind) not in setup.kinds:
            written.append(manifest.value)
            continue
        mended = _mend(setup, manifest, asked, now)
        refused += not mended.admission.allowed or bool(mended.to_fill_in)
        _tell(err, manifest, mended)
        written.append(mended.obj)
    if written:
        out.line(yaml_documents(written).rstrip("\n"))
    return refused


@dataclass(frozen=True, slots=True)
class _Mended:
    """A mended object, what it was, what the webhook says to it now, what was changed, and which fields hold an example."""

    obj: JsonObject
    was: str
    admission: Admission
    changes: list[str]
    to_fill_in: list[str]


def _mend(setup: Setup, manifest: Manifest, asked: Asked, now: datetime) -> _Mended:
    obj = manifest.value
    admission = admit(setup, obj, asked, now)
    was = describe(admission.decided.view) if admission.decided.view is not None else manifest.kind
    changes: dict[str, None] = {}
    to_fill_in: dict[str, None] = {}
    for _ in range(_MOST_ROUNDS):
        refused = [finding for finding in admission.decided.findings if finding.refuses]
        # A fix is made for the object with the API server's defaults: what it removes of those, nobody wrote.
        edits = [edit for finding in refused for edit in finding.fix.edits if not edit.removes or _has(obj, edit.path)]
        if not edits:
            break
        for edit in edits:
            field = clean(format_path(edit.path, admission.after), 200)
            changes[f"removed {field}" if edit.removes else f"set {field}: {shown(edit.value)}"] = None
            if edit.to_fill_in:
                to_fill_in[f"{field}: {shown(edit.value)}"] = None
        obj = apply_fixes(obj, refused)
        admission = admit(setup, obj, asked, now)
    return _Mended(_injected(obj, admission), was, admission, list(changes), list(to_fill_in))


def _injected(obj: JsonObject, admission: Admission) -> JsonObject:
    """The object with the webhook's patch, but without the API server's defaults: nobody wants those in a manifest."""
    operations = list(admission.mutation.response.patch)
    if not operations:
        return obj
    proven = jsonpatch.apply_patch(admission.before, operations)
    if proven != admission.mutation.mutated:
        raise ValueError("the patch does not lead to the object it was made for")
    recorder = PatchRecorder(obj)
    for operation in operations:
        path = path_in(admission.before, operation["path"])
        if operation["op"] == "remove":
            recorder.remove(path)
        elif path[-1] == "-":
            recorder.append(path[:-1], operation["value"])
        else:
            recorder.set(path, operation["value"])
    return recorder.object


def _has(obj: JsonObject, path: Path) -> bool:
    parent, step = value_at(obj, path[:-1]), path[-1]
    if isinstance(parent, list):
        return isinstance(step, int) and step < len(parent)
    return isinstance(parent, dict) and step in parent


def _tell(err: Terminal, manifest: Manifest, mended: _Mended) -> None:
    """What was done to one workload, below its name, and why it would be refused still."""
    told = [
        *mended.changes,
        *(f"still yours to fill in: {field}" for field in mended.to_fill_in),
        *(f"Warning: {warning}" for warning in mended.admission.warnings),
    ]
    if told:
        for line in wrap("", f"{manifest.file}: {mended.was}", "", "  "):
            err.line(line)
    for text in told:
        for line in wrap("", text, "  ", "      "):
            err.line(line)
    if not mended.admission.allowed:
        err.line(mended.admission.refusal())
