"""Applies the edits of fixes to a manifest, as ``check --fix`` does and as tests prove them."""

from collections.abc import Iterable

from signalbox.finding import Finding
from signalbox.patch import PatchRecorder
from signalbox.review import JsonObject


def apply_fixes(obj: JsonObject, findings: Iterable[Finding]) -> JsonObject:
    """The object with the edits of all these findings; the one handed in is not changed."""
    recorder = PatchRecorder(obj)
    for finding in findings:
        for edit in finding.fix.edits:
            if edit.removes:
                recorder.remove(edit.path)
            else:
                recorder.set(edit.path, edit.value)
    return recorder.object
