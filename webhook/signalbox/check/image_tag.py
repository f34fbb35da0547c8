"""The image says which version of the code runs.

Without a tag, or with one that is pushed anew (`latest`), a Pod that is started again after a failure may run other code
than the rest of its run, and nobody can say later what was run. `require: digest` asks for images pinned by digest, which
cannot be pushed anew; `deny` lists tags as globs. An image that a placeholder has yet to fill in passes.

Rule:
    check: image-tag
Refused:
    apiVersion: batch/v1
    kind: Job
    metadata: {name: sweep, namespace: research}
    spec:
      template:
        spec:
          restartPolicy: Never
          initContainers: [{name: data, image: registry.example/data}]
          containers: [{name: trainer, image: "registry.example:5000/llm:latest"}]
Passes:
    apiVersion: batch/v1
    kind: Job
    metadata: {name: sweep, namespace: research}
    spec:
      template:
        spec:
          restartPolicy: Never
          initContainers: [{name: data, image: "registry.example/data:2.4"}]
          containers: [{name: trainer, image: "registry.example:5000/llm:2026-11-02"}]
"""

import re
from collections.abc import Iterator
from itertools import islice
from typing import Literal

from signalbox.check.check import Check, Parameters
from signalbox.fieldpath import Path
from signalbox.finding import CheckSubject, Edit, Fix, Problem
from signalbox.quantity import is_placeholder
from signalbox.workload.judgement import Evidence
from signalbox.workload.pod_containers import containers_of
from signalbox.workload.signs import glob
from signalbox.workload.view import WorkloadView

# A manifest has room for a hundred thousand images; nobody reads that many problems.
_MOST_PROBLEMS = 256
# Where the same image is named again, it need not be shown.
_MOST_PLACES = 16
# What a registry may be asked for: nobody has to fill anything in (distribution ``reference``).
# A tag that is nothing but `__TAG__` is legal too, and never meant.
_LEGAL = re.compile(
    r"(?:[A-Za-z0-9.-]++(?::\d++)?/)?[a-z0-9._/-]++(?::(?!__[A-Z][A-Z0-9_]*__(?:@|\Z))\w[\w.-]*+)?(?:@[A-Za-z0-9+.:_-]++)?\Z"
)
_LONGEST = 1024


class ImageTagParameters(Parameters):
    """How an image must be named."""

    require: Literal["tag", "digest"] = "tag"
    deny: list[str] = ["latest"]


def run(subject: CheckSubject, parameters: ImageTagParameters) -> Iterator[Problem]:
    """One problem an image, wherever it is named, keyed by the image."""
    return islice(_run(subject, parameters), _MOST_PROBLEMS)


def _run(subject: CheckSubject, parameters: ImageTagParameters) -> Iterator[Problem]:
    for image, paths in _images(subject.view).items():
        repository, tag, pinned = _parts(image)
        if pinned:
            continue
        if parameters.require == "digest":
            fault, instead = "is not pinned by a digest: what its tag stands for may change", f"{image}@sha256:DIGEST"
        elif not tag:
            fault, instead = "has no tag, so it runs whatever was pushed last", f"{repository}:TAG"
        elif any(glob(pattern).match(tag) for pattern in parameters.deny):
            fault, instead = f"has the tag {tag}, which says nothing of its version", f"{repository}:TAG"
        else:
            continue
        edits = tuple(Edit(path, instead, to_fill_in=True) for path in paths)
        evidence = tuple(Evidence(path, image) for path in paths)
        yield Problem(f"Image {image} {fault}.", evidence, Fix("name the version:", edits), key=image)


def _images(view: WorkloadView) -> dict[str, list[Path]]:
    found: dict[str, list[Path]] = {}
    for template in view.templates:
        for path, container, _ in containers_of(template):
            image = container.get("image")
            if type(image) is not str or not 0 < len(image) <= _LONGEST or (is_placeholder(image) and not _LEGAL.match(image)):
                continue
            if image in found and len(found[image]) >= _MOST_PLACES:
                continue
            found.setdefault(image, []).append((*path, "image"))
    return found


def _parts(image: str) -> tuple[str, str, bool]:
    """Repository, tag and whether a digest pins it. A colon before the last slash is a registry's port."""
    name, at, _ = image.partition("@")
    folder, slash, last = name.rpartition("/")
    last, _, tag = last.partition(":")
    return f"{folder}{slash}{last}", tag, bool(at)


CHECK = Check("image-tag", ImageTagParameters, run, __doc__)
