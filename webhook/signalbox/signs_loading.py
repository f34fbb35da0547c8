"""Reads the signs that are shipped in the package."""

from functools import lru_cache
from importlib.resources import files

import yaml

from signalbox.policy.signs_compile import compile_signs
from signalbox.policy.signs_document import WorkloadSignsDocument
from signalbox.workload.signs import Signs

# The C loader is a quarter of a second faster on every start; wheels of PyYAML have it, a build without libyaml has not.
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def default_documents() -> list[WorkloadSignsDocument]:
    """The shipped documents, by file name."""
    folder = files("signalbox") / "signs"
    names = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".yaml"))
    return [
        WorkloadSignsDocument.model_validate(yaml.load((folder / name).read_bytes(), Loader=_LOADER))  # noqa: S506
        for name in names
    ]


@lru_cache(maxsize=1)
def load_default_signs() -> Signs:
    """The shipped signs, compiled once."""
    return compile_signs(default_documents())
