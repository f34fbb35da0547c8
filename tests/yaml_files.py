"""YAML files of ours, read by the fast loader where there is one: every test process reads thousands of lines of cases."""

from pathlib import Path
from typing import Any

import yaml

LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def read_yaml(path: Path) -> Any:
    """The only document of a file."""
    return yaml.load(path.read_bytes(), Loader=LOADER)


def read_all(path: Path) -> list[Any]:
    """Every document of a file that holds anything."""
    return [document for document in yaml.load_all(path.read_bytes(), Loader=LOADER) if document]
