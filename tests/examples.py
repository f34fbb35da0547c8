"""Reads the examples out of the docstrings of checks and injectors."""

import re
from dataclasses import dataclass
from textwrap import dedent
from typing import Any

from tests.world import yaml

_SECTION = re.compile(r"^(Rule|Cluster|Refused|Before|Passes|Example|After):\n((?:    .*\n|\n)+)", re.MULTILINE)


@dataclass(frozen=True)
class CheckExample:
    """``rule`` is the YAML of the rule without its name and mode; ``before`` the old object, for checks of a change;
    ``cluster`` the YAML of what is known of the cluster."""

    rule: str
    refused: Any
    passes: Any
    before: Any = None
    cluster: str = ""


def sections(doc: str) -> dict[str, str]:
    """The indented blocks of a docstring by their headings."""
    return {name: dedent(text) for name, text in _SECTION.findall(doc if doc.endswith("\n") else doc + "\n")}


def check_example(doc: str) -> CheckExample:
    """The example of a check; a missing section fails the test that reads it."""
    found = sections(doc)
    before = yaml(found["Before"]) if "Before" in found else None
    return CheckExample(found["Rule"], yaml(found["Refused"]), yaml(found["Passes"]), before, found.get("Cluster", ""))
