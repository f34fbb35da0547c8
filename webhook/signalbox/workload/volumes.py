"""The volumes of a pod template: its own, and those that controllers claim by templates beside it."""

from collections.abc import Iterable
from typing import Any

from signalbox.fieldpath import Path
from signalbox.review import JsonObject
from signalbox.workload.kinds.kind import mapping, members
from signalbox.workload.vocabulary import MAX_NAME

Volumes = dict[str, tuple[str, JsonObject]]
"""Each volume's source, and what stands in it, by the volume's name."""


def volumes_of(spec: JsonObject) -> Volumes:
    """The volumes of a PodSpec."""
    found: Volumes = {}
    for volume in members(spec.get("volumes")):
        name = volume.get("name") if isinstance(volume, dict) else None
        if isinstance(name, str) and name not in found:
            # The API server takes a volume without a source for an emptyDir.
            source = next((key for key in volume if key != "name" and volume[key] is not None), "emptyDir")
            found[name] = source[:MAX_NAME], mapping(volume.get(source))
    return found


def claimed_volumes(obj: JsonObject, templates: Iterable[Path]) -> Volumes:
    """The volumes of claim templates, which stand in what holds a pod template: ``volumeClaimTemplates`` (of a StatefulSet for
    each Pod) or ``volumeClaimPolicies[].templates`` (of a JobSet for all of them, ``api/jobset/v1alpha2``).
    """
    found: Volumes = {}
    seen: set[Path] = set()
    for path in templates:
        here: Any = obj
        for depth, step in enumerate(path):
            if type(here) is dict:
                if path[:depth] not in seen:
                    seen.add(path[:depth])
                    for claim in claim_templates(here):
                        name = mapping(mapping(claim).get("metadata")).get("name")
                        if isinstance(name, str):
                            found[name] = ("persistentVolumeClaim", {"claimName": name})
                here = here.get(step)
            else:
                here = here[step] if type(here) is list and type(step) is int and 0 <= step < len(here) else None
    return found


def claim_templates(spec: JsonObject) -> list[Any]:
    """The templates of claims that stand in the spec of a controller."""
    claims = list(members(spec.get("volumeClaimTemplates")))
    for policy in members(spec.get("volumeClaimPolicies")):
        claims += members(mapping(policy).get("templates"))
    return claims
