"""What ``check`` says of objects that lack what it would have judged: their kind, or their pod template."""

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from signalbox.fieldpath import format_path, value_at
from signalbox.source import SourceProblem

if TYPE_CHECKING:
    from signalbox.manifests import Manifest
    from signalbox.workload.kinds.kind import WorkloadKind

# Kubernetes' own, all of them at v1: without more said a Job is theirs, not Volcano's.
_OWN_GROUPS = ("", "apps", "batch")


def without_kind(
    manifest: "Manifest", kinds: "Mapping[tuple[str, str], WorkloadKind]", named: Collection[str]
) -> SourceProblem | None:
    """Why it cannot be told what this object is; None where it can.

    A folder holds files of other tools too (``kustomization.yaml``, ``values.yaml``), so one without a kind is a fault only
    where its file is ``named`` itself.
    """
    if not manifest.kind:
        return _problem(manifest, "kind", "") if manifest.file in named else None
    if isinstance(version := manifest.value.get("apiVersion"), str) and version:
        return None
    return _problem(manifest, "apiVersion", _hint(manifest.kind, kinds))


def template_note(manifest: "Manifest", kind: "WorkloadKind") -> str:
    """What is missing where a kind of Kubernetes' own has its pod template, so that nothing was there to judge; else empty."""
    if not kind.defaulted:
        return ""
    for template in kind.templates(manifest.value):
        for path, what in ((template.path, "pod template"), (template.spec_path, "Pod spec")):
            if path and value_at(manifest.value, path) is None:
                return f"no {what} at {format_path(path, manifest.value)}, so nothing of it could be judged"
    return ""


def _problem(manifest: "Manifest", key: str, hint: str) -> SourceProblem:
    at = manifest.document.position((key,), key=True)
    fault = "is missing" if manifest.value.get(key) in (None, "") else "must be a text"
    return SourceProblem(manifest.file, at.line, at.column, f"{key} {fault}{hint}")


def _hint(kind: str, kinds: "Mapping[tuple[str, str], WorkloadKind]") -> str:
    groups = sorted(group for group, name in kinds if name == kind)
    own = next((group for group in groups if group in _OWN_GROUPS), None)
    if own is not None:
        return f"; for a {kind} it is {own}{'/' if own else ''}v1"
    return f"; for a {kind} it starts with {groups[0]}/" if len(groups) == 1 else ""
