"""Lists of several containers put together, for what runs with the volumes and variables of all of them."""

from typing import Any

from signalbox.fieldpath import Path
from signalbox.workload.kinds.kind import PodTemplate, mapping, members

# More than any container has; what is beyond is not read anyway.
_MOST_GATHERED = 2048


def gather(templates: tuple[PodTemplate, ...], section: str) -> tuple[list[Any], tuple[Path, ...]]:
    """A list of the first container of each template, put together, and where its members stand."""
    found: list[Any] = []
    paths: list[Path] = []
    for template in templates:
        for container in members(template.spec.get("containers"))[:1]:
            listed = members(mapping(container).get(section))[:_MOST_GATHERED]
            found += listed
            paths += [(*template.spec_path, "containers", 0, section, index) for index in range(len(listed))]
    return found, tuple(paths)
