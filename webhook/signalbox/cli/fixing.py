"""``check --fix``: the manifests as the cluster would store them, with the fixes of what would be refused applied."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import jsonpatch

from signalbox.cli.admission import Admission, Asked, admit
from signalbox.cli.changes import shown
from signalbox.cli.terminal import Terminal
from signalbox.cli.yaml_text import yaml_documents
from signalbox.engine import Setup
from signalbox.fieldpath import Path, format_path
from signalbox.finding import Edit
from signalbox.fix import apply_fixes
from signalbox.manifests import Manifest
from signalbox.message import clean, describe
from signalbox.patch import Recorder
from signalbox.review import JsonObject

# A fix may uncover another problem; a chain of them is short.
_MOST_ROUNDS = 4


def write_fixed(setup: Setup, manifests: Sequence[Manifest], asked: Asked, out: Terminal, err: Terminal) -> int:
    """Writes all objects, the workloads among them mended, and tells on ``err`` what was done. How many stay refused."""
    now, refused = datetime.now(UTC), 0
    written: list[Any] = []
    for manifest in manifests:
        if (manifest.group, manifest.kind) not in setup.kinds:
            written.append(manifest.value)
            continue
        mended, admission = _mend(setup, manifest, asked, now, err)
        refused += not admission.allowed
        for warning in admission.warnings:
            err.line(f"{manifest.file}: Warning: {warning}")
        if not admission.allowed:
            err.line(admission.refusal(manifest.file))
        written.append(mended)
    if written:
        out.line(yaml_documents(written).rstrip("\n"))
    return refused


def _mend(setup: Setup, manifest: Manifest, asked: Asked, now: datetime, err: Terminal) -> tuple[JsonObject, Admission]:
    obj = manifest.value
    admission = admit(setup, obj, asked, now)
    for _ in range(_MOST_ROUNDS):
        refused = [finding for finding in admission.decided.findings if finding.refuses]
        edits = [edit for finding in refused for edit in finding.fix.edits]
        if not edits:
            break
        for edit in edits:
            err.line(f"{manifest.file}: {_told(admission, edit)}")
        obj = apply_fixes(obj, refused)
        admission = admit(setup, obj, asked, now)
    return _injected(obj, admission), admission


def _injected(obj: JsonObject, admission: Admission) -> JsonObject:
    """The object with the webhook's patch, but without the API server's defaults: nobody wants those in a manifest."""
    operations = list(admission.mutation.response.patch)
    if not operations:
        return obj
    proven = jsonpatch.apply_patch(admission.before, operations)
    if proven != admission.mutation.mutated:
        raise ValueError("the patch does not lead to the object it was made for")
    recorder = Recorder(obj)
    for operation in operations:
        path = _path(operation["path"], admission.before)
        if operation["op"] == "remove":
            recorder.remove(path)
        elif path[-1] == "-":
            recorder.append(path[:-1], operation["value"])
        else:
            recorder.set(path, operation["value"])
    return recorder.object


def _path(pointer: str, root: Any) -> Path:
    """A JSON pointer as a path in ``root``: a step into a list is an index there."""
    path: list[str | int] = []
    here = root
    for part in pointer.split("/")[1:]:
        step = part.replace("~1", "/").replace("~0", "~")
        if isinstance(here, list) and step.isdecimal():
            path.append(int(step))
            here = here[int(step)] if int(step) < len(here) else None
        else:
            path.append(step)
            here = here.get(step) if isinstance(here, dict) else None
    return tuple(path)


def _told(admission: Admission, edit: Edit) -> str:
    view = admission.decided.view
    field = clean(format_path(edit.path, admission.after), 200)
    change = f"removed {field}" if edit.removes else f"set {field}: {shown(edit.value)}"
    return f"{describe(view)}: {change}" if view is not None else change
