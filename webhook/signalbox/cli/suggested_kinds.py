"""Kinds that nobody has described, by what their objects look like: read where nothing is refused, and hinted at elsewhere."""

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from signalbox.engine import Setup
    from signalbox.manifests import Manifest
    from signalbox.policy.kind_document import KindSpec


def suggestions(setup: "Setup", manifests: "Iterable[Manifest]") -> "dict[tuple[str, str], tuple[Manifest, KindSpec]]":
    """Of each kind that is not known and looks like one that makes Pods: an object of it and what a document would say.

    That is its first object, or the first of those that say beside their Pods what runs in them.
    """
    from signalbox.policy.kind_suggestion import suggest_kind

    found: dict[tuple[str, str], tuple[Manifest, KindSpec]] = {}
    for manifest in manifests:
        key = (manifest.group, manifest.kind)
        if key in setup.kinds or (key in found and found[key][1].entrypoint is not None):
            continue
        spec = suggest_kind(manifest.value, setup.signs)
        if spec is not None and (key not in found or (spec.entrypoint is not None and spec.templates)):
            found[key] = (manifest, spec)
    return found


def reading_unknown_kinds(setup: "Setup", manifests: "Sequence[Manifest]") -> "tuple[Setup, list[str]]":
    """The setup with what is suggested for unknown kinds, and a line for people about each."""
    from signalbox.cli.beside import is_runtime
    from signalbox.policy.kind_document import WorkloadKindDocument, compile_kind
    from signalbox.policy.kind_suggestion import suggested_document

    found = suggestions(setup, manifests)
    if not found:
        return setup, []
    kinds = {
        key: compile_kind(WorkloadKindDocument.model_validate(suggested_document(spec))) for key, (_, spec) in found.items()
    }
    lines = [
        f"{manifest.file}:{manifest.document.line}: the kind {spec.kind}.{spec.group} is not known; it is read by the pod "
        "templates found in it, and the webhook does not see it: signalbox kinds suggest writes the document for it"
        for manifest, spec in found.values()
        if not is_runtime(manifest)
    ]
    return replace(setup, kinds={**setup.kinds, **kinds}), lines
